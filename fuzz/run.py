"""Fuzz one reader with atheris: ``python fuzz/run.py TARGET --seconds 600``. What is found lies in ``fuzz/found/``.

Wrong behaviour does not end a run: each kind of it (exception and place) is kept once, with the input that showed it.
Inputs that reach new code are kept in ``fuzz/found/TARGET/new``, from which good ones may go to the corpus.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

import atheris

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))
os.environ["OMP_NUM_THREADS"] = "1"

with atheris.instrument_imports(include=["graphcondense"]):
    from targets import TARGETS


def main() -> None:
    """Fuzz."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=int, default=600)
    chosen = parser.parse_args()
    target, started = TARGETS[chosen.target], time.monotonic()
    found = HERE / "found" / chosen.target
    (found / "new").mkdir(parents=True, exist_ok=True)
    problems: Counter[str] = Counter()
    counts = {"inputs": 0, "taken": 0, "refused": 0}

    def report() -> None:
        facts = {"target": chosen.target, "seconds": round(time.monotonic() - started), **counts}
        (found / "result.json").write_text(json.dumps(facts | {"problems": dict(problems)}, indent=2) + "\n")

    def one(blob: bytes) -> None:
        counts["inputs"] += 1
        try:
            said = target.run(blob)
            counts["refused" if said else "taken"] += 1
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            kind = _kind(error)
            problems[kind] += 1
            if problems[kind] == 1:
                name = hashlib.sha256(kind.encode()).hexdigest()[:8]
                (found / f"{name}.input").write_bytes(blob)
                (found / f"{name}.txt").write_text("".join(traceback.format_exception(error)))
                report()
        if counts["inputs"] % 200 == 0:
            report()

    folders = [str(found / "new"), str(HERE / "corpus" / chosen.target)]
    limits = [f"-max_total_time={chosen.seconds}", "-timeout=60", "-rss_limit_mb=4096", "-max_len=65536"]
    atheris.Setup([sys.argv[0], *folders, *limits, f"-artifact_prefix={found}/", "-print_final_stats=1"], one)
    try:
        atheris.Fuzz()
    finally:
        report()


def _kind(error: BaseException) -> str:
    """Exception and the last line of ours that it came through."""
    ours = [f for f in traceback.extract_tb(error.__traceback__) if "graphcondense/" in f.filename]
    place = f"{Path(ours[-1].filename).name}:{ours[-1].lineno}" if ours else "fuzz"
    text = str(error)[:60] if type(error).__name__ == "Misbehaved" else ""
    return f"{type(error).__name__} at {place} {text}".strip()


if __name__ == "__main__":
    main()
