"""The questions about a file whose answers make a map: one function for each, which returns what the rows show.

A function returns an entry that is a question where the rows do not decide. It never decides by what is usual.
"""

import json
import re
from collections.abc import Callable, Sequence
from typing import Final

from quarterhour.file_formats.csv.column_names import (
    LIKELY_CURRENCIES,
    ROLES,
    code_at_end,
    names_a_fee,
    names_a_total,
    plain,
)
from quarterhour.file_formats.csv.columns import PLACEHOLDERS, Column
from quarterhour.file_formats.csv.doubts import repeats_on_items, zone_of
from quarterhour.file_formats.csv.numbers import (
    BRACKETS,
    EITHER,
    NEGATIVE_FORMS,
    OPEN,
    TRAILING_MINUS,
    NumberForm,
    code_of,
    signs,
)
from quarterhour.file_formats.csv.proposal import Answer, MapEntry, Proposal, braced, quoted
from quarterhour.file_formats.csv.sample import Sample
from quarterhour.ledger.events.event import PAYMENT, STATEMENT
from quarterhour.model import money

_NUMBERS: Final = "[numbers]"
_CURRENCIES: Final = "[numbers.currencies]"
_EVENT: Final = "[[event]]"
_DATA: Final = "[event.data]"
_EXTRA: Final = "[event.data.extra]"
_NO_AGENCY: Final = "42"
_GROUP: Final = 3
"""The digits between two separators of thousands."""


def faults(sample: Sample) -> Answer:
    """Name the cells that cannot be read in the columns that have to be."""
    checks = []
    for one in sample.columns:
        if many := one.faults.total():
            cells = "1 cell" if many == 1 else f"{many:,} cells"
            checks.append(f"{cells} of {one.name!r} cannot be read, such as {next(iter(one.faults))!r}: the row is bad")
    return Answer(checks=tuple(checks))


def which_amount(sample: Sample) -> Answer:
    """Say why a column is the amount."""
    if _may_be_of_the_order(sample):
        return Answer()
    return Answer.of(certain=sample.amount.certain, check=sample.amount.check)


def _may_be_of_the_order(sample: Sample) -> bool:
    read = sample.amount.money
    return len(read) == 1 and not sample.choice("amount") and repeats_on_items(sample, read[0])


def form_of_numbers(sample: Sample) -> Answer:
    """Return the form of the numbers, which all columns of numbers must share."""
    read = sample.numbers
    cells = [cell for one in read for cell in sample.cells(one)]
    joined = Column("")
    for cell in cells:
        if cell and cell not in PLACEHOLDERS:
            joined.add(cell)
    choices = joined.numbers.choices()
    answer = _separators(choices, cells) if read else Answer()
    text = "\n".join(cells)
    negative = [BRACKETS] * ("(" in text) + [TRAILING_MINUS] * bool(re.search(r"[-\u2212]\W*$", text, re.MULTILINE))
    if negative and choices:
        certain = f"negative numbers are written with {' and '.join(negative)}"
        answer += Answer.of(MapEntry(_NUMBERS, "negative", json.dumps(negative)), certain=certain)
    return answer + Answer(tuple(_currency_of_sign(sample, sign) for sign in sorted(joined.signs if choices else ())))


def _separators(choices: Sequence[NumberForm], cells: Sequence[str]) -> Answer:
    """Return the separators of numbers, by the forms that can read all cells."""
    if not choices:
        return Answer.of(check="the columns of numbers have several forms: correct the file, or the map")
    if len(choices) > 1:
        ways = " or ".join(f"{one.example!r}" for one in choices)
        cell = next(cell for cell in cells if len({_value(one, cell) for one in choices}) > 1)
        question = f"Which form do numbers have: {ways}? The data do not decide it: {cell!r} fits each."
        return Answer.of(
            MapEntry.open(_NUMBERS, "decimal", question, [quoted(one.decimal) for one in choices]),
            MapEntry.open(_NUMBERS, "thousands", question, [quoted(one.thousands) for one in choices]),
        )
    form = choices[0]
    if (form.decimal, form.thousands) == (".", ""):
        return Answer()
    if cell := _other_decimals(form, cells):
        question = (
            f"Do numbers have two forms? {cell!r} has three decimal places by the form {form.example}, others do not. "
            f'With "{EITHER}", each number shows its own, and {cell!r} is a bad row.'
        )
        return Answer.of(
            MapEntry.open(_NUMBERS, "decimal", question, [quoted(EITHER), quoted(form.decimal)]),
            MapEntry.open(_NUMBERS, "thousands", question, ['""', quoted(form.thousands)]),
        )
    return Answer.of(
        MapEntry(_NUMBERS, "decimal", quoted(form.decimal)),
        MapEntry(_NUMBERS, "thousands", quoted(form.thousands)),
        certain=f"numbers have the form {form.example}",
    )


