"""What becomes of a statement that is cancelled, and of its disputes, until a new one replaces it."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from quarterhour_tools.emulator.http_api import Response
from tests.handlers.desk import send
from tests.handlers.test_statement_runs import LONDON, Marketplace
from tests.support.agencies import tax
from tests.support.copies import OnACopy
from tests.support.events import payment, refund, sale
from tests.support.system import opened
from tests.support.tables import items

OCTOBER = "/statements/42/GBP/2026-10"
DRAFT = "/drafts/42/GBP/2026-10"
OWNER = {"legal_name": "Market Ltd", "address": "1 Quay", "country": "GB", "vat_id": "GB980780684"}
FOLDER = "statements/2026-10/42/GBP"


@pytest.fixture(scope="module")
def october() -> Iterator[Marketplace]:
    """The system after the release of a statement of October, of a sale of 100.00 that costs 12.50 and 20 % of tax."""
    with opened({**LONDON, "Notifications": "webhooks"}, start=datetime(2026, 10, 31, 22, tzinfo=UTC)) as world:
        shop = Marketplace(world)
        shop.write("/documents/owner", OWNER)
        shop.write("/agencies/42", tax(percent="20"))
        shop.record(sale("s1", "100.00", commission_rate="0.125"))
        shop.until(datetime(2026, 11, 2, 0, 20, tzinfo=UTC))
        assert shop.seal()["documents"] == 1
        world.drain()
        yield shop


@pytest.fixture
def shop(october: Marketplace, on_a_copy: OnACopy) -> Iterator[Marketplace]:
    """October released, for one test."""
    with on_a_copy(october.world):
        yield october


def decide(shop: Marketplace, decision: str, seen: int) -> None:
    assert send(shop.world, "PUT", DRAFT, {"decision": decision, "seen": seen, "reason": "wrong name"}).status == 200
    assert shop.seal()["documents"] == 1
    shop.world.drain()


def set_status(shop: Marketplace, status: str, seen: int) -> Response:
    return send(shop.world, "PUT", f"{OCTOBER}/status", {"status": status, "reason": "checked", "seen": seen})


def statuses(found: dict[str, Any]) -> list[str]:
    return [one["status"] for one in found["history"]]


def test_a_statement_names_its_dates_and_its_documents_with_links_to_their_files(shop: Marketplace) -> None:
    found = shop.world.read(OCTOBER)
    assert (found["issued_on"], found["due_on"], found["cancelled"]) == ("2026-11-02", "2026-12-02", None)
    (document,) = found["documents"]
    assert (document["number"], document["release"], document["cancels"]) == ("S-000001", 1, None)
    assert [file["sha256"] for file in document["files"]] == [file["sha256"] for file in found["files"]]
    assert [file["key"] for file in found["files"]] == [
        f"{FOLDER}/{name}" for name in ("statement.json", "statement.html", "statement.xml", "lines.csv.gz")
    ]


@pytest.mark.parametrize(
    ("paid", "since", "due_on"), [("15.00", "15.00", None), ("4.00", "4.00", "2026-12-02"), ("40.00", "15.00", None)]
)
def test_a_statement_that_is_issued_again_asks_only_for_what_has_not_been_paid_since(
    shop: Marketplace, paid: str, since: str, due_on: str | None
) -> None:
    """The payment is on no statement yet: November's has it."""
    shop.record(payment("p1", paid))
    shop.world.drain()
    decide(shop, "cancel", 2)
    shown = shop.world.read(DRAFT)["statement"]
    assert (shown["closing"], shown["paid_since"]) == ("15.00", since), "the draft shows what will be issued"
    decide(shop, "release", 4)
    found = json.loads(shop.read(f"{FOLDER}/3/statement.json"))
    facts = [found[name] for name in ("replaces", "replaced_on", "closing", "paid_since", "due_on")]
    assert facts == ["S-000001", "2026-11-02", "15.00", since, due_on]
    xml = shop.read(f"{FOLDER}/3/statement.xml").decode()
    assert f">{since}</cbc:PrepaidAmount>" in xml
    assert "<cbc:ID>S-000001</cbc:ID>\n<cbc:IssueDate>2026-11-02</cbc:IssueDate>" in xml
    still = [one["open"] for one in shop.world.read("/receivables")["items"]]
    assert still == {"4.00": ["11.00"], "15.00": [], "40.00": ["0"]}[paid]


