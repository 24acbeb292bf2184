"""The map of a ledger's accounts, from TOML: which account and VAT code each amount of a statement has."""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from typing import Any, Final, NamedTuple

from quarterhour.model import fields, money
from quarterhour.model.errors import FieldProblem
from quarterhour.model.fields import Fields
from quarterhour.registry.agencies.agency import COUNTRY, SCHEMES, country_of
from quarterhour_tools.accounting.document import TaxedBase
from quarterhour_tools.errors import ToolError

PAYMENTS: Final = "payments"
OPENING: Final = "opening"
PROCEEDS: Final = "proceeds"
ACCOUNTS: Final = (PAYMENTS, OPENING, PROCEEDS)
"""The names in the table ``accounts``."""
PLACE: Final = "{agency}"
"""What the agency replaces in a pattern of accounts."""
_FISCAL_YEAR: Final = "the first day of the fiscal year as MM-DD, such as 01-01"
_DAY: Final = re.compile(r"(\d{2})-(\d{2})", re.ASCII)
_COMMON_YEAR: Final = 2001


class AccountForm(NamedTuple):
    """The accounts that an accounting system has: their pattern, and what to expect in words."""

    pattern: re.Pattern[str]
    expected: str

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


class RevenueAccount(NamedTuple):
    """The accounts and the VAT code of a kind of revenue; ``percent`` and ``country`` are ``None`` for any.

    ``key``: of the map's entry.
    """

    key: str
    scheme: str
    percent: Decimal | None
    country: str | None
    account: str
    vat_account: str | None
    vat_code: str

    def fits(self, row: TaxedBase, country: str | None) -> bool:
        """Return whether a row of tax of a customer in a country is of this kind."""
        return self.scheme == row.scheme and self.percent in {None, row.percent} and self.country in {None, country}


class DatevSettings(NamedTuple):
    """What the header of a DATEV file names: consultant, client, first month and day of the fiscal year, digits."""

    consultant: int
    client: int
    fiscal_year: tuple[int, int]
    account_length: int


@dataclass(frozen=True, slots=True)
class AccountMap:
    """A ledger's accounts. What the map leaves out is ``None``; ``accounts``: by the names in ``ACCOUNTS``."""

    currency: str
    accounts: Mapping[str, str | None]
    receivable: PartyAccounts
    payable: PartyAccounts
    revenue: tuple[RevenueAccount, ...]
    datev: DatevSettings | None
    no_tax: str | None
    form: AccountForm

    def revenue_of(self, row: TaxedBase, country: str | None) -> RevenueAccount | None:
        """Return the kind of revenue of a row: that with its country and percentage first; ``None`` without one."""
        fitting = [one for one in self.revenue if one.fits(row, country)]
        return max(fitting, key=lambda one: (one.country is not None, one.percent is not None), default=None)


def read_account_map(text: str, form: AccountForm) -> AccountMap:
    """Return the map of a TOML text, with accounts of a form; raise ``MapProblemsError`` with all problems."""
    try:
        top = Fields(tomllib.loads(text, parse_float=Decimal))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise MapProblemsError([FieldProblem("map", f"is not TOML: {error}", "TOML")]) from None
    top.report_unknown(frozenset({"currency", "accounts", "receivable", "payable", "revenue", "datev", "xero"}))
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
        datev=None if datev is None else _datev(datev),
        no_tax=None if xero is None else _no_tax(xero),
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
    tables = top.value("revenue", "at least one [[revenue]]", lambda value: value if isinstance(value, list) else None)
    seen: dict[tuple[Any, ...], str] = {}
    for number, content in enumerate(tables or (), 1):
        key = f"revenue[{number}]"
        if not isinstance(content, dict):
            top.problem(key, "is no table", "[[revenue]]")
            continue
        table = Fields(content, f"{key}.", top.problems)
        table.report_unknown(frozenset({"scheme", "percent", "country", "account", "vat_account", "vat_code"}))
        one = RevenueAccount(
            key,
            table.value("scheme", f"one of {', '.join(SCHEMES)}", _one_of_schemes) or "",
            table.value("percent", fields.PERCENT, _percent, optional=True),
            table.value("country", COUNTRY, country_of, optional=True),
            table.value("account", form.expected, form.read) or "",
            table.value("vat_account", form.expected, form.read, optional=True),
            table.value("vat_code", fields.TEXT, _code, optional=True) or "",
        )
        what = (one.scheme, one.percent, one.country)
        if what in seen:
            top.problem(key, f"has the scheme, percentage and country of {seen[what]}", "one entry for each")
        seen[what] = key
        yield one


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


def _no_tax(table: Fields) -> str:
    table.report_unknown(frozenset({"no_tax"}))
    return table.value("no_tax", "the name of Xero's tax rate for lines without tax, such as No VAT", fields.text) or ""
