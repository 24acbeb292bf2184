"""Receivables over HTTP: real statements and payments, allocated, aged and added up."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.client import BaseClient

from quarterhour.counters.windows import AccountState
from quarterhour.model.periods import Period
from quarterhour.reports.lines import read_lines
from quarterhour.statements.receivables.queries import ReceivableQueries
from tests.handlers.test_statements import record
from tests.support.agencies import ANYWHERE, tax
from tests.support.counted import let_windows_leave
from tests.support.events import payment
from tests.support.requests import post, verdicts
from tests.support.stored_statements import end_of_october, register, seal_statements
from tests.support.system import World
from tests.support.tables import items

OCTOBER, NOVEMBER = "S-000001", "S-000004"
DUE = "2026-12-01"
"""30 days after 1 November, when the statements of October are issued."""


@pytest.fixture(scope="module")
def open_items() -> Iterator[World]:
    """October and November sealed for three agencies, and payments; nothing changes it.

    | agency | October | November | paid |
    |---|---|---|---|
    | 42, GBP | 100.00 + 21.00 | 50.00 + 10.50 | 60.50 for November, 21.00 for an unknown statement |
    | 43, GBP | 40.00 + 0.00 | -10.00 | 5.00 |
    | 44, JPY | 100 + 0 | | 100 |
    """
    with end_of_october() as world:
        register(world, "42", scheme="standard", percent="21")
        for agency in ("43", "44"):
            register(world, agency)
        record(world, "sale.recorded", "a1", "1000", commission_rate="0.1")
        record(world, "sale.recorded", "b1", "400", commission_rate="0.1", agency="43")
        record(world, "sale.recorded", "c1", "1000", commission_rate="0.1", agency="44", currency="JPY")
        seal_statements(world)
        record(world, "sale.recorded", "a2", "500", commission_rate="0.1")
        record(world, "sale.refunded", "b2", "-100", refers_to="b1", agency="43")
        record(world, "payment.recorded", "p3", "100", agency="44", currency="JPY")
        world.pass_time(days=31)
        seal_statements(world)
        record(world, "payment.recorded", "p1", "60.50", statement=NOVEMBER)
        record(world, "payment.recorded", "p2", "21.00", statement="S-999999")
        record(world, "payment.recorded", "p4", "5.00", agency="43")
        world.drain()
        yield world


def test_open_statements_are_listed_by_account_with_their_age_and_totals(open_items: World) -> None:
    found = open_items.read("/receivables", on="2026-12-31")
    assert [(one["agency"], one["currency"]) for one in found["items"]] == [("42", "GBP"), ("43", "GBP")]
    first, second = found["items"]
    assert first == {
        "agency": "42", "currency": "GBP",
        "open": "100.00", "credits": "0", "unallocated": "0.00", "balance": "100.00",
        "aging": {
            "not_due": "0", "days_1_30": "100.00", "days_31_60": "0", "days_61_90": "0", "days_over_90": "0"
        },
        "last_paid": {"period": "2026-12", "payments": "81.50"},
        "statements": [
            {
                "period": "2026-10", "number": OCTOBER, "document": "statement", "proceeds": "0.00",
                "issued_on": "2026-11-01", "due_on": DUE, "status": "overdue",
                "amount": "121.00", "cancelled": "0", "paid": "21.00", "credited": "0", "open": "100.00",
                "age": "days_1_30",
            }
        ],
        "unknown": [{"source": "shop", "id": "p2", "statement": "S-999999", "amount": "21.00"}],
    }  # fmt: skip
    (one,) = second["statements"]
    assert (one["amount"], one["paid"], one["credited"], one["open"]) == ("40.00", "5.00", "10.00", "25.00")
    assert (found["on"], found["next"]) == ("2026-12-31", None)
    (total,) = found["totals"]
    assert (total["currency"], total["open"], total["balance"]) == ("GBP", "125.00", "125.00")
    assert (total["aging"]["days_1_30"], total["paid"]) == ("125.00", "86.50")


def test_what_was_paid_in_a_month_is_added_up_of_cleared_accounts_too(open_items: World) -> None:
    paid = {one["currency"]: one["paid"] for one in open_items.read("/receivables", on="2026-11-30")["totals"]}
    assert paid == {"GBP": "0", "JPY": "100"}


@pytest.mark.parametrize(
    ("on", "status", "age", "amount"),
    [
        (DUE, "open", "not_due", "121.00"),  # what is paid is recorded on the day after
        ("2026-12-02", "overdue", "days_1_30", "100.00"),
        ("2027-01-01", "overdue", "days_31_60", "100.00"),
        ("2027-01-31", "overdue", "days_61_90", "100.00"),
        ("2027-03-02", "overdue", "days_over_90", "100.00"),
    ],
)
def test_age_and_status_are_those_of_a_business_date(
    open_items: World, on: str, status: str, age: str, amount: str
) -> None:
    (account,) = open_items.read("/receivables", agency="42", on=on)["items"]
    (one,) = account["statements"]
    assert (one["status"], one["age"], account["aging"][age]) == (status, age, amount)


def test_what_is_open_is_the_balance_after_the_last_statement(open_items: World) -> None:
    for account in open_items.all("/receivables"):
        balance = open_items.read(f"/accounts/{account['agency']}/{account['currency']}/balance")
        assert account["balance"] == balance["balance"]


def test_pages_have_the_totals_of_their_accounts(open_items: World) -> None:
    pages = list(open_items.pages("/receivables", limit=1))
    assert [[one["agency"] for one in page["items"]] for page in pages] == [["42"], ["43"], []]
    assert [[one["open"] for one in page["totals"]] for page in pages] == [["100.00"], ["25.00"], []]


def test_a_page_takes_one_request_for_each_account_and_period(
    open_items: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    plain = vars(BaseClient)["_make_api_call"]

    def counted(client: BaseClient, operation: str, parameters: dict[str, Any]) -> Any:
        calls.append(operation)
        return plain(client, operation, parameters)

    monkeypatch.setattr(BaseClient, "_make_api_call", counted)
    assert len(open_items.read("/receivables")["items"]) == 2
    list_of_accounts, accounts, periods = 4, 3, 3
    assert calls.count("Query") == list_of_accounts + accounts + periods
    assert calls.count("BatchGetItem") == 1, "the accounts"
    assert calls.count("GetItem") == 2, "the first period, for statements and for payments"


def test_an_invalid_date_is_refused(open_items: World) -> None:
    assert open_items.refused("/receivables", on="yesterday")["field"] == "on"
    assert open_items.read("/receivables", agency="45")["items"] == []


def test_due_dates_follow_the_payment_days_of_the_owner() -> None:
    with end_of_october() as world:
        world.write("/documents/owner", {**ANYWHERE, "payment_days": 14}, seen=1)
        register(world, "42")
        record(world, "sale.recorded", "a1", "1000", commission_rate="0.1")
        assert world.read("/receivables")["items"] == []
        seal_statements(world)
        (account,) = world.read("/receivables")["items"]
        (one,) = account["statements"]
        assert (one["issued_on"], one["due_on"], one["status"]) == ("2026-11-01", "2026-11-15", "open")
        (written,) = [file for file in world.read("/statements/42/GBP/2026-10")["files"] if "json" in file["key"]]
        assert b'"due_on": "2026-11-15"' in world.stack.bucket.open(written["key"]).read()


def test_what_was_collected_is_open_until_it_is_paid_out() -> None:
    """A marketplace that collects 1,000.00 owes it less 100.00."""
    with end_of_october() as world:
        exempt = tax(scheme="exempt", percent=None, vat_id=None)
        world.write("/agencies/42", {**exempt, "collects": "marketplace"})
        record(world, "sale.recorded", "a1", "1000", commission_rate="0.1")
        seal_statements(world)
        (account,) = world.read("/receivables")["items"]
        assert (account["open"], account["credits"], account["balance"]) == ("0", "-900.00", "-900.00")
        (one,) = account["statements"]
        assert (one["status"], one["due_on"], one["age"]) == ("open", None, None)
        record(world, "payment.recorded", "p1", "-900.00", statement=OCTOBER)
        world.drain()
        assert world.read("/receivables")["items"] == []
        record(world, "payment.recorded", "p2", "900.00", statement=OCTOBER)
        world.drain()
        (account,) = world.read("/receivables")["items"]
        assert account["credits"] == "-900.00", "the payout came back"


@contextmanager
def october_and_november() -> Iterator[World]:
    """The system after October and November, which owe 100.00 and 50.00."""
    with end_of_october() as world:
        register(world, "42")
        record(world, "sale.recorded", "a1", "1000", commission_rate="0.1")
        seal_statements(world)
        record(world, "sale.recorded", "a2", "500", commission_rate="0.1")
        world.pass_time(days=31)
        seal_statements(world)
        yield world


def test_a_rebuild_restores_which_statements_are_paid() -> None:
    """October and November owe 100.00 and 50.00; 50.00 for November are paid, and the list of payments is lost."""
    with october_and_november() as world:
        record(world, "payment.recorded", "p1", "50.00", statement="S-000002")
        world.drain()
        world.pass_time(hours=1)
        world.report()
        before = world.read("/receivables")
        assert [one["number"] for one in before["items"][0]["statements"]] == [OCTOBER]
        (listed,) = [one for one in items(world, "EntityTable") if one["sk"].startswith("PAYS#")]
        key = {name: {"S": listed[name]} for name in ("pk", "sk")}
        world.stack.dynamodb.delete_item(TableName=world.stack.ref("EntityTable"), Key=key)
        lost = world.read("/receivables")["items"][0]["statements"]
        assert [(one["number"], one["open"]) for one in lost] == [(OCTOBER, "50.00"), ("S-000002", "50.00")]
        day = world.clock.now().date().isoformat()
        assert world.stack.invoke("repair", {"action": "rebuild", "from": day})["repaired"] == 1
        assert world.read("/receivables") == before


def test_a_payment_of_before_the_first_period_pays_no_statement() -> None:
    """It is on no statement and in no balance, though it names October's statement of 100.00."""
    with end_of_october({"first_period": "2026-10"}) as world:
        register(world, "42")
        record(world, "sale.recorded", "a1", "1000", commission_rate="0.1")
        seal_statements(world)
        sent = payment("p1", "100.00", statement=OCTOBER)
        assert verdicts(post(world, {**sent, "time": "2026-09-15T12:00:00Z"})) == ["recorded"]
        world.drain()
        (account,) = world.read("/receivables")["items"]
        assert (account["open"], account["unallocated"], account["balance"]) == ("100.00", "0", "100.00")


