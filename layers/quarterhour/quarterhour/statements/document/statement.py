"""The statement as a JSON document: who owes what to whom, for what, and how it was computed."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, NamedTuple, Self

from quarterhour.model import money
from quarterhour.model.clock import iso_seconds, parse_iso
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import day_in, start_of, time_zone
from quarterhour.registry.agencies.agency import BY_AGENCY, DEFAULT_LANGUAGE, Agency, TaxProfile
from quarterhour.registry.owner import PAYMENT_DAYS, Owner
from quarterhour.statements.document.tax import Taxable, TaxNames, TaxRow, note_of, taxed
from quarterhour.statements.drafts.figures import (
    OTHER_DAYS,
    SOLD,
    AccountSums,
    Amounts,
    BaseFigures,
    Kind,
    Sum,
    proceeds,
)
from quarterhour.statements.keys import LINES
from quarterhour.statements.listing import FIGURES, LastDocument, Listed, SealedObject
from quarterhour.statements.plan import BY_TAX_POINT, StatementPlan

WITH_PAYMENT_TERMS: Final = 2
"""The first schema whose statements say when they are issued, and where and until when they must be paid."""
BY_KIND: Final = 2
"""The first schema whose orders are sorted, and list corrections below their sales."""
BY_RELEASE: Final = 2
"""The first schema whose statements are released from drafts. Before, one could be sealed and not be issued."""
BY_COLLECTOR: Final = 2
"""The first schema whose statements say who holds the customers' money."""
IN_PART: Final = 2
"""The first schema whose figures in the base currency leave out the lines without an exchange rate."""
NOT_ISSUED: Final = "the agency has no tax profile at the cut-off"
"""Why a statement of 0.2.0 is not issued."""


class PartyVersions(NamedTuple):
    """The newest versions known of the owner and of the agency; 0 if none is."""

    owner: int = 0
    agency: int = 0

    @classmethod
    def of(cls, values: Iterable[Any]) -> Self:
        """Parse the versions as they are stored."""
        return cls(*map(int, values))


NO_VERSIONS: Final = PartyVersions()


@dataclass(frozen=True, slots=True)
class Parties:
    """Who issues a statement and who receives it, as it shows them; ``agency`` is ``None`` if not registered then.

    ``profile_at``: returns the agency's tax profile at an instant; ``None`` without one. ``versions``: known of both.
    """

    owner: Owner
    agency: Agency | None
    profile_at: Callable[[datetime], TaxProfile | None]
    versions: PartyVersions = NO_VERSIONS


class StatementEntry(NamedTuple):
    """What a statement states. ``previous``: the account's last document.

    ``cancels``: the document that this one reverses whole. ``replaces``: the number of the cancelled statement of the
    same lines. ``acceptance_days``: after which silence accepts it; 0 for never.
    """

    account: Account
    number: str
    document: str
    sums: AccountSums
    previous: LastDocument | None
    cancels: Mapping[str, str] | None = None
    replaces: str | None = None
    acceptance_days: int = 0


