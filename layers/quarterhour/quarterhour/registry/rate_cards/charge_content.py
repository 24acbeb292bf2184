"""The charges in the content of a rate card's document: their schema, and what is refused when it is written."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final

from quarterhour.model import fields, money
from quarterhour.model.charges import COMMISSION, MAX_CHARGES, charge_name
from quarterhour.model.charges import NAME as CHARGE_NAME
from quarterhour.model.errors import FieldProblem
from quarterhour.model.fields import Fields
from quarterhour.model.tiers import MAX_STEPS, Mode, Per, Scheme, Step
from quarterhour.registry.rate_cards.charge import (
    ACCOUNT,
    AMOUNT,
    GROUP,
    ITEM,
    ORDER,
    PARTS,
    AmountPart,
    LineCharge,
    MonthlyCharge,
    PartMonths,
    Refund,
)

AnyCharge = LineCharge | MonthlyCharge
MAX_DECIMALS: Final = 6
_FEE: Final = f"0 or more, {fields.AMOUNT}"
_MONEY: Final = ("fixed", "minimum", "maximum")
SHORT: Final = frozenset({"percent", *_MONEY})
"""The entries of a rule without charges, which are those of one charge, `commission`."""
_OF_PERCENT: Final = frozenset({*SHORT, "fixed_per", "decimals"})
_OF_LINES: Final = frozenset({"name", "of", "refund", "tiers", *_OF_PERCENT})
_OF_MONTHS: Final = frozenset({"name", "amount", "minimum", "per", "part_months"})
_TIERS: Final = frozenset({"per", "of", "mode", "steps"})
_MONTH: Final = "month"
_LISTED: Final = f"a list of 1 to {MAX_CHARGES} charges"
_NEEDED: Final = "percent, fixed, minimum, tiers, or an amount per month"


def read_charges(rule: Mapping[str, Any], inner: Fields, prefix: str, currency: str | None) -> list[AnyCharge]:
    """Return the charges of a rule; those with a problem, which is added to the rule's, are left out."""
    if rule.get("charges") is None:
        short = {field: rule[field] for field in rule.keys() & SHORT}
        charge = _read_charge(short, Fields(short, prefix, inner.problems), COMMISSION, currency)
        return [charge] if charge else []
    for field in inner.given(SHORT):
        inner.problem(field, "is given with charges", f"it within the charge {COMMISSION}")
    listed = inner.value("charges", _LISTED, _listed) or []
    read: list[AnyCharge] = []
    names: set[str] = set()
    for number, value in enumerate(listed):
        place = f"{prefix}charges[{number}]"
        if not isinstance(value, Mapping):
            inner.problems.append(FieldProblem(place, "is not an object", "an object with name"))
            continue
        of = Fields(value, f"{place}.", inner.problems)
        name = of.value("name", CHARGE_NAME, charge_name)
        charge = _read_charge(value, of, name or "", currency)
        if name in names:
            of.problem("name", "is that of another charge of the rule", "one charge of a name")
        names |= {name} if name else set()
        read += [charge] if charge else []
    return read


def _read_charge(value: Mapping[str, Any], of: Fields, name: str, currency: str | None) -> AnyCharge | None:
    before = len(of.problems)
    is_monthly = value.get("per") is not None or value.get("amount") is not None
    charge = _read_monthly(of, name) if is_monthly else _read_line(value, of, name)
    given = [one for one in ("amount", *_MONEY) if value.get(one) is not None]
    if currency is None and given:
        of.problem(given[0], "is given without a currency", "the currency of the rule")
    return charge if len(of.problems) == before else None


def _read_monthly(of: Fields, name: str) -> MonthlyCharge:
    of.report_unknown(_OF_MONTHS)
    of.value("per", _MONTH, lambda one: one if one == _MONTH else None)
    amount, minimum = (of.value(one, _FEE, _fee, optional=True) for one in ("amount", "minimum"))
    if (amount is None) is (minimum is None):
        of.problem("amount", "is missing" if amount is None else "is given with minimum", "amount or minimum")
    part = of.value("part_months", " or ".join(PartMonths), PartMonths, optional=True)
    if part and amount is None:
        of.problem("part_months", "is given without an amount", "an amount per month")
    return MonthlyCharge(name, amount, minimum, part or PartMonths.WHOLE)


