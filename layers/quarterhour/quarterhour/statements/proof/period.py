"""Verifies the statements of one period: their lines, figures, numbers, balances, files, list and manifest."""

import csv
import io
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta, tzinfo
from decimal import Decimal
from hashlib import sha256
from itertools import zip_longest
from tempfile import SpooledTemporaryFile
from typing import Any, Final, NamedTuple

from quarterhour.model import exact_json
from quarterhour.model.clock import iso_seconds, parse_iso
from quarterhour.model.identifiers import Account, Identity
from quarterhour.model.money import NO_CURRENCY
from quarterhour.model.periods import Period, time_zone
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.digests import hexdigest
from quarterhour.reports.keys import MANIFEST as RUN_MANIFEST
from quarterhour.reports.keys import part_of_lines, run_bounds, run_prefix
from quarterhour.reports.lines import Line, read_lines, unescape_formula
from quarterhour.reports.verify import OpenObject
from quarterhour.statements.keys import LINES, PAGE, STATEMENT, XML, list_key, manifest_key, statement_prefix
from quarterhour.statements.listing import (
    COLUMNS,
    CREDIT_NOTE,
    FIGURES,
    FILES,
    STATEMENT_DOCUMENT,
    SealedObject,
    sealed_of,
)
from quarterhour.statements.pages import PAGES
from quarterhour.statements.proof.files import IN_MEMORY, UNREADABLE, CheckedFiles
from quarterhour.statements.proof.recompute import (
    EXACT,
    Json,
    Recomputation,
    bounds_of,
    differences,
    tax_problems,
    text_of,
)

EARLIER: Final = timedelta(days=2)
"""A month begins in no time zone earlier than in UTC by more than this."""

_COMPARED: Final = 20
"""The most statements whose lines are compared one by one with the sealed ones, to name the first that differs."""
_NUMBERED: Final = {STATEMENT_DOCUMENT: "statements", CREDIT_NOTE: "credit_notes"}
_DIGITS: Final = 6
_TOTALLED: Final = tuple(name for name in FIGURES if name != "commission_exact")
_LISTED: Final = ("number", "document", "issued", *FIGURES, "lines", "prior_period_lines")
"""The columns of the list that repeat members of a statement."""
_PREVIOUS: Final = ("number", "net", "commission", "tax", "payments", "closing")

Rates = tuple[str, Mapping[str, Decimal | None]]
"""The base currency of a quarter-hour, and what one unit of it is worth in each currency; ``None`` without a rate."""


class Chain(NamedTuple):
    """A number of lines, and a hash that their content and their order determine."""

    lines: int = 0
    digest: bytes = b""

    def after(self, line: Line) -> "Chain":
        """Return the chain after one more line."""
        return Chain(self.lines + 1, sha256(self.digest + _content(line).encode()).digest())


NO_LINES: Final = Chain()
Chains = dict[tuple[str, str], Chain]
"""The lines of each agency in each currency."""


def _content(line: Line) -> str:
    """Return a text that differs for different lines; empty cells at the end, as of a newer schema, do not count."""
    text = "\0".join(line.values())
    if text.count("\0") >= len(line):
        raise ValueError("a cell holds a NUL character")
    return text.rstrip("\0")


@dataclass(slots=True)
class Sources:
    """What the periods are verified from. ``ledger``: the keys of the sealed lines, in their order."""

    open: OpenObject
    files: CheckedFiles
    ledger: list[str]
    rates: dict[QuarterHour, Rates] = field(default_factory=dict)
    compared: int = 0


@dataclass(frozen=True, slots=True)
class SealedPeriod:
    """A sealed period, as its manifest has it."""

    period: Period
    manifest: Json
    sha256: str
    zone: tzinfo
    first_period: str
    bound: QuarterHour
    previous: Period | None
    after: QuarterHour | None
    base: str

    @classmethod
    def of(cls, period: Period, content: bytes) -> "SealedPeriod":
        """Parse a manifest; raise ``ValueError`` for an unknown schema."""
        manifest = exact_json.parse_sealed(content)
        if manifest["schema"] not in PAGES:
            raise ValueError(f"the schema {manifest['schema']} is unknown: use the version that wrote it")
        previous, after = manifest["previous"], manifest["previous_bound"]
        return cls(
            period,
            manifest,
            hexdigest(content),
            time_zone(manifest["time_zone"]),
            str(Period.parse(manifest["first_period"])),
            QuarterHour.parse(manifest["bound"]),
            Period.parse(previous["period"]) if previous else None,
            QuarterHour.parse(after) if after else None,
            manifest["base_currency"] or "",
        )

    @property
    def schema(self) -> int:
        """The schema of its files."""
        schema: int = self.manifest["schema"]
        return schema

    @property
    def since(self) -> QuarterHour:
        """The first quarter-hour that may hold a line of the period's statements."""
        first = QuarterHour.first_of(self.period.first_day - EARLIER)
        return min(first, self.after) if self.after else first

    def has(self, period: str, quarter_hour: QuarterHour) -> bool:
        """Return whether a line of a period, sealed in a quarter-hour, is on a statement of this period."""
        this = str(self.period)
        if not self.first_period <= period <= this or quarter_hour > self.bound:
            return False
        return period == this or self.after is None or quarter_hour > self.after