@pytest.mark.parametrize("leaves", [False, True], ids=["open", "left"])
def test_a_payment_that_is_counted_between_two_reads_is_in_the_sum_and_paid_for_or_neither(
    monkeypatch: pytest.MonkeyPatch, *, leaves: bool
) -> None:
    """A payment for the second of two statements is counted after the account item was read, and before the list is.

    If its period leaves the account item with it, the period's own item has the payment.
    """
    with october_and_november() as world:
        world.drain()
        plain, late = ReceivableQueries._payments_of, ["35.00"]

        def payments_of(queries: ReceivableQueries, state: AccountState, first: Period | None) -> object:
            if late:
                record(world, "payment.recorded", "p1", late.pop(), statement="S-000002")
                world.drain()
                if leaves:
                    let_windows_leave(world.stack.dynamodb, world.stack.ref("EntityTable"))
            return plain(queries, state, first)

        monkeypatch.setattr(ReceivableQueries, "_payments_of", payments_of)
        (during,), (after,) = (world.read("/receivables")["items"] for _ in range(2))
    paid = [("S-000001", "0", "100.00"), ("S-000002", "35.00", "15.00")]
    before = [("S-000001", "0", "100.00"), ("S-000002", "0", "50.00")]
    shown = [[(one["number"], one["paid"], one["open"]) for one in of["statements"]] for of in (during, after)]
    assert shown == [paid if leaves else before, paid]
    assert [of["balance"] for of in (during, after)] == ["115.00" if leaves else "150.00", "115.00"]
    assert {during["unallocated"], after["unallocated"]} <= {"0", "0.00"}
    assert late == []


