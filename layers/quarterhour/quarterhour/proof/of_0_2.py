"""Verifies the statements of a period that 0.2.0 sealed: figures, numbers, balances, files and list."""

import csv
import io
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from tempfile import SpooledTemporaryFile
from typing import Any, Final, NamedTuple

from quarterhour.model import exact_json
from quarterhour.model.clock import iso_seconds
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.proof.files import IN_MEMORY, UNREADABLE, CheckedFiles
from quarterhour.proof.period import NO_LINES, AccountLines, Chain, Chains, PeriodVerifier, SealedPeriod, Sources
from quarterhour.proof.recompute import EXACT, Json, Recomputation, bounds_of, differences, shown_problems, text_of
from quarterhour.reports.lines import unescape_formula
from quarterhour.statements.keys import LINES, PAGE, STATEMENT, list_key, statement_prefix
from quarterhour.statements.listing import (
    COLUMNS_OF_0_2,
    CREDIT_NOTE,
    FIGURES_OF_0_2,
    STATEMENT_DOCUMENT,
    SealedObject,
)
from quarterhour.statements.page_of_0_2 import page_of_0_2

_NUMBERED: Final = {STATEMENT_DOCUMENT: "statements", CREDIT_NOTE: "credit_notes"}
_DIGITS: Final = 6
_HASHES: Final = {STATEMENT: "json", PAGE: "html", LINES: "csv"}
"""How the columns of a file's hash and size begin in the list, by the file's name."""
_TOTALLED: Final = tuple(name for name in FIGURES_OF_0_2 if name != "commission_exact")
_LISTED: Final = ("number", "document", "issued", *FIGURES_OF_0_2, "lines", "prior_period_lines")
"""The columns of the list that repeat members of a statement."""
_PREVIOUS: Final = ("number", "net", "commission", "tax", "payments", "closing")


class _Row(NamedTuple):
    """A row of a period's list: its line in the file, the account, and the cells by column."""

    line: int
    account: Account
    cells: dict[str, str]

    def sealed(self, name: str) -> SealedObject:
        """Return the hash and the size of a file of the statement."""
        return SealedObject(self.cells[f"{_HASHES[name]}_sha256"], int(self.cells[f"{_HASHES[name]}_size"]))

    def as_previous(self, period: Period) -> dict[str, Any]:
        """Return the figures as the account's next statement of 0.2.0 shows them."""
        shown = {name: self.cells[name] for name in _PREVIOUS}
        return {"period": str(period), **shown, "lines": int(self.cells["lines"])}

    def as_last(self, period: Period) -> dict[str, Any]:
        """Return the figures as the account's first released document shows them: 0.2.0 knew no date of issue."""
        return {**self.as_previous(period), "document": self.cells["document"], "issued_on": None}

    @property
    def has_balance(self) -> bool:
        return bool(Decimal(self.cells["closing"]))


def _read_rows(file: Any) -> Iterator[_Row]:  # noqa: ANN401 - a temporary file
    reader = csv.reader(io.TextIOWrapper(file, encoding="utf-8", newline=""), strict=True)
    if tuple(next(reader, [])) != COLUMNS_OF_0_2:
        raise ValueError("the columns are not those of a list")
    for line, values in enumerate(reader, 2):
        cells = dict(zip(COLUMNS_OF_0_2, values, strict=True))
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