def test_a_cancelled_statement_keeps_its_figures_and_names_the_document_that_cancels_it(shop: Marketplace) -> None:
    before = shop.world.read(OCTOBER)
    decide(shop, "cancel", 2)
    found = shop.world.read(OCTOBER)
    assert (found["status"], found["may_become"], statuses(found)) == ("cancelled", [], ["cancelled"])
    assert found["cancelled"] == {"number": "C-000001", "issued_on": "2026-11-02"}
    same = ("number", "closing", "issued_on", "due_on")
    assert [found[name] for name in same] == [before[name] for name in same]
    assert [file["key"] for file in found["files"]] == [file["key"] for file in before["files"]]
    statement, cancellation = found["documents"]
    assert (statement["number"], statement["closing"]) == ("S-000001", "15.00")
    assert (cancellation["number"], cancellation["document"], cancellation["closing"]) == (
        ("C-000001", "credit_note", "0.00")
    )
    assert cancellation["cancels"] == "S-000001"
    assert [file["key"] for file in cancellation["files"]] == [
        *(f"{FOLDER}/2/statement.{kind}" for kind in ("json", "html", "xml")),
        f"{FOLDER}/lines.csv.gz",
    ]
    for file in cancellation["files"]:
        assert unquote(urlsplit(file["url"]).path).endswith(file["key"])
    assert json.loads(shop.read(cancellation["files"][0]["key"]))["cancels"]["number"] == "S-000001"


def test_each_document_is_found_by_its_number_and_leads_to_the_statement(shop: Marketplace) -> None:
    decide(shop, "cancel", 2)
    decide(shop, "release", 4)
    name = {"period": "2026-10", "agency": "42", "currency": "GBP"}
    for number, kind in (("S-000001", "statement"), ("C-000001", "credit_note"), ("S-000002", "statement")):
        found = shop.world.read("/search", q=number)["statements"]
        assert found == [{"number": number, "document": kind, **name}]


def test_a_credit_note_and_the_statement_after_it_are_announced_once_each_with_their_numbers(shop: Marketplace) -> None:
    decide(shop, "cancel", 2)
    decide(shop, "release", 4)
    log = (one for one in items(shop.world, "EntityTable") if one["pk"].startswith("NOTIFICATIONS#"))
    found = [one for one in sorted(log, key=lambda one: str(one["sk"])) if one["kind"].startswith("statement.")]
    assert [(one["kind"], one["data"]["number"]["S"], "cancels" in one["data"]) for one in found] == [
        ("statement.issued", "S-000001", False),
        ("statement.issued", "C-000001", True),
        ("statement.issued", "S-000002", False),
    ]


def test_nobody_accepts_or_disputes_a_cancelled_statement(shop: Marketplace) -> None:
    decide(shop, "cancel", 2)
    for status in ("accepted", "disputed", "issued", "cancelled"):
        answer = set_status(shop, status, 1)
        assert (answer.status, "is cancelled: it owes nothing" in answer.json()["detail"]) == (409, True)
    line = {"source": "shop", "id": "s1", "reason": "returned"}
    assert send(shop.world, "POST", f"{OCTOBER}/disputes", line).status == 409
    assert statuses(shop.world.read(OCTOBER)) == ["cancelled"]


def test_a_statement_is_cancelled_by_its_draft_alone(shop: Marketplace) -> None:
    answer = set_status(shop, "cancelled", 0)
    assert (answer.status, answer.json()["errors"][0]["expected"]) == (
        (409, "a decision about its draft, with PUT /drafts and cancel")
    )
    assert shop.world.read(OCTOBER)["status"] == "issued"


def test_lists_filter_by_cancelled_and_show_the_new_statement_as_issued(shop: Marketplace) -> None:
    def numbers(status: str) -> list[str]:
        return [one["number"] for one in shop.world.read("/statements", status=status)["items"]]

    decide(shop, "cancel", 2)
    assert (numbers("cancelled"), numbers("issued")) == (["S-000001"], [])
    decide(shop, "release", 4)
    assert (numbers("cancelled"), numbers("issued")) == ([], ["S-000002"])
    found = shop.world.read(OCTOBER)
    assert (found["number"], found["cancelled"], statuses(found)) == ("S-000002", None, ["cancelled", "issued"])
    assert [one["number"] for one in found["documents"]] == ["S-000001", "C-000001", "S-000002"]
    (listed,) = shop.world.read("/statements", agency="42")["items"]
    dates = {"issued_on": "2026-11-02", "due_on": "2026-12-02"}
    assert listed["documents"] == [
        {"number": "S-000001", "document": "statement", "cancels": None, "amount": "15.00", **dates},
        {**listed["documents"][1], "number": "C-000001", "cancels": "S-000001", "amount": "-15.00"},
        {"number": "S-000002", "document": "statement", "cancels": None, "amount": "15.00", **dates},
    ]
    assert found["files"][0]["key"] == f"{FOLDER}/3/statement.json"
    assert set_status(shop, "accepted", 2).status == 200


