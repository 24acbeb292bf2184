"""What tiers charge of a period so far, pure: from the turnover that is counted, as a statement computes it.

A span is a month, a calendar quarter or a year. Of a longer one, a period is charged what its turnover so far
costs, less what it cost at the end of the month before. Definitions that priced one turnover one after the other lie on
each other, in the order of their first events.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Context, Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Final, NamedTuple, cast

from quarterhour.model import money
from quarterhour.model.charge_totals import NO_CHARGE_TOTALS, OF_SCHEME, ChargeTotals
from quarterhour.model.periods import Period
from quarterhour.model.tiers import Per, Scheme, Tier, scheme_of, stacked
from quarterhour.model.totals import Totals, figures

if TYPE_CHECKING:
    from quarterhour.counters import api

Months = Mapping[Period, ChargeTotals]
"""The turnover that is counted of an account, or of a group, by month."""
_PLACES: Final = 10
"""The decimal places of a share of what a group is charged, which is seldom a decimal."""


class _Charge(NamedTuple):
    """A charge with tiers: its name, the span of its turnover, and the group whose turnover it is (``None``: none)."""

    name: str
    per: Per
    group: str | None


def months_of(period: Period, charges: ChargeTotals) -> Iterator[Period]:
    """Yield the months before a period whose turnover counts for the tiers that priced its events, with repetitions."""
    for key in charges.turnover:
        month = _parsed(key)[1].per.first(period)
        while month < period:
            yield month
            month = month.next


def has_groups(charges: ChargeTotals) -> bool:
    """Return whether the turnover of a group decides what is charged."""
    return any(_parsed(key)[1].group is not None for key in charges.turnover)


def charged(period: Period, totals: Totals, own: Months, of_group: Months) -> "api.ChargedTotals":
    """Return the totals of a period as the API shows them, with what tiers charge of it so far.

    ``own``: the turnover of the account in the spans up to the period; ``of_group``: that of all accounts in its
    currency.
    """
    shown = cast("api.ChargedTotals", figures(totals))
    if totals.charges.turnover:
        tiers = list(_so_far(period, own, of_group))
        shown["tiers"] = tiers
        whole = money.total(Decimal(one["commission"]) for one in tiers)
        shown["charged"] = money.plain(money.add(totals.commission, whole))
    return shown


def _so_far(period: Period, own: Months, of_group: Months) -> Iterator["api.TiersSoFar"]:
    charges = {_charge(key): None for key in own.get(period, NO_CHARGE_TOTALS).turnover}
    for charge in sorted(charges, key=lambda one: (one.name, one.per, one.group or "")):
        span = _months(charge.per.first(period), period)
        counting = own if charge.group is None else of_group
        tiers = _tiers(charge, counting, span)
        turnover = money.total(one.turnover for _, of_scheme in tiers for one in of_scheme)
        scheme = tiers[-1][0]
        reached = scheme.reached(turnover)
        cost = _cost(charge, own, of_group, span) - _cost(charge, own, of_group, span[:-1])
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
            "commission": _decimal(cost),
            "steps": [_step(one) for _, of_scheme in tiers for one in of_scheme],
        }


def _step(tier: Tier) -> "api.TierSoFar":
    return {
        "from": money.plain(tier.start),
        "to": None if tier.end is None else money.plain(tier.end),
        "percent": money.plain(tier.percent),
        "turnover": money.plain(tier.turnover),
        "commission": money.plain(tier.commission),
    }


def _cost(charge: _Charge, own: Months, of_group: Months, span: Sequence[Period]) -> Fraction:
    """Return what the turnover of some months costs the account: of a group's, its share by its own turnover."""
    if charge.group is None:
        return _commission(_tiers(charge, own, span))
    of_own, of_all = (_turnover(charge, one, span) for one in (own, of_group))
    whole = _commission(_tiers(charge, of_group, span))
    return whole * Fraction(of_own) / Fraction(of_all) if of_all else Fraction(0)


def _commission(tiers: Sequence[tuple[Scheme, Sequence[Tier]]]) -> Fraction:
    return Fraction(money.total(one.commission for _, of_scheme in tiers for one in of_scheme))


def _tiers(charge: _Charge, months: Months, span: Sequence[Period]) -> list[tuple[Scheme, list[Tier]]]:
    """Return the definitions of a charge in the order of their first events, each with the tiers of its turnover."""
    counted = _counted(charge, months, span)
    turnovers = [
        (scheme_of(key.partition(OF_SCHEME)[2]), counted.turnover[key])
        for key in sorted(counted.turnover, key=lambda key: (counted.since.get(key, ""), key))
    ]
    schemes = [scheme for scheme, _ in turnovers]
    return list(zip(schemes, stacked(turnovers), strict=True))


def _turnover(charge: _Charge, months: Months, span: Sequence[Period]) -> Decimal:
    return money.total(_counted(charge, months, span).turnover.values())


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


def _decimal(exact: Fraction) -> str:
    """Return a fraction as a decimal text: exact if it is one of few places, else rounded."""
    units = Context(prec=120).scaleb(Decimal(round(exact * 10**_PLACES)), -_PLACES)
    return money.plain(money.trimmed(units))
