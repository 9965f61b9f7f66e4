"""A short run of the fuzzers: everything in the corpus, and some mutations of it. ``make fuzz`` runs for longer."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "fuzz"))
from bundle import pack, unpack
from guard import Misbehaved, watched
from seeds import SEEDS
from targets import TARGETS

FUZZ = Path(__file__).resolve().parents[1] / "fuzz"
MUTATIONS = 25  # of each target: seconds in all


def corpus(target: str) -> list[bytes]:
    return [file.read_bytes() for file in sorted((FUZZ / "corpus" / target).iterdir())]


def mutated(blob: bytes, source: random.Random) -> bytes:
    """A few bytes changed, cut out, repeated, or replaced by what numbers go wrong at."""
    content = bytearray(blob)
    for _ in range(source.randint(1, 4)):
        start = source.randrange(len(content) + 1)
        end = min(len(content), start + source.choice((1, 2, 8, 64)))
        piece = bytes(content[start:end])
        odd = (b"-1", b"0", b"99999999999", b"nan", b"1e999", b"[", b'"', b"\n", b"\x00", b"..", b"null", b"{}")
        content[start:end] = source.choice(
            (bytes(source.randrange(256) for _ in piece), b"", piece * 3, source.choice(odd))
        )
    return bytes(content)


def test_every_reader_has_seeds_and_a_corpus() -> None:
    assert list(SEEDS) == list(TARGETS) == [name for name in TARGETS if corpus(name)]
    assert sum(file.stat().st_size for file in (FUZZ / "corpus").rglob("*")) < 700_000


@pytest.mark.parametrize("target", TARGETS)
def test_the_corpus_is_taken_or_refused_in_one_line(target: str) -> None:
    said = [TARGETS[target].run(blob) for blob in corpus(target)]
    assert "" in said  # some of it is valid
    assert not Path("/tmp/graphcondense-was-here").exists()  # what the seeds with code in them would make


@pytest.mark.parametrize("target", TARGETS)
def test_mutations_are_taken_or_refused_in_one_line(target: str) -> None:
    source = random.Random(target)
    blobs = [blob for blob in corpus(target) if len(blob) < 50_000]
    for _ in range(MUTATIONS):
        TARGETS[target].run(mutated(source.choice(blobs), source))


@pytest.mark.parametrize(
    ("target", "seed", "words"),
    [
        ("planetoid", "shell", "ind.s.x is damaged, or not a file of Planetoid (it asks for posix.system): fetch it"),
        ("import", "shell", "small.pt is not what `graphcondense export` writes: it is no file of tensors"),
        ("import", "pickle", "small.pt is not what `graphcondense export` writes: it is no file of tensors"),
        ("import", "expanded", "small.pt is not what `graphcondense export` writes: a tensor that is larger than the"),
        ("import", "entities", "declares a document type or an entity (DOCTYPE), which is not safe: remove it"),
        ("import", "secret", "declares a document type"),
        ("shards", "elsewhere", "shards.json is damaged: its shards cannot be read: write the shards again"),
        ("ogb", "bomb", "bytes, which no table of numbers does): fetch the file anew"),
        ("arrays", "bomb", "it would unpack to far more than its size explains"),
        ("arrays", "objects", "an array of Python objects, which are never read"),
        ("arrays", "lie", "393 bytes for an array of 7999919200008"),
        ("arrays", "outside", "a sparse matrix with an index outside of it"),
        ("arrays", "dense", "a matrix of 140 x 1,099,511,627,776 with 140 numbers in it"),
        ("condensed", "bomb", "6 nodes of 999999 features, more than its size explains"),
    ],
)
def test_attacks_are_named(target: str, seed: str, words: str) -> None:
    assert words in TARGETS[target].run((FUZZ / "corpus" / target / f"seed-{seed}").read_bytes())


def test_inputs_survive_being_packed() -> None:
    files = {"a.txt": b"1\n@ 2\n", "b/c": b"", "d": b"\x00@@x"}
    assert unpack(pack(files)) == files


def test_the_guard_sees_what_it_should(tmp_path: Path) -> None:
    (tmp_path / "inside").mkdir()
    (tmp_path / "secret").write_text("elsewhere")
    with pytest.raises(Misbehaved, match="secret"), watched(tmp_path / "inside"):
        (tmp_path / "inside" / ".." / "secret").read_bytes()
    with pytest.raises(Misbehaved, match=r"pickle\.find_class"), watched(tmp_path):
        __import__("pickle").loads(b"cos\ngetcwd\n.")
    with watched(tmp_path):
        (tmp_path / "own").write_text("fine")
