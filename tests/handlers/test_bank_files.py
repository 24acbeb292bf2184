"""Files of a bank over HTTP: what their lines pay is proposed, recorded once, and never by the reading itself."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from quarterhour.file_formats.bank.line import FILE
from quarterhour.statements.receivables.routes import MAX_FILE
from quarterhour_tools.emulator.http_api import Request, Response
from tests.handlers.test_statements import record
from tests.support.agencies import tax
from tests.support.bank_files import OWN_ACCOUNT, PAYER, camt, camt_of, entry, mt940, statement, table
from tests.support.copies import OnACopy
from tests.support.requests import post, verdicts
from tests.support.stored_statements import end_of_october, seal_statements
from tests.support.system import World

OCTOBER, OTHER = "S-000001", "S-000002"


@pytest.fixture(scope="module")
def october() -> Iterator[World]:
    """October sealed: 121.00 GBP of agency 42, which has an IBAN, and 40.00 EUR of agency 43."""
    with end_of_october() as world:
        world.write("/agencies/42", {**tax(scheme="standard", percent="21"), "iban": PAYER})
        other = tax(scheme="exempt", percent=None, vat_id=None)
        world.write("/agencies/43", {**other, "iban": OWN_ACCOUNT, "legal_name": "Northern Tours"})
        record(world, "sale.recorded", "a1", "1000", commission_rate="0.1")
        record(world, "sale.recorded", "b1", "400", commission_rate="0.1", agency="43", currency="EUR")
        seal_statements(world)
        yield world


@pytest.fixture
def world(october: World, on_a_copy: OnACopy) -> Iterator[World]:
    """October sealed, for one test."""
    with on_a_copy(october):
        yield october


def send(world: World, content: bytes, content_type: str = FILE, query: str = "") -> Response:
    headers = (("Content-Type", content_type),)
    return world.stack.request(Request("POST", "/bank-files", query, headers, content))


def proposed(world: World, content: bytes) -> dict[str, Any]:
    answer = send(world, content)
    assert answer.status == 200, answer.body
    return dict(answer.json())


def events(found: dict[str, Any]) -> list[dict[str, Any]]:
    return [event for line in found["lines"] for event in line["events"]]


def open_of(world: World) -> dict[str, str]:
    world.drain()
    return {one["agency"]: one["open"] for one in world.read("/receivables")["items"]}


def test_a_certain_line_has_the_event_that_records_it(world: World) -> None:
    content = table([("121.00", f"Invoice {OCTOBER}"), ("7.00", "rent")], "GBP")
    found = proposed(world, content)
    assert (found["format"], found["problems"]) == ("csv", [])
    first, second = found["lines"]
    (event,) = first.pop("events")
    assert first == {
        "line": 1, "date": "2026-11-05", "amount": "121.00", "currency": "GBP", "account": "", "name": "", "iban": "",
        "reference": f"Invoice {OCTOBER}", "bank_reference": "", "reversal": False, "statement": None, "recorded": "0",
        "match": "number", "outcome": "certain", "certain": True, "reason": f"it names {OCTOBER} and pays all of it",
        "candidates": [], "rest": None,
    }  # fmt: skip
    assert event.pop("id").startswith("bank-")
    assert event == {
        "specversion": "1.0", "source": "finance", "type": "payment.recorded", "subject": "42",
        "time": "2026-11-05T00:00:00Z",
        "data": {
            "amount": "121.00", "currency": "GBP", "statement": OCTOBER, "reason": "bank file",
            "extra": {"reference": f"Invoice {OCTOBER}"},
        },
    }  # fmt: skip
    assert (second["match"], second["certain"], second["events"]) == ("none", False, [])
    assert second["rest"].pop("id").startswith("bank-")
    data = {"amount": "7.00", "currency": "GBP", "reason": "bank file", "extra": {"reference": "rent"}}
    del event["subject"]
    assert second["rest"] == {**event, "data": data}
    assert open_of(world) == {"42": "121.00", "43": "40.00"}, "reading records nothing"


def test_every_line_is_a_payment_or_excluded_by_a_rule_and_their_sums_are_those_of_the_file(world: World) -> None:
    booked = statement(
        entry("21.00", OCTOBER, currency="GBP"), entry("-3.00", "fees", currency="GBP"), closing="118.00"
    )
    pending = entry("5.00", OTHER, status="PDNG", currency="GBP")
    other = statement(entry("41.00", OTHER, reference="B9"), closing="141.00", account=PAYER)
    found = proposed(world, camt_of(booked.replace("</Stmt>", f"{pending}</Stmt>"), booked, other))
    assert found["sums"] == [
        {"currency": "EUR", "lines": 1, "amount": "41.00", "outcomes": [
            {"outcome": "review", "lines": 1, "amount": "41.00"},
        ]},
        {"currency": "GBP", "lines": 5, "amount": "41.00", "outcomes": [
            {"outcome": "certain", "lines": 1, "amount": "21.00"},
            {"outcome": "no_payment", "lines": 1, "amount": "-3.00"},
            {"outcome": "not_booked", "lines": 1, "amount": "5.00"},
            {"outcome": "repeated", "lines": 2, "amount": "18.00"},
        ]},
    ]  # fmt: skip
    keys = ("number", "opening", "amount", "closing", "lines", "recorded", "repeats")
    assert [tuple(one[key] for key in keys) for one in found["statements"]] == [
        ("", "100.00", "18.00", "118.00", 2, 0, None),
        ("", "100.00", "18.00", "118.00", 2, 0, 1),
        ("", "100.00", "41.00", "141.00", 1, 0, None),
    ]
    assert [one["reason"] for one in found["lines"] if one["outcome"] in {"not_booked", "repeated"}] == [
        "the bank has not booked it yet",
        *["its statement is in this file twice"] * 2,
    ]
    assert verdicts(post(world, events(found)[:1])) == ["recorded"]
    again = proposed(world, camt_of(booked))
    assert [(one["statement"], one["recorded"]) for one in again["statements"]] == [(1, 1)]


def test_a_bad_row_of_csv_is_shown_with_its_text_and_counts_in_the_sums_of_the_file(world: World) -> None:
    good = f"2026-11-05,21.00,GBP,{OCTOBER}"
    found = proposed(
        world, f"date,amount,currency,reference\n5 Nov,7.00,GBP,rent\n{good}\n2026-11-05,2.5O,GBP,x\n".encode()
    )
    assert found["bad"] == [
        {"line": 2, "reason": "has the date '5 Nov': expected dates such as 2026-11-05", "text": "5 Nov,7.00,GBP,rent"},
        {
            "line": 4,
            "reason": "has the amount '2.5O': expected amounts such as -121.00",
            "text": "2026-11-05,2.5O,GBP,x",
        },
    ]
    assert found["unread"] == 1
    assert found["sums"] == [
        {"currency": "GBP", "lines": 2, "amount": "28.00", "outcomes": [
            {"outcome": "certain", "lines": 1, "amount": "21.00"}, {"outcome": "bad", "lines": 1, "amount": "7.00"},
        ]},
    ]  # fmt: skip
    assert verdicts(post(world, events(found))) == ["recorded"]
    corrected = proposed(world, f"date,amount,currency,reference\n2026-11-05,21.00,GBP,{OCTOBER}\n{good}\n".encode())
    assert [one["outcome"] for one in corrected["lines"]] == ["recorded", "certain"], (
        "an equal line that was bad is another"
    )


def test_the_same_file_again_and_one_that_overlaps_propose_nothing_twice(world: World) -> None:
    first = entry("21.00", OCTOBER, currency="GBP", reference="B1")
    found = proposed(world, camt(first, closing="121.00"))
    assert verdicts(post(world, events(found))) == ["recorded"]
    assert verdicts(post(world, events(found))) == ["duplicate"]
    assert open_of(world) == {"42": "100.00", "43": "40.00"}
    second = entry("100.00", OCTOBER, currency="GBP", reference="B2")
    again = proposed(world, camt(first, second, closing="221.00"))
    assert [(one["match"], one["recorded"]) for one in again["lines"]] == [("recorded", "21.00"), ("number", "0")]
    assert verdicts(post(world, events(again))) == ["recorded"]
    assert open_of(world) == {"43": "40.00"}


def test_what_is_recorded_of_a_file_counts_before_it_is_counted(world: World) -> None:
    content = table([("121.00", OCTOBER), ("121.00", f"again {OCTOBER}"), ("20.00", "NORTHERN TOURS")], "GBP")
    found = proposed(world, content)
    assert [one["outcome"] for one in found["lines"]] == ["certain", "review", "no_payment"]
    assert verdicts(post(world, events(found))) == ["recorded"]
    for _ in range(2):
        first, second, _ = proposed(world, content)["lines"]
        assert (first["outcome"], second["outcome"], second["events"]) == ("recorded", "review", [])
        assert second["reason"] == f"it names {OCTOBER}, of which nothing is open"
        world.drain()


def test_the_rest_of_a_line_that_names_no_statement_counts_before_it_is_counted_and_once(world: World) -> None:
    record(world, "sale.recorded", "a2", "100", commission_rate="0.1")
    world.pass_time(days=31)
    seal_statements(world)
    (later,) = {one["number"] for one in world.read("/receivables", agency="42")["items"][0]["statements"]} - {OCTOBER}
    content = table([("125.00", f"{OCTOBER} only"), ("8.10", later), ("4.00", later)], "GBP")
    first, second, third = proposed(world, content)["lines"]
    assert [one["data"].get("statement") for one in first["events"]] == [OCTOBER, None]
    assert verdicts(post(world, first["events"])) == ["recorded", "recorded"]
    for _ in range(2):
        _, second, third = proposed(world, content)["lines"]
        assert second["reason"] == f"it names {later} and pays all of it", "4.00 of the first line pay it, too"
        assert (second["certain"], third["outcome"]) == (True, "review")
        world.drain()


def test_a_line_of_several_statements_that_was_recorded_in_part_goes_on_with_its_rest(world: World) -> None:
    record(world, "sale.recorded", "a2", "100", commission_rate="0.1")
    world.pass_time(days=31)
    seal_statements(world)
    (later,) = {one["number"] for one in world.read("/receivables", agency="42")["items"][0]["statements"]} - {OCTOBER}
    content = table([("133.10", f"{OCTOBER} {later}")], "GBP")
    both = events(proposed(world, content))
    assert [one["data"]["amount"] for one in both] == ["121.00", "12.10"]
    assert verdicts(post(world, both[0])) == ["recorded"]
    world.drain()
    (line,) = proposed(world, content)["lines"]
    assert (line["recorded"], [one["id"] for one in line["events"]]) == ("121.00", [both[1]["id"]])


def test_the_registered_iban_or_name_tells_the_agency(world: World) -> None:
    iban = mt940(("C121,00NTRF", f"/IBAN/{PAYER}/REMI/thanks"), opening="0,00", closing="121,00").replace("EUR", "GBP")
    (one,) = proposed(world, iban.encode())["lines"]
    assert (one["match"], one["certain"], one["events"][0]["subject"]) == ("payer", True, "42")
    (one,) = proposed(world, b"date,amount,currency,name\n2026-11-05,40,EUR,NORTHERN TOURS\n")["lines"]
    assert (one["match"], one["certain"], one["events"][0]["subject"]) == ("payer", True, "43")
    assert Decimal(one["events"][0]["data"]["amount"]) == 40


@pytest.mark.parametrize(
    ("content", "content_type", "query", "status_and_field"),
    [
        (b"<a", FILE, "", (400, "body")),
        (camt(entry("1.00"), closing="100.00"), FILE, "", (400, "body")),
        (b"", FILE, "", (400, "body")),
        (b"x", FILE, "format=pdf", (400, "format")),
        (b"{}", "application/json", "", (415, "content-type")),
        (b" " * (MAX_FILE + 1), FILE, "", (413, "body")),
    ],
)
def test_what_is_no_bank_file_is_refused(
    world: World, content: bytes, content_type: str, query: str, status_and_field: tuple[int, str]
) -> None:
    answer = send(world, content, content_type, query)
    (problem,) = answer.json()["errors"]
    assert (answer.status, problem["field"]) == status_and_field
    assert problem["expected"]


def test_the_rest_of_a_line_is_what_is_not_recorded_of_it(world: World) -> None:
    """A part is recorded under the line's id, so what a person assigns is the part after it."""
    content = table([("130.00", OCTOBER)], "GBP")
    (line,) = proposed(world, content)["lines"]
    assert (line["match"], line["rest"]["data"]["amount"]) == ("excess", "130.00")
    assert verdicts(post(world, line["events"][:1])) == ["recorded"]
    (again,) = proposed(world, content)["lines"]
    assert again["rest"]["data"]["amount"] == "9.00"
    assert again["rest"]["id"] == f"{line['rest']['id']}-2"
    assert verdicts(post(world, [{**again["rest"], "subject": "43"}])) == ["recorded"]
    assert [(one["match"], one["rest"]) for one in proposed(world, content)["lines"]] == [("recorded", None)]
