"""Payments allocated to statements: sums are preserved, and nothing is cleared beyond what it is."""

from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model.identifiers import Identity
from quarterhour.model.periods import Period
from quarterhour.statements.receivables.plan import (
    Age,
    Allocation,
    BilledDocument,
    NamedPayment,
    PaymentStatus,
    allocate,
)

DUE = date(2026, 12, 4)
BEFORE = DUE - timedelta(days=1)
cents = st.integers(-10_000, 10_000).map(lambda value: Decimal(value).scaleb(-2))


def statement(month: int, amount: str, number: str | None = None, **more: Any) -> BilledDocument:
    """Return a document of a month of 2026: a credit note if its amount is negative."""
    negative = amount.startswith("-")
    name = number or f"{'C' if negative else 'S'}-{month:06d}"
    terms = {"due_on": None if negative else DUE, **more}
    document = "credit_note" if negative else "statement"
    return BilledDocument(Period(2026, month), name, document, Decimal(amount), date(2026, 11, 4), **terms)


def named(number: str, amount: str) -> NamedPayment:
    return NamedPayment(Identity("bank", f"for {number}: {amount}"), number, Decimal(amount))


def opened(found: Allocation) -> list[tuple[str, str, str]]:
    """Return number, open amount and status of each document, before it is due."""
    return [(one.document.number, str(one.open), str(one.status(BEFORE))) for one in found.receivables]


def test_payments_clear_the_oldest_statements_first() -> None:
    found = allocate([statement(11, "50.00"), statement(10, "121.00"), statement(12, "7.00")], Decimal("130.00"))
    assert opened(found) == [
        ("S-000010", "0.00", "paid"),
        ("S-000011", "41.00", "partly_paid"),
        ("S-000012", "7.00", "open"),
    ]
    assert (found.unallocated, found.balance) == (Decimal(0), Decimal("48.00"))


def test_a_payment_clears_the_statement_that_it_names_and_its_rest_the_oldest() -> None:
    documents = [statement(10, "100.00"), statement(11, "50.00")]
    found = allocate(documents, Decimal("50.00"), [named("S-000011", "50.00")])
    assert opened(found) == [("S-000010", "100.00", "open"), ("S-000011", "0.00", "paid")]
    found = allocate(documents, Decimal("60.00"), [named("S-000011", "60.00")])
    assert opened(found) == [("S-000010", "90.00", "partly_paid"), ("S-000011", "0.00", "paid")]


def test_a_payment_that_names_an_unknown_statement_clears_the_oldest_and_is_shown() -> None:
    lost = named("S-999999", "30.00")
    found = allocate([statement(10, "100.00")], Decimal("30.00"), [lost])
    assert (opened(found), found.unknown) == ([("S-000010", "70.00", "partly_paid")], (lost,))


def test_a_payment_that_is_taken_back_opens_its_statement_again() -> None:
    back = [named("S-000010", "100.00"), named("S-000010", "-100.00")]
    assert opened(allocate([statement(10, "100.00")], Decimal(0), back)) == [("S-000010", "100.00", "open")]


def test_a_credit_reduces_the_oldest_open_statements() -> None:
    found = allocate([statement(10, "100.00"), statement(11, "-130.00"), statement(12, "50.00")], Decimal(0))
    assert opened(found) == [
        ("S-000010", "0.00", "paid"),
        ("C-000011", "0.00", "paid"),
        ("S-000012", "20.00", "partly_paid"),
    ]
    assert [one.credited for one in found.receivables] == [Decimal(100), Decimal(-130), Decimal(30)]


def test_what_a_marketplace_owes_is_cleared_by_its_payouts_and_a_later_statement_stays_open() -> None:
    """The credit of 87.90 is paid out, and then its sale is voided: the agency owes 87.90 again."""
    cleared, voided = statement(10, "-87.90"), statement(11, "87.90")
    assert opened(allocate([cleared, voided], Decimal("-87.90"))) == [
        ("C-000010", "0.00", "paid"),
        ("S-000011", "87.90", "open"),
    ]
    assert opened(allocate([cleared, voided], Decimal(0))) == [
        ("C-000010", "0.00", "paid"),
        ("S-000011", "0.00", "paid"),
    ]


def test_a_document_that_cancels_another_offsets_exactly_that_one() -> None:
    cancelling = statement(11, "-50.00", "C-000001", cancels="S-000011")
    replacing = statement(11, "60.00", "S-000012")
    found = allocate([statement(10, "100.00"), statement(11, "50.00"), cancelling, replacing], Decimal("100.00"))
    assert opened(found) == [
        ("S-000010", "0.00", "paid"),
        ("C-000001", "0.00", "cancelled"),
        ("S-000011", "0.00", "cancelled"),
        ("S-000012", "60.00", "open"),
    ]


def test_what_clears_nothing_is_unallocated() -> None:
    found = allocate([statement(10, "100.00")], Decimal("130.00"))
    assert (found.unallocated, found.balance, found.is_cleared) == (Decimal("30.00"), Decimal("-30.00"), False)
    found = allocate([statement(10, "100.00")], Decimal("-20.00"))
    assert (found.unallocated, found.balance) == (Decimal("-20.00"), Decimal("120.00"))
    assert allocate([statement(10, "100.00")], Decimal("100.00")).is_cleared


