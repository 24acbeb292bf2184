"""The lines of a day for their statements: sums by account, and the lines in pieces of bounded size."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import tzinfo
from decimal import Decimal
from io import BytesIO
from itertools import groupby
from operator import itemgetter
from typing import IO, TYPE_CHECKING, Any, Final, NamedTuple

from quarterhour.model import money
from quarterhour.model.charges import read_charges
from quarterhour.model.clock import iso_millis, parse_iso
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import day_in
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.base_currency import Pins
from quarterhour.reports.lines import CHARGES, COLUMNS, FLAG, LACKING, unescape_formula
from quarterhour.statements.drafts.charge_sums import ChargeSums
from quarterhour.statements.drafts.figures import (
    CHARGED,
    OTHER_DAYS,
    SOLD,
    AccountSums,
    BaseFigures,
    LastRate,
    Sum,
    kind_of,
)
from quarterhour.statements.drafts.work_objects import last_value, read_values, value_writer
from quarterhour.statements.plan import StatementPlan

if TYPE_CHECKING:
    from quarterhour.registry.exchange_rates.exchange_rate import ExchangeRate

PIECE: Final = 8_000_000
"""Characters of lines in memory, after which they are a piece."""
_FACTS: Final = ("agency", "currency", "type", "commission_rate", "terms", "kind", "prior_period")
_READ: Final = ("amount", "commission", "currency", "time", "recorded_at", "tax_point", "period", "position", FLAG)
_AMOUNT, _COMMISSION, _CURRENCY, _TIME, _RECORDED_AT, _TAX_POINT, _PERIOD, _POSITION, _FLAG = map(COLUMNS.index, _READ)
_CHARGES: Final = COLUMNS.index(CHARGES)

Rows = Iterator[tuple[str, list[str]]]
"""The text of each row of a sealed file, and its cells."""


class _Key(NamedTuple):
    """What the lines of one sum have in common; ``facts``: the cells of ``_FACTS``; ``prior``: see ``_Priors``.

    ``day``: the business date.
    """

    facts: tuple[str, ...]
    prior: int
    day: str
    tax_point: str
    units: Decimal | None

    @property
    def account(self) -> tuple[str, str]:
        """The cells of agency and currency."""
        return self.facts[0], self.facts[1]


class _Running:
    """The sums of the lines with a key so far, and what else is known of them.

    ``texts``: those of the account in the piece in memory; ``None`` before its first line. ``in_period`` and ``after``:
    the last quarter-hours with such lines, before the end of the period and after it; empty for none. ``charges``:
    ``None`` if no line has other charges than ``commission``, or lacks a part of its amount.
    """

    __slots__ = ("after", "amount", "charges", "commission", "in_period", "lines", "texts")

    def __init__(self) -> None:
        self.lines = 0
        self.amount = self.commission = money.ZERO
        self.texts: list[str] | None = None
        self.in_period = self.after = ""
        self.charges: ChargeSums | None = None

    def charge(self, cells: list[str]) -> None:
        """Add the charges of a line, and what it lacks."""
        if self.charges is None:
            self.charges = ChargeSums()
        self.charges.lacking += any(flag in cells[_FLAG] for flag in LACKING.values())
        charges = read_charges(cells[_CHARGES], Decimal(cells[_COMMISSION]))
        self.charges.add(cells[_TAX_POINT], cells[_POSITION], charges)


class Block(NamedTuple):
    """The lines of an account in a piece: their number and their text, in UTF-8."""

    account: Account
    lines: int
    text: bytes


@dataclass(slots=True)
class Piece:
    """Lines by the cells of their account; ``files`` makes the file of each group of accounts."""

    lines: dict[tuple[str, str], list[str]]
    size: int = 0

    def files(self, plan: StatementPlan) -> Iterator[tuple[int, bytes]]:
        """Yield each group that has lines with its file: a block for each account, in their order.

        The same lines give the same bytes. They are not compressed: that takes longer than to send and read them.
        """
        groups: dict[int, list[Account]] = {}
        texts = {Account(unescape_formula(agency), currency): some for (agency, currency), some in self.lines.items()}
        for account in sorted(texts):
            groups.setdefault(plan.group_of(account), []).append(account)
        for group, accounts in sorted(groups.items()):
            content = BytesIO()
            for account in accounts:
                text = "".join(texts[account]).encode()
                header = [account.agency, account.currency, len(texts[account]), len(text)]
                content.write(json.dumps(header).encode() + b"\n")
                content.write(text)
            yield group, content.getvalue()


def read_blocks(file: IO[bytes]) -> Iterator[Block]:
    """Yield the blocks of a piece's file, in the order of the accounts; raise ``ValueError`` if it is damaged."""
    while header := file.readline():
        agency, currency, lines, size = json.loads(header)
        text = file.read(size)
        if len(text) != size:
            raise ValueError(f"a block ends after {len(text)} of {size} bytes")
        yield Block(Account(agency, currency), lines, text)