@dataclass(frozen=True)
class Statement:
    """The statement of an entry, for these parties.

    ``named``: the commissions of its lines by what decides their tax. Only a statement whose tax profiles name kinds or
    categories needs it, as the sums of a day know neither.
    """

    plan: StatementPlan
    entry: StatementEntry
    parties: Parties
    named: Mapping[Taxable, Decimal] | None = None

    @cached_property
    def names(self) -> TaxNames:
        """The kinds and categories that the tax profiles of its tax points name."""
        if self.plan.schema < BY_TAX_POINT:
            return TaxNames()
        return TaxNames.by(self._profile_on(date.fromisoformat(day)) for day in self.entry.sums.tax_points)

    def _profile_on(self, day: date) -> TaxProfile | None:
        return self.parties.profile_at(start_of(day, time_zone(self.plan.zone)))

    @cached_property
    def amounts(self) -> Amounts:
        """What is owed."""
        previous = self.entry.previous
        opening, currency = previous.listed.closing if previous else money.ZERO, self.entry.account.currency
        rounding = self.plan.rounding
        return Amounts.of(
            self.entry.sums, opening, self.taxes, lambda net: proceeds(net, self.collects, currency, rounding)
        )

    @property
    def collects(self) -> str:
        """Who holds the customers' money, by the registration at the end of the period; in schema 1 the agency."""
        agency = self.parties.agency
        return agency.collects if agency and self.plan.schema >= BY_COLLECTOR else BY_AGENCY

    @cached_property
    def taxes(self) -> list[TaxRow]:
        """The tax on what is charged, by scheme and percentage; of nothing, by the profile at the end of the period."""
        plan, sums = self.plan, self.entry.sums
        last_day = plan.period.last_day
        currency = self.entry.account.currency
        if plan.schema < BY_TAX_POINT:
            profile = self.parties.profile_at(plan.cut_off)
            only = None if profile is None else TaxProfile(profile.scheme, profile.percent)
            return taxed({Taxable(last_day): sums.commission}, currency, lambda _: only, plan.rounding)
        commissions = self.named
        if commissions is None:
            if any(self.names):
                raise ValueError(f"the tax of {self.entry.account} depends on the kinds and categories of its lines")
            commissions = {Taxable(date.fromisoformat(day)): some.commission for day, some in sums.tax_points.items()}
        commissions = commissions or {Taxable(last_day): money.ZERO}
        return taxed(commissions, currency, self._profile_on, plan.rounding)

    @property
    def not_issued(self) -> str | None:
        """Why the statement is not issued; ``None`` if it is."""
        first = next((row.tax_points[0].first for row in self.taxes if row.scheme is None), None)
        if first is None:
            return None
        return NOT_ISSUED if self.plan.schema < BY_TAX_POINT else f"the agency has no tax profile on {first}"

    def document(self, orders: Sequence[Mapping[str, Any]], lines: SealedObject) -> dict[str, Any]:
        """Return the content of ``statement.json``. ``orders``: of ``orders.py``; ``lines``: the file of the lines."""
        plan, entry, sums = self.plan, self.entry, self.entry.sums
        return {
            "schema": plan.schema,
            "document": entry.document,
            "number": entry.number,
            **self._terms_of_payment(),
            "period": str(plan.period),
            "from": iso_seconds(plan.starts),
            "to": iso_seconds(plan.ends),
            "time_zone": plan.zone,
            "cut_off": iso_seconds(plan.cut_off),
            "recorded_until": iso_seconds(plan.bound.end),
            "agency": entry.account.agency,
            "currency": entry.account.currency,
            **self._whether_issued(),
            "owner": self.parties.owner.as_dict(with_iban=plan.schema >= WITH_PAYMENT_TERMS),
            "customer": _customer(self.parties.agency, with_iban=plan.schema >= WITH_PAYMENT_TERMS),
            **self._shown_taxes(),
            **self._shown_amounts(),
            "lines": sums.lines,
            "prior_period_lines": sums.prior_period_lines,
            "by_kind": {kind.value: sums.of_kind(kind).as_dict() for kind in Kind},
            "prior_period": {kind.value: sums.of_kind(kind, prior_only=True).as_dict() for kind in Kind},
            "base": _base(plan, sums.base),
            "previous": _previous(entry.previous, plan.schema),
            **({} if plan.schema < BY_TAX_POINT else {"earlier_months": _earlier_months(sums, str(plan.period))}),
            "days": _days(sums),
            "terms": [
                {"terms": origin, "commission_rate": rate, **some.as_dict("net")}
                for (origin, rate), some in sums.terms.items()
            ],
            "lines_of_further_terms": sums.further_terms,
            "orders": list(orders),
            "lines_in_orders": sum(one["lines"] for one in orders),
            "lines_file": {"name": LINES, "sha256": lines.sha256, "size": lines.size},
        }

    def _whether_issued(self) -> dict[str, Any]:
        """Return whether the statement is issued, and why not; later statements are not made before they can be."""
        if self.plan.schema >= BY_RELEASE:
            return {}
        return {"issued": self.not_issued is None, "not_issued": self.not_issued}

    def _terms_of_payment(self) -> dict[str, Any]:
        """Return when the statement is issued and due, what it corrects, and its language; nothing in schema 1."""
        if self.plan.schema < WITH_PAYMENT_TERMS:
            return {}
        owner, agency = self.parties.owner, self.parties.agency
        issued_on = day_in(time_zone(self.plan.zone), parse_iso(self.plan.planned_at))
        days = PAYMENT_DAYS if owner.payment_days is None else owner.payment_days
        due_on = issued_on + timedelta(days=days) if self.amounts.closing > 0 else None
        return {
            "issued_on": issued_on.isoformat(),
            "due_on": due_on.isoformat() if due_on else None,
            "payment_days": days,
            "dispute_until": self._dispute_until(issued_on),
            "language": agency.language if agency else DEFAULT_LANGUAGE,
            "cancels": self.entry.cancels,
            "replaces": self.entry.replaces,
        }

    def _dispute_until(self, issued_on: date) -> str | None:
        """Return the last day on which the agency may dispute it, ISO 8601; ``None`` if silence never accepts it.

        Nobody accepts or disputes a cancellation.
        """
        days = self.entry.acceptance_days
        return (issued_on + timedelta(days=days)).isoformat() if days and not self.entry.cancels else None

    def _shown_taxes(self) -> dict[str, Any]:
        if self.plan.schema >= BY_TAX_POINT:
            rows = [row.as_dict() for row in self.taxes]
            return {"rounding": self.plan.rounding.value, "taxes": rows, "tax_in": self._tax_in()}
        profile = self.parties.profile_at(self.plan.cut_off)
        if profile is None:
            return {"tax_profile": None}
        note = note_of(profile.scheme, profile.percent)
        return {"tax_profile": {"scheme": profile.scheme, "percent": money.plain(profile.percent), "note": note}}

    def _tax_in(self) -> dict[str, Any] | None:
        """Return the totals of tax in the base currency, at the last exchange rate of the lines.

        ``None`` if the statement is in that currency, or no line has an exchange rate.
        """
        currency, base, figures = self.entry.account.currency, self.plan.base, self.entry.sums.base
        if currency in {base, money.NO_CURRENCY} or figures is None or figures.rate is None:
            return None
        units = figures.rate.units

        def converted(amount: Decimal) -> str:
            return money.plain(money.rounded(Fraction(amount) / Fraction(units), base, self.plan.rounding))

        return {
            "currency": base,
            "exchange_rate": money.plain(units),
            "exchange_rate_source": figures.rate.source,
            "exchange_rate_as_of": figures.rate.as_of,
            "base": converted(self.amounts.commission),
            "tax": converted(self.amounts.tax),
        }

    def _shown_amounts(self) -> dict[str, Any]:
        amounts = {name: money.plain(value) for name, value in shown_amounts(self.entry.sums, self.amounts).items()}
        if self.plan.schema >= BY_COLLECTOR:
            return {"collects": self.collects, **amounts}
        del amounts["proceeds"]
        return amounts

    def listed(self, files: Mapping[str, SealedObject]) -> Listed:
        """Return the statement's row in the list of its period."""
        amounts, sums = shown_amounts(self.entry.sums, self.amounts), self.entry.sums
        return Listed(
            self.entry.account,
            self.entry.number,
            self.entry.document,
            self.not_issued is None,
            {name: amounts[name] for name in FIGURES},
            sums.lines,
            sums.prior_period_lines,
            files,
        )


