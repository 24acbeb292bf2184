"""The rows of a file from which a map is proposed, and the parts that its columns play."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from quarterhour.file_formats.csv.column_names import INVOICES, NET, PARTS, ROLES, names_a_payment, plain, without_code
from quarterhour.file_formats.csv.columns import Column


class Amount(NamedTuple):
    """The amount of an event: its formula, `None` if there is a choice, and the columns of money."""

    formula: str | None
    money: list[Column]
    certain: str = ""
    check: str = ""


@dataclass(frozen=True)
class Sample:
    """The header of a file, its rows without totals, the rows of totals, the columns that a map can name, the stem.

    `stem` is the name of the file as a source of events. `chosen` has the columns that a person has named, by the parts
    of an event.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    totals: Sequence[Sequence[str]]
    columns: Sequence[Column]
    stem: str
    chosen: Mapping[str, str] = field(default_factory=dict)

    def named(self, role: str, *, numeric: bool = False) -> Column | None:
        """Return the column that was chosen for a role, or that with the best name for it; `None` if there is none."""
        return self.choice(role) or self._first_named(ROLES[role], numeric=numeric)

    def choice(self, part: str) -> Column | None:
        """Return the column that a person has chosen for a part of an event."""
        return next((one for one in self.columns if one.name == self.chosen.get(part)), None)

    @property
    def parts(self) -> dict[str, str]:
        """The columns that play the parts of an event, by part; those without one are left out."""
        found = {part: self.named(part, numeric=part in self.figures) for part in PARTS if part in ROLES}
        found |= {"time": self.times[0] if len(self.times) == 1 else None, "currency": self.currency}
        found["amount"] = self.amount.money[0] if self.amount.formula and len(self.amount.money) == 1 else None
        return {part: column.name for part, column in found.items() if column}

    def _first_named(self, names: Iterable[str], *, numeric: bool = False) -> Column | None:
        for name in names:
            for one in self.columns:
                if plain(one.name) == name and (one.is_number or not numeric):
                    return one
        return None

    def cells(self, column: Column) -> list[str]:
        """Return the cells of a column, empty in place of its faults."""
        place = self.header.index(column.name)
        return ["" if (cell := row[place].strip()) in column.faults else cell for row in self.rows]

    @cached_property
    def _payments(self) -> list[bool]:
        """Whether each kind of row is one of payments; empty if the rows have no kinds."""
        kind = self.named("kind")
        return [names_a_payment(one) for one in (kind.values if kind and kind.values else ())]

    @cached_property
    def statement(self) -> Column | None:
        """The column of the statement that a payment pays."""
        return self.named("statement") or (self._first_named(INVOICES) if any(self._payments) else None)

    @property
    def is_certain(self) -> bool:
        """Whether the name of a column says that it names a statement."""
        return self.named("statement") is not None

    @property
    def pays(self) -> bool:
        """Whether all rows are payments of statements."""
        return bool(self.statement and self._payments and all(self._payments))

    @cached_property
    def amount(self) -> Amount:
        """The amount of an event, and the reason for this choice."""
        if column := self.choice("amount"):
            return Amount(f"{{{column.name}}}", [column], certain=f"{column.name!r} is the amount")
        numbers = [one for one in self.columns if one.is_number]
        fitting = [one for one in numbers if without_code(one.name) in ROLES["amount"]]
        others = [one for one in numbers if (one.fractions or one.signs) and one not in fitting]
        unread = [one for one in self.columns if without_code(one.name) in ROLES["amount"] and not one.is_number]
        if len(fitting) == 1 and (others or unread) and without_code(fitting[0].name) in NET:
            return Amount(None, [*fitting, *others])
        if len(fitting) == 1:
            return Amount(f"{{{fitting[0].name}}}", fitting, certain=f"{fitting[0].name!r} is the amount")
        quantity, price = self.named("quantity", numeric=True), self.named("unit_price", numeric=True)
        if not fitting and quantity and price:
            check = f"the amount is {quantity.name!r} times {price.name!r}"
            return Amount(f"{{{quantity.name}}} * {{{price.name}}}", [price], check=check)
        alone = [one for one in numbers if one.fractions or one.signs]
        if not fitting and len(alone) == 1:
            check = f"{alone[0].name!r} is the amount: no other column has numbers with fractions"
            return Amount(f"{{{alone[0].name}}}", alone, check=check)
        return Amount(None, fitting or alone)

    @property
    def figures(self) -> dict[str, Column]:
        """The columns of quantity and unit price; payments have none."""
        found = {name: None if self.pays else self.named(name, numeric=True) for name in ("quantity", "unit_price")}
        return {name: column for name, column in found.items() if column}

    @property
    def numbers(self) -> list[Column]:
        """The columns whose numbers the map reads."""
        return [*self.amount.money, *self.figures.values()]

    @cached_property
    def times(self) -> list[Column]:
        """The columns that may be the time of an event, one if that is certain: it lacks none that another one has."""
        if column := self.choice("time"):
            return [column]
        times = [one for one in self.columns if one.is_time]
        best = [one for name in ROLES["time"] for one in times if plain(one.name) == name]
        whole = [one for one in times if one.filled == len(self.rows)]
        lacking = [one for one in best[:1] if one.filled + one.faults.total() < len(self.rows)]
        return [*lacking, *whole] if lacking else best[:1] or times

    @cached_property
    def currency(self) -> Column | None:
        """The column of the currency."""
        if column := self.choice("currency"):
            return column
        fitting = [one for one in self.columns if one.is_currency]
        return next((one for one in fitting if plain(one.name) == "currency"), fitting[0] if fitting else None)