class Collector:
    """Collects the lines of one day, file after file."""

    def __init__(self, plan: StatementPlan, zone: tzinfo) -> None:
        self._plan = plan
        self._days = _BusinessDates(zone)
        self._sums: dict[_Key, _Running] = {}
        self._missing: dict[tuple[str, str], set[str]] = {}
        self._rates: dict[tuple[str, str], ExchangeRate] = {}
        """By quarter-hour and currency."""
        self._piece = Piece({})
        self.pieces = 0
        self.before_first_period: dict[Account, Sum] = {}
        """The lines of this run that are on no statement, as their period is before the first, by account."""

    @property
    def is_full(self) -> bool:
        """Whether the lines in memory are a piece."""
        return self._piece.size > PIECE

    def take(self) -> Piece | None:
        """Return the lines in memory as the next piece, and forget them; ``None`` if there are none."""
        piece, self._piece = self._piece, Piece({})
        if not piece.lines:
            return None
        for running in self._sums.values():
            running.texts = None
        self.pieces += 1
        return piece

    def add(self, quarter_hour: QuarterHour, rows: Rows, pins: Pins) -> Iterator[None]:
        """Add the rows of a sealed file, the first of which holds its columns; yield whenever a piece is full.

        ``pins``: the exchange rates of the quarter-hour. Raises ``ValueError`` or ``ArithmeticError`` if the file is
        malformed.
        """
        _, columns = next(rows)
        if tuple(columns) != COLUMNS:
            raise ValueError(f"the columns are {columns}")
        at, is_in_period, has_base = str(quarter_hour), quarter_hour.start < self._plan.ends, bool(self._plan.base)
        priors, units_of = _Priors(self._plan, at), _Units(self._plan.base, pins)
        self._rates |= {(at, code): rate for code, rate in pins.items() if rate}
        sums, days = self._sums, self._days
        for text, cells in rows:
            prior = priors[cells[_PERIOD]]
            if prior is None:
                self._leave_out(at, cells)
                continue
            units = units_of[cells[_CURRENCY]] if has_base else None
            day = days[(cells[_TIME] or cells[_RECORDED_AT])[:16]]
            # A tuple of the same shape as _Key, which would take longer to make.
            key: Any = _facts(cells), prior, day, cells[_TAX_POINT], units
            running = sums.get(key)
            if running is None:
                running = sums[key] = _Running()
            running.lines += 1
            running.amount = money.add(running.amount, Decimal(cells[_AMOUNT]))
            running.commission = money.add(running.commission, Decimal(cells[_COMMISSION]))
            if cells[_CHARGES] or cells[_FLAG]:
                running.charge(cells)
            if is_in_period:
                running.in_period = at
            else:
                running.after = at
            if has_base and units is None:
                self._missing.setdefault(key[0][:2], set()).add(at)
            if running.texts is None:
                running.texts = self._piece.lines.setdefault(key[0][:2], [])
            running.texts.append(text)
            self._piece.size += len(text)
            if self._piece.size > PIECE:
                yield

    def _leave_out(self, quarter_hour: str, cells: list[str]) -> None:
        """Count a line that is on no statement of this run, if it is on none at all, and was recorded for this run."""
        is_new = self._plan.after is None or quarter_hour > str(self._plan.after)
        if is_new and cells[_PERIOD] < str(self._plan.first_period) and cells[_CURRENCY] != money.NO_CURRENCY:
            agency, currency, type_, _, terms, kind, _ = _facts(cells)
            found = kind_of(type_, kind, terms)
            net = Decimal(cells[_AMOUNT]) if found in SOLD else money.ZERO
            commission = Decimal(cells[_COMMISSION])
            account = Account(unescape_formula(agency), currency)
            self.before_first_period.setdefault(account, Sum()).add(1, net, commission)

    def totals(self) -> Iterator[tuple[Account, AccountSums]]:
        """Yield the sums of each account, in the order of the accounts."""
        names = {
            name: Account(unescape_formula(name[0]), name[1]) for name in {_Key(*key).account for key in self._sums}
        }
        entries = sorted(
            ((_Key(*key), running) for key, running in self._sums.items()), key=lambda one: names[one[0].account]
        )
        for name, some in groupby(entries, lambda one: one[0].account):
            sums = AccountSums(base=BaseFigures(missing=self._missing.get(name, set())) if self._plan.base else None)
            for key, running in some:
                self._add(sums, key, running)
                if sums.base and key.units is not None:
                    sums.base.see(self._last_rate(running, name[1], key.units))
            yield names[name], sums

    def _last_rate(self, running: _Running, currency: str, units: Decimal) -> LastRate:
        quarter_hour = running.in_period or running.after
        rate = self._rates.get((quarter_hour, currency))
        published = (rate.source, iso_millis(rate.as_of)) if rate else ("", "")
        return LastRate(bool(running.in_period), quarter_hour, units, *published)

    def _add(self, sums: AccountSums, key: _Key, running: _Running) -> None:
        _, _, type_, rate, terms, kind, late = key.facts
        found, some = kind_of(type_, kind, terms), Sum(running.lines, running.amount, running.commission)
        if running.charges and found in CHARGED:
            sums.charges.join(running.charges)
        day = key.day if key.day.startswith(str(self._plan.period)) else OTHER_DAYS
        sums.add((found, bool(key.prior or late)), day, (terms, rate), key.tax_point, some)
        if sums.base and key.units is not None:
            sums.base.add(found, some.amount, some.commission, key.units)


