"""Journal entries of documents, pure: each balances to the last decimal."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from enum import StrEnum
from typing import Final, NamedTuple

from quarterhour.model import money
from quarterhour.model.errors import FieldProblem
from quarterhour.model.fields import shown
from quarterhour.registry.agencies.agency import BY_MARKETPLACE, REVERSE_CHARGE
from quarterhour_tools.accounting.account_map import OPENING, PAYMENTS, PROCEEDS, AccountMap, TaxedAccount
from quarterhour_tools.accounting.document import IssuerFigures, PaidAmount, StatementDocument, TaxedBase
from quarterhour_tools.accounting.payment_shares import NO_DOCUMENTS, Share, payment_shares, unknown_vat

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


class JournalLine(NamedTuple):
    """A line of an entry; ``amount``: a debit is above 0, a credit below. ``posting``: of which it is a part."""

    role: Role
    account: str
    amount: Decimal
    posting: "Posting"
    vat_code: str = ""


class Posting(NamedTuple):
    """An amount with its tax between an agency's account and others; above 0, the agency's account is debited.

    ``issuer``: both in the issuer's currency, ``None`` if the document does not state it. ``number``: of the document,
    or of the statement that a payment names. ``service``: the last day of what is charged, ``None`` of a payment and a
    balance. ``vat_id``: the customer's, of what is charged by reverse charge.
    """

    role: Role
    accounts: TaxedAccount
    base: Decimal
    tax: Decimal
    issuer: IssuerFigures | None
    day: date
    number: str
    text: str
    service: date | None = None
    vat_id: str = ""
    kind: str = ""

    @property
    def gross(self) -> Decimal:
        """Base and tax."""
        return money.add(self.base, self.tax)


class JournalEntry(NamedTuple):
    """The entry of a document: postings, all against the agency's account; ``due_on``: of what they add up to.

    ``role``: whether the account is a receivable or a payable.
    """

    document: StatementDocument
    role: Role
    account: str
    postings: tuple[Posting, ...]

    def lines(self) -> Iterator[JournalLine]:
        """Yield the lines; none has the amount 0."""
        return (line for line in self._lines() if not line.amount.is_zero())

    def _lines(self) -> Iterator[JournalLine]:
        revenues = [one for one in self.postings if one.role is Role.REVENUE]
        if revenues:
            charged = money.total(one.gross for one in revenues)
            yield JournalLine(self.role, self.account, charged, revenues[0])
        for one in self.postings:
            if one.role is not Role.REVENUE:
                yield JournalLine(self.role, self.account, one.gross, one)
            accounts = one.accounts
            yield JournalLine(one.role, accounts.account, money.negated(one.base), one, accounts.vat_code)
            vat_account = accounts.vat_account or _NO_ACCOUNT
            yield JournalLine(Role.VAT, vat_account, money.negated(one.tax), one, accounts.vat_code)


class Journal(NamedTuple):
    """The entries of documents, in their order. A document that changes no balance has none.

    ``problems``: why the documents of the numbers ``left_out`` have none.
    """

    entries: list[JournalEntry]
    problems: list[FieldProblem]
    left_out: frozenset[str]


def journal_entries(
    documents: Iterable[StatementDocument],
    accounts: AccountMap,
    named: Mapping[str, StatementDocument] = NO_DOCUMENTS,
    *,
    at_period_end: bool = False,
) -> Journal:
    """Return the entries of documents, and everything that the map lacks for others.

    ``named``: the documents that payments name, by number. ``at_period_end``: what is charged is dated on the last day
    of the period, and otherwise on that of issue.
    """
    posting = _Posting(accounts, named, at_period_end=at_period_end)
    entries = [posting.entry(document) for document in documents]
    left_out = posting.left_out
    found = [one for one in entries if one.document.number not in left_out and any(one.lines())]
    return Journal(found, posting.problems, left_out)


class _Posting:
    """Finds accounts in a map, and collects what the map lacks, with the numbers of the documents that need it."""

    def __init__(self, accounts: AccountMap, named: Mapping[str, StatementDocument], *, at_period_end: bool) -> None:
        self._map = accounts
        self._named = named
        self._at_period_end = at_period_end
        self._lacking: dict[FieldProblem, list[str]] = {}

    @property
    def left_out(self) -> frozenset[str]:
        """The numbers of the documents that have a problem."""
        return frozenset(number for numbers in self._lacking.values() for number in numbers)

    @property
    def problems(self) -> list[FieldProblem]:
        """The problems, each with the documents that have it."""
        return [
            one if one.field in numbers else replace(one, problem=f"{one.problem} ({_of(numbers)})")
            for one, numbers in self._lacking.items()
        ]

    def entry(self, document: StatementDocument) -> JournalEntry:
        for problem in _contradictions(document):
            self._lack(document, document.number, f"does not balance: {problem}", "amounts that agree")
        is_payable = document.collects == BY_MARKETPLACE
        account = self._party_account(document, is_payable=is_payable)
        role = Role.PAYABLE if is_payable else Role.RECEIVABLE
        return JournalEntry(document, role, account, tuple(self._postings(document)))

    # ------------------------------------------------------------ postings

    def _postings(self, document: StatementDocument) -> Iterator[Posting]:
        kind = "Credit note" if document.is_credit_note else "Commission"
        for row in document.taxes:
            for accounts, part in self._map.revenues_of(row, row.country):
                if not part.is_zero:
                    yield self._revenue(document, part, accounts, f"{kind} {document.period} {document.name}")
        issued = document.tax_in
        opening, proceeds = document.brought_forward, money.negated(document.proceeds)
        if not opening.is_zero():
            figures = issued and IssuerFigures(issued.currency, issued.brought_forward, money.ZERO)
            yield self._moved(document, Role.OPENING, opening, figures, "Balance brought forward")
        if not proceeds.is_zero():
            figures = issued and IssuerFigures(issued.currency, money.negated(issued.proceeds), money.ZERO)
            yield self._moved(document, Role.PROCEEDS, proceeds, figures, "Proceeds")
        for paid, shares in payment_shares(document, self._named):
            if shares is None:
                self._lacking.setdefault(unknown_vat(document, paid), []).append(document.number)
            else:
                yield from self._payment(document, paid, shares)

    def _day(self, document: StatementDocument) -> date:
        return document.period.last_day if self._at_period_end else document.issued_on

    def _revenue(
        self, document: StatementDocument, row: TaxedBase, accounts: TaxedAccount | None, text: str
    ) -> Posting:
        if accounts is None:
            country = row.country
            scheme, percent = row.scheme, money.plain(row.percent)
            problem = f"has no entry for {scheme}, {percent} %, {country or 'no country'}"
            expected = f'[[revenue]] with scheme = "{scheme}" and percent = "{percent}"'
            self._lack(document, "revenue", problem, expected)
            accounts = TaxedAccount("revenue", _NO_ACCOUNT, _NO_ACCOUNT)
        if row.tax and accounts.vat_account is None:
            self._lack(document, f"{accounts.key}.vat_account", "is missing", self._map.form.expected)
        period = document.period
        is_earlier = row.until is not None and row.until < period.first_day
        service = row.until if is_earlier else period.last_day
        vat_id = row.vat_id or "" if row.scheme == REVERSE_CHARGE else ""
        day, number = self._day(document), document.number
        return Posting(Role.REVENUE, accounts, row.base, row.tax, row.issuer, day, number, text, service, vat_id)

    def _moved(
        self, document: StatementDocument, role: Role, amount: Decimal, issuer: IssuerFigures | None, what: str
    ) -> Posting:
        accounts = TaxedAccount(f"accounts.{role}", self._own_account(document, role))
        text = f"{what} {document.period} {document.name}"
        return Posting(role, accounts, amount, money.ZERO, issuer, self._day(document), document.number, text)

    def _payment(self, document: StatementDocument, paid: PaidAmount, shares: Iterable[Share]) -> Iterator[Posting]:
        """Yield the postings of a payment, on its own day: one, or one for each row of tax whose VAT it corrects."""
        number, text = paid.statement or document.number, _text_of(document, paid)
        for share in shares:
            accounts = self._paid_on(document, paid.kind, share)
            figures = share.issuer and IssuerFigures(
                share.issuer.currency, money.negated(share.issuer.base), money.negated(share.issuer.tax)
            )
            base, tax = money.negated(share.base), money.negated(share.tax)
            yield Posting(Role.PAYMENTS, accounts, base, tax, figures, paid.day, number, text, kind=paid.kind)

    def _paid_on(self, document: StatementDocument, kind: str, share: Share) -> TaxedAccount:
        """Return the accounts of a part of a payment of a kind."""
        if not kind:
            return TaxedAccount(f"accounts.{PAYMENTS}", self._own_account(document, Role.PAYMENTS))
        accounts = self._map.payment_of(kind, share.row.percent if share.row else money.ZERO)
        if accounts is None:
            percent = f", {money.plain(share.row.percent)} %" if share.row and share.tax else ""
            self._lack(document, "payment", f"has no entry for {kind}{percent}", f'[[payment]] with kind = "{kind}"')
            return TaxedAccount("payment", _NO_ACCOUNT, _NO_ACCOUNT)
        if share.tax and accounts.vat_account is None:
            self._lack(document, f"{accounts.key}.vat_account", "is missing", self._map.form.expected)
        return accounts

    # ------------------------------------------------------------ accounts

    def _party_account(self, document: StatementDocument, *, is_payable: bool) -> str:
        parties, agency = self._map.payable if is_payable else self._map.receivable, document.account.agency
        account, form = parties.of(agency), self._map.form
        if not form.has_parties:
            return _NO_ACCOUNT
        if account is None:
            expected = f"{parties.key}.account, or {parties.key}.agencies with {shown(agency)}"
            return self._lack(document, parties.key, f"has no account of {shown(agency)}", expected)
        if form.read(account) is None:
            key, problem = f"{parties.key}.account", f"makes the account {shown(account)} of {shown(agency)}"
            return self._lack(document, key, problem, f"{form.expected}; or name it in {parties.key}.agencies")
        return account

    def _own_account(self, document: StatementDocument, role: Role) -> str:
        account = self._map.accounts[role]
        return account or self._lack(document, f"accounts.{role}", "is missing", self._map.form.expected)

    def _lack(self, document: StatementDocument, key: str, problem: str, expected: str) -> str:
        self._lacking.setdefault(FieldProblem(key, problem, expected), []).append(document.number)
        return _NO_ACCOUNT


def _text_of(document: StatementDocument, paid: PaidAmount) -> str:
    """Return the text of a payment: what it is, whose, and the reason that was recorded with it."""
    what = paid.kind.replace("_", " ").capitalize() or ("Payment" if paid.amount > 0 else "Payout")
    return f"{what} {document.name}{f': {paid.reason}' if paid.reason else ''}"


def _of(numbers: list[str]) -> str:
    return numbers[0] if len(numbers) == 1 else f"{numbers[0]} and {len(numbers) - 1:,} more"


def _contradictions(document: StatementDocument) -> Iterator[str]:
    """Yield how the amounts of a document contradict each other."""
    charged = money.total(money.add(row.base, row.tax) for row in document.taxes)
    if charged != document.payable:
        yield f"its taxes make {money.plain(charged)}, and payable is {money.plain(document.payable)}"
    given = (money.negated(amount) for amount in (document.proceeds, document.payments))
    closing = money.total((document.opening, document.payable, *given))
    if closing != document.closing:
        yield f"its amounts make {money.plain(closing)}, and closing is {money.plain(document.closing)}"
    paid = money.total(one.amount for one in document.paid)
    if paid != document.payments:
        yield f"the payments of its lines make {money.plain(paid)}, and payments is {money.plain(document.payments)}"