def test_only_a_payment_names_a_statement(open_items: World) -> None:
    for sent, field in (
        (payment("x1", "1", statement=7), "data.statement"),
        (payment("x2", "1", statement=" "), "data.statement"),
        ({**payment("x3", "1", statement="S-1"), "type": "sale.recorded"}, "data.statement"),
    ):
        (item,) = post(open_items, sent).json()["items"]
        assert (item["verdict"], item["errors"][0]["field"]) == ("rejected", field)
    event = open_items.read("/events/shop/p1")
    assert (event["statement"], event["amount"]) == (NOVEMBER, "60.50")
    assert verdicts(post(open_items, payment("p1", "60.50", statement=OCTOBER))) == ["conflict"]


def test_a_payment_that_names_a_statement_is_sealed_with_its_number() -> None:
    with end_of_october() as world:
        record(world, "payment.recorded", "p1", "5.00", statement="=S-1")
        world.pass_time(hours=1)
        world.report()
        bucket = world.stack.bucket
        sealed = [key for key in bucket.keys() if key.endswith("lines.csv.gz")]  # noqa: SIM118 - not a mapping
        assert [line["statement"] for key in sealed for line in read_lines(bucket.open(key))] == ["=S-1"]


def test_a_statement_says_what_is_paid_of_it(open_items: World) -> None:
    october, november = (open_items.read(f"/statements/42/GBP/2026-{month}")["payment"] for month in ("10", "11"))
    assert (october["status"], october["paid"], october["open"]) == ("overdue", "21.00", "100.00")
    assert (november["status"], november["paid"], november["open"]) == ("paid", "60.50", "0.00")
    assert open_items.read("/statements/44/JPY/2026-10")["payment"]["status"] == "paid"
    credit = open_items.read("/statements/43/GBP/2026-11")
    assert (credit["document"], credit["payment"]["status"], credit["payment"]["credited"]) == (
        "credit_note",
        "paid",
        "-10.00",
    )


