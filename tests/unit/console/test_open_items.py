"""Open items in the console: sums by currency and age, running statements, reminders and payouts."""

import json
from typing import Any, Final

from tests.support.console_modules import NEEDS_NODE, evaluated

pytestmark = NEEDS_NODE

NO_AGE: Final = dict.fromkeys(("not_due", "days_1_30", "days_31_60", "days_61_90", "days_over_90"), "0")
DAY: Final = "(instant) => instant.slice(0, 10)"


def item(number: str, open_: str, **more: Any) -> dict[str, Any]:
    """Return an open statement of October as the API lists it."""
    age = None if open_.startswith("-") else "not_due"
    values = {
        "period": "2026-10",
        "number": number,
        "status": "open",
        "due_on": "2026-12-04",
        "age": age,
        "proceeds": "0.00",
    }
    return {**values, "open": open_, **more}


def account(agency: str, currency: str, *statements: dict[str, Any], **figures: Any) -> dict[str, Any]:
    """Return an account with open items as the API lists it."""
    zero = {"open": "0", "credits": "0", "unallocated": "0", "balance": "0"}
    aging = {**NO_AGE, **figures.pop("aging", {})}
    return {"agency": agency, "currency": currency, "statements": statements, "aging": aging, **zero, **figures}


def late(number: str, open_: str, due_on: str, age: str = "days_1_30") -> dict[str, Any]:
    """Return an overdue statement."""
    return item(number, open_, status="overdue", due_on=due_on, age=age)


ACCOUNTS: Final = [
    account("42", "GBP", item("S-1", "12.50"), open="12.50", balance="12.50", aging={"not_due": "12.50"}),
    account(
        *("43", "GBP", late("S-2", "7.50", "2026-12-04"), late("S-3", "100.00", "2026-09-01", "days_over_90")),
        open="107.50",
        balance="107.50",
        aging={"days_1_30": "7.50", "days_over_90": "100.00"},
    ),
    account("44", "JPY", item("C-1", "-300"), credits="-300", balance="-320", unallocated="20"),
]


def called(name: str, *arguments: Any) -> Any:
    """Return what a function of the module returns."""
    texts = [one if isinstance(one, str) and "=>" in one else json.dumps(one) for one in arguments]
    return evaluated("lib/open-items.js", f"module.{name}({', '.join(texts)})")


def test_what_is_open_is_added_up_by_currency_and_age_and_most_overdue_is_first() -> None:
    paid = [
        {"currency": "GBP", "paid": "20.00"}, {"currency": "EUR", "paid": "-5.00"},
        {"currency": "GBP", "paid": "-0.50"}, {"currency": "USD", "paid": "0"},
    ]  # fmt: skip
    rows = f"{json.dumps(ACCOUNTS)}.map(module.rowOf)"
    euro, pound, yen = evaluated("lib/open-items.js", f"module.byCurrency({rows}, {json.dumps(paid)})")
    assert (euro["currency"], euro["rows"], euro["paid"], euro["open"]) == ("EUR", [], "-5.00", "0")
    assert [one["agency"] for one in pound["rows"]] == ["43", "42"]
    figures = ("currency", "open", "overdue", "credits", "paid", "oldestDue")
    assert [pound[name] for name in figures] == ["GBP", "120.00", "107.50", "0", "19.50", "2026-09-01"]
    assert pound["ages"] == [
        ["not_due", "12.50", 1], ["days_1_30", "7.50", 1], ["days_31_60", "0", 0], ["days_61_90", "0", 0],
        ["days_over_90", "100.00", 1],
    ]  # fmt: skip
    assert (yen["credits"], yen["unallocated"], yen["overdue"]) == ("-300", "20", "0")
    assert [one.get("oldestDue") for one in (*pound["rows"], *yen["rows"])] == ["2026-09-01", "2026-12-04", None]


def test_an_account_of_page_views_has_no_statement() -> None:
    assert called("withMoney", [{"currency": "XXX"}, {"currency": "EUR"}]) == [{"currency": "EUR"}]


def document(number: str, amount: str, issued_on: str | None, cancels: str | None = None) -> dict[str, Any]:
    """Return a document as lists of statements have it."""
    return {"number": number, "amount": amount, "issued_on": issued_on, "cancels": cancels}


def running(**more: Any) -> Any:
    """Return the running statement of documents of three periods, of which one is cancelled, and of three payments."""
    statements = [
        {
            "period": "2026-10",
            "documents": [
                document("S-2", "40.00", "2026-11-04"), document("C-1", "-40.00", "2026-11-20", "S-2"),
                document("S-3", "38.00", "2026-11-20"),
            ],
        },
        {"period": "2026-09", "documents": [document("S-1", "10.00", None)], "recorded_until": "2026-10-04T00:15:00Z"},
    ]  # fmt: skip
    payments = [
        {"id": "late", "amount": "8.00", "recorded_at": "2026-11-20T10:00:00Z"},
        {"id": "early", "amount": "-1.00", "recorded_at": "2026-11-20T09:00:00Z"},
        {"id": "dated", "amount": "10.00", "time": "2026-10-10T00:00:00Z", "recorded_at": "2026-10-12T09:00:00Z"},
    ]
    facts = {"statements": statements, "payments": payments, "balance": "31.00", "from": "2026-01-01", **more}
    return evaluated("lib/open-items.js", f"module.runningStatement({{ ...{json.dumps(facts)}, dayOf: {DAY} }})")


