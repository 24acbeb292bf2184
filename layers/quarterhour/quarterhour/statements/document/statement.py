"""The statement as a JSON document: who owes what to whom, for what, and how it was computed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from functools import cached_property
from typing import Any

from quarterhour.model import money
from quarterhour.model.clock import iso_seconds, parse_iso
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import day_in, start_of, time_zone
from quarterhour.model.schema import SCHEMA
from quarterhour.registry.agencies.agency import BY_MARKETPLACE, DEFAULT_LANGUAGE, Agency, TaxProfile, collector_of
from quarterhour.registry.agencies.e_invoices import REACH_FIELDS, RECIPIENT_FIELDS
from quarterhour.registry.owner import PAYMENT_DAYS
from quarterhour.statements.document.amounts import Amounts, Proceeds, proceeds
from quarterhour.statements.document.collected import Collected, by_marketplace, collected
from quarterhour.statements.document.issuer_currency import in_issuer_currency
from quarterhour.statements.document.tax import Taxable, TaxNames, TaxRow, taxed
from quarterhour.statements.drafts.figures import (
    OTHER_DAYS,
    SOLD,
    AccountSums,
    BaseFigures,
    Kind,
    Sum,
)
from quarterhour.statements.keys import LINES
from quarterhour.statements.listing import Document, SealedObject
from quarterhour.statements.parties import Parties
from quarterhour.statements.plan import StatementPlan
from quarterhour.statements.remainders import NOTHING, Remainders


@dataclass(frozen=True)
class Statement:
    """What a document states: the sums of an account for a period, for these parties.

    ``plan``: that of the run that made the draft. ``at``: when the document is made, ISO 8601. ``previous``: the
    account's last document, and ``before`` what rounding has left up to it. ``kind``: ``statement`` or ``credit_note``.
    ``cancels``: what the document shows of the one that it reverses whole. ``replaces``: the number of the cancelled
    statement of the same lines, and ``replaced_on`` its date of issue. ``paid``: what was paid since the last line.
    ``acceptance_days``: after which silence accepts it; 0 for never.

    ``named``: the charges of its lines by what decides their tax. Only a statement whose tax profiles name kinds or
    categories needs it, as the sums of a day know neither.
    """

    plan: StatementPlan
    account: Account
    sums: AccountSums
    parties: Parties
    at: str
    previous: Document | None = None
    number: str = ""
    kind: str = ""
    cancels: Mapping[str, Any] | None = None
    replaces: str | None = None
    acceptance_days: int = 0
    named: Mapping[Taxable, Decimal] | None = None
    before: Remainders = NOTHING
    replaced_on: str | None = None
    paid: Decimal = money.ZERO

    # ------------------------------------------------------------ what is owed

    @cached_property
    def names(self) -> TaxNames:
        """The kinds, categories and charges that the tax profiles of its tax points name."""
        days = {*map(date.fromisoformat, self.sums.tax_points), *(one.tax_point for one in self._of_period)}
        return TaxNames.by(map(self._profile_on, days))

    def _agency_on(self, day: date) -> Agency | None:
        return self.parties.agency_at(start_of(day, time_zone(self.plan.zone)))

    def _profile_on(self, day: date) -> TaxProfile | None:
        agency = self._agency_on(day)
        return agency.tax if agency else None

    @cached_property
    def carried(self) -> Remainders:
        """The remainders that its figures take up. A cancellation rounds as the document that it reverses did."""
        return Remainders.of(self.cancels["carried"]).negated() if self.cancels else self.before

    @cached_property
    def remainders(self) -> Remainders:
        """What rounding leaves for the next document."""
        return self.before.after((rest for row in self.taxes for rest in row.rests), self._proceeds.rest)

    @cached_property
    def taxes(self) -> list[TaxRow]:
        """The tax on what is charged, by scheme and percentage; of nothing, by the profile at the end of the period."""
        charged = dict(self._of_lines if self.named is None else self.named)
        for one, amount in self._of_period.items():
            charged[one] = money.add(charged.get(one, money.ZERO), amount)
        charged = charged or {Taxable(self.plan.period.last_day): money.ZERO}
        return taxed(charged, self.account.currency, self._profile_on, self.plan.rounding, self.carried)

    @property
    def _of_lines(self) -> dict[Taxable, Decimal]:
        """The charges of its lines by tax point and name."""
        if self.names.of_lines:
            raise ValueError(f"the tax of {self.account} depends on the kinds and categories of its lines")
        split = self.sums.charges.split
        return {
            Taxable(date.fromisoformat(day), charge=name): amount
            for day, some in self.sums.tax_points.items()
            for name, amount in split(day, some.commission)
        }

    @cached_property
    def _of_period(self) -> dict[Taxable, Decimal]:
        """What it charges of the whole period, which is taxed by the profile at its end."""
        charged: dict[Taxable, Decimal] = {}
        for one in self.sums.charges.of_period:
            key = Taxable(self.plan.period.last_day, charge=one.name)
            charged[key] = money.add(charged.get(key, money.ZERO), one.amount)
        return charged

    @property
    def collects(self) -> str:
        """Who collects the customers' money, by the registration at the end of the period."""
        return collector_of(self.parties.agency)

    @cached_property
    def collected(self) -> list[Collected]:
        """The net by who has collected it: the registration at each tax point says so."""
        nets = {date.fromisoformat(day): some.amount for day, some in self.sums.tax_points.items()}
        return collected(nets, lambda day: collector_of(self._agency_on(day)))

    @property
    def _iban(self) -> str | None:
        """The agency's IBAN at the end of the period, or of the last day whose money the marketplace has collected."""
        days = [span.last for row in self.collected if row.by == BY_MARKETPLACE for span in row.tax_points]
        agencies = (self.parties.agency, *(self._agency_on(day) for day in sorted(days, reverse=True)))
        return next((one.iban for one in agencies if one and one.iban), None)

    @cached_property
    def _proceeds(self) -> Proceeds:
        currency, rounding = self.account.currency, self.plan.rounding
        return proceeds(by_marketplace(self.collected), currency, rounding, self.carried.proceeds)

    @cached_property
    def amounts(self) -> Amounts:
        """What is owed."""
        opening = self.previous.closing if self.previous else money.ZERO
        return Amounts.of(self.sums, opening, self.taxes, self._proceeds)

    @cached_property
    def shown_amounts(self) -> dict[str, Decimal]:
        """The amounts by name, in the order in which they are shown."""
        amounts, sold = self.amounts, {kind.value: self.sums.of_kind(kind).amount for kind in SOLD}
        return {
            "opening": amounts.opening,
            "brought_forward": amounts.brought_forward,
            **sold,
            "net": amounts.net,
            "commission_exact": amounts.commission_exact,
            "commission": amounts.commission,
            "tax": amounts.tax,
            "payable": amounts.payable,
            "proceeds": amounts.proceeds,
            "payments": amounts.payments,
            "closing": amounts.closing,
        }

    # ------------------------------------------------------------ when

    @property
    def issued_on(self) -> date:
        """The business date of its issue."""
        return day_in(time_zone(self.plan.zone), parse_iso(self.at))

    @property
    def payment_days(self) -> int:
        """The days from its issue to the day when it must be paid."""
        days = self.parties.owner.payment_days
        return PAYMENT_DAYS if days is None else days

    @property
    def paid_since(self) -> Decimal:
        """How much of the closing balance has been paid since its last line."""
        return max(money.ZERO, min(self.paid, self.amounts.closing))

    @property
    def due_on(self) -> date | None:
        """The day when it must be paid; ``None`` if the agency owes nothing."""
        is_due = self.amounts.closing > self.paid_since
        return self.issued_on + timedelta(days=self.payment_days) if is_due else None

    @property
    def dispute_until(self) -> date | None:
        """The last day on which the agency may dispute it; ``None`` if silence never accepts it.

        Nobody accepts or disputes a cancellation.
        """
        days = self.acceptance_days
        return self.issued_on + timedelta(days=days) if days and not self.cancels else None

    # ------------------------------------------------------------ its content

    def content(self, orders: Sequence[Mapping[str, Any]], lines: SealedObject) -> dict[str, Any]:
        """Return the content of ``statement.json``. ``orders``: of ``orders.py``; ``lines``: the file of the lines."""
        plan, sums, agency = self.plan, self.sums, self.parties.agency
        return {
            "schema": SCHEMA,
            "document": self.kind,
            "number": self.number,
            "issued_on": self.issued_on.isoformat(),
            "due_on": self.due_on.isoformat() if self.due_on else None,
            "payment_days": self.payment_days,
            "dispute_until": self.dispute_until.isoformat() if self.dispute_until else None,
            "title": self.parties.owner.title_for(agency.country if agency else None),
            "language": agency.language if agency else DEFAULT_LANGUAGE,
            "cancels": self.cancels,
            "replaces": self.replaces,
            "replaced_on": self.replaced_on,
            "period": str(plan.period),
            "from": iso_seconds(plan.starts),
            "to": iso_seconds(plan.ends),
            "time_zone": plan.zone,
            "cut_off": iso_seconds(plan.cut_off),
            "recorded_until": iso_seconds(plan.bound.end),
            "agency": self.account.agency,
            "currency": self.account.currency,
            "owner": self.parties.owner.as_dict(),
            "customer": _customer(agency, self._iban),
            "rounding": plan.rounding.value,
            "taxes": [row.as_dict() for row in self.taxes],
            "period_charges": [one.as_dict() for one in sums.charges.of_period],
            "tax_in": self._tax_in(),
            "collects": self.collects,
            "collected": [row.as_dict() for row in self.collected],
            "remainders": self.remainders.as_dict(),
            **{name: money.plain(value) for name, value in self.shown_amounts.items()},
            "paid_since": money.plain(self.paid_since),
            "lines": sums.lines,
            "prior_period_lines": sums.prior_period_lines,
            "by_kind": {kind.value: sums.of_kind(kind).as_dict() for kind in Kind},
            "prior_period": {kind.value: sums.of_kind(kind, prior_only=True).as_dict() for kind in Kind},
            "base": _base(plan, sums.base),
            "previous": _previous(self.previous),
            "earlier_months": _earlier_months(sums, str(plan.period)),
            "days": _days(sums),
            "terms": _terms(sums),
            "lines_of_further_terms": sums.further_terms,
            "orders": list(orders),
            "lines_in_orders": sum(one["lines"] for one in orders),
            "lines_file": {"name": LINES, "sha256": lines.sha256, "size": lines.size},
        }

    def _tax_in(self) -> dict[str, Any] | None:
        """Return the amounts in the base currency, at the last exchange rate of the lines.

        ``None`` if the statement is in that currency, or no line has an exchange rate.
        """
        currency, base, figures = self.account.currency, self.plan.base, self.sums.base
        if currency in {base, money.NO_CURRENCY} or figures is None or figures.rate is None:
            return None
        return in_issuer_currency(self.amounts, self.taxes, figures.rate, base, self.plan.rounding)


