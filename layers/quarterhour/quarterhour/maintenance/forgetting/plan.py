"""Planning of a move of data from before the vault, pure: how far it is, and the named customers of a sealed day."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import Any, Self

from quarterhour.aws.entity import Values
from quarterhour.customers.keys import is_token
from quarterhour.model.clock import iso_millis, parse_iso
from quarterhour.model.identifiers import Account, Partition
from quarterhour.model.quarter_hours import QuarterHour


@dataclass(frozen=True, slots=True)
class NamedDay:
    """The names of customers in a day's sealed lines, by account, and how many lines and quarter-hours have some."""

    names: Mapping[Account, frozenset[str]]
    lines: int
    quarter_hours: int

    @classmethod
    def of(cls, lines: Iterable[Mapping[str, str]]) -> Self:
        """Return the names, and their lines and quarter-hours, in the sealed lines of a day."""
        names: dict[Account, set[str]] = {}
        partitions: set[str] = set()
        count = 0
        for line in lines:
            if (customer := line["customer"]) and not is_token(customer):
                names.setdefault(Account(line["agency"], line["currency"]), set()).add(customer)
                partitions.add(line["quarter_hour"])
                count += 1
        quarter_hours = {Partition.parse(one).quarter_hour for one in partitions}
        return cls({account: frozenset(some) for account, some in names.items()}, count, len(quarter_hours))


@dataclass(frozen=True, slots=True)
class MoveState:
    """How far a move of data from before the vault is, and how many sealed lines hold names.

    ``since``: when it began; every event that was recorded on later days holds a token. ``through``: the last day that
    it has moved. ``lines``, ``quarter_hours``: how many hold names, which stay in their sealed files; ``last``: the
    last day that has some. ``complete``: when everything was moved.
    """

    since: datetime
    through: date | None = None
    lines: int = 0
    quarter_hours: int = 0
    last: date | None = None
    complete: datetime | None = None

    @classmethod
    def of(cls, values: Values, now: datetime) -> Self:
        """Return the state in its item; that of a move which begins now if there is none."""
        if not values:
            return cls(now)
        return cls(
            parse_iso(values["since"]),
            _day(values.get("through")),
            int(values["lines"]),
            int(values["quarter_hours"]),
            _day(values.get("last")),
            parse_iso(values["complete"]) if "complete" in values else None,
        )

    def values(self) -> Values:
        """Return the attributes of its item."""
        return {
            "since": iso_millis(self.since),
            "through": self.through and self.through.isoformat(),
            "lines": self.lines,
            "quarter_hours": self.quarter_hours,
            "last": self.last and self.last.isoformat(),
            "complete": self.complete and iso_millis(self.complete),
        }

    @property
    def first(self) -> date:
        """The first day that is not moved yet."""
        return self.through + timedelta(days=1) if self.through else date.min

    def moved(self, day: date, named: NamedDay) -> "MoveState":
        """Return the state after a day."""
        return replace(
            self,
            through=day,
            lines=self.lines + named.lines,
            quarter_hours=self.quarter_hours + named.quarter_hours,
            last=day if named.lines else self.last,
        )

    def ended(self, sealed_through: QuarterHour | None, now: datetime) -> "MoveState":
        """Return the state once all full days are moved: complete if the day on which it began is one of them.

        ``sealed_through``: ``None`` if nothing was ever recorded.
        """
        if sealed_through is None or sealed_through >= QuarterHour.last_of(self.since.date()):
            return replace(self, complete=now)
        return self


@dataclass(frozen=True, slots=True)
class MoveResult:
    """The state of a move after an invocation, and whether another invocation must go on at once."""

    state: MoveState
    more: bool

    def as_dict(self) -> dict[str, Any]:
        """Return the result as the function's response."""
        return {**self.state.values(), "more": self.more}


def _day(text: str | None) -> date | None:
    return date.fromisoformat(text) if text else None
