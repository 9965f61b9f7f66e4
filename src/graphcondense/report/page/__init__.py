"""One HTML page that opens offline: everything is in it, and it asks nobody for anything."""

from graphcondense.report.page.comparison import comparison_page
from graphcondense.report.page.run import run_page

__all__ = ["comparison_page", "run_page"]