def test_a_resolved_dispute_leaves_the_status_of_a_statement_that_was_cancelled_since(shop: Marketplace) -> None:
    line = {"source": "shop", "id": "s1", "reason": "returned"}
    assert set_status(shop, "disputed", 0).status == 200
    assert send(shop.world, "POST", f"{OCTOBER}/disputes", line).status == 201
    decide(shop, "cancel", 2)
    shop.world.pass_time(minutes=1)
    shop.record(refund("r1", "-100.00", of="s1"))
    assert shop.world.stack.invoke("watch", {})["disputes"] == {"resolved": 1, "open": 0}
    assert shop.world.read(OCTOBER)["status"] == "cancelled"
    decide(shop, "release", 4)
    assert shop.world.read(OCTOBER)["status"] == "issued"
    assert set_status(shop, "disputed", 5).status == 200
    assert set_status(shop, "resolved", 6).status == 200


def cleared(shop: Marketplace) -> dict[str, tuple[str, ...]]:
    """Return of each open document what is cancelled, paid, and open of it."""
    found = shop.world.read("/receivables")["items"]
    documents = found[0]["statements"] if found else []
    return {one["number"]: tuple(one[name] for name in ("cancelled", "paid", "open")) for one in documents}


def sums(shop: Marketplace) -> tuple[str, ...]:
    """Return what is open, the payments that clear nothing, the balance of the receivables, and the account's own."""
    found = shop.world.read("/receivables")["items"]
    balance = shop.world.read("/accounts/42/GBP/balance")["balance"]
    names = ("open", "unallocated", "balance")
    return (*((found[0][name] for name in names) if found else ("0", "0", "0")), balance)


@pytest.mark.parametrize(
    "names",
    [
        pytest.param({}, id="any"),
        pytest.param({"statement": "S-000001"}, id="names the statement", marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    ("paid", "after_cancelling", "of_november", "after_releasing", "open_then"),
    [
        # The payment of October's 15.00 clears November's 6.00, and then the new statement of October.
        ("15.00", ("0", "9.00", "-9.00", "6.00"), None, ("6.00", "0.00", "6.00", "6.00"), {"S-000002": "6.00"}),
        (
            *("5.00", ("1.00", "0.00", "1.00", "16.00"), ("0", "5.00", "1.00")),
            *(("16.00", "0.00", "16.00", "16.00"), {"S-000003": "10.00", "S-000002": "6.00"}),
        ),
    ],
    ids=["paid", "partly paid"],
)
def test_the_payment_of_a_cancelled_statement_clears_what_else_is_open(  # noqa: PLR0913, PLR0917 - figures
    shop: Marketplace,
    names: dict[str, str],
    paid: str,
    after_cancelling: tuple[str, ...],
    of_november: tuple[str, ...] | None,
    after_releasing: tuple[str, ...],
    open_then: dict[str, str],
) -> None:
    """October: 12.50 and 2.50 of tax. November: 40.00 sold, 5.00 and 1.00 of tax. Each sum is worked out by hand.

    While October's draft is held, its 15.00 are unbilled: in the account's balance, and not in the receivables.
    """
    shop.record(payment("p1", paid, **names), sale("s2", "40.00", commission_rate="0.125"))
    shop.until(datetime(2026, 12, 2, 0, 20, tzinfo=UTC))
    assert shop.seal()["documents"] == 1
    shop.world.drain()
    decide(shop, "cancel", 2)
    assert sums(shop) == after_cancelling
    assert cleared(shop).get("S-000002") == of_november
    found = shop.world.read(OCTOBER)
    assert (found["status"], found["payment"]["cancelled"], found["payment"]["paid"]) == ("cancelled", "15.00", "0")
    assert shop.world.read("/accounts/42/GBP/balance")["unbilled"]["commission"] == "12.50"
    decide(shop, "release", 4)
    assert sums(shop) == after_releasing
    assert {number: figures[2] for number, figures in cleared(shop).items()} == open_then
    assert shop.world.read(OCTOBER)["payment"]["paid"] == paid