def _read_line(value: Mapping[str, Any], of: Fields, name: str) -> LineCharge | None:
    of.report_unknown(_OF_LINES)
    part: AmountPart = of.value("of", " or ".join(PARTS), _one_of(PARTS), optional=True) or AMOUNT
    refund = of.value("refund", " or ".join(Refund), Refund, optional=True) or Refund.SHARE
    if refund is Refund.KEEP_FIXED and value.get("fixed") is None:
        of.problem("refund", "is keep_fixed without fixed", "fixed, or share or keep")
    if value.get("tiers") is not None:
        return _read_tiered(of, name, part, refund)
    percent = of.value("percent", fields.PERCENT, fields.percent, optional=True)
    fixed, least, most = (of.value(one, _FEE, _fee, optional=True) for one in _MONEY)
    if percent is fixed is least is None and not of.given({"percent", "fixed", "minimum"}):
        of.problem("percent", "is missing", _NEEDED)
    per = of.value("fixed_per", f"{ITEM} or {ORDER}", _one_of((ITEM, ORDER)), optional=True)
    if per and fixed is None:
        of.problem("fixed_per", "is given without fixed", "fixed")
    decimals = of.value("decimals", f"a whole number from 0 to {MAX_DECIMALS}", _decimals, optional=True)
    for field, figure in zip(_MONEY, (fixed, least, most), strict=True):
        if decimals is not None and figure is not None and money.places(money.trimmed(figure)) > decimals:
            of.problem(field, f"is {money.plain(figure)}", f"at most {decimals} places, as decimals says")
    if least is not None and most is not None and least > most:
        of.problem("minimum", f"is {money.plain(least)}", f"the maximum, {money.plain(most)}, or less")
    return LineCharge(name, percent or money.ZERO, part, fixed, per or ITEM, least, most, refund, decimals)


def _read_tiered(of: Fields, name: str, part: AmountPart, refund: Refund) -> LineCharge | None:
    for field in of.given(_OF_PERCENT):
        of.problem(field, "is given with tiers", "a charge of its own for it")
    tiers = of.value("tiers", "an object with per, of, mode and steps", _object)
    if tiers is None:
        return None
    inner = of.within("tiers", tiers)
    inner.report_unknown(_TIERS)
    per = inner.value("per", ", ".join(Per), Per)
    whose = inner.value("of", f"{ACCOUNT} or {GROUP}", _one_of((ACCOUNT, GROUP)), optional=True)
    mode = inner.value("mode", " or ".join(Mode), Mode)
    steps = inner.value("steps", f"a list of 1 to {MAX_STEPS} steps, each with from and percent", _steps)
    if not (per and mode and steps):
        return None
    try:
        scheme = Scheme(per, None, mode, steps)
    except ValueError as error:
        inner.problem("steps", "have a gap, overlap or do not rise", str(error))
        return None
    return LineCharge(name, of=part, refund=refund, scheme=scheme, of_group=whose == GROUP)


def _steps(value: object) -> tuple[Step, ...] | None:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_STEPS:
        return None
    return tuple(_step(number, one) for number, one in enumerate(value))


def _step(number: int, value: object) -> Step:
    if not isinstance(value, Mapping) or value.keys() != {"from", "percent"}:
        raise ValueError(f"have no from and percent in [{number}]")
    start, percent = _fee(value["from"]), fields.percent(value["percent"])
    if start is None:
        raise ValueError(f"have {fields.shown(value['from'])} as from in [{number}]")
    if percent is None:
        raise ValueError(f"have {fields.shown(value['percent'])} as percent in [{number}], not {fields.PERCENT}")
    return Step(money.trimmed(start), money.trimmed(percent))


def _one_of(choices: tuple[str, ...]) -> Any:  # noqa: ANN401 - a parser of fields
    return lambda value: value if value in choices else None


def _object(value: object) -> Mapping[str, Any] | None:
    return value if isinstance(value, Mapping) else None


def _listed(value: object) -> list[object] | None:
    return value if isinstance(value, list) and 1 <= len(value) <= MAX_CHARGES else None


def _decimals(value: object) -> int | None:
    number = fields.whole(Decimal(value) if type(value) is int else value)
    return number if number is not None and number <= MAX_DECIMALS else None


def _fee(value: object) -> Decimal | None:
    fee = money.parse_decimal(value)
    return fee if fee is not None and fee >= 0 else None