class _Row(NamedTuple):
    """A row of a period's list: its line in the file, the account, and the cells by column."""

    line: int
    account: Account
    cells: dict[str, str]

    @property
    def files(self) -> list[str]:
        """The names of the statement's files; all but the XML are always there."""
        return [name for name in FILES if name != XML or self.cells.get("xml_sha256")]

    def sealed(self, name: str) -> SealedObject:
        """Return the hash and the size of a file of the statement."""
        return sealed_of(self.cells, name)

    def as_previous(self, period: Period) -> dict[str, Any]:
        """Return the figures as the account's next statement shows them."""
        shown = {name: self.cells[name] for name in _PREVIOUS}
        return {"period": str(period), **shown, "lines": int(self.cells["lines"])}

    @property
    def has_balance(self) -> bool:
        return bool(Decimal(self.cells["closing"]))


def _read_rows(file: Any, schema: int) -> Iterator[_Row]:  # noqa: ANN401 - a temporary file
    columns = COLUMNS[schema]
    reader = csv.reader(io.TextIOWrapper(file, encoding="utf-8", newline=""), strict=True)
    if tuple(next(reader, [])) != columns:
        raise ValueError("the columns are not those of a list")
    for line, values in enumerate(reader, 2):
        cells = dict(zip(columns, values, strict=True))
        cells |= {name: unescape_formula(cells[name]) for name in ("agency", "number")}
        yield _Row(line, Account(cells["agency"], cells["currency"]), cells)


class _Balances:
    """The rows of the previous list, next to those of the next one: both are ordered by account."""

    def __init__(self, rows: Iterator[_Row]) -> None:
        self._rows = rows
        self._next = next(rows, None)

    def until(self, account: Account | None) -> tuple[list[Account], _Row | None]:
        """Return the accounts with a balance that come before an account, and its row; ``None``: all that are left.

        Raises what reading a damaged list raises.
        """
        passed: list[Account] = []
        while self._next and (account is None or self._next.account <= account):
            row, self._next = self._next, next(self._rows, None)
            if row.account == account:
                return passed, row
            if row.has_balance:
                passed.append(row.account)
        return passed, None


@dataclass(slots=True)
class _Numbers:
    """The next numbers of statements and of credit notes."""

    prefixes: Mapping[str, str]
    next: dict[str, int]

    def expected(self, document: str, found: str) -> str:
        """Return the number that a document must have; the next one follows ``found``, if that is a number too.

        So a gap is one problem, not one of every later statement.
        """
        prefix = self.prefixes[document]
        expected = f"{prefix}{self.next[document]:0{_DIGITS}d}"
        digits = found.removeprefix(prefix)
        resumed = found.startswith(prefix) and digits.isascii() and digits.isdecimal()
        self.next[document] = (int(digits) if resumed else self.next[document]) + 1
        return expected


@dataclass(slots=True)
class _Sums:
    """What a manifest counts and adds up of its list."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(_NUMBERED.values(), 0))
    lines: int = 0
    currencies: dict[str, dict[str, Decimal]] = field(default_factory=dict)

    def add(self, row: _Row) -> None:
        """Add a statement's row."""
        self.counts[_NUMBERED[row.cells["document"]]] += 1
        self.lines += int(row.cells["lines"])
        sums = self.currencies.setdefault(row.account.currency, dict.fromkeys(_TOTALLED, Decimal(0)))
        for name in _TOTALLED:
            sums[name] = EXACT.add(sums[name], Decimal(row.cells[name]))

    def as_dict(self) -> dict[str, Any]:
        """Return the counts and sums as the manifest holds them."""
        currencies = {
            currency: {name: text_of(value) for name, value in sums.items()}
            for currency, sums in self.currencies.items()
        }
        return {**self.counts, "lines": self.lines, "currencies": currencies}


