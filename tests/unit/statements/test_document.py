"""The statement as a JSON document: what it holds if something is missing."""

from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from quarterhour.model.identifiers import Account
from quarterhour.statements.document import Parties, Statement
from quarterhour.statements.figures import AccountSums, BaseFigures
from quarterhour.statements.listing import SealedObject
from quarterhour.statements.owner import Owner
from quarterhour.statements.plan import StatementPlan
from quarterhour.statements.roster import RosterEntry
from tests.support.statement_plans import SETTINGS, plan

GAP = ["202611010130"]


def planned(schema: int) -> StatementPlan:
    return replace(plan(settings=replace(SETTINGS, base="EUR")), schema=schema)


def in_base(schema: int, *missing: str) -> Any:
    """Return the figures in the base currency of a statement whose other lines are worth 8.931 euros."""
    sums = AccountSums(base=BaseFigures(net=Fraction("8.931"), commission=Fraction("0.89"), missing=set(missing)))
    entry = RosterEntry(Account("42", "GBP"), "S-000001", "statement", sums, None)
    document = Statement(planned(schema), entry, Parties(Owner(), None)).document([], SealedObject("", 0))
    return document["base"]


CONVERTED = {"currency": "EUR", "net": "8.93", "commission": "0.89", "payments": "0.00"}


@pytest.mark.parametrize("schema", [1, 2])
def test_with_all_exchange_rates_every_line_is_converted(schema: int) -> None:
    assert in_base(schema) == {**CONVERTED, "missing": []}


def test_what_can_be_converted_is_shown_beside_the_quarter_hours_without_an_exchange_rate() -> None:
    assert in_base(2, *GAP) == {**CONVERTED, "missing": GAP}


def test_a_run_that_was_planned_by_an_earlier_version_converts_all_or_nothing() -> None:
    nothing = dict.fromkeys(("net", "commission", "payments"))
    assert in_base(1, *GAP) == {"currency": "EUR", **nothing, "missing": GAP}
