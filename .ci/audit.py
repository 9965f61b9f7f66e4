"""Audit of what is installed: every package is one that ``constraints.txt`` pins, with that very version.

Known vulnerabilities are looked up by ``pip-audit`` where it is installed and can reach its database; elsewhere that
is said, and the lock check is all there is.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib.metadata import Distribution, distribution
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_TOOLS = {"pip", "setuptools", "wheel"}  # of the environment itself


def _say(*words: str) -> None:
    sys.stdout.write(" ".join(words) + "\n")


def normal(name: str) -> str:
    """A package's name as all spell it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(text: str) -> dict[str, str]:
    """The version of each package in a constraints file; a line that pins nothing is an error."""
    found = {}
    for line in text.splitlines():
        line = line.partition("#")[0].strip()
        if not line:
            continue
        name, equals, version = line.partition("==")
        if not equals or not version or set("<>=!~*; ") & set(version):
            raise SystemExit(f"constraints.txt: {line!r} pins no version")
        found[normal(name)] = version
    return found


def needed(root: Distribution) -> dict[str, Distribution]:
    """All packages that are installed because ``root`` asks for them, with all of its extras."""
    found: dict[str, Distribution] = {}
    waiting = [(root, True)]
    while waiting:
        one, extras = waiting.pop()
        for line in one.requires or []:
            if "extra ==" in line and not extras:
                continue
            name = re.match(r"[\w.-]+", line)
            if name is None or normal(name.group()) in found or normal(name.group()) == normal(root.name):
                continue
            try:
                other = distribution(name.group())
            except ModuleNotFoundError:
                continue  # an extra that is not installed, or for another system
            found[normal(other.name)] = other
            waiting.append((other, False))
    return found


def problems(found: dict[str, Distribution], pinned: dict[str, str]) -> list[str]:
    """What is installed and not pinned, or with another version."""
    wrong = []
    for name, one in sorted(found.items()):
        version = one.version.partition("+")[0]  # torch says +cpu
        if name in _TOOLS:
            continue
        if name not in pinned:
            wrong.append(f"{name} {version} is installed, but not in constraints.txt: pin it")
        elif pinned[name].partition("+")[0] != version:
            wrong.append(f"{name} {version} is installed, but constraints.txt pins {pinned[name]}: install that one")
    return wrong


def main() -> None:
    """Both checks; exit code 1 if either finds something."""
    constraints = ROOT / "constraints.txt"
    pinned = pins(constraints.read_text(encoding="utf-8"))
    found = needed(distribution("graphcondense"))
    wrong = problems(found, pinned)
    for line in wrong:
        _say(line)
    _say(f"lock: {len(found)} packages looked at, {len(wrong)} wrong")
    tool = shutil.which("pip-audit", path=f"{Path(sys.executable).parent}:{sys.path[0]}") or shutil.which("pip-audit")
    if tool is None:
        _say("vulnerabilities: pip-audit is not installed here; only the lock was checked")
        sys.exit(bool(wrong))
    done = subprocess.run([tool, "--no-deps", "--disable-pip", "-r", str(constraints)], capture_output=True, text=True)
    skipped = done.stdout.count("could not be audited") + done.stderr.count("could not be audited")
    if done.returncode and "vulnerabilit" in done.stderr and "Found" in done.stderr:
        _say(done.stdout, done.stderr.strip())
        sys.exit(1)
    known = (
        "no database within reach" if done.returncode or skipped >= len(pinned) else f"{len(pinned) - skipped} audited"
    )
    _say(f"vulnerabilities: {known}, {skipped} could not be")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
