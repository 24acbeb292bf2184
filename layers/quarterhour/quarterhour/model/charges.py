"""Charges: the named parts of a commission, as a posting and a sealed line store them in one text.

The text has an entry for each charge, joined by ``;``: ``commission:8.00;payment fee:1.65``. A charge with tiers
depends on the turnover of a whole period, so a line has what counts as its turnover, with the whole definition of the
tiers: ``commission:125.00@month/account/graduated/0=12/10000=10``. The text is empty if the commission has no other
part than ``commission``, without tiers. So lines are added up by name and definition from their texts alone.
"""

import re
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Final, NamedTuple

from quarterhour.model import fields, money

COMMISSION: Final = "commission"
"""The name of the charge of a rule that names none."""
MAX_CHARGES: Final = 8
"""The most charges of a rate card, by name."""
MAX_NAME: Final = 40
"""The most characters of a name."""
NAME: Final = f"""1 to {MAX_NAME} printable characters without : ; = , @ / " ', a letter or digit first"""
_LETTERS: Final = (
    r"0-9A-Za-z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u1fff\u2c00-\u2dff\u3040-\ufdff"
    r"\ufe70-\ufeff\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\uff66-\uffdc\U00010000-\U0001efff\U00020000-\U0003ffff"
)
# A text, compiled when the first name is read: its ranges take some milliseconds, and most starts read no rate card.
_NAME: Final = rf"""[{_LETTERS}][^:;=,@/"']*"""
_ENTRY, _VALUE, _SCHEME = ";", ":", "@"


class Charges(NamedTuple):
    """What a line, or some lines together, are charged.

    ``amounts``: by the names of charges; their sum is the commission. ``turnover``: the signed amounts that count for
    tiers, by the name of the charge and the definition of its tiers.
    """

    amounts: Mapping[str, Decimal]
    turnover: Mapping[tuple[str, str], Decimal]

    @property
    def commission(self) -> Decimal:
        """The sum of the charges that are fixed."""
        return money.total(self.amounts.values())

    @property
    def is_plain(self) -> bool:
        """Whether there is no other charge than ``commission``, and none with tiers."""
        return not self.turnover and self.amounts.keys() <= {COMMISSION}


NO_CHARGES: Final = Charges({}, {})


def total(charges: Iterable[Charges]) -> Charges:
    """Return the sums of charges, by name; and of turnover, by name and definition."""
    amounts: dict[str, Decimal] = {}
    turnover: dict[tuple[str, str], Decimal] = {}
    for one in charges:
        for name, amount in one.amounts.items():
            amounts[name] = money.add(amounts.get(name, money.ZERO), amount)
        for key, counted in one.turnover.items():
            turnover[key] = money.add(turnover.get(key, money.ZERO), counted)
    return Charges(amounts, turnover)


def negated(charges: Charges) -> Charges:
    """Return the charges that take others back."""
    return Charges(
        {name: money.negated(amount) for name, amount in charges.amounts.items()},
        {key: money.negated(counted) for key, counted in charges.turnover.items()},
    )


def charge_name(value: object) -> str | None:
    """Parse the name of a charge into its one form."""
    name = fields.label(value)
    return name if name and len(name) <= MAX_NAME and re.fullmatch(_NAME, name) else None


def write_charges(charges: Charges) -> str:
    """Return the text of charges, the amounts first; empty if they are plain."""
    if charges.is_plain:
        return ""
    amounts = (f"{name}{_VALUE}{money.plain(amount)}" for name, amount in charges.amounts.items())
    turnover = (
        f"{name}{_VALUE}{money.plain(counted)}{_SCHEME}{scheme}" for (name, scheme), counted in charges.turnover.items()
    )
    return _ENTRY.join((*amounts, *turnover))


def read_charges(text: str, commission: Decimal) -> Charges:
    """Return the charges in the text of a line with a commission, all of which is ``commission`` if the text is empty.

    Raises ``ValueError`` for a text that ``write_charges`` does not return, or whose amounts are not the commission.
    """
    if not text:
        return Charges({COMMISSION: commission}, {})
    amounts: dict[str, Decimal] = {}
    turnover: dict[tuple[str, str], Decimal] = {}
    for entry in text.split(_ENTRY):
        name, _, value = entry.partition(_VALUE)
        number, of_tiers, scheme = value.partition(_SCHEME)
        figure = money.parse_decimal(number)
        is_new = (name, scheme) not in turnover if of_tiers else name not in amounts
        if figure is None or not is_new or charge_name(name) != name or bool(of_tiers) != bool(scheme):
            raise ValueError(f"{text!r} are no charges of a line")
        if of_tiers:
            turnover[name, scheme] = figure
        else:
            amounts[name] = figure
    charges = Charges(amounts, turnover)
    if charges.commission != commission:
        raise ValueError(f"the charges {text!r} are not the commission, {money.plain(commission)}")
    return charges
