"""``graphcondense check``."""

from __future__ import annotations

from graphcondense.checkup import check as check_task
from graphcondense.cli.console import app, command, out, print_json
from graphcondense.cli.options import AsJson, DataRoot, DatasetArgument
from graphcondense.cli.tasks import load_task
from graphcondense.report.tables import facts_table


@app.command("check")
@command
def check(dataset: DatasetArgument = "digits", data_root: DataRoot = None, as_json: AsJson = False) -> None:
    """What was understood of a dataset, and what is doubtful about it, with the remedy."""
    found = check_task(load_task(dataset, data_root, quiet=True))
    if as_json:
        print_json(found.to_dict())
        return
    rows: list[tuple[str, object]] = list(found.lines)
    rows += [("changed" if not place else "", change) for place, change in enumerate(found.changes)]
    rows += [("doubtful" if not place else "", doubt) for place, doubt in enumerate(found.doubts)]
    rows += [] if found.doubts else [("doubtful", "nothing")]
    out().print(facts_table(rows))
