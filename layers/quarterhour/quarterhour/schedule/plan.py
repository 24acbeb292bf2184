"""The schedule, the pure part: what is wanted of it, how that may change, how late the reports are."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final, Self

from quarterhour.clock import iso_millis, parse_iso
from quarterhour.errors import InvalidError
from quarterhour.fields import TEXT, Fields, bounded, shown, text
from quarterhour.quarters import Quarter
from quarterhour.schedule.expression import EXPECTED, Expression, ExpressionError, parse
from quarterhour.schedule.keys import WANTED, change_key

_FIELDS: Final = frozenset({"expression", "paused", "reason"})


@dataclass(frozen=True, slots=True)
class Setting:
    """What the schedule does: when it fires, and whether it does at all.

    ``pinned``: the expression was asked for, so no deployment changes it.
    """

    expression: str
    paused: bool
    pinned: bool

    def as_dict(self) -> dict[str, Any]:
        """Return it as it is shown and stored."""
        return {"expression": self.expression, "paused": self.paused, "pinned": self.pinned}


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for at run time: an expression (``None``: the deployed one), whether to pause, and since when.

    ``version`` counts the changes; 0 is before the first.
    """

    version: int = 0
    expression: str | None = None
    paused: bool = False
    since: datetime | None = None

    def setting(self, deployed: str) -> Setting:
        """Return what the schedule is to do, where it was deployed with an expression."""
        return Setting(self.expression or deployed, self.paused, self.expression is not None)

    def as_values(self) -> dict[str, Any]:
        """Return it as an item's values."""
        since = iso_millis(self.since) if self.since else None
        return {
            **WANTED,
            "version": self.version,
            "expression": self.expression,
            "paused": self.paused,
            "since": since,
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Read what ``as_values`` wrote."""
        since = parse_iso(values["since"])
        return cls(int(values["version"]), values.get("expression"), values["paused"], since)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a request asks for: the fields of a wish that it names, and why."""

    fields: Mapping[str, Any]
    reason: str | None

    @classmethod
    def of(cls, body: Mapping[str, Any]) -> Self:
        """Read a request's body; raise ``InvalidError`` that names the fields to mend."""
        fields = Fields(body)
        fields.no_others(_FIELDS)
        wished: dict[str, Any] = {}
        if "expression" in body:
            wished["expression"] = _expression(body["expression"], fields)
        if "paused" in body:
            wished["paused"] = fields.value("paused", "true or false", _flag)
        if not wished:
            fields.problem("expression", "is missing, and so is paused", "at least one of them")
        reason = fields.value("reason", TEXT, text, optional=True)
        if fields.problems:
            raise InvalidError(
                "the schedule cannot be changed like this", *bounded(fields.problems, "expression, paused, reason")
            )
        return cls(wished, reason)


def _expression(value: object, fields: Fields) -> str | None:
    """Return an expression that was sent, or ``None`` for the deployed one; note what is wrong with it."""
    if value is None:
        return None
    try:
        if isinstance(value, str):
            parse(value)
            return value
        fields.problem("expression", f"is {shown(value)}", EXPECTED)
    except ExpressionError as error:
        fields.problem("expression", error.problem, error.expected)
    return None


def _flag(value: object) -> bool | None:
    return value if isinstance(value, bool) else None


@dataclass(frozen=True, slots=True)
class Change:
    """A change of what is wanted: the wish that it makes, and the item that tells of it for ever."""

    wish: Wish
    record: dict[str, Any]


def change(standing: Wish, asked: Asked, deployed: str, by: str, now: datetime) -> Change | None:
    """Plan what a request changes; ``None`` where all that it asks for is wanted already."""
    same = replace(standing, **asked.fields)
    if same == standing:
        return None
    wish = replace(same, version=standing.version + 1, since=now)
    record = {
        **change_key(wish.version),
        "at": iso_millis(now),
        "by": by,
        "from": standing.setting(deployed).as_dict(),
        "to": wish.setting(deployed).as_dict(),
        "reason": asked.reason,
    }
    return Change(wish, record)


@dataclass(frozen=True, slots=True)
class Delay:
    """How long the oldest quarter-hour that is closed waits for its report: in seconds, and in firings gone by."""

    seconds: float
    rates: float


ON_TIME: Final = Delay(0, 0)


def delay(sealed_through: Quarter | None, grace: timedelta, expression: Expression, wish: Wish, now: datetime) -> Delay:
    """Reckon how late the reports are; up to one firing is no delay, and before the first event nothing is due.

    Firings count from the last change on: a schedule that was just made faster is not late yet. A pause stops nothing:
    one that was forgotten must be noticed.
    """
    if sealed_through is None:
        return ON_TIME
    due = sealed_through.next.end + grace
    if now < due:
        return ON_TIME
    return Delay((now - due).total_seconds(), expression.firings(max(due, wish.since or due), now))