def _other_decimals(form: NumberForm, cells: Sequence[str]) -> str:
    """Return a number such as ``1,234`` that may be a thousand, as only others show the decimal sign of the form."""
    if form.thousands not in {".", ","}:
        return ""
    with_decimals = [(cell, re.search(r"\d*\Z", cell.strip())) for cell in cells if form.decimal in cell]
    lengths = {len(found[0]) for _, found in with_decimals if found}
    alone = [cell for cell, found in with_decimals if found and len(found[0]) == _GROUP and form.thousands not in cell]
    return alone[0] if alone and lengths != {_GROUP} else ""


def _value(form: NumberForm, cell: str) -> object:
    wide = NumberForm(form.decimal, form.thousands, NEGATIVE_FORMS, form.currencies)
    return wide.number(cell) if cell and cell not in PLACEHOLDERS else None


def _currency_of_sign(sample: Sample, sign: str) -> MapEntry:
    """Return the currency of a sign: the only one it can be, or that of the currency column beside it."""
    code = code_of(sign)
    if code == OPEN and sample.currency:
        codes = sample.cells(sample.currency)
        beside = {
            code.upper()
            for one in sample.numbers
            for code, cell in zip(codes, sample.cells(one), strict=True)
            if sign in signs(cell)
        }
        if len(beside) == 1 and money.is_currency(only := beside.pop()):
            code = only
    if code == OPEN:
        likely = quoted(LIKELY_CURRENCIES.get(sign, "USD"))
        return MapEntry.open(_CURRENCIES, quoted(sign), f"Which currency is {sign!r}?", [likely])
    return MapEntry(_CURRENCIES, quoted(sign), quoted(code))


def form_of_times(sample: Sample) -> Answer:
    """Return the form and the zone of the times."""
    if not sample.times:
        return Answer()
    column = sample.times[0]
    choices = column.times.choices()
    if len(choices) > 1:
        question = (
            f"Which form do the times of {column.name!r} have? The data do not decide the order of day and month."
        )
        answer = Answer.of(MapEntry.open("[time]", "formats", question, [json.dumps([one]) for one in choices]))
    else:
        certain = f"{column.name!r} has times of the form {choices[0]}"
        answer = Answer.of(MapEntry("[time]", "formats", json.dumps(choices)), certain=certain)
    if column.all_offsets or "utc" in plain(column.name):
        return answer
    if zone := zone_of(sample):
        return answer + Answer((zone,))
    check = 'the times have no offset: write their zone, such as "Europe/Madrid"; it is UTC here'
    return answer + Answer.of(MapEntry("[time]", "zone", '"UTC"'), check=check)


def placeholders(sample: Sample) -> Answer:
    """Return the texts that stand for an empty cell."""
    found = sorted(PLACEHOLDERS & {cell.strip() for row in sample.rows for cell in row})
    if not found:
        return Answer()
    return Answer.of(MapEntry("[text]", "empty", json.dumps(found)), check=f"these cells are empty: {', '.join(found)}")


def totals(sample: Sample) -> Answer:
    """Return how rows of totals differ from events, if they all are alike."""
    rows, amount = sample.totals, sample.amount
    if not (rows and amount.formula and len(amount.money) == 1):
        return Answer()
    place = next(n for n, cell in enumerate(rows[0]) if names_a_total(cell))
    text, name, column = rows[0][place].strip(), sample.header[place], amount.money[0]
    if all(one.name != name for one in sample.columns) or any(row[place].strip() != text for row in rows):
        return Answer()
    return Answer.of(
        MapEntry("[total]", "when", f"{{ column = {quoted(name)}, equals = {quoted(text)} }}"),
        MapEntry("[total]", "sums", f"{{ {quoted(column.name)} = {braced(column)} }}"),
        check=f"rows with {text!r} are totals, and no events",
    )