def test_a_day_that_is_over_has_what_was_issued_and_paid_by_then_for_ever() -> None:
    """At the end of November only October's statement was issued, and 20.00 of it was paid."""
    with end_of_october() as world:
        register(world, "42", scheme="standard", percent="21")
        record(world, "sale.recorded", "a1", "1000", commission_rate="0.1")
        seal_statements(world)
        record(world, "payment.recorded", "p1", "20.00", statement=OCTOBER)
        record(world, "sale.recorded", "a2", "500", commission_rate="0.1")
        world.pass_time(days=31)
        seal_statements(world)
        world.drain()

        def at_the_end_of_november() -> dict[str, Any]:
            found: dict[str, Any] = world.read("/receivables", agency="42", on="2026-11-30")
            (account,) = found["items"]
            (one,) = account["statements"]
            assert (one["number"], one["paid"], one["open"], one["age"]) == (OCTOBER, "20.00", "101.00", "not_due")
            assert (account["balance"], account["last_paid"]["payments"]) == ("101.00", "20.00")
            return found

        first = at_the_end_of_november()
        assert first["totals"][0]["paid"] == "20.00"
        record(world, "payment.recorded", "p2", "101.00", statement=OCTOBER)
        record(world, "payment.recorded", "p3", "60.50")
        world.drain()
        assert world.read("/receivables", agency="42")["items"] == []
        assert at_the_end_of_november() == first
        for _ in range(2):
            world.pass_time(days=40)
            let_windows_leave(world.stack.dynamodb, world.stack.ref("EntityTable"))
        assert at_the_end_of_november() == first
        assert world.read("/receivables", agency="42", on="2026-10-31")["items"] == []
        problem = world.refused("/receivables", on="2024-01-01")
        assert problem["field"] == "on"
        assert "of which no payments are kept by day" in problem["problem"]


def test_a_day_whose_payments_still_come_until_it_ends_in_utc_is_refused() -> None:
    """In Auckland it is noon on 1 November, and in UTC still 31 October."""
    with end_of_october({"time_zone": "Pacific/Auckland"}) as world:
        problem = world.refused("/receivables", on="2026-10-31")
        assert (problem["field"], problem["problem"]) == ("on", "is 2026-10-31, which is not over in UTC yet")
        assert world.read("/receivables")["on"] == "2026-11-01"
        record(world, "payment.recorded", "p1", "5.00")
        world.pass_time(days=1)
        world.drain()
        (account,) = world.read("/receivables", on="2026-10-31")["items"]
        assert account["unallocated"] == "5.00"
