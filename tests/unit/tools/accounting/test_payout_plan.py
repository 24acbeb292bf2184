"""Which credits are paid out, and the events that record them."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from quarterhour.ledger.event import Event, read_event
from quarterhour_tools.accounting.document import StatementDocument
from quarterhour_tools.accounting.payout_plan import event_of, plan_payouts, transfers_of
from tests.support.accounting import CUSTOMER, document, tax

ZERO = Decimal(0)


def credit(agency: str = "42", **changed: Any) -> StatementDocument:
    """Return a statement whose agency is owed 881.00: net sales of 1,000.00 less commission and tax of 119.00."""
    return document(agency=agency, **{"collects": "marketplace", "proceeds": "1000.00", **changed})


def test_the_newest_statement_of_each_account_is_paid_if_it_closes_with_a_credit() -> None:
    plan = plan_payouts(
        [
            credit(opening="-19.00"),
            credit(period="2026-12", release=2, number="S-000002"),
            credit("43", number="S-000003", collects="agency", proceeds="0.00", opening="-500.00"),
            credit("44", number="S-000004", proceeds="0.00"),
            credit("45", number="S-000005", proceeds="119.00"),
        ],
        ZERO,
    )
    assert [(one.document.number, one.amount) for one in plan.payouts] == [("S-000002", Decimal("881.00"))]
    assert plan.left_out == ()


def test_a_cancelled_statement_is_not_paid() -> None:
    cancelling = credit(
        number="C-000001", cancels={"number": "S-000001"}, revision=2, proceeds="-1000.00", opening="-881.00",
        taxes=[tax("-100.00", "-19.00")], commission="-100.00", tax="-19.00", payable="-119.00",
    )  # fmt: skip
    assert cancelling.closing == ZERO
    assert plan_payouts([credit(), cancelling], ZERO).payouts == ()


@pytest.mark.parametrize(
    ("changed", "minimum", "expected"),
    [
        ({}, "881.00", None),
        ({}, "881.01", ("below the minimum of 881.01", True)),
        ({"currency": "GBP"}, "0", ("in GBP: a SEPA credit transfer moves euros alone", False)),
        ({"payments": "0.001"}, "0", ("the amount has more decimal places than euros have", False)),
        ({"customer": {**CUSTOMER, "iban": None}}, "0", ("the agency's registration has no IBAN", False)),
        ({"customer": {**CUSTOMER, "iban": "DE88370400440532013000"}}, "0", ("the agency's IBAN is wrong", False)),
    ],
)
def test_a_credit_that_is_left_out_has_a_reason(
    changed: dict[str, Any], minimum: str, expected: tuple[str, bool] | None
) -> None:
    plan = plan_payouts([credit(**changed)], Decimal(minimum))
    assert [(one.reason, one.waits) for one in plan.left_out] == ([expected] if expected else [])
    assert len(plan.payouts) == (0 if expected else 1)


def test_a_payout_is_recorded_as_a_payment_below_zero() -> None:
    (payout,) = plan_payouts([credit()], ZERO).payouts
    sent = event_of(payout, "2026-12-05", date(2026, 12, 7))
    assert sent == {
        "specversion": "1.0",
        "source": "quarterhour/payouts",
        "id": "payout-S-000001",
        "type": "payment.recorded",
        "subject": "42",
        "time": "2026-12-06T23:00:00Z",
        "data": {
            "amount": "-881.00",
            "currency": "EUR",
            "reason": "payout 2026-12-05",
            "extra": {"run": "2026-12-05", "statement": "S-000001"},
        },
    }
    event, other = read_event(sent), read_event(event_of(payout, "2026-12-06", date(2026, 12, 7)))
    assert isinstance(event, Event)
    assert isinstance(other, Event)
    assert (event.amount, event.identity == other.identity) == (Decimal("-881.00"), True)
    assert event.digest != other.digest


def test_a_transfer_has_the_statement_s_number_as_its_reference() -> None:
    (transfer,) = transfers_of(plan_payouts([credit()], ZERO).payouts)
    assert transfer.recipient == ("Harbour Books GmbH", "DE89370400440532013000")
    assert (transfer.amount, transfer.reference) == (Decimal("881.00"), "S-000001")
    assert transfer.remittance == "S-000001 2026-11 Corner Market B.V."