_facts: Final = itemgetter(*map(COLUMNS.index, _FACTS))


class _Priors(dict[str, int | None]):
    """Whether lines are of a prior period, by their period: 0 or 1; ``None`` on no statement of the run."""

    def __init__(self, plan: StatementPlan, quarter_hour: str) -> None:
        super().__init__()
        self._plan = plan
        self._quarter_hour = quarter_hour

    def __missing__(self, period: str) -> int | None:
        prior = self._plan.is_prior(period, self._quarter_hour)
        found = None if prior is None else int(prior)
        self[period] = found
        return found


class _BusinessDates(dict[str, str]):
    """The date of a business time, by its text to the minute."""

    def __init__(self, zone: tzinfo) -> None:
        super().__init__()
        self._zone = zone

    def __missing__(self, minute: str) -> str:
        found = self[minute] = day_in(self._zone, parse_iso(f"{minute}:00Z")).isoformat()
        return found


class _Units(dict[str, Decimal | None]):
    """The units of a currency that one of the base currency is worth; ``None`` without an exchange rate."""

    def __init__(self, base: str, pins: Pins) -> None:
        super().__init__()
        self._base = base
        self._pins = pins

    def __missing__(self, currency: str) -> Decimal | None:
        rate = self._pins.get(currency)
        found = _ONE if currency in {self._base, money.NO_CURRENCY} else rate.units_per_base if rate else None
        self[currency] = found
        return found


_ONE: Final = Decimal(1)


def pack_totals(collector: Collector) -> bytes:
    """Return the work object of a day's totals: a value for each account, then what else the day has."""
    content = BytesIO()
    with value_writer(content) as write:
        for account, sums in collector.totals():
            write([account.agency, account.currency, sums.as_dict()])
        left_out = sorted(collector.before_first_period.items(), key=lambda one: one[0])
        before = [[account.agency, account.currency, some.as_list()] for account, some in left_out]
        write({"pieces": collector.pieces, "before_first_period": before})
    return content.getvalue()


def read_totals(file: IO[bytes]) -> Iterator[tuple[Account, AccountSums]]:
    """Yield each account's sums of a day; raise ``ValueError`` if the object is damaged."""
    for values in read_values(file):
        if isinstance(values, list):
            agency, currency, sums = values
            yield Account(agency, currency), AccountSums.of(sums)


def read_pieces(file: IO[bytes]) -> int:
    """Return the number of pieces of a day from the object of its totals."""
    return int(last_value(file)["pieces"])


def read_before_first_period(file: IO[bytes]) -> dict[Account, Sum]:
    """Return the sums of a day's lines before the first period, by account, from the object of its totals."""
    found = last_value(file)["before_first_period"]
    return {Account(agency, currency): Sum.of(values) for agency, currency, values in found}