def names(found: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return date, name, change and balance of each entry."""
    return [
        (one["date"], one["document"]["number"] if "document" in one else one["payment"]["id"], one["change"],
         one["balance"])
        for one in found["entries"]
    ]  # fmt: skip


def test_a_running_statement_has_every_document_and_payment_by_date_and_ends_with_the_balance() -> None:
    found = running()
    assert found["opening"] == "0.00"
    assert names(found) == [
        ("2026-10-04", "S-1", "10.00", "10.00"),
        ("2026-10-10", "dated", "-10.00", "0.00"),
        ("2026-11-04", "S-2", "40.00", "40.00"),
        ("2026-11-20", "C-1", "-40.00", "0.00"),
        ("2026-11-20", "S-3", "38.00", "38.00"),
        ("2026-11-20", "early", "1.00", "39.00"),
        ("2026-11-20", "late", "-8.00", "31.00"),
    ]


def test_what_was_before_the_span_is_brought_forward() -> None:
    found = running(**{"from": "2026-11-05", "balance": "131.00"})
    assert found["opening"] == "140.00"
    assert names(found)[0] == ("2026-11-20", "C-1", "-40.00", "100.00")
    assert names(found)[-1][-1] == "131.00"
    assert running(**{"from": "2027-01-01"}) == {"opening": "31.00", "entries": []}


def test_a_reminder_names_each_overdue_statement_with_amount_and_due_date() -> None:
    rows = f"{json.dumps(ACCOUNTS)}.map(module.rowOf)"
    (found,) = evaluated("lib/open-items.js", f"module.lateAgencies({rows})")
    assert found["agency"] == "43"
    text = called("reminderFor", "To {agency}:\n{statements}\n{other}", {**found, "name": "Quay $& Sons"})
    assert text == (
        "To Quay $& Sons:\n"
        "Statement S-2 of 2026-10: 7.50 GBP, due on 2026-12-04\n"
        "Statement S-3 of 2026-10: 100.00 GBP, due on 2026-09-01\n"
        "In total: 107.50 GBP\n"
        "{other}"
    )
    begin = evaluated("lib/open-items.js", "module.REMINDER")
    assert all(part in begin for part in ("{agency}", "{statements}"))


def test_an_amount_in_a_reminder_is_the_same_to_every_reader() -> None:
    one = {"agency": "42", "late": [{**late("S-1", "1234", "2026-12-04"), "currency": "JPY"}]}
    assert called("reminderFor", "{agency} {statements}", one).startswith("42 Statement S-1 of 2026-10: 1,234.00 JPY,")


def credited(agency: str, currency: str, *amounts: str) -> dict[str, Any]:
    """Return an account whose agency is owed these amounts, and owes one statement."""
    credits_ = (item(f"C-{agency}-{n}", f"-{amount}") for n, amount in enumerate(amounts))
    return account(agency, currency, *credits_, item(f"S-{agency}", "1.00"))


def test_a_payout_pays_credits_from_the_minimum_on_and_says_why_others_wait() -> None:
    accounts = [
        credited("a", "EUR", "15.00", "10.00"), credited("b", "EUR", "24.99"), credited("c", "GBP", "80.00"),
        credited("d", "EUR", "90.00"), credited("e", "EUR", "95.00"), credited("f", "EUR", "96.00"),
    ]  # fmt: skip
    accounts[-1]["statements"][0]["proceeds"] = "96.00"
    collected = {"collects": "marketplace", "iban": "NL91ABNA0417164300"}
    payees = {
        **dict.fromkeys("abc", collected), "d": {"collects": "marketplace"}, "e": {"iban": collected["iban"]},
    }  # fmt: skip
    payees |= {"g": collected, "h": {**collected, "payout_hold": "under review"}}
    accounts += [credited("g", "EUR", "99.00"), credited("h", "EUR", "99.00")]
    disputed = ["C-g-0"]
    plan = called("planPayouts", [{**one, "payee": payees.get(one["agency"], {})} for one in accounts], "25", disputed)
    assert {one["iban"] for one in plan["paid"]} == {collected["iban"]}
    assert [(one["number"], one["amount"]) for one in plan["paid"]] == [("C-a-0", "15.00"), ("C-a-1", "10.00")]
    assert {one["number"]: one["reason"] for one in plan["left"]} == {
        "C-b-0": "The credits of the account are below the minimum. The next run adds them up again.",
        "C-c-0": "A SEPA credit transfer moves euros alone.",
        "C-d-0": "The registration has no IBAN.",
        "C-e-0": "The agency collects: its credit reduces what it owes next, or --refund pays it.",
        "C-f-0": "The registration has no IBAN.",
        "C-g-0": "The statement is disputed.",
        "C-h-0": "Payouts to the agency are held: under review",
    }


def test_past_payouts_are_listed_by_run_the_newest_first() -> None:
    payments = [
        {"reason": "payout 2026-11-05", "currency": "EUR", "amount": "-87.50", "time": "2026-11-06T00:00:00Z"},
        {"reason": "payout 2026-12-05", "currency": "EUR", "amount": "-10.00", "time": "2026-12-07T00:00:00Z"},
        {"reason": "payout 2026-12-05", "currency": "EUR", "amount": "-0.50", "time": "2026-12-07T00:00:00Z"},
    ]
    assert called("payoutRuns", payments, DAY) == [
        {"run": "2026-12-05", "transfers": 2, "date": "2026-12-07", "sums": {"EUR": "10.50"}},
        {"run": "2026-11-05", "transfers": 1, "date": "2026-11-06", "sums": {"EUR": "87.50"}},
    ]
