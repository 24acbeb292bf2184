"""Starts the run of a period or of a release that is due: at each tick of the watch, or when finance asks for it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Self

from quarterhour.aws import clients
from quarterhour.aws.executions import Executions
from quarterhour.aws.resources import Resources
from quarterhour.model import clock
from quarterhour.model.periods import Period
from quarterhour.registry.settings.settings import Settings
from quarterhour.registry.settings.store import SettingsReader
from quarterhour.reports.store import CheckpointStore, began
from quarterhour.statements.plan import due_period
from quarterhour.statements.releases.store import ReleaseStore
from quarterhour.statements.store import ProgressStore


@dataclass(frozen=True, slots=True)
class StatementStarter:
    """Starts an execution of the statements' state machine when a period or a release is due."""

    checkpoints: CheckpointStore
    progress: ProgressStore
    executions: Executions
    settings: Callable[[], Settings]
    began: Callable[[], datetime | None]
    """Returns when the first run of the reports begins; ``None`` before it."""
    due_release: Callable[[], int | None]
    """Returns the number of the release that is due; ``None`` if none is."""

    @classmethod
    def of(cls, resources: Resources) -> Self:
        """Return the starter of a function."""
        dynamodb, table = resources.dynamodb, resources.entity_table
        return cls(
            CheckpointStore(dynamodb, table),
            ProgressStore(dynamodb, table),
            Executions(clients.stepfunctions(), resources.env.text("STATEMENTS_ARN")),
            SettingsReader.of(resources).settings,
            partial(began, resources.entities),
            ReleaseStore(dynamodb, table, resources.workers).due_release,
        )

    def start(self) -> tuple[Period | None, int | None]:
        """Start the run of the period that is due, or else of the release; return the period and the release's number.

        One that is running is not started again; one that has failed is.
        """
        at = self.checkpoints.checkpoint()
        calendar = self.settings().calendars.at(clock.now())
        period = due_period(self.progress.progress(), at, calendar, self.began) if at else None
        if period:
            self.executions.start(str(period), {"period": str(period)})
            return period, None
        number = self.due_release()
        if number:
            self.executions.start(f"release-{number}", {})
        return None, number