def key(sample: Sample) -> Answer:
    """Return the id of an event: a column without repeated values, or columns and the number of rows equal in them.

    The row's number is the last resort, as every row that is put in above changes it.
    """
    columns = [one for one in sample.columns if not (sample.pays and one is sample.statement)]
    chosen = sample.choice("id")
    fitting = [chosen] if chosen else [one for name in ROLES["id"] for one in columns if plain(one.name) == name]
    unique = [one for one in fitting if not one.repeated]
    if unique and unique[0].filled < len(sample.rows):
        missing = len(sample.rows) - unique[0].filled
        question = (
            f"Is {unique[0].name!r} the key of a row? {missing} of {len(sample.rows)} rows have none, and are bad."
        )
        return Answer.of(MapEntry.open(_EVENT, "id", question, [braced(unique[0])]))
    if unique:
        certain = f"{unique[0].name!r} is the key of a row: no value repeats"
        return Answer.of(MapEntry(_EVENT, "id", braced(unique[0])), certain=certain)
    named = fitting[:1] or [
        one for one in (sample.named("subject"), *sample.times[:1], *sample.amount.money[:1]) if one
    ]
    if not fitting and not (sample.times and sample.amount.money):
        return Answer.of(
            MapEntry(_EVENT, "id", quoted(f"{sample.stem}:{{row}}")),
            check="no column is a key, so the id has the row's number: convert only files that never change",
        )
    product = sample.named("product")
    if product and product not in named and all(cell and "#" not in cell for cell in sample.cells(product)):
        named.append(product)
    if fitting:  # an order can have an item twice, at two prices
        named += [one for one in sample.amount.money[:1] if one not in named]
    number = next(name for name in ("item", "number", "n", "ordinal", "nth") if name not in sample.header)
    texts = [*([] if fitting else [sample.stem]), *(f"{{{one.name}}}" for one in named), f"{{{number}}}"]
    shown = ", ".join(repr(one.name) for one in named)
    return Answer.of(
        MapEntry("[counters]", number, json.dumps([one.name for one in named], ensure_ascii=False)),
        MapEntry(_EVENT, "id", quoted(":".join(texts))),
        check=f"no column is a key: the id has {shown} and the number of a row among those that are equal in them",
    )


def source(sample: Sample) -> Answer:
    """Return the source of the events."""
    check = "the source names where the events come from: the same for all files of this origin"
    return Answer.of(MapEntry(_EVENT, "source", quoted(sample.stem)), check=check)


def type_of_events(sample: Sample) -> Answer:
    """Return the type of the events: payments, or sales and refunds by the sign of the amount or by a column."""
    kind = sample.named("kind")
    by_sign = '"sale.recorded"'
    if any(one.negative for one in sample.numbers):
        by_sign = '[{ amount = "< 0", is = "sale.refunded" }, { is = "sale.recorded" }]'
    paid = Answer.of(check="a payment is above 0 if the agency paid, and below 0 if it was paid")
    if kind and sample.pays and sample.is_certain:
        certain = f"the rows are payments, by {kind.name!r}"
        return Answer.of(MapEntry(_EVENT, "type", quoted(PAYMENT)), certain=certain) + paid
    if kind and sample.pays:
        question = f"Are the rows payments of agencies, as {kind.name!r} says, or of their customers, thus sales?"
        return Answer.of(MapEntry.open(_EVENT, "type", question, [quoted(PAYMENT), by_sign])) + paid
    if kind and kind.values and len(kind.values) > 1:
        shown = ", ".join(f"{value} ({count})" for value, count in kind.values.most_common())
        question = f"Which rows of {kind.name!r} are sales and refunds? Choose them with `when`. It has {shown}."
        return Answer.of(MapEntry.open(_EVENT, "type", question, [by_sign]))
    return Answer.of(MapEntry(_EVENT, "type", by_sign))


def agency(sample: Sample) -> Answer:
    """Return the agency of an event."""
    column = sample.named("subject")
    if column is None:
        question = "Which agency made the sales? Name it, or its column."
        return Answer.of(MapEntry.open(_EVENT, "subject", question, [quoted(_NO_AGENCY)]))
    missing = column.filled < len(sample.rows)
    return Answer.of(
        MapEntry(_EVENT, "subject", braced(column)),
        certain=f"{column.name!r} is the agency",
        check=f"{column.name!r} is empty in some rows: they are bad without a default" if missing else "",
    )


def time(sample: Sample) -> Answer:
    """Return the time of an event."""
    if len(sample.times) == 1:
        others = [one.name for one in sample.columns if one.is_time and one is not sample.times[0]]
        return Answer.of(
            MapEntry(_EVENT, "time", braced(sample.times[0])),
            check=f"the time is {sample.times[0].name!r}, and not {' or '.join(map(repr, others))}" if others else "",
        )
    if sample.times:
        question = "Which column is the time of the sale?"
        return Answer.of(MapEntry.open(_EVENT, "time", question, [braced(one) for one in sample.times]))
    named = [one for name in ROLES["time"] for one in sample.columns if plain(one.name) == name]
    if named:
        cell = next(filter(None, sample.cells(named[0])), "")
        question = f"Which form do the times of {named[0].name!r} have? No form that is known reads {cell!r}."
        return Answer.of(
            MapEntry.open("[time]", "formats", question, ['["iso"]']), MapEntry(_EVENT, "time", braced(named[0]))
        )
    return Answer.of(check="no column holds times of one form: the events have no time")


