"""The map of a ledger's accounts, from TOML: which account and VAT code each amount of a statement has."""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any, Final, NamedTuple

from quarterhour.model import charges, fields, money
from quarterhour.model.errors import FieldProblem
from quarterhour.model.fields import Fields
from quarterhour.registry.agencies.agency import COUNTRY, SCHEMES, STANDARD, country_of
from quarterhour_tools.accounting.document import TaxedBase
from quarterhour_tools.accounting.payment_shares import CORRECTING
from quarterhour_tools.errors import ToolError

PAYMENTS: Final = "payments"
OPENING: Final = "opening"
PROCEEDS: Final = "proceeds"
ACCOUNTS: Final = (PAYMENTS, OPENING, PROCEEDS)
"""The names in the table ``accounts``."""
PLACE: Final = "{agency}"
"""What the agency replaces in a pattern of accounts."""
_ENTRIES: Final = frozenset({"currency", "accounts", "receivable", "payable", "revenue", "payment", "datev", "xero"})
_OF_ACCOUNTS: Final = frozenset({"percent", "account", "vat_account", "vat_code", "automatic", "rows"})
_NET: Final = "net"
_ROWS: Final = ("gross", _NET)
_DATES: Final = {"dd/mm/yyyy": "%d/%m/%Y", "mm/dd/yyyy": "%m/%d/%Y", "yyyy-mm-dd": "%Y-%m-%d"}
"""The forms of dates that Xero's organisations have, as of ``strftime``."""
_FISCAL_YEAR: Final = "the first day of the fiscal year as MM-DD, such as 01-01"
_DAY: Final = re.compile(r"(\d{2})-(\d{2})", re.ASCII)
_COMMON_YEAR: Final = 2001


class AccountForm(NamedTuple):
    """The accounts that an accounting system has: their pattern, and what to expect in words.

    ``has_parties``: whether they have to be named for the agencies, too.
    """

    pattern: re.Pattern[str]
    expected: str
    has_parties: bool = True

    def read(self, value: object) -> str | None:
        """Return an account; ``None`` if the value is none."""
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        return text if isinstance(text, str) and self.pattern.fullmatch(text) else None


class MapProblemsError(ToolError):
    """The map is invalid, or lacks what the documents need; ``problems``: each with its key."""

    def __init__(self, problems: Iterable[FieldProblem]) -> None:
        self.problems = list(problems)
        super().__init__("; ".join(f"{one.field} {one.problem}: expected {one.expected}" for one in self.problems))


@dataclass(frozen=True, slots=True)
class PartyAccounts:
    """The accounts of agencies: by name, otherwise by a pattern, which is the same account for all without a place."""

    key: str
    pattern: str | None = None
    agencies: Mapping[str, str] = field(default_factory=dict)

    def of(self, agency: str) -> str | None:
        """Return an agency's account; ``None`` if the map has none."""
        if named := self.agencies.get(agency):
            return named
        return None if self.pattern is None else self.pattern.replace(PLACE, agency)


class TaxedAccount(NamedTuple):
    """An account for amounts with VAT, the account of that VAT, and the form in which DATEV takes both.

    ``key``: of the map's entry. ``is_automatic``: whether DATEV takes the VAT out of amounts on the account by itself;
    ``None`` if the map does not say. ``is_gross``: whether an automatic account gets amounts with their VAT.
    """

    key: str
    account: str
    vat_account: str | None = None
    vat_code: str = ""
    is_automatic: bool | None = None
    is_gross: bool = True


