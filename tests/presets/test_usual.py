from __future__ import annotations

import pytest

from graphcondense.errors import InputError
from graphcondense.presets import preset_of


def test_the_best_method_that_has_what_is_asked_for() -> None:
    default, paper = preset_of("default", "MUTAG", False), preset_of("paper", "MUTAG", False)
    assert default.usual_method() == "pursuit"
    assert default.usual_method(["graphs_per_class", "seed", "in_proportion"]) == "pursuit"
    assert default.usual_method(["iterations"]) == "doscond"
    assert default.usual_method(["no such setting", "finalists"]) == "pursuit"
    with pytest.raises(InputError, match=r"'pursuit' has no setting 'stepz' \(did you mean 'steps'\?\)|steps"):
        default.method(default.usual_method(["stepz"]), stepz=0)
    with pytest.raises(InputError, match=r"pursuit: finalists; doscond: iterations.*--method"):
        default.usual_method(["iterations", "finalists"])
    with pytest.raises(InputError, match=r"'pursuit' has no setting 'iterations': .*doscond.* have it"):
        default.method("pursuit", iterations=3)
    assert default.usual_method(in_parts=True) == "doscond"
    assert paper.usual_method() == "doscond"
    assert preset_of("default", "Cora", True).usual_method() == "doscond"
    assert preset_of("default", "Cora", True).usual_method(in_parts=True) == "doscond"