class PeriodVerifier:
    """Verifies one period. ``chains``: the sealed lines that are to be on its statements."""

    def __init__(self, sources: Sources, sealed: SealedPeriod, previous: SealedPeriod | None, chains: Chains) -> None:
        self._sources = sources
        self._files = sources.files
        self._sealed = sealed
        self._previous = previous
        self._chains = chains
        self._sums = _Sums()
        self.statements = 0
        self.lines = 0

    def verify(self, keys: set[str]) -> None:
        """Verify the period, whose files are ``keys``."""
        key = manifest_key(self._sealed.period)
        try:
            self._check_bounds(key)
            numbers = self._numbers()
            listed = self._verify_list(keys - {key}, numbers)
            self._files.report(key, differences(self._sealed.manifest, self._manifest(numbers, listed)))
        except UNREADABLE as error:
            self._files.unreadable(key, error)

    @property
    def _is_lost(self) -> bool:
        """Whether the previous period's manifest cannot be read, so that nothing can be compared with it."""
        return self._previous is None and self._sealed.previous is not None

    # ------------------------------------------------------------ the manifest

    def _check_bounds(self, key: str) -> None:
        sealed, manifest, files = self._sealed, self._sealed.manifest, self._files
        cut_off = parse_iso(manifest["cut_off"])
        if cut_off < parse_iso(bounds_of(sealed.period, sealed.zone)["to"]):
            files.problem(key, f"cut_off: {manifest['cut_off']} is before the end of the period")
        if sealed.bound.end < cut_off:
            files.problem(key, f"bound: {sealed.bound} ends before the cut-off")
        if sealed.after and sealed.bound < sealed.after:  # they are the same if both periods were sealed at once
            files.problem(key, f"bound: {sealed.bound} is before that of the previous period, {sealed.after}")
        if sealed.previous is None and sealed.first_period != str(sealed.period):
            files.problem(key, f"first_period: expected {sealed.period}, found {sealed.first_period}")
        if sealed.previous and sealed.previous.next != sealed.period:
            files.problem(key, f"previous.period: expected {sealed.period.previous}, found {sealed.previous}")
        run = manifest["report"]["run"]
        if run_bounds(run)[1] != sealed.bound.end:
            files.problem(key, f"report.run: {run} does not end with the bound, {sealed.bound}")

    def _numbers(self) -> _Numbers:
        """Return the numbers before the period: those after the previous one; without one, they begin with 1."""
        numbers = self._sealed.manifest["numbers"]
        first = {name: numbers[name]["first"] if self._is_lost else 1 for name in _NUMBERED.values()}
        if self._previous:
            first = {name: self._previous.manifest["numbers"][name]["next"] for name in _NUMBERED.values()}
        return _Numbers(
            {document: numbers[name]["prefix"] for document, name in _NUMBERED.items()},
            {document: int(first[name]) for document, name in _NUMBERED.items()},
        )

    def _manifest(self, numbers: _Numbers, listed: SealedObject | None) -> dict[str, Any]:
        """Return what the manifest must hold; ``listed``: the list, ``None`` if it cannot be read."""
        sealed, manifest, previous = self._sealed, self._sealed.manifest, self._previous
        run = manifest["report"]["run"]
        report = self._files.content(run_prefix(run) + RUN_MANIFEST)
        expected = {
            **manifest,
            "period": str(sealed.period),
            **bounds_of(sealed.period, sealed.zone),
            "report": {"run": run, "sha256": hexdigest(report) if report else manifest["report"]["sha256"]},
        }
        if not self._is_lost:
            expected |= {
                "previous_bound": str(previous.bound) if previous else None,
                "previous": {"period": str(previous.period), "sha256": previous.sha256} if previous else None,
                "first_period": previous.first_period if previous else str(sealed.period),
            }
        if listed:
            expected |= {
                "numbers": self._shown_numbers(numbers),
                **self._sums.as_dict(),
                "files": [{"key": list_key(sealed.period), **listed._asdict()}],
            }
        return expected

    def _shown_numbers(self, numbers: _Numbers) -> dict[str, Any]:
        return {
            name: {
                "prefix": numbers.prefixes[document],
                "first": numbers.next[document] - self._sums.counts[name],
                "next": numbers.next[document],
            }
            for document, name in _NUMBERED.items()
        }

    # ------------------------------------------------------------ the list

    def _verify_list(self, keys: set[str], numbers: _Numbers) -> SealedObject | None:
        """Verify every statement in the list; return the list's hash and size, ``None`` if it cannot be read."""
        files, key = self._files, list_key(self._sealed.period)
        named = {key}
        with SpooledTemporaryFile(IN_MEMORY) as file, SpooledTemporaryFile(IN_MEMORY) as previous:
            listed = files.copy(key, file)
            balances = self._balances(previous)
            if listed is None:
                self._check_unlisted(keys, balances)
                return None
            last: Account | None = None
            try:
                for row in _read_rows(file, self._sealed.schema):
                    if last is not None and row.account <= last:
                        files.problem(f"{key}: line {row.line}", f"{row.account} is not after {last}")
                    last = row.account
                    named |= {statement_prefix(self._sealed.period, row.account) + name for name in row.files}
                    self._verify_row(key, row, balances, numbers)
                self._check_passed(key, balances, None)
            except UNREADABLE as error:
                files.unreadable(key, error)
                self._check_unlisted(keys, balances)
                return None
        for (agency, currency), chain in sorted(self._chains.items()):
            files.problem(key, f"has no statement of {Account(agency, currency)}, which has {chain.lines} sealed lines")
        for stray in sorted(keys - named):
            files.problem(stray, "is in no list")
        return listed

    def _check_unlisted(self, keys: set[str], balances: _Balances | None) -> None:
        """Name the lost files of the statements that no row lists, by the sealed lines and the previous balances."""
        accounts = {Account(*account) for account in self._chains}
        with suppress(*UNREADABLE):  # that list's problem is one of its own period
            accounts |= set(balances.until(None)[0]) if balances else set()
        for account in sorted(accounts):
            prefix = statement_prefix(self._sealed.period, account)
            for name in (STATEMENT, PAGE, LINES):
                if prefix + name not in keys:
                    self._files.problem(prefix + name, "is missing")

    def _balances(self, file: Any) -> _Balances | None:  # noqa: ANN401 - a temporary file
        """Open the previous list; ``None`` if it cannot be read, which is a problem of that period."""
        if self._previous is None:
            return None if self._is_lost else _Balances(iter(()))
        # The problems of that list were found with its period.
        unheard = CheckedFiles(self._sources.open)
        try:
            found = unheard.copy(list_key(self._previous.period), file)
            return _Balances(_read_rows(file, self._previous.schema)) if found else None
        except UNREADABLE:
            return None

    def _check_passed(self, key: str, balances: _Balances | None, account: Account | None) -> _Row | None:
        """Name the accounts with a balance that the list leaves out; return the previous row of the account."""
        if balances is None:
            return None
        passed, before = balances.until(account)
        for one in passed:
            self._files.problem(key, f"has no statement of {one}, which has a balance")
        return before

    def _verify_row(self, key: str, row: _Row, balances: _Balances | None, numbers: _Numbers) -> None:
        before = self._check_passed(key, balances, row.account)
        chain = self._chains.get((row.account.agency, row.account.currency), NO_LINES)
        if balances and not chain.lines and not (before and before.has_balance):
            self._files.problem(f"{key}: line {row.line}", f"{row.account} has neither sealed lines nor a balance")
        self._sums.add(row)
        self.statements += 1
        expected = self._verify_statement(row, before, chain, numbers, knows_before=balances is not None)
        if expected is None:
            number = numbers.expected(row.cells["document"], row.cells["number"])
            expected = {**row.cells, "number": number}
        found = {name: row.cells[name] for name in _LISTED}
        problems = differences(found, {name: _cell(expected[name]) for name in _LISTED})
        self._files.report(f"{key}: line {row.line}: {row.account}", problems)
        self._chains.pop((row.account.agency, row.account.currency), None)

    # ------------------------------------------------------------ a statement

    def _verify_statement(
        self, row: _Row, before: _Row | None, chain: Chain, numbers: _Numbers, *, knows_before: bool
    ) -> Json | None:
        """Verify the files of a statement; return what its JSON must hold, ``None`` if a file cannot be read.

        ``before``: the account's row in the previous list; ``knows_before``: whether that list could be read.
        """
        files, prefix = self._files, statement_prefix(self._sealed.period, row.account)
        content = files.content(prefix + STATEMENT, row.sealed(STATEMENT))
        made = {name: files.content(prefix + name, row.sealed(name)) for name in row.files if name in {PAGE, XML}}
        document, recomputed = self._opened(prefix + STATEMENT, content)
        if not self._recompute(prefix + LINES, row, chain, recomputed):
            return None
        self.lines += recomputed.lines
        if document is None:
            return None
        try:
            header = {**document, **self._header(row)}
            if knows_before:
                header["previous"] = before.as_previous(self._previous.period) if before and self._previous else None
            lines_file = {"name": LINES, **row.sealed(LINES)._asdict()}
            expected = recomputed.document(header, self._sealed.base, lines_file)
            expected["number"] = numbers.expected(expected["document"], document["number"])
            files.report(prefix + STATEMENT, differences(document, expected))
            files.report(prefix + STATEMENT, tax_problems(document))
            files.check_rendered(prefix, document, made)
        except UNREADABLE as error:
            files.unreadable(prefix + STATEMENT, error)
            return None
        return expected

    def _header(self, row: _Row) -> dict[str, Any]:
        """Return the members of a statement that follow from the manifest and the list."""
        sealed = self._sealed
        return {
            "schema": sealed.schema,
            "period": str(sealed.period),
            **bounds_of(sealed.period, sealed.zone),
            "time_zone": sealed.manifest["time_zone"],
            "cut_off": sealed.manifest["cut_off"],
            "recorded_until": iso_seconds(sealed.bound.end),
            "agency": row.account.agency,
            "currency": row.account.currency,
            "base": None,
            "tax_in": None,
        }

    def _opened(self, key: str, content: bytes | None) -> tuple[Json | None, Recomputation]:
        """Return a statement, ``None`` if it cannot be read, and its recomputation, which has no lines yet."""
        sealed = self._sealed
        of_period = (str(sealed.period), sealed.zone, self._units if sealed.base else None)
        if content is None:
            return None, Recomputation(*of_period)
        try:
            document = exact_json.parse_sealed(content)
            return document, Recomputation(*of_period, document.get("taxes", ()))
        except UNREADABLE as error:
            self._files.unreadable(key, error)
            return None, Recomputation(*of_period)

    def _recompute(self, key: str, row: _Row, chain: Chain, recomputed: Recomputation) -> bool:
        """Add up the lines of a statement, and compare them with the sealed ones; return whether they can be read."""
        found = NO_LINES
        with SpooledTemporaryFile(IN_MEMORY) as file:
            if self._files.copy(key, file, row.sealed(LINES)) is None:
                return False
            try:
                for line in read_lines(file):
                    recomputed.add(line)
                    found = found.after(line)
            except UNREADABLE as error:
                self._files.unreadable(key, error)
                return False
            if found != chain:
                file.seek(0)
                self._files.problem(key, self._difference(row.account, read_lines(file)))
        return True

    def _units(self, quarter_hour: str, currency: str) -> Decimal | None:
        """Return what one unit of the base currency is worth at the exchange rates that the reports pinned."""
        if currency in {self._sealed.base, NO_CURRENCY}:
            return Decimal(1)
        base, rates = self._sources.rates.get(QuarterHour.parse(quarter_hour), ("", {}))
        return rates.get(currency) if base == self._sealed.base else None

    def _difference(self, account: Account, lines: Iterator[Line]) -> str:
        """Return the first place at which the lines of a statement are not the sealed ones."""
        if self._sources.compared < _COMPARED:
            self._sources.compared += 1
            for number, (found, sealed) in enumerate(zip_longest(lines, self._sealed_lines(account)), 2):
                if found is None or sealed is None or _content(found) != _content(sealed):
                    return f"line {number}: {_in_words(found, sealed)}"
        return "the lines are not the sealed ones"

    def _sealed_lines(self, account: Account) -> Iterator[Line]:
        """Yield the sealed lines of an account's statement; it reads the ledger once more."""
        sealed = self._sealed
        for key in self._sources.ledger:
            part = part_of_lines(key)
            if part is None or not sealed.since <= part.quarter_hour <= sealed.bound:
                continue
            with SpooledTemporaryFile(IN_MEMORY) as file:
                CheckedFiles(self._sources.open).copy(key, file)
                for line in read_lines(file):
                    period = line.get("period") or line["recorded_at"][:7]
                    if Account(line["agency"], line["currency"]) == account and sealed.has(period, part.quarter_hour):
                        yield line


def _in_words(found: Line | None, sealed: Line | None) -> str:
    """Return how a statement's line differs from the sealed one; ``None``: there is none."""
    if found is None or sealed is None:
        return f"{_identity(sealed)} is missing" if sealed else f"{_identity(found)} is not of this statement"
    if _identity(found) != _identity(sealed):
        return f"expected {_identity(sealed)}, found {_identity(found)}"
    names = [name for name in found if found[name] != sealed.get(name, "")]
    return f"{_identity(found)}: {next(differences(found[names[0]], sealed.get(names[0], ''), names[0]))}"


def _identity(line: Line | None) -> str:
    return str(Identity(line["source"], line["id"])) if line else ""


def _cell(value: object) -> str:
    """Return a value of a statement as its list shows it."""
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
