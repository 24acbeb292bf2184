"""What a check sends and expects, pure: its events, what cancels them out, and what its page may not show."""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

from quarterhour.model.clock import iso_seconds
from quarterhour.model.periods import Period
from quarterhour.model.totals import Totals
from quarterhour.web.static_files import PROTECTION, security_policy

Event = dict[str, Any]
"""An event as it is sent, or as the API lists it."""

AGENCY: Final = "quarterhour-check"
"""The agency of all checks. Nobody sells for it."""
SOURCE: Final = "quarterhour-check"
SUBSCRIPTION: Final = "quarterhour-check"
"""The subscription of a check, which ends with it."""
NO_RECEIVER: Final = "https://quarterhour-check.example.com/"
"""The address for an emulator: a name that nobody has, so nothing is sent."""
CURRENCY: Final = "EUR"
REASON: Final = "quarterhour check cancels its own events out"
REGISTRATION: Final[dict[str, Any]] = {
    "legal_name": "Quarterhour check, not a customer",
    "address": "made up by `quarterhour check`",
    "country": "GB",
    "tax": {"scheme": "outside_scope"},
}
"""The agency's registration, without anybody's data: a statement needs a name, an address, a country and a tax."""

_SALES: Final = ("12.34", "20.00", "0.66")
_REFUND: Final = "-5.00"
_RATE: Final = "0.125"
_MIDDLE: Final = timedelta(days=14, hours=12)
_POLICY: Final = "content-security-policy"
_CONNECT: Final = "connect-src"

_REDACTIONS: Final = (
    (re.compile(r"arn:[\w-]+:[^\s\"',]+"), "<arn>"),
    (re.compile(r"https?://[^\s\"',)]+"), "<address>"),
    (re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b"), "<mail>"),
    (re.compile(r"\b[\w-]+(?:\.[\w-]+)*\.amazonaws\.com(?:\.cn)?\b"), "<host>"),
    (re.compile(r"\bA[KS]IA[A-Z0-9]{12,}\b"), "<key>"),
    (re.compile(r"(?<!\d)\d{12}(?!\d)"), "<account>"),
)


def time_of(first_period: str, now: datetime) -> datetime:
    """Return the business time of a check's events: in the month before the first one with statements, if it is known.

    Such a month is on no statement and has no other events. Otherwise, they count now.
    """
    if not first_period:
        return now
    month = Period.parse(first_period).previous.first_day
    return datetime.combine(month, time(), UTC) + _MIDDLE


def events(run: str, at: datetime, currency: str) -> list[Event]:
    """Return the sales of a run, and a refund of the second one."""
    sales = [
        _event(f"{run}-{number}", "sale.recorded", at, amount=amount, currency=currency, commission_rate=_RATE)
        for number, amount in enumerate(_SALES, 1)
    ]
    refund = _event(
        f"{run}-refund", "sale.refunded", at, amount=_REFUND, currency=currency, refers_to=sales[1]["id"], reason=REASON
    )
    return [*sales, refund]


def waiting(run: str, at: datetime, currency: str) -> Event:
    """Return a refund of a run that is held, because nobody sends its sale."""
    unknown = f"{run}-unknown"
    return _event(
        f"{run}-held", "sale.refunded", at, amount=_REFUND, currency=currency, refers_to=unknown, reason=REASON
    )


def voids(listed: Iterable[Event]) -> list[Event]:
    """Return what cancels the listed events out: a void of each sale that has none, in the sale's month."""
    found = list(listed)
    voided = {one["refers_to"] for one in found if one["type"] == "sale.voided"}
    return [
        _event(
            f"{one['id']}-void",
            "sale.voided",
            one.get("time") or one["recorded_at"],
            currency=one["currency"],
            refers_to=one["id"],
            reason=REASON,
        )
        for one in found
        if one["type"] == "sale.recorded" and one["id"] not in voided
    ]


def totals(listed: Iterable[Event]) -> dict[str, Totals]:
    """Return the totals of listed events by currency."""
    found: dict[str, Totals] = {}
    for one in listed:
        before = found.get(one["currency"], Totals())
        found[one["currency"]] = before.plus(Decimal(one["amount"]), Decimal(one["commission"]))
    return found


def policy_problems(headers: Mapping[str, str], files: str = "") -> list[str]:
    """Return what is wrong with the headers of the console's page.

    ``files``: the origin of sealed files, if it is another one than that of the page.
    """
    expected, found = _directives(security_policy(())), _directives(headers.get(_POLICY, ""))
    problems = [
        f"{name} is {' '.join(found[name]) if name in found else 'missing'}, expected {' '.join(sources)}"
        for name, sources in expected.items()
        if name != _CONNECT and found.get(name) != sources
    ]
    problems += [f"{name} is not expected" for name in sorted(found.keys() - expected.keys())]
    if files and files not in found.get(_CONNECT, ()):
        problems.append(f"{_CONNECT} lacks the host of sealed files")
    return problems + [
        f"{name} is {headers.get(name, 'missing')}, expected {value}"
        for name, value in PROTECTION.items()
        if headers.get(name) != value
    ]


def redacted(text: str) -> str:
    """Return text without account ids, ARNs, addresses, keys and mail addresses."""
    for pattern, label in _REDACTIONS:
        text = pattern.sub(label, text)
    return text


def _directives(policy: str) -> dict[str, Sequence[str]]:
    parts = (one.split() for one in policy.split(";"))
    return {name: sources for name, *sources in filter(None, parts)}


def _event(id_: str, type_: str, at: datetime | str, **data: Any) -> Event:  # noqa: ANN401 - JSON is any value
    instant = at if isinstance(at, str) else iso_seconds(at)
    head = {"specversion": "1.0", "source": SOURCE, "id": id_, "type": type_, "subject": AGENCY, "time": instant}
    return {**head, "data": data}
