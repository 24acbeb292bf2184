"""Journal entries of documents, pure: each balances to the last decimal."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from enum import StrEnum
from typing import Final, NamedTuple

from quarterhour.model import money
from quarterhour.model.errors import FieldProblem
from quarterhour.model.fields import shown
from quarterhour.registry.agencies.agency import BY_MARKETPLACE
from quarterhour_tools.accounting.account_map import (
    OPENING,
    PAYMENTS,
    PROCEEDS,
    AccountMap,
    MapProblemsError,
    RevenueAccount,
)
from quarterhour_tools.accounting.document import IssuerFigures, StatementDocument, TaxedBase
from quarterhour_tools.errors import ToolError

_NO_ACCOUNT: Final = "0"
"""In place of an account that the map lacks; no entry is returned then."""


class Role(StrEnum):
    """What a line of a journal is about."""

    RECEIVABLE = "receivable"
    PAYABLE = "payable"
    REVENUE = "revenue"
    VAT = "vat"
    PAYMENTS = PAYMENTS
    OPENING = OPENING
    PROCEEDS = PROCEEDS


class UnbalancedError(ToolError):
    """The amounts of a document contradict each other, so no balanced entry follows from them."""


class JournalLine(NamedTuple):
    """A line of an entry; ``amount``: a debit is above 0, a credit below."""

    role: Role
    account: str
    amount: Decimal
    vat_code: str = ""


class Revenue(NamedTuple):
    """A commission that is charged, with its tax, and their accounts; ``issuer``: both in the issuer's currency."""

    accounts: RevenueAccount
    base: Decimal
    tax: Decimal
    issuer: IssuerFigures | None

    @property
    def gross(self) -> Decimal:
        """Commission and tax."""
        return money.add(self.base, self.tax)


class Transfer(NamedTuple):
    """An amount between an agency's account and another one; above 0, the agency's account is debited.

    ``issuer``: the amount in the issuer's currency, ``None`` if the document does not state it.
    """

    role: Role
    account: str
    amount: Decimal
    issuer: Decimal | None


class JournalEntry(NamedTuple):
    """The entry of a document: revenues and transfers, all against the agency's account.

    ``role``: whether the account is a receivable or a payable.
    """

    document: StatementDocument
    role: Role
    account: str
    revenues: tuple[Revenue, ...]
    transfers: tuple[Transfer, ...]

    @property
    def text(self) -> str:
        """What the entry is about."""
        kind = "Credit note" if self.document.is_credit_note else "Commission"
        return f"{kind} {self.document.period} {self.document.name}"

    def lines(self) -> Iterator[JournalLine]:
        """Yield the lines; none has the amount 0."""
        return (line for line in self._lines() if not line.amount.is_zero())

    def _lines(self) -> Iterator[JournalLine]:
        yield JournalLine(self.role, self.account, money.total(one.gross for one in self.revenues))
        for one in self.revenues:
            yield JournalLine(Role.REVENUE, one.accounts.account, money.negated(one.base), one.accounts.vat_code)
            vat_account = one.accounts.vat_account or _NO_ACCOUNT
            yield JournalLine(Role.VAT, vat_account, money.negated(one.tax), one.accounts.vat_code)
        for transfer in self.transfers:
            yield JournalLine(self.role, self.account, transfer.amount)
            yield JournalLine(transfer.role, transfer.account, money.negated(transfer.amount))


def journal_entries(documents: Iterable[StatementDocument], accounts: AccountMap) -> list[JournalEntry]:
    """Return the entries of documents, in their order; a document that changes no balance has none.

    Raises ``UnbalancedError`` for a document whose amounts contradict each other, and ``MapProblemsError`` with
    everything that the map lacks.
    """
    posting = _Posting(accounts)
    entries = [posting.entry(document) for document in documents]
    posting.raise_problems()
    return [entry for entry in entries if any(entry.lines())]