def as_bytes(document: Mapping[str, Any]) -> bytes:
    """Return the bytes of a JSON file, one line for each member: the same document gives the same bytes."""
    # With an indent, the json module encodes in Python, which takes ten times as long.
    members = (f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in document.items())
    return ("{\n" + ",\n".join(members) + "\n}\n").encode()


def _customer(agency: Agency | None, iban: str | None) -> dict[str, Any]:
    names = ("legal_name", "address", "country", "group", "contact", *REACH_FIELDS, *RECIPIENT_FIELDS)
    facts = {name: getattr(agency, name) if agency else None for name in names}
    vat_id = agency.tax.vat_id if agency and agency.tax else None
    return {"registered": agency is not None, **facts, "iban": iban, "vat_id": vat_id}


def _base(plan: StatementPlan, base: BaseFigures | None) -> dict[str, Any] | None:
    """Return the figures of the lines that have an exchange rate, in the base currency; ``None`` without one."""
    currency = plan.base
    if not currency:
        return None
    base = base or BaseFigures()
    figures = {"net": base.net, "commission": base.commission, "payments": base.payments}
    rounded = {name: money.plain(money.rounded(value, currency, plan.rounding)) for name, value in figures.items()}
    return {"currency": currency, **rounded, "missing": sorted(base.missing)}


