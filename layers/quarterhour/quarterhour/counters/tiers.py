"""What tiers charge of a period so far, pure: from the turnover that is counted, as a statement computes it.

A span is a month, a calendar quarter or a year. Of a longer one, a period is charged what its turnover so far
costs, less what it cost at the end of the month before. Definitions that priced one turnover one after the other lie on
each other, in the order of their first events.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, NamedTuple, cast

from quarterhour.model import money
from quarterhour.model.charge_totals import NO_CHARGE_TOTALS, OF_SCHEME, ChargeTotals
from quarterhour.model.periods import Period
from quarterhour.model.tiers import Per, Scheme, Tier, scheme_of, shares, stacked
from quarterhour.model.totals import Totals, figures

if TYPE_CHECKING:
    from quarterhour.counters import api

Months = Mapping[Period, ChargeTotals]
"""The turnover that is counted of an account, or of a group, by month."""


class _Charge(NamedTuple):
    """A charge with tiers: its name, the span of its turnover, and the group whose turnover it is (``None``: none)."""

    name: str
    per: Per
    group: str | None


def months_of(period: Period, charges: ChargeTotals) -> Iterator[Period]:
    """Yield the months up to a period whose turnover counts for the tiers of some charges, with repetitions."""
    for key in charges.turnover:
        yield from _months(_parsed(key)[1].per.first(period), period)


def months_of_groups(period: Period, own: Months) -> Iterator[Period]:
    """Yield the months up to a period in which the turnover of a group decides what an account is charged."""
    for charge in _charges(period, own):
        if charge.group is not None:
            yield from _months(charge.per.first(period), period)


def charged(period: Period, totals: Totals, own: Months, of_group: Months) -> "api.ChargedTotals":
    """Return the totals of a period as the API shows them, with what tiers charge of it so far.

    ``own``: the turnover of the account in the spans up to the period; ``of_group``: that of all accounts in its
    currency. A group that reaches another step changes what a period is charged without turnover of the account.
    """
    shown = cast("api.ChargedTotals", figures(totals))
    if tiers := list(_so_far(period, own, of_group)):
        shown["tiers"] = tiers
        whole = money.total(Decimal(one["commission"]) for one in tiers)
        shown["charged"] = money.plain(money.add(totals.commission, whole))
    return shown


def _so_far(period: Period, own: Months, of_group: Months) -> Iterator["api.TiersSoFar"]:
    for charge in sorted(_charges(period, own), key=lambda one: (one.name, one.per, one.group or "")):
        span = _months(charge.per.first(period), period)
        counting = own if charge.group is None else of_group
        turnovers = [(scheme_of(text), of) for text, of in _turnovers(charge, counting, span)]
        turnover = money.total(of for _, of in turnovers)
        scheme = turnovers[-1][0]
        reached = scheme.reached(turnover)
        before, now = (_cost(charge, own, of_group, some) for some in (span[:-1], span))
        yield {
            "name": charge.name,
            "per": charge.per.value,
            "group": charge.group,
            "mode": scheme.mode.value,
            "turnover": money.plain(turnover),
            "from": money.plain(reached.start),
            "to": None if reached.end is None else money.plain(reached.end),
            "percent": money.plain(reached.percent),
            "missing": None if reached.end is None else money.plain(money.subtract(reached.end, turnover)),
            "commission": money.plain(money.subtract(now, before)),
            "steps": [_step(one) for of_scheme in stacked(turnovers) for one in of_scheme],
        }


def _charges(period: Period, own: Months) -> set[_Charge]:
    """Return the charges with tiers of which an account has turnover in the span of a period, up to it."""
    found = ((month, _charge(key)) for month, charges in own.items() if month <= period for key in charges.turnover)
    return {charge for month, charge in found if charge.per.first(period) <= month}


def _step(tier: Tier) -> "api.TierSoFar":
    return {
        "from": money.plain(tier.start),
        "to": None if tier.end is None else money.plain(tier.end),
        "percent": money.plain(tier.percent),
        "turnover": money.plain(tier.turnover),
        "commission": money.plain(tier.commission),
    }


def _cost(charge: _Charge, own: Months, of_group: Months, span: Sequence[Period]) -> Decimal:
    """Return what the turnover of some months costs the account: of a group's, its share by its own turnover."""
    counting = own if charge.group is None else of_group
    of_account = dict(_turnovers(charge, own, span))
    found = shares(_turnovers(charge, counting, span), of_account)
    return money.total(tier.commission for _, tiers in found for tier in tiers)


def _turnovers(charge: _Charge, months: Months, span: Sequence[Period]) -> list[tuple[str, Decimal]]:
    """Return the turnover of a charge by the text of its definitions, in the order of their first events."""
    counted = _counted(charge, months, span)
    ordered = sorted(counted.turnover, key=lambda key: (counted.since.get(key, ""), key))
    return [(key.partition(OF_SCHEME)[2], counted.turnover[key]) for key in ordered]


def _counted(charge: _Charge, months: Months, span: Sequence[Period]) -> ChargeTotals:
    """Return the turnover of a charge in some months."""
    found = sum((months.get(month, NO_CHARGE_TOTALS) for month in span), NO_CHARGE_TOTALS)
    return ChargeTotals({}, {key: of for key, of in found.turnover.items() if _charge(key) == charge}, found.since)


def _charge(key: str) -> _Charge:
    name, scheme = _parsed(key)
    return _Charge(name, scheme.per, scheme.group)


def _parsed(key: str) -> tuple[str, Scheme]:
    name, _, text = key.partition(OF_SCHEME)
    return name, scheme_of(text)


def _months(first: Period, last: Period) -> list[Period]:
    found = [first]
    while found[-1] < last:
        found.append(found[-1].next)
    return found