class RevenueAccount(NamedTuple):
    """The accounts of some revenue; ``percent``, ``country``, ``charge`` and ``kind`` are ``None`` for any.

    ``kind``: of adjustments.
    """

    scheme: str
    percent: Decimal | None
    country: str | None
    charge: str | None
    kind: str | None
    accounts: TaxedAccount

    def fits(self, row: TaxedBase, country: str | None, charge: str, kind: str) -> bool:
        """Return whether this is for a charge in a row of tax of a customer in a country."""
        is_of_row = self.scheme == row.scheme and self.percent in {None, row.percent}
        is_of_part = self.charge in {None, charge} and self.kind in {None, kind}
        return is_of_row and is_of_part and self.country in {None, country}

    @property
    def rank(self) -> tuple[bool, ...]:
        """How specific it is: by its kind, its charge, its country, and its percentage."""
        return tuple(one is not None for one in (self.kind, self.charge, self.country, self.percent))


class PaymentAccount(NamedTuple):
    """The accounts of what stands in place of money; ``percent``: of the VAT that it corrects, ``None`` for any.

    Only kinds of ``CORRECTING`` have a ``vat_account``.
    """

    kind: str
    percent: Decimal | None
    accounts: TaxedAccount


class DatevSettings(NamedTuple):
    """What the header of a DATEV file names: consultant, client, first month and day of the fiscal year, digits."""

    consultant: int
    client: int
    fiscal_year: tuple[int, int]
    account_length: int


class XeroSettings(NamedTuple):
    """The name of Xero's tax rate for lines without tax, and the form of the organisation's dates for ``strftime``."""

    no_tax: str
    dates: str


@dataclass(frozen=True, slots=True)
class AccountMap:
    """A ledger's accounts. What the map leaves out is ``None``; ``accounts``: by the names in ``ACCOUNTS``."""

    currency: str
    accounts: Mapping[str, str | None]
    receivable: PartyAccounts
    payable: PartyAccounts
    revenue: tuple[RevenueAccount, ...]
    payment: tuple[PaymentAccount, ...]
    datev: DatevSettings | None
    xero: XeroSettings | None
    form: AccountForm

    def revenues_of(self, row: TaxedBase, country: str | None) -> list[tuple[TaxedAccount | None, TaxedBase]]:
        """Return the accounts of a row, each with its part: all that has one account is one part.

        The accounts are those with the kind, the charge, the country and the percentage first; ``None`` without any.
        """
        bases: dict[TaxedAccount | None, Decimal] = {}
        for charge, kind, base in row.parts():
            accounts = self.revenue_of(row, country, charge, kind)
            bases[accounts] = money.add(bases.get(accounts, money.ZERO), base)
        parts = [row] if len(bases) == 1 else row.split(list(bases.values()))
        return list(zip(bases, parts, strict=True))

    @property
    def names_kinds(self) -> bool:
        """Whether adjustments of some kind have accounts of their own."""
        return any(one.kind is not None for one in self.revenue)

    def revenue_of(self, row: TaxedBase, country: str | None, charge: str, kind: str = "") -> TaxedAccount | None:
        """Return the accounts of a charge in a row, of adjustments of a kind or of all others; ``None`` without any."""
        fitting = [one for one in self.revenue if one.fits(row, country, charge, kind)]
        found = max(fitting, key=lambda one: one.rank, default=None)
        return found and found.accounts

    def payment_of(self, kind: str, percent: Decimal | None = None) -> TaxedAccount | None:
        """Return the accounts of a kind of payment: those with a percentage first; ``None`` without any."""
        fitting = [one for one in self.payment if one.kind == kind and one.percent in {None, percent}]
        found = max(fitting, key=lambda one: one.percent is not None, default=None)
        return found and found.accounts