def _previous(before: Document | None) -> dict[str, Any] | None:
    """Return the last document as the next one shows it."""
    if before is None:
        return None
    names = ("net", "commission", "tax", "payments", "closing")
    return {
        "period": str(before.period),
        **before.reference,
        **{name: money.plain(before.figures[name]) for name in names},
        "lines": before.lines,
        "remainders": before.remainders.as_dict(),
    }


def _earlier_months(sums: AccountSums, period: str) -> list[dict[str, Any]]:
    """Return the sums of each month before the period that has tax points on the statement, in order."""
    months: dict[str, Sum] = {}
    for day, some in sorted(sums.tax_points.items()):
        if (month := day[: len(period)]) < period:
            months.setdefault(month, Sum()).join(some)
    return [{"month": month, **some.as_dict("net")} for month, some in months.items()]


def _days(sums: AccountSums) -> list[dict[str, Any]]:
    """Return the sums of each day in order; that of all days outside the period comes last, with no day."""
    days = sorted((day for day in sums.days if day != OTHER_DAYS), key=str)
    others = [OTHER_DAYS] if OTHER_DAYS in sums.days else []
    return [{"day": day or None, **sums.days[day].as_dict("net")} for day in (*days, *others)]


def _terms(sums: AccountSums) -> list[dict[str, Any]]:
    """Return the sums of each of the commission terms."""
    return [
        {"terms": origin, "commission_rate": rate, **some.as_dict("net")} for (origin, rate), some in sums.terms.items()
    ]
