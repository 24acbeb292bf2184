"""The map of a row to an event: the `[[event]]` of a map."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from quarterhour.file_formats.csv.cells import Cells
from quarterhour.file_formats.csv.compiler import CURRENCY, ROW, Compiler, Value
from quarterhour.file_formats.csv.row_map import rule_name
from quarterhour.file_formats.csv.sections import Section
from quarterhour.ledger.events.event import DETAILS, OF_CORRECTIONS, RUNNING_TOTAL, STATEMENT, VIEW, VOID

ENVELOPE: Final = ("id", "source", "type", "subject")
_OPTIONAL: Final = (RUNNING_TOTAL,)


@dataclass(frozen=True, slots=True)
class EventMap:
    """Converts a row into one event, if `when` is true. A `Value` is a text that may depend on the amount's sign.

    With a `rule`, the event is left out under that name, and has an amount and a currency alone. A map of voids has no
    `amount`. `money` are the columns of its amounts of money, and `formula` is the text of its
    amount and currency. `by_row`: whether the id holds the row's number.
    """

    when: Callable[[Cells], bool]
    amount: Callable[[Cells], Decimal] | None
    time: Callable[[Cells, Decimal], datetime] | None
    envelope: dict[str, Value]
    data: dict[str, Value]
    extra: dict[str, Value]
    money: frozenset[str]
    formula: str
    by_row: bool
    rule: str = ""


def event_map(event: Section, compiler: Compiler) -> EventMap:
    """Return the map of an `[[event]]`; raise `MapError` if it is invalid."""
    if "rule" in event:
        return _left_out(event, compiler)
    with event, event.section("data") as data, data.section("extra") as extra:
        is_view = event.is_text("type", VIEW)
        has_amount = "amount" in data or not (is_view or event.is_text("type", VOID))
        compiler.money = set()
        formula = f"{data.peek('amount')} {data.peek('currency')}"
        by_row = f"{{{ROW}}}" in str(event.peek("id"))
        return EventMap(
            when=compiler.tests(event, "when"),
            amount=compiler.money_amount(data.text("amount"), data.path("amount")) if has_amount else None,
            time=compiler.time(event) if "time" in event else None,
            envelope={
                name: compiler.value(event, name, compiler.text)
                for name in (*ENVELOPE, *_OPTIONAL)
                if name in event or name in ENVELOPE
            },
            data={
                name: compiler.value(data, name, compiler.maker(name))
                for name in ("currency", "commission_rate", "commission", "kind", STATEMENT, *DETAILS, *OF_CORRECTIONS)
                if name in data or (name == "currency" and not is_view)
            },
            extra={name: compiler.value(extra, name, compiler.text) for name in extra.names()},
            money=frozenset(compiler.money),
            formula=formula,
            by_row=by_row,
        )


def _left_out(event: Section, compiler: Compiler) -> EventMap:
    """Return the map of an `[[event]]` with a rule: a part of a row that is left out under the rule's name."""
    with event, event.section("data") as data:
        formula = f"{data.peek('amount')} {data.peek(CURRENCY)}"
        return EventMap(
            when=compiler.tests(event, "when"),
            amount=compiler.money_amount(data.text("amount"), data.path("amount")),
            time=None,
            envelope={},
            data={CURRENCY: compiler.value(data, CURRENCY, compiler.text)},
            extra={},
            money=frozenset(),
            formula=formula,
            by_row=False,
            rule=rule_name(event, "rule"),
        )
