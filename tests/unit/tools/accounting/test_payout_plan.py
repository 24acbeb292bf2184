"""Which credits are paid out, and the events that record them."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from quarterhour.ledger.events.event import Event, read_event
from quarterhour.model.identifiers import Account, Identity
from quarterhour.model.periods import Period
from quarterhour_tools.accounting.credit_transfer import BankAccount
from quarterhour_tools.accounting.document import StatementDocument
from quarterhour_tools.accounting.payees import Payee
from quarterhour_tools.accounting.payout_plan import (
    SOURCE,
    PayoutFacts,
    PayoutRun,
    event_of,
    plan_payouts,
    transfers_of,
)
from quarterhour_tools.accounting.sealed_payments import SealedPayment
from tests.support.accounting import CUSTOMER, OWNER, document, tax

RUN = PayoutRun("2027-01-05")
PAYEE = Payee("marketplace", "Harbour Books GmbH", "NL91ABNA0417164300", None)


def credit(agency: str = "42", **changed: Any) -> StatementDocument:
    """Return a statement whose agency is owed 881.00: net sales of 1,000.00 less commission and tax of 119.00."""
    return document(agency=agency, **{"collects": "marketplace", "proceeds": "1000.00", **changed})


def second(**changed: Any) -> StatementDocument:
    """Return a statement of December whose agency is owed 381.00 more."""
    return credit(**{"period": "2026-12", "release": 2, "number": "S-000002", "proceeds": "500.00", **changed})


def paid(amount: str, statement: str = "", run: str = "", id_: str = "p1") -> SealedPayment:
    """Return a payment of the agency 42 in euros; ``run``: of a payout."""
    identity = Identity(SOURCE if run else "bank", id_)
    return SealedPayment(Account("42", "EUR"), identity, Decimal(amount), statement, f"payout {run}" if run else "")


def payouts(documents: list[StatementDocument], *payments: SealedPayment, run: PayoutRun = RUN) -> dict[str, str]:
    """Return the amounts that are paid, by statement."""
    return {one.document.number: str(one.amount) for one in plan_payouts(documents, payments, run).payouts}


def test_each_open_credit_of_an_agency_is_paid_by_itself_if_the_marketplace_collects() -> None:
    plan = plan_payouts(
        [
            credit(),
            second(),
            credit("43", number="S-000003", collects="agency", proceeds="0.00", brought_forward="-500.00"),
            credit("44", number="S-000004", proceeds="0.00"),
            credit("45", number="S-000005", proceeds="119.00"),
        ],
        [],
        RUN,
    )
    assert [(one.document.number, one.amount) for one in plan.payouts] == [
        ("S-000001", Decimal("881.00")), ("S-000002", Decimal("381.00")),
    ]  # fmt: skip
    (left_out,) = plan.left_out
    assert (left_out.document.number, left_out.amount, left_out.waits) == ("S-000003", Decimal("381.00"), True)
    assert left_out.reason == "the agency collects: it reduces what the agency owes next, or --refund '43' pays it"


def test_the_credit_of_an_agency_that_collects_itself_is_paid_if_the_run_says_so() -> None:
    own = credit(collects="agency", proceeds="0.00", brought_forward="-500.00")
    assert payouts([own]) == {}
    assert payouts([own], run=RUN._replace(refunds=frozenset({"42"}))) == {"S-000001": "381.00"}


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        (PayoutFacts(disputed=frozenset({"S-000001"})), "the statement is disputed"),
        (PayoutFacts(payees={"42": PAYEE._replace(hold="fraud?")}), "payouts to the agency are held: fraud?"),
    ],
)
def test_what_people_have_decided_is_left_out_with_the_reason_and_waits(facts: PayoutFacts, reason: str) -> None:
    plan = plan_payouts([credit(), credit("43", number="S-000002")], [], RUN, facts)
    assert [one.document.number for one in plan.payouts] == ["S-000002"]
    assert [(one.document.number, one.reason, one.waits) for one in plan.left_out] == [("S-000001", reason, True)]
    again = plan_payouts([credit()], [recorded()], RUN, facts)
    assert [one.is_recorded for one in again.payouts] == [True], "the bank has it"


def test_the_account_is_the_one_that_is_registered_now_and_of_a_recorded_payout_the_one_by_which_the_run_went() -> None:
    now = PayoutFacts(payees={"42": PAYEE._replace(iban="PL61109010140000071219812874")})
    (payout,) = plan_payouts([credit()], [], RUN, now).payouts
    assert payout.recipient == BankAccount("Harbour Books GmbH", "PL61109010140000071219812874")
    (again,) = plan_payouts([credit()], [recorded()], RUN, now._replace(went_by={"42": PAYEE})).payouts
    assert again.recipient.iban == PAYEE.iban
    (plain,) = plan_payouts([credit()], [], RUN, PayoutFacts(payees={"42": PAYEE._replace(iban=None)})).left_out
    assert plain.reason == "the agency's registration has no IBAN"


@pytest.mark.parametrize(
    ("payments", "expected"),
    [
        ([paid("-881.00", "S-000001", "2026-12-05")], {"S-000002": "381.00"}),
        ([paid("-381.00", "S-000002")], {"S-000001": "881.00"}),
        ([paid("-900.00")], {"S-000002": "362.00"}),
        ([paid("-100.00", "S-000002"), paid("-881.00", id_="p2")], {"S-000002": "281.00"}),
        ([paid("-1300.00")], {}),
        ([paid("-881.00", "S-999999")], {"S-000002": "381.00"}),
        ([paid("-881.00", "S-000001", "2026-12-05"), paid("881.00", "S-000001", id_="back")], None),
    ],
    ids=["payout", "named", "unnamed", "both", "too much", "unknown statement", "withdrawn"],
)
def test_what_is_paid_is_not_paid_again(payments: list[SealedPayment], expected: dict[str, str] | None) -> None:
    everything = {"S-000001": "881.00", "S-000002": "381.00"}
    assert payouts([credit(), second()], *payments) == (everything if expected is None else expected)


def test_a_debt_of_another_statement_reduces_what_is_paid() -> None:
    debt = second(proceeds="100.00")
    assert debt.amount == Decimal("19.00")
    assert payouts([credit(), debt]) == {"S-000001": "862.00"}


def recorded(number: str = "S-000001", amount: str = "-881.00") -> SealedPayment:
    """Return the payment by which the run has recorded a payout."""
    return paid(amount, number, RUN.name, f"payout-{number}")


def planned(
    documents: list[StatementDocument], *payments: SealedPayment, run: PayoutRun = RUN
) -> list[tuple[Any, ...]]:
    """Return the ids, the amounts, and whether they are recorded, of the payouts of a plan."""
    plan = plan_payouts(documents, payments, run)
    return [(one.event_id, str(one.amount), one.is_recorded) for one in plan.payouts]


def test_the_payouts_of_a_run_do_not_change_its_plan() -> None:
    assert planned([credit(), second()]) == [
        ("payout-S-000001", "881.00", False), ("payout-S-000002", "381.00", False),
    ]  # fmt: skip
    assert planned([credit(), second()], recorded()) == [
        ("payout-S-000001", "881.00", True), ("payout-S-000002", "381.00", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "payments",
    [
        [paid("-881.00", "S-000001")],
        [paid("-881.00")],
        [paid("-400.00")],
        [paid("881.00", "S-000001", id_="back"), paid("-881.00", "S-000001", "other", "payout-S-000001-2")],
    ],
    ids=["named", "unnamed", "a part", "withdrawn and paid by another run"],
)
def test_a_recorded_payout_stays_in_its_run_whatever_clears_the_statement(payments: list[SealedPayment]) -> None:
    assert planned([credit()], recorded(), *payments) == [("payout-S-000001", "881.00", True)]


def test_a_recorded_payout_stays_in_its_run_if_the_agency_collects_now_or_the_statement_is_cancelled() -> None:
    still = ("payout-S-000001", "881.00", True)
    assert planned([credit(), second(collects="agency", proceeds="0.00")], recorded()) == [still]
    assert planned([credit(), reversed_credit(opening="-881.00")], recorded()) == [still]
    assert planned([credit(), second()], recorded(), run=RUN._replace(last=Period(2026, 10))) == [still]
    least = RUN._replace(minimum=Decimal("1262.01"))
    assert planned([credit(), second()], recorded(), run=least) == [still]


def test_a_payout_after_one_that_was_withdrawn_has_an_id_of_its_own() -> None:
    payments = [paid("-881.00", "S-000001", "2026-12-05"), paid("881.00", "S-000001", id_="back")]
    (payout,) = plan_payouts([credit()], payments, RUN).payouts
    assert (payout.event_id, payout.document.number) == ("payout-S-000001-2", "S-000001")


def test_only_statements_up_to_the_last_period_are_paid_and_payments_for_later_ones_stay_theirs() -> None:
    run = PayoutRun("r", last=Period(2026, 11))
    assert payouts([credit(), second()], run=run) == {"S-000001": "881.00"}
    assert payouts([credit(), second()], paid("-381.00", "S-000002"), run=run) == {"S-000001": "881.00"}


def test_the_newest_statement_says_where_the_agency_is_paid() -> None:
    moved = {**CUSTOMER, "iban": "NL91ABNA0417164300", "legal_name": "Harbour Books B.V."}
    plan = plan_payouts([credit(), second(customer=moved)], [], RUN)
    assert [one.recipient[:2] for one in plan.payouts] == [("Harbour Books B.V.", "NL91ABNA0417164300")] * 2


def test_proceeds_are_paid_out_though_the_agency_collects_now() -> None:
    own = {"collects": "agency", "proceeds": "0.00"}
    assert payouts([credit(), second(**own)]) == {"S-000001": "762.00"}
    assert payouts([credit(collects="agency"), second(**own, brought_forward="-500.00")]) == {"S-000001": "881.00"}


def reversed_credit(**changed: Any) -> StatementDocument:
    """Return the document that cancels ``credit()``."""
    return credit(
        number="C-000001", cancels={"number": "S-000001"}, release=3, revision=2, proceeds="-1000.00",
        taxes=[tax("-100.00", "-19.00")], commission="-100.00", tax="-19.00", payable="-119.00", **changed,
    )  # fmt: skip


def test_a_cancellation_and_a_new_statement_of_an_earlier_period_do_not_bring_back_its_iban() -> None:
    """The agency moved to another bank in December; the statement of November was cancelled after that."""
    moved = {**CUSTOMER, "iban": "NL91ABNA0417164300"}
    again = credit(number="S-000003", release=4, revision=3)
    for documents in ([credit(), second(customer=moved), reversed_credit()], [second(customer=moved), again]):
        plan = plan_payouts(documents, [], RUN)
        assert {one.recipient.iban for one in plan.payouts} == {"NL91ABNA0417164300"}
    own = second(collects="agency", proceeds="0.00")
    assert payouts([credit(), own, reversed_credit(), again]) == {"S-000003": "762.00"}


def test_a_cancelled_statement_is_not_paid() -> None:
    cancelling = reversed_credit(opening="-881.00")
    assert cancelling.amount == Decimal("881.00")
    assert payouts([credit(), cancelling]) == {}


def test_the_minimum_is_compared_with_all_that_an_account_is_owed() -> None:
    documents = [credit(proceeds="129.00"), second(proceeds="139.00")]
    assert payouts(documents, run=PayoutRun("r", Decimal("30.00"))) == {"S-000001": "10.00", "S-000002": "20.00"}
    plan = plan_payouts(documents, [], PayoutRun("r", Decimal("30.01")))
    assert [(one.document.number, one.reason, one.waits) for one in plan.left_out] == [
        ("S-000001", "below the minimum of 30.01", True), ("S-000002", "below the minimum of 30.01", True),
    ]  # fmt: skip


NO_ADDRESS = "a transfer outside the European Economic Area needs the payer's town and country: register the owner's"


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"currency": "GBP"}, "in GBP: a SEPA credit transfer moves euros alone"),
        ({"proceeds": "1000.001"}, "the amount has more decimal places than euros have"),
        ({"customer": {**CUSTOMER, "iban": None}}, "the agency's registration has no IBAN"),
        ({"customer": {**CUSTOMER, "iban": "DE88370400440532013000"}}, "the agency's IBAN is wrong"),
        (
            {"customer": {**CUSTOMER, "iban": "tr33 0006 1005 1978 6457 8413 26"}},
            "the agency's IBAN is of TR, which is outside the SEPA area",
        ),
        (
            {"customer": {**CUSTOMER, "legal_name": "★ ★"}},
            "the agency's legal name has no character that banks take",
        ),
        ({"proceeds": "2000000000.00"}, "more than 999999999.99 EUR, the most that a SEPA credit transfer moves"),
        (
            {"customer": {**CUSTOMER, "iban": "GB29NWBK60161331926819"}, "owner": {**OWNER, "address": "Dam 1"}},
            NO_ADDRESS,
        ),
    ],
)
def test_a_credit_that_cannot_be_paid_has_a_reason(changed: dict[str, Any], reason: str) -> None:
    plan = plan_payouts([credit(**changed)], [], RUN)
    assert ([(one.reason, one.waits) for one in plan.left_out], plan.payouts) == ([(reason, False)], ())


def test_a_transfer_outside_the_eea_has_the_addresses_of_both() -> None:
    customer = {**CUSTOMER, "iban": "GB29NWBK60161331926819"}
    (paid,) = plan_payouts([credit(customer=customer)], [], RUN).payouts
    assert paid.recipient.address == ("Am Sandtorkai 1", "20457", "Hamburg", "DE")


def test_a_payout_is_recorded_as_a_payment_of_its_statement_below_zero() -> None:
    (payout,) = plan_payouts([credit()], [], RUN).payouts
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
            "statement": "S-000001",
            "reason": "payout 2026-12-05",
            "extra": {"run": "2026-12-05"},
        },
    }
    event, other = read_event(sent), read_event(event_of(payout, "2026-12-06", date(2026, 12, 7)))
    assert isinstance(event, Event)
    assert isinstance(other, Event)
    assert (event.amount, event.details["statement"]) == (Decimal("-881.00"), "S-000001")
    assert event.identity == other.identity
    assert event.digest != other.digest


def test_a_transfer_has_the_statement_s_number_as_its_reference() -> None:
    first, other = transfers_of(plan_payouts([credit(), second()], [], RUN).payouts)
    assert first.recipient[:2] == ("Harbour Books GmbH", "DE89370400440532013000")
    assert (first.amount, first.reference) == (Decimal("881.00"), "S-000001")
    assert first.remittance == "S-000001 2026-11 Corner Market B.V."
    assert (other.amount, other.reference) == (Decimal("381.00"), "S-000002")
