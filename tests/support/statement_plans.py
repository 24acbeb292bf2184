"""Plans of statement runs, and lines for them."""

import gzip
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from io import BytesIO
from typing import Any, Final

from quarterhour.model.identifiers import Identity, Position
from quarterhour.model.periods import Calendar, Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.plan import Checkpoint
from quarterhour.reports.writer import SealedFileWriter
from quarterhour.statements.plan import Progress, Sealed, StatementPlan, StatementSettings, next_plan

NOVEMBER: Final = Period(2026, 11)
BOUND: Final = QuarterHour.parse("202612040000")
PLANNED_AT: Final = datetime(2026, 12, 4, 0, 20, tzinfo=UTC)
SETTINGS: Final = StatementSettings(Calendar(first_period=NOVEMBER), "UTC", "abc")


def checkpoint(through: QuarterHour = BOUND) -> Checkpoint:
    """Return the checkpoint of reports that have sealed all through a quarter-hour."""
    return Checkpoint(through, ("2026-12-04T0000-0015", "f" * 64), None)


def plan(
    period: Period = NOVEMBER,
    progress: Progress | None = None,
    bound: QuarterHour = BOUND,
    settings: StatementSettings = SETTINGS,
    lines: int = 0,
) -> StatementPlan:
    """Return the plan of a period's run."""
    return next_plan(period, progress or Progress(), Sealed(checkpoint(bound), lines), PLANNED_AT, settings)


def posting(number: int, at: datetime, **changed: str) -> dict[str, str]:
    """Return the posting of a sale of 10.00 with a commission of 1.25, recorded at an instant."""
    position = Position.of(Identity("shop", f"e{number}").hash, at).at(0)
    return {
        "quarter_hour": f"{QuarterHour.at(at)}#00",
        "position": str(position),
        "recorded_at": str(position)[: len("2026-10-23T01:30:12.345Z")],
        "source": "shop",
        "id": f"e{number}",
        "type": "sale.recorded",
        "agency": "42",
        "currency": "GBP",
        "amount": "10.00",
        "commission_rate": "0.125",
        "commission": "1.25",
        "period": "2026-11",
        "tax_point": at.date().isoformat(),
        **changed,
    }


def sealed_file(items: Iterable[dict[str, Any]]) -> BytesIO:
    """Return the sealed file of some postings, in this order."""
    with SealedFileWriter() as writer:
        writer.write(items)
        writer.seal()
        return BytesIO(writer.file.read())


def minutes(number: int) -> datetime:
    """Return an instant of 23 November 2026, so many minutes after 01:30."""
    return datetime(2026, 11, 23, 1, 30, tzinfo=UTC) + timedelta(minutes=number)


def unpacked(content: bytes) -> str:
    """Return the text of a gzipped file."""
    return gzip.decompress(content).decode()
