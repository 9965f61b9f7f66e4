from __future__ import annotations

from graphcondense.presets import preset_of


def test_the_best_method_that_has_what_is_asked_for() -> None:
    default, paper = preset_of("default", "MUTAG", False), preset_of("paper", "MUTAG", False)
    assert default.usual_method() == "pursuit"
    assert default.usual_method(["graphs_per_class", "seed", "in_proportion"]) == "pursuit"
    assert default.usual_method(["iterations"]) == "doscond"
    assert default.usual_method(["no such setting"]) == "doscond"
    assert default.usual_method(in_parts=True) == "doscond"
    assert paper.usual_method() == "doscond"
    assert preset_of("default", "Cora", True).usual_method() == "doscond"
    assert preset_of("default", "Cora", True).usual_method(in_parts=True) == "doscond"