def amount(sample: Sample) -> Answer:
    """Return the amount of an event."""
    formula, read = sample.amount.formula, sample.amount.money
    if formula and _may_be_of_the_order(sample):
        question = f"Is {read[0].name!r} the amount of a row? Rows of one order repeat it, as an order's total."
        quantity, price = sample.figures.get("quantity"), sample.figures.get("unit_price")
        items = [quoted(f"{{{quantity.name}}} * {{{price.name}}}")] if quantity and price else []
        return Answer.of(MapEntry.open(_DATA, "amount", question, [quoted(formula), *items]))
    if formula:
        return Answer.of(MapEntry(_DATA, "amount", quoted(formula)))
    numbers = sample.amount.money or [one for one in sample.columns if one.is_number]
    answers = [braced(one) for one in numbers] or ['"0"']
    return Answer.of(MapEntry.open(_DATA, "amount", "Which column is the amount of a sale?", answers))


def currency(sample: Sample) -> Answer:
    """Return the currency of an event: that of a column, of a header, or of the signs of the amounts."""
    if column := sample.currency:
        certain = f"{column.name!r} is the currency"
        return Answer.of(MapEntry(_DATA, "currency", braced(column)), certain=certain)
    columns = sample.amount.money
    named = {code for one in columns if (code := code_at_end(one.name))}
    signed = {code_of(sign) for one in columns for sign in one.signs} - {OPEN}
    if len(named | signed) == 1:
        code = (named | signed).pop()
        return Answer.of(MapEntry(_DATA, "currency", quoted(code)), check=f"all amounts are in {code}")
    opened = {LIKELY_CURRENCIES.get(sign, "") for one in columns for sign in one.signs} - {""}
    likely = [quoted(one) for one in sorted(named | signed | opened) or ["EUR", "USD", "GBP"]]
    return Answer.of(MapEntry.open(_DATA, "currency", "Which currency do the amounts have?", likely))


def details(sample: Sample) -> Answer:
    """Return the columns of the quantity, the price, the product, the order, the customer and the category."""
    others = () if sample.pays else ("product", "order_id", "customer", "category")
    named = sample.figures | {name: column for name in others if (column := sample.named(name))}
    return Answer.of(*(MapEntry(_DATA, name, braced(column)) for name, column in named.items()))


def statement(sample: Sample) -> Answer:
    """Return the column of the statement that a payment pays; a question if another thing can have that name."""
    column = sample.statement
    if column is None:
        return Answer()
    if sample.pays and sample.is_certain:
        certain = f"{column.name!r} is the statement that a payment pays"
        return Answer.of(MapEntry(_DATA, STATEMENT, braced(column)), certain=certain)
    question = (
        f"Does {column.name!r} name the statement that a payment pays? Only events of the type {PAYMENT} have one; "
        "else delete that line."
    )
    return Answer.of(MapEntry.open(_DATA, STATEMENT, question, [braced(column)]))


QUESTIONS: Final[tuple[Callable[[Sample], Answer], ...]] = (
    *(faults, which_amount, form_of_numbers, form_of_times, placeholders, totals),
    *(key, source, type_of_events, agency, time),
    *(amount, currency, details, statement),
)
"""The questions in the order in which people read the answers."""


def fees(sample: Sample, unused: Sequence[str]) -> list[MapEntry]:
    """Return a question for each unused column that looks like a commission or a fee; its name is that of the entry."""
    found = []
    for column in sample.columns:
        if column.name in unused and column.is_number_or_share and names_a_fee(column.name):
            question = (
                f"Is {column.name!r} a commission or a fee? The ledger computes the commission by its rates. To "
                "keep the file's figure beside it, name the column under data.extra; else delete that line."
            )
            found.append(MapEntry.open(_EXTRA, quoted(column.name), question, [braced(column)]))
    return found


def unused_columns(sample: Sample, proposal: Proposal) -> list[str]:
    """Return the columns of which neither an entry nor a question of a proposal speaks."""
    used, named = proposal.texts, "\n".join(proposal.questions)
    columns = filter(None, dict.fromkeys(sample.header))
    return [one for one in columns if quoted(f"{{{one}}}")[1:-1] not in used and repr(one) not in named]


def clean_up(sample: Sample, proposal: Proposal) -> Answer:
    """Cut the `#` of numbers such as `#1001`, which no id can hold, from the columns that a proposal uses."""
    used = "\n".join(one.value for one in proposal.entries)
    numbered = (one for one in sample.columns if one.all_numbered and braced(one)[1:-1] in used)
    return Answer.of(*(MapEntry(f"[columns.{quoted(one.name)}]", "cut_prefix", '"#"') for one in numbered))
