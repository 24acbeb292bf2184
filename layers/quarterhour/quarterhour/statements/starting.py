"""Starts the run of a period or of a release that is due: at each tick of the watch, or when finance asks for it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from quarterhour.aws.executions import Executions
from quarterhour.model.periods import Calendar, Period
from quarterhour.reports.store import CheckpointStore
from quarterhour.statements.plan import due_period
from quarterhour.statements.store import ProgressStore


@dataclass(frozen=True, slots=True)
class StatementStarter:
    """Starts an execution of the statements' state machine when a period or a release is due."""

    checkpoints: CheckpointStore
    progress: ProgressStore
    executions: Executions
    calendar: Calendar
    began: Callable[[], datetime | None]
    """Returns when the first run of the reports begins; ``None`` before it."""
    due_release: Callable[[], int | None]
    """Returns the number of the release that is due; ``None`` if none is."""

    def start(self) -> tuple[Period | None, int | None]:
        """Start the run of the period that is due, or else of the release; return the period and the release's number.

        One that is running is not started again; one that has failed is.
        """
        at = self.checkpoints.checkpoint()
        period = due_period(self.progress.progress(), at, self.calendar, self.began) if at else None
        if period:
            self.executions.start(str(period), {"period": str(period)})
            return period, None
        number = self.due_release()
        if number:
            self.executions.start(f"release-{number}", {})
        return None, number
