"""Statements of one account that follow each other, made from their lines."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final

from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Account
from quarterhour.model.money import Rounding
from quarterhour.registry.agencies.agency import BY_AGENCY, STANDARD, Agency, TaxProfile
from quarterhour.registry.owner import Owner
from quarterhour.statements.document.statement import Statement
from quarterhour.statements.drafts.figures import AccountSums, BaseFigures, Kind, LastRate, Sum
from quarterhour.statements.listing import CREDIT_NOTE, FIGURES, STATEMENT_DOCUMENT, Document
from quarterhour.statements.parties import Parties
from quarterhour.statements.releases.plan import document_kind
from quarterhour.statements.remainders import NOTHING
from tests.support.statement_plans import NOVEMBER, PLANNED_AT, plan

VAT: Final = TaxProfile(STANDARD, Decimal(10), "DE136695976")
Line = tuple[str, str]
"""The amount and the commission of a line."""


OWNER: Final = Owner(legal_name="Market B.V.", address="Dam 1", country="NL", vat_id="NL004495445B01")
AGENCY: Final = Agency(datetime(2026, 1, 1, tzinfo=UTC), "Acme GmbH", "Torstr. 1", "DE", VAT)


def statement(lines: Sequence[Line], before: Document | None = None, **setting: Any) -> Statement:
    """Return the next statement of an account over sales, each on another day.

    ``setting``: ``currency``, ``rounding``, ``collects``, ``profile``, and others. ``profiles``: of the days in turn.
    ``units``: of the currency for one EUR, the base currency. ``payments``: their amount.
    """
    profiles = setting.get("profiles") or [setting.get("profile", VAT)]
    sums = AccountSums()
    for number, (amount, commission) in enumerate(lines):
        day = f"2026-11-{number % len(profiles) + 1:02d}"
        some = Sum(1, Decimal(amount), Decimal(commission))
        sums.add((Kind.SALES, False), day, ("event", "0"), day, some)
    if "payments" in setting:
        sums.add((Kind.PAYMENTS, False), "", ("", ""), "", Sum(1, Decimal(setting["payments"])))
    planned = replace(
        plan(), rounding=setting.get("rounding", Rounding.HALF_EVEN), base="EUR" if "units" in setting else ""
    )
    if "units" in setting:
        rate = LastRate(True, "202611302345", Decimal(setting["units"]), "ecb", "2026-11-30T15:00:00.000Z")  # noqa: FBT003
        sums.base = BaseFigures(rate=rate)
    account = Account("42", setting.get("currency", "EUR"))
    agency = AGENCY._replace(collects=setting.get("collects", BY_AGENCY))
    parties = Parties(
        OWNER, agency, lambda at: agency._replace(tax=profiles[(at.day - 1) % len(profiles)]._replace(country="DE"))
    )
    left = before.remainders if before else NOTHING
    made = Statement(planned, account, sums, parties, iso_millis(PLANNED_AT), before, "S-000001", before=left)
    kind = document_kind(sums.commission, account.currency, planned.rounding)
    return replace(made, kind=kind)


def cancellation(of: Statement, shown: Document, before: Document) -> Statement:
    """Return the document that reverses a statement whole; ``shown``: that statement as it was released."""
    reversed_ = replace(of, sums=of.sums.reversed(), previous=before, before=before.remainders)
    kind = CREDIT_NOTE if of.kind == STATEMENT_DOCUMENT else STATEMENT_DOCUMENT
    return replace(reversed_, cancels=shown.reversal, replaces=None, kind=kind)


def released(of: Statement, number: int = 1) -> Document:
    """Return a document as the table keeps it."""
    figures = {name: of.shown_amounts[name] for name in FIGURES}
    one = Document(NOVEMBER, of.account, 1, f"S-{number:06d}", of.kind, "", figures, 1, 0, {})
    one = replace(one, carried=of.carried, remainders=of.remainders, issued_on=date(2026, 12, 4))
    assert Document.of(json.loads(json.dumps(one.as_dict()))) == one
    return one
