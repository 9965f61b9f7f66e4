"""What was understood of a dataset, and what is doubtful about it."""

from graphcondense.checkup.checkup import Checkup, check
from graphcondense.checkup.doubts import Doubt

__all__ = ["Checkup", "Doubt", "check"]