class _Posting:
    """Finds accounts in a map, and collects what the map lacks, with the numbers of the documents that need it."""

    def __init__(self, accounts: AccountMap) -> None:
        self._map = accounts
        self._lacking: dict[tuple[str, str, str], list[str]] = {}

    def entry(self, document: StatementDocument) -> JournalEntry:
        _check(document)
        is_payable = document.collects == BY_MARKETPLACE
        account = self._party_account(document, is_payable=is_payable)
        revenues = [self._revenue(document, row) for row in document.taxes if not row.is_zero]
        transfers = [
            self._transfer(document, role, *amounts) for role, amounts in _moved(document) if not amounts[0].is_zero()
        ]
        role = Role.PAYABLE if is_payable else Role.RECEIVABLE
        entry = JournalEntry(document, role, account, tuple(revenues), tuple(transfers))
        if difference := money.total(line.amount for line in entry.lines()):
            raise UnbalancedError(f"the entry of {document.number} does not balance: {money.plain(difference)} remains")
        return entry

    def raise_problems(self) -> None:
        if self._lacking:
            raise MapProblemsError(
                FieldProblem(key, f"{problem} ({_of(numbers)})", expected)
                for (key, problem, expected), numbers in self._lacking.items()
            )

    def _party_account(self, document: StatementDocument, *, is_payable: bool) -> str:
        parties, agency = self._map.payable if is_payable else self._map.receivable, document.account.agency
        account, form = parties.of(agency), self._map.form
        if account is None:
            expected = f"{parties.key}.account, or {parties.key}.agencies with {shown(agency)}"
            return self._lack(document, parties.key, f"has no account of {shown(agency)}", expected)
        if form.read(account) is None:
            key, problem = f"{parties.key}.account", f"makes the account {shown(account)} of {shown(agency)}"
            return self._lack(document, key, problem, f"{form.expected}; or name it in {parties.key}.agencies")
        return account

    def _revenue(self, document: StatementDocument, row: TaxedBase) -> Revenue:
        found = self._map.revenue_of(row, document.customer.country)
        if found is None:
            scheme, percent, country = row.scheme, money.plain(row.percent), document.customer.country
            problem = f"has no entry for {scheme}, {percent} %, {country or 'no country'}"
            expected = f'[[revenue]] with scheme = "{scheme}" and percent = "{percent}"'
            self._lack(document, "revenue", problem, expected)
            found = RevenueAccount("revenue", scheme, None, None, _NO_ACCOUNT, _NO_ACCOUNT, "")
        if row.tax and found.vat_account is None:
            self._lack(document, f"{found.key}.vat_account", "is missing", self._map.form.expected)
        return Revenue(found, row.base, row.tax, row.issuer)

    def _transfer(self, document: StatementDocument, role: Role, amount: Decimal, issuer: Decimal | None) -> Transfer:
        account = self._map.accounts[role]
        if account is None:
            account = self._lack(document, f"accounts.{role}", "is missing", self._map.form.expected)
        return Transfer(role, account, amount, issuer)

    def _lack(self, document: StatementDocument, key: str, problem: str, expected: str) -> str:
        self._lacking.setdefault((key, problem, expected), []).append(document.number)
        return _NO_ACCOUNT


def _moved(document: StatementDocument) -> Iterator[tuple[Role, tuple[Decimal, Decimal | None]]]:
    """Yield what a document moves without charging it, by role: the amount, and that in the issuer's currency."""
    issued = document.tax_in
    yield Role.OPENING, (document.brought_forward, issued and issued.brought_forward)
    yield Role.PROCEEDS, (money.negated(document.proceeds), issued and money.negated(issued.proceeds))
    yield Role.PAYMENTS, (money.negated(document.payments), issued and money.negated(issued.payments))


def _of(numbers: list[str]) -> str:
    return numbers[0] if len(numbers) == 1 else f"{numbers[0]} and {len(numbers) - 1:,} more"


def _check(document: StatementDocument) -> None:
    """Raise ``UnbalancedError`` if the amounts of a document contradict each other."""
    charged = money.total(money.add(row.base, row.tax) for row in document.taxes)
    if charged != document.payable:
        figures = f"its taxes make {money.plain(charged)}, and payable is {money.plain(document.payable)}"
        raise UnbalancedError(f"{document.number} does not balance: {figures}")
    given = (money.negated(amount) for amount in (document.proceeds, document.payments))
    closing = money.total((document.opening, document.payable, *given))
    if closing != document.closing:
        figures = f"its amounts make {money.plain(closing)}, and closing is {money.plain(document.closing)}"
        raise UnbalancedError(f"{document.number} does not balance: {figures}")