def as_bytes(document: Mapping[str, Any]) -> bytes:
    """Return the bytes of a JSON file, one line for each member: the same document gives the same bytes."""
    # With an indent, the json module encodes in Python, which takes ten times as long.
    members = (f" {json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in document.items())
    return ("{\n" + ",\n".join(members) + "\n}\n").encode()


def shown_amounts(sums: AccountSums, amounts: Amounts) -> dict[str, Decimal]:
    """Return the amounts of a statement by name, in the order in which they are shown."""
    sold = {kind.value: sums.of_kind(kind).amount for kind in SOLD}
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


def _customer(agency: Agency | None, *, with_iban: bool) -> dict[str, Any]:
    names = ("legal_name", "address", "country", "group", "contact", *(("iban",) if with_iban else ()))
    facts = {name: getattr(agency, name) if agency else None for name in names}
    vat_id = agency.tax.vat_id if agency and agency.tax else None
    return {"registered": agency is not None, **facts, "vat_id": vat_id}


def _base(plan: StatementPlan, base: BaseFigures | None) -> dict[str, Any] | None:
    """Return the figures of the lines that have an exchange rate; schema 1 shows none if one line lacks it."""
    currency = plan.base
    if not currency:
        return None
    base = base or BaseFigures()
    figures = {"net": base.net, "commission": base.commission, "payments": base.payments}
    is_shown = plan.schema >= IN_PART or not base.missing
    rounded = {
        name: money.plain(money.rounded(value, currency, plan.rounding)) if is_shown else None
        for name, value in figures.items()
    }
    return {"currency": currency, **rounded, "missing": sorted(base.missing)}


def _previous(before: LastDocument | None, schema: int) -> dict[str, Any] | None:
    """Return the last document as the next one shows it; schema 1 shows neither its kind nor its date of issue."""
    if before is None:
        return None
    listed = before.listed
    names = ("net", "commission", "tax", "payments", "closing")
    return {
        "period": str(before.period),
        "number": listed.number,
        **({"document": listed.document, "issued_on": before.issued_on} if schema >= WITH_PAYMENT_TERMS else {}),
        **{name: money.plain(listed.figures[name]) for name in names},
        "lines": listed.lines,
    }


def _earlier_months(sums: AccountSums, period: str) -> list[dict[str, Any]]:
    """Return the sums of each month before the period that has tax points on the statement, in order."""
    months: dict[str, Sum] = {}
    for day, some in sorted(sums.tax_points.items()):
        if (month := day[: len(period)]) < period:
            months.setdefault(month, Sum()).add(some.lines, some.amount, some.commission)
    return [{"month": month, **some.as_dict("net")} for month, some in months.items()]


def _days(sums: AccountSums) -> list[dict[str, Any]]:
    """Return the sums of each day in order; that of all days outside the period comes last, with no day."""
    days = sorted((day for day in sums.days if day != OTHER_DAYS), key=str)
    others = [OTHER_DAYS] if OTHER_DAYS in sums.days else []
    return [{"day": day or None, **sums.days[day].as_dict("net")} for day in (*days, *others)]
