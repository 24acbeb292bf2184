"""The map of a row to a line of a payment provider: the `[[provider_line]]` of a map."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from quarterhour.file_formats.csv.cells import Cells
from quarterhour.file_formats.csv.compiler import CURRENCY, Compiler, Value
from quarterhour.file_formats.csv.errors import MapError
from quarterhour.file_formats.csv.event_map import EventMap
from quarterhour.file_formats.csv.sections import Section
from quarterhour.ledger.events.event import ADJUSTMENT, REFUND, SALE
from quarterhour.model.charges import COMMISSION, charge_name

KINDS: Final = ("sale", "refund", "adjustment", "payout")
"""The kinds of a provider's lines."""
EXTRA: Final = "extra"
CHARGES: Final = "charges"
"""Begins the field of a ledger's line that is one of its charges, by name."""
_KIND_OF_EVENT: Final = {SALE: "sale", REFUND: "refund", ADJUSTMENT: "adjustment"}
_KEYS: Final = (("order_id", "line"), ("order_id",))
"""The fields by which the events of a map are matched: the first of which each event has all; else their `id`."""
MATCHED_FIELDS: Final = (
    *("source", "id", "order_id", "line", "product", "customer", "statement", "reason", "refers_to", "location"),
)
"""The fields of the ledger's lines by which a provider's lines are matched, beside those in `extra`."""


@dataclass(frozen=True, slots=True)
class ProviderLineMap:
    """Converts a row into a line of a payment provider, if `when` is true.

    `name` is the provider's own name of the line. A line without `amount` is a fee alone. `match` has, by field of the
    ledger's lines, what the line of the ledger has there, and `sale` the same of the sale that a refund refers to.
    `texts` has the currency, and the agency and the currency of the fee if the map names them. `money` are the columns
    of its amounts of money, and `formula` is the text of its amount and currency.
    """

    when: Callable[[Cells], bool]
    kind: str
    name: Value
    amount: Callable[[Cells], Decimal] | None
    fee: Callable[[Cells], Decimal] | None
    time: Callable[[Cells, Decimal], datetime] | None
    texts: dict[str, Value]
    match: dict[str, Value]
    sale: dict[str, Value]
    money: frozenset[str]
    formula: str


@dataclass(frozen=True, slots=True)
class ProviderMap:
    """The lines of a payment provider. `match` has the fields by which each kind of line is matched.

    `fee_field` is the field of the ledger's lines that holds the provider's fee.
    """

    provider: str
    fee_field: str
    lines: list[ProviderLineMap]
    match: dict[str, tuple[str, ...]]


def provider_line_map(line: Section, compiler: Compiler) -> ProviderLineMap:
    """Return the map of a `[[provider_line]]`; raise `MapError` if it is invalid."""
    with line, line.section("match") as match, line.section("sale") as sale:
        kind = line.text("kind")
        if kind not in KINDS:
            raise MapError(line.path("kind"), f"must be one of {', '.join(KINDS)}")
        if not match.names():
            raise MapError(match.name, "must name a field of the ledger's lines, such as order_id")
        if "amount" not in line and "fee" not in line:
            raise MapError(line.path("amount"), "is missing: a line has an amount, a fee, or both")
        compiler.money = set()
        formula = f"{line.peek('amount')} {line.peek(CURRENCY)}"
        return ProviderLineMap(
            when=compiler.tests(line, "when"),
            kind=kind,
            name=compiler.value(line, "name", compiler.text),
            amount=compiler.money_amount(line.text("amount"), line.path("amount")) if "amount" in line else None,
            fee=compiler.number(line.text("fee"), line.path("fee")) if "fee" in line else None,
            time=compiler.time(line) if "time" in line else None,
            texts={
                name: compiler.value(line, name, compiler.text)
                for name in (CURRENCY, "fee_currency", "agency")
                if name in line or name == CURRENCY
            },
            match=_fields_of_ledger(match, compiler),
            sale=_fields_of_ledger(sale, compiler),
            money=frozenset(compiler.money),
            formula=formula,
        )


def _fields_of_ledger(section: Section, compiler: Compiler) -> dict[str, Value]:
    """Return the values of a section by field of the ledger's lines, in the order of the fields."""
    found = {}
    if EXTRA in section:
        with section.section(EXTRA) as extra:
            found = {f"{EXTRA}.{name}": compiler.value(extra, name, compiler.text) for name in extra.names()}
    for name in section.names():
        if name not in MATCHED_FIELDS:
            raise MapError(section.path(name), f"is no field to match: {', '.join(MATCHED_FIELDS)}, {EXTRA}.NAME")
        found[name] = compiler.value(section, name, compiler.text)
    return dict(sorted(found.items()))


def is_fee_field(name: str) -> bool:
    """Return whether a field of the ledger's lines can hold the provider's fee."""
    prefix, dot, member = name.partition(".")
    return name == COMMISSION or (
        bool(dot) and (prefix == EXTRA or (prefix == CHARGES and charge_name(member) == member))
    )


def provider_map(provider: str, fee_field: str, lines: list[ProviderLineMap]) -> ProviderMap:
    """Return the whole map; raise `MapError` if a kind is matched by different fields."""
    match: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(lines, 1):
        names = tuple(line.match)
        if match.setdefault(line.kind, names) != names:
            expected = ", ".join(match[line.kind])
            raise MapError(
                f"provider_line[{number}].match", f"must have the fields of the other {line.kind}: {expected}"
            )
    for number, line in enumerate(lines, 1):
        if line.sale and tuple(line.sale) != match.get("sale"):
            expected = ", ".join(match.get("sale", ())) or "none, as the map has no sale"
            raise MapError(f"provider_line[{number}].sale", f"must have the fields by which sales match: {expected}")
    return ProviderMap(provider, fee_field, lines, match)


def provider_of_events(provider: str, events: Sequence[EventMap]) -> ProviderMap:
    """Return the lines that the events of a map are; raise `MapError` if one has no amount."""
    events = [event for event in events if not event.rule]
    key = next((key for key in _KEYS if all(set(key) <= event.data.keys() for event in events)), ("id",))
    lines = []
    for number, event in enumerate(events, 1):
        if event.amount is None and "refers_to" in event.data:
            continue  # a void, which a provider does not have
        if event.amount is None:
            raise MapError(f"event[{number}].data.amount", "is missing: a line has an amount")
        lines += [_line_of_event(event, event.amount, type_, key) for type_ in _KIND_OF_EVENT]
    return provider_map(provider, f"{EXTRA}.fee", lines)


def _line_of_event(
    event: EventMap, amount: Callable[[Cells], Decimal], type_: str, key: tuple[str, ...]
) -> ProviderLineMap:
    """Return the line that an event of one type is."""
    kind, type_of = _KIND_OF_EVENT[type_], event.envelope["type"]
    match = {name: event.envelope.get(name) or event.data[name] for name in key}
    return ProviderLineMap(
        when=lambda cells: event.when(cells) and type_of(cells, amount(cells)) == type_,
        kind=kind,
        name=event.envelope["id"],
        amount=amount,
        fee=None,
        time=event.time,
        texts={CURRENCY: event.data[CURRENCY], "agency": event.envelope["subject"]},
        match=match,
        sale={} if kind == "sale" or key == ("id",) else match,
        money=event.money,
        formula=event.formula,
    )