def read_account_map(text: str, form: AccountForm) -> AccountMap:
    """Return the map of a TOML text, with accounts of a form; raise ``MapProblemsError`` with all problems."""
    try:
        top = Fields(tomllib.loads(text, parse_float=Decimal))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise MapProblemsError([FieldProblem("map", f"is not TOML: {error}", "TOML")]) from None
    top.report_unknown(_ENTRIES)
    currency = top.value("currency", fields.CURRENCY, fields.currency)
    accounts = _table(top, "accounts") or Fields({}, "accounts.", top.problems)
    accounts.report_unknown(frozenset(ACCOUNTS))
    datev, xero = _table(top, "datev"), _table(top, "xero")
    found = AccountMap(
        currency=currency or money.NO_CURRENCY,
        accounts={name: accounts.value(name, form.expected, form.read, optional=True) for name in ACCOUNTS},
        receivable=_party_accounts(top, "receivable", form),
        payable=_party_accounts(top, "payable", form),
        revenue=tuple(_revenue_accounts(top, form)),
        payment=tuple(_payment_accounts(top, form)),
        datev=None if datev is None else _datev(datev),
        xero=None if xero is None else _xero(xero),
        form=form,
    )
    if top.problems:
        raise MapProblemsError(top.problems)
    return found


def _table(top: Fields, name: str) -> Fields | None:
    """Return a table of the map, whose problems are the map's; ``None`` if it is missing or none."""
    content = top.value(name, "a table", _as_table, optional=True)
    return None if content is None else Fields(content, f"{name}.", top.problems)


def _as_table(value: object) -> dict[str, Any] | None:
    return value if isinstance(value, dict) else None


def _party_accounts(top: Fields, key: str, form: AccountForm) -> PartyAccounts:
    table = _table(top, key)
    if table is None:
        return PartyAccounts(key)
    table.report_unknown(frozenset({"account", "agencies"}))
    pattern = table.value("account", f"{form.expected}, or a pattern with {PLACE}", _pattern(form), optional=True)
    named = table.value("agencies", "a table of accounts by agency", _as_table, optional=True) or {}
    agencies = Fields(named, f"{key}.agencies.", top.problems)
    return PartyAccounts(key, pattern, {name: agencies.value(name, form.expected, form.read) or "" for name in named})


def _pattern(form: AccountForm) -> Callable[[object], str | None]:
    """Return a parser of an account, or of a pattern: the accounts that a pattern makes are checked one by one."""
    return lambda value: value if isinstance(value, str) and PLACE in value else form.read(value)


def _revenue_accounts(top: Fields, form: AccountForm) -> Iterator[RevenueAccount]:
    entries = top.value("revenue", "at least one [[revenue]]", _as_list) or []
    seen: dict[tuple[Any, ...], str] = {}
    for key, table in _tables(top, "revenue", entries):
        table.report_unknown(_OF_ACCOUNTS | {"scheme", "country", "charge", "kind"})
        scheme = table.value("scheme", f"one of {', '.join(SCHEMES)}", _one_of_schemes) or ""
        country = table.value("country", COUNTRY, country_of, optional=True)
        charge = table.value("charge", charges.NAME, charges.charge_name, optional=True)
        kind = table.value("kind", fields.KIND, fields.kind, optional=True)
        percent, accounts = _taxed_account(table, key, form, needs_percent=scheme == STANDARD)
        one = RevenueAccount(scheme, percent, country, charge, kind, accounts)
        _once(top, seen, key, one[:-1], "the scheme, percentage, country, charge and kind")
        yield one


def _payment_accounts(top: Fields, form: AccountForm) -> Iterator[PaymentAccount]:
    entries = top.value("payment", "a [[payment]] for each kind", _as_list, optional=True) or []
    seen: dict[tuple[Any, ...], str] = {}
    for key, table in _tables(top, "payment", entries):
        table.report_unknown(_OF_ACCOUNTS | {"kind"})
        kind = table.value("kind", fields.KIND, fields.kind) or ""
        percent, accounts = _taxed_account(table, key, form, needs_percent=True)
        if accounts.vat_account and kind and kind not in CORRECTING:
            problem = f"is given, though {kind} corrects no VAT"
            table.problem("vat_account", problem, f"none, or the kind {' or '.join(sorted(CORRECTING))}")
        one = PaymentAccount(kind, percent, accounts)
        _once(top, seen, key, one[:-1], "the kind and percentage")
        yield one


