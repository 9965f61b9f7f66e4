from __future__ import annotations

from pathlib import Path

from graphcondense.evaluation import Scores
from graphcondense.runs.scores import keep_scores, kept_scores, scores_file

ONE = Scores("accuracy", (0.5, 0.75), (0.4, 0.6), 1.5)
TWO = Scores("accuracy", (0.25,), (0.3,), 2.5)


def test_scores_stay_with_the_file_that_they_are_of(tmp_path: Path) -> None:
    file = tmp_path / "condensed.safetensors"
    file.write_bytes(b"one")
    assert keep_scores(file, "toy", {"gcn": ONE}) is None  # no run folder
    (tmp_path / "result.json").write_text("{}")
    keep_scores(file, "toy", {"gcn": ONE})
    keep_scores(file, "toy", {"gin": TWO})
    assert kept_scores(file) == {"gcn": ONE, "gin": TWO}
    keep_scores(file, "toy", {"gcn": TWO, "gin": ONE})  # a score of fewer trainings does not replace one of more
    assert kept_scores(file) == {"gcn": ONE, "gin": ONE}
    file.write_bytes(b"two")
    assert kept_scores(file) == {}
    scores_file(file).write_text("{")
    assert kept_scores(file) == {}
