"""A statement's document as accounting needs it: `statement.json`, parsed."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from typing import Any, NamedTuple, Self

from quarterhour.model import money
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.schema import check_schema
from quarterhour.statements.document.collected import is_paid_out
from quarterhour.statements.drafts.figures import Kind


class IssuerFigures(NamedTuple):
    """A base and a tax in the issuer's currency."""

    currency: str
    base: Decimal
    tax: Decimal

    @property
    def gross(self) -> Decimal:
        """Base and tax."""
        return money.add(self.base, self.tax)


class TaxPoints(NamedTuple):
    """Tax points of a row: from a first to a last one, of one kind, category and charge; empty: of all others."""

    first: date
    last: date
    kind: str = ""
    category: str = ""
    charge: str = ""

    @classmethod
    def parse(cls, values: Mapping[str, str]) -> Self:
        """Parse a member of ``tax_points``."""
        first, last = (date.fromisoformat(values[name]) for name in ("from", "to"))
        return cls(first, last, *(values.get(name, "") for name in ("kind", "category", "charge")))


class KindPart(NamedTuple):
    """What adjustments of a kind have in a charge of a row, exact."""

    charge: str
    kind: str
    exact: Decimal


class TaxedBase(NamedTuple):
    """What a document charges by one scheme and percentage; ``issuer`` is ``None`` if it is not known in that currency.

    All figures are those that the document states. ``points``: its tax points.
    ``charges``: the parts of the base by name. ``kinds``: those of them that adjustments have, once they are read.
    ``country`` and ``vat_id``: those of the agency at its tax points.
    """

    scheme: str
    percent: Decimal
    base: Decimal
    tax: Decimal
    issuer: IssuerFigures | None = None
    points: tuple[TaxPoints, ...] = ()
    charges: tuple[tuple[str, Decimal], ...] = ()
    country: str | None = None
    vat_id: str | None = None
    kinds: tuple[KindPart, ...] = ()

    @property
    def until(self) -> date | None:
        """The last tax point; ``None`` of a row without any."""
        return max((one.last for one in self.points), default=None)

    def parts(self) -> Iterator[tuple[str, str, Decimal]]:
        """Yield charge, kind of adjustment and amount of the parts of the base; those without a kind have the rest."""
        for charge, base in self.charges:
            rest = base
            for _, kind, exact in (one for one in self.kinds if one.charge == charge):
                amount = money.to_places(exact, money.places(base), money.Rounding.HALF_EVEN)
                rest = money.subtract(rest, amount)
                yield charge, kind, amount
            yield charge, "", rest

    def split(self, bases: Sequence[Decimal]) -> "list[TaxedBase]":
        """Return the parts of the row with these bases, which add up to its own; so do their taxes."""
        taxes, issuer = self._shared(self.tax, bases), self.issuer
        parts = [self._replace(base=base, tax=tax) for base, tax in zip(bases, taxes, strict=True)]
        if issuer is None:
            return parts
        figures = zip(*(self._shared(whole, bases) for whole in (issuer.base, issuer.tax)), strict=True)
        return [
            part._replace(issuer=IssuerFigures(issuer.currency, *both))
            for part, both in zip(parts, figures, strict=True)
        ]

    def _shared(self, whole: Decimal, bases: Sequence[Decimal]) -> list[Decimal]:
        """Return a figure in parts in proportion to bases; the largest takes what is left."""
        parts = [money.part(whole, base, self.base, money.places(whole)) for base in bases]
        largest = max(range(len(bases)), key=lambda one: abs(bases[one]))
        parts[largest] = money.add(parts[largest], money.subtract(whole, money.total(parts)))
        return parts

    @property
    def is_zero(self) -> bool:
        """Whether nothing is charged."""
        return self.base.is_zero() and self.tax.is_zero()


class PaidAmount(NamedTuple):
    """A payment by the agency (above 0) or to it; ``kind``: what it is in place of money, empty for money.

    ``statement``: the number that it names, empty for none. ``id``: that of its event.
    """

    day: date
    amount: Decimal
    kind: str = ""
    statement: str = ""
    reason: str = ""
    id: str = ""