class StatementsVerifier(PeriodVerifier):
    """Verifies the statements of one period of 0.2.0.

    ``next_numbers``: those after it, by document. ``last``: its statements as the next ones show them. ``is_listed``:
    whether its list could be read.
    """

    def __init__(self, sources: Sources, sealed: SealedPeriod, previous: SealedPeriod | None, chains: Chains) -> None:
        super().__init__(sources, sealed, previous, chains)
        self._sums = _Sums()
        self.statements = 0
        self.lines = 0
        self.next_numbers: dict[str, int] = {}
        self.last: dict[Account, Json] = {}
        self.is_listed = False

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

    def _verify_list(self, keys: set[str]) -> dict[str, Any]:
        files, key, numbers = self._files, list_key(self._sealed.period), self._numbers()
        shown = self._sealed.manifest["numbers"]
        self.next_numbers = {document: int(shown[name]["next"]) for document, name in _NUMBERED.items()}
        named = {key}
        with SpooledTemporaryFile(IN_MEMORY) as file, SpooledTemporaryFile(IN_MEMORY) as previous:
            listed = files.copy(key, file)
            balances = self._balances(previous)
            if listed is None:
                self._check_unlisted(keys, balances)
                return {}
            last: Account | None = None
            try:
                for row in _read_rows(file):
                    if last is not None and row.account <= last:
                        files.problem(f"{key}: line {row.line}", f"{row.account} is not after {last}")
                    last = row.account
                    named |= {statement_prefix(self._sealed.period, row.account) + name for name in _HASHES}
                    self._verify_row(key, row, balances, numbers)
                self._check_passed(key, balances, None)
            except UNREADABLE as error:
                files.unreadable(key, error)
                self._check_unlisted(keys, balances)
                return {}
        for (agency, currency), chain in sorted(self._chains.items()):
            files.problem(key, f"has no statement of {Account(agency, currency)}, which has {chain.lines} sealed lines")
        for stray in sorted(keys - named):
            files.problem(stray, "is in no list")
        self.next_numbers, self.is_listed = dict(numbers.next), True
        return {
            "numbers": self._shown_numbers(numbers),
            **self._sums.as_dict(),
            "files": [{"key": key, **listed._asdict()}],
        }

    def _check_unlisted(self, keys: set[str], balances: _Balances | None) -> None:
        """Name the lost files of the statements that no row lists, by the sealed lines and the previous balances."""
        accounts = {Account(*account) for account in self._chains}
        with suppress(*UNREADABLE):  # that list's problem is one of its own period
            accounts |= set(balances.until(None)[0]) if balances else set()
        for account in sorted(accounts):
            prefix = statement_prefix(self._sealed.period, account)
            for name in _HASHES:
                if prefix + name not in keys:
                    self._files.problem(prefix + name, "is missing")

    def _balances(self, file: Any) -> _Balances | None:  # noqa: ANN401 - a temporary file
        """Open the previous list; ``None`` if it cannot be read, which is a problem of that period."""
        if self._previous is None:
            return None if self._is_lost else _Balances(iter(()))
        # The problems of that list were found with its period.
        unheard = CheckedFiles(self._sources.open)
        try:
            return _Balances(_read_rows(file)) if unheard.copy(list_key(self._previous.period), file) else None
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
        self.last[row.account] = row.as_last(self._sealed.period)
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
        page = files.content(prefix + PAGE, row.sealed(PAGE))
        document, recomputed = self._opened(prefix + STATEMENT, content)
        if not self._recompute(AccountLines(row.account, prefix + LINES, row.sealed(LINES), chain), recomputed):
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
            files.report(prefix + STATEMENT, shown_problems(document))
            if page is not None and page != page_of_0_2(document):
                files.problem(prefix + PAGE, f"is not the page of {STATEMENT}")
        except UNREADABLE as error:
            files.unreadable(prefix + STATEMENT, error)
            return None
        return expected

    def _header(self, row: _Row) -> dict[str, Any]:
        """Return the members of a statement that follow from the manifest and the list."""
        sealed = self._sealed
        return {
            "schema": sealed.manifest["schema"],
            "period": str(sealed.period),
            **bounds_of(sealed.period, sealed.zone),
            "time_zone": sealed.manifest["time_zone"],
            "cut_off": sealed.manifest["cut_off"],
            "recorded_until": iso_seconds(sealed.bound.end),
            "agency": row.account.agency,
            "currency": row.account.currency,
            "base": None,
        }

    def _opened(self, key: str, content: bytes | None) -> tuple[Json | None, Recomputation]:
        """Return a statement, ``None`` if it cannot be read, and its recomputation, which has no lines yet."""
        sealed = self._sealed
        of_period = (str(sealed.period), sealed.zone, self._rate_of if sealed.base else None)
        if content is None:
            return None, Recomputation(*of_period)
        try:
            document = exact_json.parse_sealed(content)
            return document, Recomputation(*of_period)
        except UNREADABLE as error:
            self._files.unreadable(key, error)
            return None, Recomputation(*of_period)


def _cell(value: object) -> str:
    """Return a value of a statement as its list shows it."""
    return ("yes" if value else "no") if isinstance(value, bool) else str(value)