def _tables(top: Fields, name: str, entries: list[Any]) -> Iterator[tuple[str, Fields]]:
    """Yield the tables of a list, whose problems are the map's, with their keys."""
    for number, content in enumerate(entries, 1):
        key = f"{name}[{number}]"
        if isinstance(content, dict):
            yield key, Fields(content, f"{key}.", top.problems)
        else:
            top.problem(key, "is no table", f"[[{name}]]")


def _taxed_account(
    table: Fields, key: str, form: AccountForm, *, needs_percent: bool
) -> tuple[Decimal | None, TaxedAccount]:
    """Return the percentage of an entry, and its accounts; an automatic account is of one percentage."""
    percent = table.value("percent", fields.PERCENT, _percent, optional=True)
    rows = table.value("rows", " or ".join(_ROWS), lambda value: value if value in _ROWS else None, optional=True)
    found = TaxedAccount(
        key,
        table.value("account", form.expected, form.read) or "",
        table.value("vat_account", form.expected, form.read, optional=True),
        table.value("vat_code", fields.TEXT, _code, optional=True) or "",
        table.value("automatic", "true or false", lambda one: one if isinstance(one, bool) else None, optional=True),
        rows != _NET,
    )
    if found.is_automatic and found.vat_code:
        table.problem("vat_code", "is given, though the account is automatic", "no tax key, which DATEV refuses there")
    if found.is_automatic and found.is_gross and found.vat_account and needs_percent and percent is None:
        table.problem("percent", "is missing", "the percentage that DATEV takes out of amounts on this account")
    return percent, found


def _once(top: Fields, seen: dict[tuple[Any, ...], str], key: str, what: tuple[Any, ...], named: str) -> None:
    if what in seen:
        top.problem(key, f"has {named} of {seen[what]}", "one entry for each")
    seen[what] = key


def _as_list(value: object) -> list[Any] | None:
    return value if isinstance(value, list) else None


def _one_of_schemes(value: object) -> str | None:
    return value if isinstance(value, str) and value in SCHEMES else None


def _percent(value: object) -> Decimal | None:
    """Parse a percentage; TOML's whole numbers are integers."""
    is_whole = isinstance(value, int) and not isinstance(value, bool)
    return fields.percent(Decimal(str(value)) if is_whole else value)


def _code(value: object) -> str | None:
    return fields.text(str(value) if isinstance(value, int) and not isinstance(value, bool) else value)


def _datev(table: Fields) -> DatevSettings:
    table.report_unknown(frozenset({"consultant", "client", "fiscal_year", "account_length"}))
    return DatevSettings(
        table.value("consultant", *_whole(1001, 9_999_999)) or 0,
        table.value("client", *_whole(1, 99_999)) or 0,
        table.value("fiscal_year", _FISCAL_YEAR, _month_and_day) or (1, 1),
        table.value("account_length", *_whole(4, 8)) or 0,
    )


def _whole(least: int, most: int) -> tuple[str, Callable[[object], int | None]]:
    """Return what to expect of a whole number between bounds, and its parser."""

    def read(value: object) -> int | None:
        return value if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most else None

    return f"a whole number from {least} to {most}", read


def _month_and_day(value: object) -> tuple[int, int] | None:
    match = _DAY.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        return None
    month, day = int(match[1]), int(match[2])
    try:
        date(_COMMON_YEAR, month, day)
    except ValueError:
        return None
    return month, day


def _xero(table: Fields) -> XeroSettings:
    table.report_unknown(frozenset({"no_tax", "dates"}))
    form = table.value("dates", f"the organisation's: {', '.join(_DATES)}", _one_of_dates) or ""
    no_tax = "the name of Xero's tax rate for lines without tax, such as No VAT"
    return XeroSettings(table.value("no_tax", no_tax, fields.text) or "", form)


def _one_of_dates(value: object) -> str | None:
    return _DATES.get(value) if isinstance(value, str) else None