class IssuerAmounts(NamedTuple):
    """The amounts of a document in the issuer's currency; ``exchange_rate``: units of the document's for one.

    ``rows``: the bases and taxes of its rows of tax, in their order.
    """

    currency: str
    exchange_rate: Decimal
    brought_forward: Decimal
    proceeds: Decimal
    payments: Decimal
    rows: tuple[IssuerFigures, ...]

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Parse the member ``tax_in``."""
        currency = values["currency"]
        names = ("exchange_rate", "brought_forward", "proceeds", "payments")
        amounts = {name: Decimal(values[name]) for name in names}
        rows = (IssuerFigures(currency, Decimal(row["base"]), Decimal(row["tax"])) for row in values["rows"])
        return cls(currency, **amounts, rows=tuple(rows))


class Party(NamedTuple):
    """The issuer or the recipient of a document; what was not registered is ``None``."""

    legal_name: str | None = None
    address: str | None = None
    country: str | None = None
    vat_id: str | None = None
    iban: str | None = None
    post_code: str | None = None
    town: str | None = None
    registration_number: str | None = None

    @classmethod
    def parse(cls, values: Mapping[str, Any]) -> Self:
        """Parse the member ``owner`` or ``customer``."""
        return cls(*(values.get(name) for name in cls._fields))


@dataclass(frozen=True, slots=True)
class StatementDocument:
    """A statement or a credit note.

    Amounts are in the account's currency; those that the agency owes are above 0. ``due_on``: ``None`` if it asks for
    nothing. ``paid``: the payments among its lines, once they are read: ``paid_lines`` of them are in its first
    document, and the file of its lines has ``lines_sha256``. ``adjustments``: their number among its lines.
    ``issuer_currency``: ``None`` if the
    deployment has no base currency. ``sales`` and ``cancelled``: numbers of lines. ``cancels``: the number of the
    document that this one reverses whole. ``release``: the number of its release. ``revision``: its number among the
    documents of the account and the period.
    """

    number: str
    is_credit_note: bool
    cancels: str | None
    release: int
    revision: int
    period: Period
    account: Account
    issued_on: date
    time_zone: str
    owner: Party
    customer: Party
    collects: str
    is_paid_out: bool
    taxes: tuple[TaxedBase, ...]
    tax_in: IssuerAmounts | None
    issuer_currency: str | None
    opening: Decimal
    brought_forward: Decimal
    net: Decimal
    commission: Decimal
    tax: Decimal
    payable: Decimal
    proceeds: Decimal
    payments: Decimal
    closing: Decimal
    sales: int
    cancelled: int
    due_on: date | None
    payment_days: int
    paid_lines: int
    adjustments: int
    lines_sha256: str
    paid: tuple[PaidAmount, ...] = ()

    @property
    def name(self) -> str:
        """The recipient's legal name, or the agency."""
        return self.customer.legal_name or self.account.agency

    @property
    def amount(self) -> Decimal:
        """What the document adds to the balance: what it brings forward, commission and tax, less proceeds."""
        return money.add(money.add(self.brought_forward, self.payable), money.negated(self.proceeds))

    @property
    def payable_on(self) -> date:
        """The last day on which its commission is to be paid, whether by deduction or not."""
        return self.due_on or self.issued_on + timedelta(self.payment_days)

    @property
    def age(self) -> tuple[Period, int, int]:
        """The order of what documents say of their parties, who are those of the end of a period: newer is larger."""
        return self.period, self.release, self.revision

    @classmethod
    def parse(cls, values: Mapping[str, Any], release: int = 1, revision: int = 1) -> Self:
        """Parse the content of ``statement.json``; the list that names it has ``release`` and ``revision``.

        Raises ``KeyError``, ``TypeError``, ``ValueError`` or ``ArithmeticError`` for any other content.
        """
        check_schema(values["schema"])
        period, currency = Period.parse(values["period"]), values["currency"]
        names = ("opening", "brought_forward", "net", "commission", "tax", "payable", "proceeds", "payments", "closing")
        amounts = {name: Decimal(values[name]) for name in names}
        cancels, tax_in = values["cancels"], values["tax_in"]
        issued = IssuerAmounts.parse(tax_in) if tax_in else None
        base = values["base"]
        issuer_currency = issued.currency if issued else (base["currency"] if base else None)
        return cls(
            number=values["number"],
            is_credit_note=values["document"] == "credit_note",
            cancels=cancels["number"] if cancels else None,
            release=release,
            revision=revision,
            period=period,
            account=Account(values["agency"], currency),
            issued_on=date.fromisoformat(values["issued_on"]),
            time_zone=values["time_zone"],
            owner=Party.parse(values["owner"]),
            customer=Party.parse(values["customer"]),
            collects=values["collects"],
            is_paid_out=is_paid_out(values),
            taxes=tuple(_taxes(values["taxes"], issued, currency if currency == issuer_currency else None)),
            tax_in=issued,
            issuer_currency=issuer_currency,
            sales=int(values["by_kind"][Kind.SALES]["lines"]),
            cancelled=int(values["by_kind"][Kind.VOIDS]["lines"]),
            due_on=date.fromisoformat(values["due_on"]) if values["due_on"] else None,
            payment_days=int(values["payment_days"]),
            paid_lines=int(values["by_kind"][Kind.PAYMENTS]["lines"]) if revision == 1 else 0,
            adjustments=int(values["by_kind"][Kind.ADJUSTMENTS]["lines"]),
            lines_sha256=values["lines_file"]["sha256"],
            **amounts,  # type: ignore[arg-type]  # none is named like the payments, which come later
        )


def _taxes(
    rows: Sequence[Mapping[str, Any]], issued: IssuerAmounts | None, own_currency: str | None
) -> Iterator[TaxedBase]:
    """Yield the rows of tax; ``own_currency``: that of the document if it is the issuer's, too."""
    figures = issued.rows if issued else [None] * len(rows)
    for row, issuer in zip(rows, figures, strict=True):
        percent, base, tax = (Decimal(row[name]) for name in ("percent", "base", "tax"))
        own = IssuerFigures(own_currency, base, tax) if own_currency else None
        points = tuple(map(TaxPoints.parse, row["tax_points"]))
        charges = tuple((one["name"], Decimal(one["amount"])) for one in row["charges"])
        profile = row["country"], row["vat_id"]
        yield TaxedBase(row["scheme"], percent, base, tax, own or issuer, points, charges, *profile)


def in_force(documents: Iterable[StatementDocument]) -> list[StatementDocument]:
    """Return the documents that are not cancelled and that cancel no other one."""
    found = list(documents)
    cancelled = {one.cancels for one in found if one.cancels}
    return [one for one in found if one.cancels is None and one.number not in cancelled]
