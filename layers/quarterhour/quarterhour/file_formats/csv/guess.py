"""`quarterhour csv --guess`: proposes a map for a CSV file.

The proposal is TOML. What the data decide is filled in, what they do not decide is a question: its value is "?", which
no command accepts. A decimal sign or the order of day and month is never taken from what is usual.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain, islice
from pathlib import Path
from typing import Final

from quarterhour.file_formats.csv.column_names import (
    INVOICES,
    LIKELY_CURRENCIES,
    ROLES,
    code_at_end,
    names_a_fee,
    names_a_payment,
    names_a_total,
    plain,
    without_code,
)
from quarterhour.file_formats.csv.columns import PLACEHOLDERS, Column, columns, is_text
from quarterhour.file_formats.csv.errors import FileError, MapError
from quarterhour.file_formats.csv.events import MappedEvent, events
from quarterhour.file_formats.csv.lines import FileLine
from quarterhour.file_formats.csv.map import load_map, shipped_map, shipped_maps
from quarterhour.file_formats.csv.numbers import (
    BRACKETS,
    NEGATIVE_FORMS,
    OPEN,
    TRAILING_MINUS,
    NumberForm,
    code_of,
    signs,
)
from quarterhour.file_formats.csv.table import (
    DELIMITERS,
    HEADER_LINES,
    CsvRecord,
    Table,
    names,
    read_table,
    records,
)
from quarterhour.ledger.events.billed import SOURCE
from quarterhour.ledger.events.event import PAYMENT, STATEMENT
from quarterhour.model import money
from quarterhour.model.fields import printable

LINES: Final = 20_000
"""The lines from which a map is made."""
SAMPLES: Final = 3
QUESTION: Final = " # QUESTION: "
"""What follows an entry of the map that is a question, before its answers."""

_CHARACTERS: Final = 1 << 24
_MOST_COLUMNS: Final = 1000
_ORDER: Final = ("[file]", "[numbers]", "[numbers", "[time]", "[text]", "[columns", "[total]", "[[event]]", "[event")
"""The sections of a map, as they begin."""
_NO_AGENCY: Final = "42"


@dataclass(frozen=True, slots=True)
class MapEntry:
    """One entry of the map: its value in TOML, or a question and the answers to it, the likeliest first."""

    name: str
    value: str
    question: str = ""
    answers: tuple[str, ...] = ()


@dataclass(slots=True)
class Proposal:
    """A map in the making: sections of entries, and what is certain, is to be checked, and is open."""

    sections: dict[str, list[MapEntry]] = field(default_factory=dict)
    certain: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    unused: list[str] = field(default_factory=list)
    """The columns that the map leaves out."""
    shipped: list[str] = field(default_factory=list)
    """The maps that come with the tools whose columns the file has."""

    def put(self, section: str, name: str, value: str) -> None:
        """Add an entry whose value is TOML."""
        self.sections.setdefault(section, []).append(MapEntry(name, value))

    def ask(self, section: str, name: str, question: str, answers: Sequence[str]) -> None:
        """Add an entry that is a question; the answers are TOML, the likeliest first."""
        if question not in self.questions:
            self.questions.append(question)
        self.sections.setdefault(section, []).append(MapEntry(name, answers[0], question, tuple(answers)))

    def toml(self, *, answered: bool) -> str:
        """Return the map in TOML, with questions or with the first answer to each."""
        lines = []
        for section, entries in self._ordered():
            lines += ["", section]
            for one in entries:
                if answered or not one.answers:
                    lines.append(f"{one.name} = {one.value}")
                else:
                    value = f'["{OPEN}"]' if one.name == "formats" else f'"{OPEN}"'
                    lines.append(f"{one.name} = {value}{QUESTION}{' or '.join(one.answers)}")
        return "\n".join(lines[1:]) + "\n"

    def open_entries(self) -> list[MapEntry]:
        """Return the entries that are questions, in the order of the map."""
        return [one for _, entries in self._ordered() for one in entries if one.answers]

    def _ordered(self) -> list[tuple[str, list[MapEntry]]]:
        return sorted(self.sections.items(), key=lambda item: _ORDER.index(item[0].split(".")[0]))


def guess(
    lines: Iterable[FileLine], name: str, *, encoding: str | None, encoding_in_doubt: bool
) -> tuple[str, Proposal]:
    """Return a map for the lines of a file, as text and as the proposal that it was made of.

    `encoding` is the encoding to declare, `None` for UTF-8; it is a question if it is in doubt. Raises
    `FileError` if the lines are no table.
    """
    read = list(_first(lines))
    proposal = Proposal()
    if encoding and encoding_in_doubt:
        proposal.ask(
            "[file]", "encoding", f"Which encoding is it? The rows are read as {encoding}.", [_quoted(encoding)]
        )
    elif encoding:
        proposal.put("[file]", "encoding", _quoted(encoding))
        proposal.certain.append(f"the encoding is {encoding}: there is no other reading")
    delimiter, start = _layout(read)
    table, header_line = _table(read, delimiter, start, proposal)
    width = len(table.header)
    if width > _MOST_COLUMNS:
        raise FileError(f"has {width:,} columns: a map is proposed for at most {_MOST_COLUMNS:,}")
    cells = [row.cells for row in table.rows if isinstance(row, CsvRecord)]
    totals = [[*row, *[""] * (width - len(row))] for row in cells if len(row) <= width and _is_total(row)]
    rows = [row for row in cells if len(row) == width and not _is_total(row)]
    found, counts = columns(table.header, rows), Counter(table.header)
    usable = [one for one in found if one.filled and counts[one.name] == 1 and _can_be_named(one.name)]
    _Guesser(proposal, table.header, rows, usable, Path(name).stem.split(".")[0] or "file").fill(totals)
    proposal.shipped = [one for one, used in _shipped_columns().items() if used <= set(table.header)]
    if proposal.shipped:
        ways = " or ".join(f"--map {one}" for one in proposal.shipped)
        proposal.checks.insert(0, f"it has the columns of a map that comes with the tools: use {ways} in place of this")
    samples = _samples(read, proposal, header_line)
    text = _comments(proposal, name, len(rows), header_line, samples) + "\n" + proposal.toml(answered=False)
    return text, proposal


def _first(lines: Iterable[FileLine]) -> Iterator[FileLine]:
    """Yield the first lines, until there are enough of them or of their characters."""
    characters = 0
    for line in islice(lines, LINES):
        characters += len(line.text or "")
        if characters > _CHARACTERS:
            return
        yield line


def _layout(lines: list[FileLine]) -> tuple[str, int]:
    """Return the delimiter and the index of the line with which the table begins."""
    best, place = (0, 0), None
    for delimiter in DELIMITERS:
        rows = [row for row in records(iter(lines[:HEADER_LINES]), delimiter, '"') if isinstance(row, CsvRecord)]
        widths = Counter(len(row.cells) for row in rows if len(row.cells) > 1)
        if widths and (score := max((count, width) for width, count in widths.items())) > best:
            first = _first_row([row for row in rows if len(row.cells) == score[1] and _filled(row) > 1])
            if first:
                best, place = score, (delimiter, first.line - 1)
    if place is None:
        raise FileError("is not a table: no delimiter gives more than one column")
    return place


def _first_row(rows: list[CsvRecord]) -> CsvRecord | None:
    """Return the row with which the table begins: the fullest one of names, after titles with fewer cells filled."""
    named = [row for row in rows if all(is_text(cell) for cell in row.cells if cell.strip())]
    if named:
        header = max(named, key=_filled)
        if all(_filled(row) < _filled(header) for row in rows[: rows.index(header)]):
            return header
    return next(iter(rows), None)


def _filled(row: CsvRecord) -> int:
    return sum(bool(cell.strip()) for cell in row.cells)


def _table(lines: list[FileLine], delimiter: str, start: int, proposal: Proposal) -> tuple[Table, int | None]:
    """Return the table that begins at a line, and the number of its header line; `None` without a header."""
    rows = records(iter(lines[start:]), delimiter, '"')
    top = next(rows)
    if not isinstance(top, CsvRecord):
        raise FileError("is not a table: its first row is not CSV")
    proposal.certain.append(f"{_quoted(delimiter)} separates the columns")
    header = names(top.cells)
    if all(is_text(cell) for cell in header if cell) and len(set(filter(None, header))) > 1:
        return Table(header, rows, delimiter), top.line
    header = [f"column {n}" for n in range(1, len(header) + 1)]
    proposal.put("[file]", "delimiter", _quoted(delimiter))
    proposal.put("[file]", "columns", json.dumps(header))
    proposal.checks.append("the file has no header: the columns are named by their number")
    return Table(header, chain([top], rows), delimiter), None


def _can_be_named(name: str) -> bool:
    """Return whether a map can name a column."""
    return bool(name) and not set("{}") & set(name)


def _is_total(cells: Sequence[str]) -> bool:
    return any(map(names_a_total, cells))


@cache
def _shipped_columns() -> dict[str, frozenset[str]]:
    """Return the columns that each map uses that comes with the tools."""
    return {name: frozenset(load_map(shipped_map(name) or "").used_by) for name in shipped_maps()}


class _Guesser:
    """Chooses the columns for each part of an event, and asks where there is a choice."""

    def __init__(
        self, proposal: Proposal, header: list[str], rows: list[list[str]], usable: list[Column], stem: str
    ) -> None:
        self._proposal = proposal
        self._header = header
        self._rows = rows
        self._columns = usable
        name = re.sub(r"[^\w.-]+", "-", stem)
        self._stem = f"{name}-csv" if name == SOURCE else name  # the source of billed orders is taken
        kinds = kind.values if (kind := self._named("kind")) else None
        payments = [names_a_payment(one) for one in kinds or ()]
        self._has_payments, self._statement = any(payments), self._named("statement")
        self._is_certain = self._statement is not None
        if self._has_payments and not self._statement:
            self._statement = self._first_named(INVOICES)
        self._pays = bool(self._statement and payments and all(payments))

    def fill(self, totals: list[list[str]]) -> None:
        """Fill the proposal: the form of numbers and times, then the event."""
        amount, money_columns = self._amount()
        quantity, price = (None if self._pays else self._named(one, numeric=True) for one in ("quantity", "unit_price"))
        read = [one for one in [*money_columns, quantity, price] if one]
        self._numbers(read)
        times = self._times()
        self._placeholders()
        if totals and amount and len(money_columns) == 1:
            self._totals(totals, money_columns[0])
        self._envelope(times, any(one.negative for one in read))
        data = "[event.data]"
        self._proposal.sections.setdefault(data, [])
        if amount:
            self._proposal.put(data, "amount", _quoted(amount))
        else:
            numbers = money_columns or [one for one in self._columns if one.is_number]
            answers = [_braced(one) for one in numbers] or ['"0"']
            self._proposal.ask(data, "amount", "Which column is the amount of a sale?", answers)
        self._currency(money_columns)
        for name, column in (("quantity", quantity), ("unit_price", price)):
            if column:
                self._proposal.put(data, name, _braced(column))
        for name in () if self._pays else ("product", "order_id", "customer", "category"):
            if column := self._named(name):
                self._proposal.put(data, name, _braced(column))
        if self._statement:
            self._statement_of_payments(self._statement)
        self._unused()
        self._clean_up()

    def _named(self, role: str, *, numeric: bool = False) -> Column | None:
        """Return the column with the best name for a role; `None` if there is none."""
        return self._first_named(ROLES[role], numeric=numeric)

    def _first_named(self, names: Iterable[str], *, numeric: bool = False) -> Column | None:
        for name in names:
            for one in self._columns:
                if plain(one.name) == name and (one.is_number or not numeric):
                    return one
        return None

    def _statement_of_payments(self, column: Column) -> None:
        """Take the statement that payments name from a column, if it is certain that it names one; else ask."""
        data = "[event.data]"
        if self._pays and self._is_certain:
            self._proposal.certain.append(f"{column.name!r} is the statement that a payment pays")
            self._proposal.put(data, STATEMENT, _braced(column))
            return
        question = (
            f"Does {column.name!r} name the statement that a payment pays? Only events of the type {PAYMENT} have one; "
            "else delete that line."
        )
        self._proposal.ask(data, STATEMENT, question, [_braced(column)])

    def _amount(self) -> tuple[str | None, list[Column]]:
        """Return the formula of the amount, `None` if there is a choice, and the columns of money."""
        numbers = [one for one in self._columns if one.is_number]
        fitting = [one for one in numbers if without_code(one.name) in ROLES["amount"]]
        if len(fitting) == 1:
            self._proposal.certain.append(f"{fitting[0].name!r} is the amount")
            return "{" + fitting[0].name + "}", fitting
        quantity, price = self._named("quantity", numeric=True), self._named("unit_price", numeric=True)
        if not fitting and quantity and price:
            self._proposal.checks.append(f"the amount is {quantity.name!r} times {price.name!r}")
            return f"{{{quantity.name}}} * {{{price.name}}}", [price]
        alone = [one for one in numbers if one.fractions or one.signs]
        if not fitting and len(alone) == 1:
            self._proposal.checks.append(f"{alone[0].name!r} is the amount: no other column has numbers with fractions")
            return "{" + alone[0].name + "}", alone
        return None, fitting or alone

    def _numbers(self, read: list[Column]) -> None:
        """Declare the form of the numbers, which all columns of numbers must share."""
        cells = [cell for one in read for cell in self._cells(one)]
        joined = Column("")
        for cell in cells:
            if cell and cell not in PLACEHOLDERS:
                joined.add(cell)
        section, choices = "[numbers]", joined.numbers.choices()
        if read and not choices:
            self._proposal.checks.append("the columns of numbers have several forms: correct the file, or the map")
        elif len(choices) > 1:
            ways = " or ".join(f"{one.example!r}" for one in choices)
            cell = next(cell for cell in cells if len({_value(one, cell) for one in choices}) > 1)
            question = f"Which form do numbers have: {ways}? The data do not decide it: {cell!r} fits each."
            self._proposal.ask(section, "decimal", question, [_quoted(one.decimal) for one in choices])
            self._proposal.ask(section, "thousands", question, [_quoted(one.thousands) for one in choices])
        elif choices and (choices[0].decimal, choices[0].thousands) != (".", ""):
            self._proposal.certain.append(f"numbers have the form {choices[0].example}")
            self._proposal.put(section, "decimal", _quoted(choices[0].decimal))
            self._proposal.put(section, "thousands", _quoted(choices[0].thousands))
        text = "\n".join(cells)
        negative = [BRACKETS] * ("(" in text) + [TRAILING_MINUS] * bool(re.search(r"[-\u2212]\W*$", text, re.MULTILINE))
        if negative and choices:
            self._proposal.put(section, "negative", json.dumps(negative))
            self._proposal.certain.append(f"negative numbers are written with {' and '.join(negative)}")
        for sign in sorted(joined.signs if choices else ()):
            code = self._code(sign, read)
            place = "[numbers.currencies]"
            if code == OPEN:
                question = f"Which currency is {sign!r}?"
                self._proposal.ask(place, _quoted(sign), question, [_quoted(LIKELY_CURRENCIES.get(sign, "USD"))])
            else:
                self._proposal.put(place, _quoted(sign), _quoted(code))

    def _cells(self, column: Column) -> list[str]:
        place = self._header.index(column.name)
        return [row[place].strip() for row in self._rows]

    def _code(self, sign: str, read: list[Column]) -> str:
        """Return the currency of a sign: the only one it can be, or that of the currency column beside it."""
        if (code := code_of(sign)) != OPEN:
            return code
        if column := self._currency_column():
            codes = self._cells(column)
            beside = {
                code.upper()
                for one in read
                for code, cell in zip(codes, self._cells(one), strict=True)
                if sign in signs(cell)
            }
            if len(beside) == 1 and money.is_currency(code := beside.pop()):
                return code
        return OPEN

    def _currency_column(self) -> Column | None:
        fitting = [one for one in self._columns if one.is_currency]
        return next((one for one in fitting if plain(one.name) == "currency"), fitting[0] if fitting else None)

    def _currency(self, money_columns: list[Column]) -> None:
        data = "[event.data]"
        if column := self._currency_column():
            self._proposal.certain.append(f"{column.name!r} is the currency")
            self._proposal.put(data, "currency", _braced(column))
            return
        named = {code for one in money_columns if (code := code_at_end(one.name))}
        signed = {code_of(sign) for one in money_columns for sign in one.signs} - {OPEN}
        if len(named | signed) == 1:
            code = (named | signed).pop()
            self._proposal.checks.append(f"all amounts are in {code}")
            self._proposal.put(data, "currency", _quoted(code))
        else:
            opened = {LIKELY_CURRENCIES.get(sign, "") for one in money_columns for sign in one.signs} - {""}
            likely = sorted(named | signed | opened) or ["EUR", "USD", "GBP"]
            self._proposal.ask(
                data, "currency", "Which currency do the amounts have?", [_quoted(one) for one in likely]
            )

    def _times(self) -> list[Column]:
        """Declare the form of the times; return the columns that may be the time of a sale, one if that is certain."""
        times = [one for one in self._columns if one.is_time]
        best = [one for name in ROLES["time"] for one in times if plain(one.name) == name]
        found = best[:1] or times
        if not found:
            return []
        column = found[0]
        choices = column.times.choices()
        if len(choices) > 1:
            question = (
                f"Which form do the times of {column.name!r} have? The data do not decide the order of day and month."
            )
            self._proposal.ask("[time]", "formats", question, [json.dumps([one]) for one in choices])
        else:
            self._proposal.certain.append(f"{column.name!r} has times of the form {choices[0]}")
            self._proposal.put("[time]", "formats", json.dumps(choices))
        if not column.all_offsets and "utc" not in plain(column.name):
            self._proposal.put("[time]", "zone", '"UTC"')
            self._proposal.checks.append(
                'the times have no offset: write their zone, such as "Europe/Madrid"; it is UTC here'
            )
        return found

    def _placeholders(self) -> None:
        found = sorted(PLACEHOLDERS & {cell.strip() for row in self._rows for cell in row})
        if found:
            self._proposal.put("[text]", "empty", json.dumps(found))
            self._proposal.checks.append(f"these cells are empty: {', '.join(found)}")

    def _unused(self) -> None:
        """Name the columns that are left out, and ask about those that look like a commission or a fee."""
        entries = [one for entries in self._proposal.sections.values() for one in entries]
        used = "\n".join(text for one in entries for text in (one.value, *one.answers))
        named = "\n".join(self._proposal.questions)
        unused = [
            one
            for one in dict.fromkeys(self._header)
            if one and _quoted(f"{{{one}}}")[1:-1] not in used and repr(one) not in named
        ]
        for column in self._columns:
            if column.name in unused and column.is_number_or_share and names_a_fee(column.name):
                question = (
                    f"Is {column.name!r} a commission or a fee? The ledger computes the commission by its rates. To "
                    "keep the file's figure beside it, name the column under data.extra; else delete that line."
                )
                self._proposal.ask("[event.data.extra]", _quoted(column.name), question, [_braced(column)])
                unused.remove(column.name)
        if unused:
            self._proposal.unused = unused
            self._proposal.checks.append(f"these columns are not used: {', '.join(map(repr, unused))}")

    def _clean_up(self) -> None:
        """Cut the `#` of numbers such as `#1001`, which no id can hold."""
        used = "\n".join(one.value for entries in self._proposal.sections.values() for one in entries)
        for column in self._columns:
            if column.all_numbered and _quoted(f"{{{column.name}}}")[1:-1] in used:
                self._proposal.put(f"[columns.{_quoted(column.name)}]", "cut_prefix", '"#"')

    def _totals(self, totals: list[list[str]], amount: Column) -> None:
        place = next(n for n, cell in enumerate(totals[0]) if names_a_total(cell))
        text = totals[0][place].strip()
        usable = any(one.name == self._header[place] for one in self._columns)
        if not usable or any(row[place].strip() != text for row in totals):
            return
        self._proposal.put(
            "[total]", "when", f"{{ column = {_quoted(self._header[place])}, equals = {_quoted(text)} }}"
        )
        self._proposal.put("[total]", "sums", f"{{ {_quoted(amount.name)} = {_braced(amount)} }}")
        self._proposal.checks.append(f"rows with {text!r} are totals, and no events")

    def _envelope(self, times: list[Column], negative: bool) -> None:  # noqa: FBT001 - one call
        event = "[[event]]"
        self._id()
        self._proposal.put(event, "source", _quoted(self._stem))
        self._proposal.checks.append(
            "the source names where the events come from: the same for all files of this origin"
        )
        kind = self._named("kind")
        by_sign = (
            '[{ amount = "< 0", is = "sale.refunded" }, { is = "sale.recorded" }]' if negative else '"sale.recorded"'
        )
        if kind and self._pays and self._is_certain:
            self._proposal.certain.append(f"the rows are payments, by {kind.name!r}")
            self._proposal.put(event, "type", _quoted(PAYMENT))
        elif kind and self._pays:
            question = f"Are the rows payments of agencies, as {kind.name!r} says, or of their customers, thus sales?"
            self._proposal.ask(event, "type", question, [_quoted(PAYMENT), by_sign])
        elif kind and kind.values and len(kind.values) > 1:
            shown = ", ".join(f"{value} ({count})" for value, count in kind.values.most_common())
            question = f"Which rows of {kind.name!r} are sales and refunds? Choose them with `when`. It has {shown}."
            self._proposal.ask(event, "type", question, [by_sign])
        else:
            self._proposal.put(event, "type", by_sign)
        if self._pays:
            self._proposal.checks.append("a payment is above 0 if the agency paid, and below 0 if it was paid")
        if agency := self._named("subject"):
            self._proposal.certain.append(f"{agency.name!r} is the agency")
            self._proposal.put(event, "subject", _braced(agency))
            if agency.filled < len(self._rows):
                self._proposal.checks.append(f"{agency.name!r} is empty in some rows: they are bad without a default")
        else:
            self._proposal.ask(
                event, "subject", "Which agency made the sales? Name it, or its column.", [_quoted(_NO_AGENCY)]
            )
        if len(times) == 1:
            self._proposal.put(event, "time", _braced(times[0]))
        elif times:
            self._proposal.ask(event, "time", "Which column is the time of the sale?", [_braced(one) for one in times])
        else:
            self._proposal.checks.append("no column holds times of one form: the events have no time")

    def _id(self) -> None:
        columns_ = [one for one in self._columns if not (self._pays and one is self._statement)]
        fitting = [one for name in ROLES["id"] for one in columns_ if plain(one.name) == name]
        unique = [one for one in fitting if not one.repeated]
        if unique:
            self._proposal.certain.append(f"{unique[0].name!r} is the key of a row: no value repeats")
            self._proposal.put("[[event]]", "id", _braced(unique[0]))
            return
        key = f"{{{fitting[0].name}}}" if fitting else self._stem
        self._proposal.put("[[event]]", "id", _quoted(f"{key}:{{row}}"))
        self._proposal.checks.append(
            "no column is a key, so the id has the row's number: convert only files that never change"
        )


def _samples(lines: list[FileLine], proposal: Proposal, header_line: int | None) -> list[str]:
    """Return the first rows as events, in JSON, or why they give none."""
    csv_map = load_map(proposal.toml(answered=True))
    try:
        table = read_table(lines, csv_map.file, csv_map.used_by)
    except MapError:  # another line has the columns too
        proposal.put("[file]", "header", str(header_line))
        csv_map = load_map(proposal.toml(answered=True))
        table = read_table(lines, csv_map.file, csv_map.used_by)
    shown = []
    for one in islice(events(table, csv_map, whole=False), SAMPLES):
        if isinstance(one, MappedEvent):
            shown.append(json.dumps(one.body, ensure_ascii=False))
        else:
            shown.append(f"line {one.line}: {one.reason}")
    return shown


def _comments(proposal: Proposal, name: str, rows: int, header_line: int | None, samples: list[str]) -> str:
    certain = [f"line {header_line} is the header", *proposal.certain] if header_line else proposal.certain
    parts = [
        [f"A map for {name}, made by quarterhour csv --guess from {rows:,} rows."],
        ["Certain:", *(f"- {one}" for one in certain)],
        ["To check:", *(f"- {one}" for one in proposal.checks)] if proposal.checks else [],
        [f'Questions: write each answer in place of its "{OPEN}".', *(f"- {one}" for one in proposal.questions)]
        if proposal.questions
        else [],
        [
            f"The first rows as events{', with the first answer to each question' if proposal.questions else ''}:",
            *samples,
        ],
    ]
    return "".join(f"# {printable(line, 1000)}\n" for part in parts for line in part)


def _value(form: NumberForm, cell: str) -> object:
    wide = NumberForm(form.decimal, form.thousands, NEGATIVE_FORMS, form.currencies)
    return wide.number(cell) if cell and cell not in PLACEHOLDERS else None


def _quoted(text: str) -> str:
    """Return a text as a TOML string."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\U{ord(one):08X}" for one in quoted)


def _braced(column: Column) -> str:
    return _quoted("{" + column.name + "}")