@pytest.mark.parametrize(
    ("days", "status", "age"),
    [
        (0, PaymentStatus.PARTLY_PAID, Age.NOT_DUE),
        (1, PaymentStatus.OVERDUE, Age.UP_TO_30),
        (30, PaymentStatus.OVERDUE, Age.UP_TO_30),
        (31, PaymentStatus.OVERDUE, Age.UP_TO_60),
        (60, PaymentStatus.OVERDUE, Age.UP_TO_60),
        (61, PaymentStatus.OVERDUE, Age.UP_TO_90),
        (90, PaymentStatus.OVERDUE, Age.UP_TO_90),
        (91, PaymentStatus.OVERDUE, Age.OVER_90),
    ],
)
def test_a_statement_is_overdue_from_the_day_after_its_due_date(days: int, status: PaymentStatus, age: Age) -> None:
    (one,) = allocate([statement(10, "100.00")], Decimal("0.01")).receivables
    assert (one.status(DUE + timedelta(days=days)), one.age(DUE + timedelta(days=days))) == (status, age)


def test_a_paid_statement_and_a_credit_have_no_age() -> None:
    long_after = DUE + timedelta(days=400)
    paid, credit = allocate([statement(10, "1.00"), statement(11, "-9.00")], Decimal("1.00")).receivables
    assert [(one.status(long_after), one.age(long_after)) for one in (paid, credit)] == [("paid", None), ("open", None)]


def test_sums_show_what_is_open_by_age() -> None:
    documents = [statement(10, "100.00"), statement(11, "50.00", due_on=DUE + timedelta(days=40))]
    figures = allocate(documents, Decimal("10.00")).figures(DUE + timedelta(days=45))
    assert figures.as_dict() == {
        "open": "140.00", "credits": "0", "unallocated": "0.00", "balance": "140.00",
        "aging": {
            "not_due": "0", "days_1_30": "50.00", "days_31_60": "90.00", "days_61_90": "0", "days_over_90": "0",
        },
    }  # fmt: skip
    assert figures.plus(figures).ages[Age.UP_TO_60] == Decimal("180.00")


@st.composite
def accounts(draw: Any) -> tuple[list[BilledDocument], Decimal, list[NamedPayment]]:
    """Draw documents of an account, one of which may be cancelled, and payments that name some of them or none."""
    amounts = draw(st.lists(cents, max_size=7))
    documents = [statement(1 + index, str(amount), f"N-{index}") for index, amount in enumerate(amounts)]
    if documents and draw(st.booleans()):
        one = draw(st.sampled_from(documents))
        amount = f"{-one.amount:f}" if one.amount else "0"
        documents.append(statement(draw(st.integers(8, 12)), amount, "N-cancels", cancels=one.number))
    numbers = st.sampled_from([*(one.number for one in documents), "N-unknown"])
    names = [named(number, str(amount)) for number, amount in draw(st.lists(st.tuples(numbers, cents), max_size=6))]
    others = sum(draw(st.lists(cents, max_size=3)), Decimal(0))
    return documents, sum((one.amount for one in names), others), names


@given(accounts())
def test_what_is_allocated_and_what_is_not_are_all_payments(
    account: tuple[list[BilledDocument], Decimal, list[NamedPayment]],
) -> None:
    documents, payments, names = account
    found = allocate(documents, payments, names)
    assert sum((one.paid for one in found.receivables), found.unallocated) == payments
    assert sum(one.credited for one in found.receivables) == 0
    assert sum(one.cancelled for one in found.receivables) == 0
    assert found.balance == sum((one.amount for one in documents), -payments)
    figures = found.figures(DUE)
    assert figures.open + figures.credits - figures.unallocated == figures.balance == found.balance
    assert sum(figures.ages.values()) == figures.open


@given(accounts())
def test_nothing_is_cleared_beyond_its_amount_nor_in_the_other_direction(
    account: tuple[list[BilledDocument], Decimal, list[NamedPayment]],
) -> None:
    found = allocate(*account)
    for one in found.receivables:
        amount = one.document.amount
        assert min(amount, Decimal(0)) <= one.open <= max(amount, Decimal(0))
        for part in (one.cancelled, one.paid, one.credited):
            assert min(amount, Decimal(0)) <= part <= max(amount, Decimal(0))


@given(accounts())
def test_money_is_left_over_only_if_nothing_is_open_that_it_could_clear(
    account: tuple[list[BilledDocument], Decimal, list[NamedPayment]],
) -> None:
    found = allocate(*account)
    opens = [one.open for one in found.receivables]
    assert not (any(one > 0 for one in opens) and any(one < 0 for one in opens))
    if found.unallocated > 0:
        assert not any(one.document.amount > 0 and one.open > 0 for one in found.receivables)


@given(accounts(), st.randoms(use_true_random=False))
def test_the_order_in_which_documents_and_payments_are_read_does_not_matter(
    account: tuple[list[BilledDocument], Decimal, list[NamedPayment]], random: Any
) -> None:
    documents, payments, names = account
    shuffled, others = random.sample(documents, len(documents)), random.sample(names, len(names))
    assert allocate(shuffled, payments, others).receivables == allocate(documents, payments, names).receivables
