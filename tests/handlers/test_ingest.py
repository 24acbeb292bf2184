"""POST /events: each event recorded once, and an outcome for each."""

from datetime import timedelta
from typing import Any

import pytest

from quarterhour.customers.keys import is_token
from quarterhour.model.clock import iso_millis
from quarterhour_tools.emulator.faults import FaultKind, Killed
from tests.support.events import adjustment, refund, sale, view, void
from tests.support.requests import post, receipt, verdicts
from tests.support.system import START, World, faulty
from tests.support.tables import entity, items, ledger, redeploy

RATE_CARD_READ = 1
"""The number of calls before the claims: one reads the agency's rate card."""


def test_a_sale_is_recorded_in_the_ledger_at_the_position_in_its_receipt(world: World) -> None:
    response = post(world, sale(product="tea", customer="c7"))
    assert response.status == 202
    assert response.json()["counts"] == {"recorded": 1}
    (item,) = response.json()["items"]
    assert (item["index"], item["source"], item["id"], item["verdict"]) == (0, "shop", "order-1", "recorded")
    (recorded,) = ledger(world)
    assert (recorded["quarter_hour"], recorded["position"]) == (
        item["receipt"]["partition"],
        item["receipt"]["position"],
    )
    assert (recorded["recorded_at"], item["receipt"]["recorded_at"]) == ("2026-10-23T01:30:00.000Z",) * 2
    assert (recorded["amount"], recorded["commission_rate"], recorded["commission"]) == ("12.50", "0.10", "1.2500")
    assert (recorded["agency"], recorded["product"]) == ("42", "tea")
    assert is_token(recorded["customer"])


def test_a_batch_of_500_is_recorded(world: World) -> None:
    response = post(world, [sale(f"order-{i}") for i in range(500)])
    assert (response.status, response.json()["counts"]) == (202, {"recorded": 500})
    assert len(ledger(world)) == 500


def test_the_quarter_hour_follows_from_the_time_of_recording_and_not_from_the_sales_own_time(world: World) -> None:
    sales = [{**sale(str(i)), "time": time} for i, time in enumerate(["2019-01-01T00:00:00Z", "2030-01-01T00:00:00Z"])]
    response = post(world, sales)
    assert {receipt(response, i)["partition"] for i in range(2)} == {"202610230130#00"}
    assert [item["time"] for item in sorted(ledger(world), key=lambda item: item["id"])] == [
        "2019-01-01T00:00:00Z",
        "2030-01-01T00:00:00Z",
    ]


# ---------------------------------------------------------------- retries and conflicts


@pytest.mark.parametrize("later", [timedelta(0), timedelta(minutes=16, seconds=30), timedelta(days=3)])
def test_a_retry_is_a_duplicate_with_the_first_receipt_however_late_it_is(world: World, later: timedelta) -> None:
    first = post(world, sale())
    world.clock.advance(later)
    again = post(world, sale())
    assert (again.status, verdicts(again)) == (202, ["duplicate"])
    assert receipt(again) == receipt(first)
    assert len(ledger(world)) == 1


def test_other_content_under_a_known_id_is_a_conflict_and_changes_nothing(world: World) -> None:
    post(world, sale())
    before = ledger(world), items(world, "IdentityTable")
    response = post(world, sale(amount="99.00"))
    assert (response.status, verdicts(response)) == (409, ["conflict"])
    (item,) = response.json()["items"]
    assert "receipt" not in item
    assert item["errors"] == [
        {
            "field": "id",
            "problem": "was recorded before with other content",
            "expected": "a new id for new content, or the same content for a retry",
        }
    ]
    assert (ledger(world), items(world, "IdentityTable")) == before


@pytest.mark.parametrize(
    ("event", "field"),
    [
        (sale("1001:1"), "source"),
        (sale("summer"), "source"),
        (refund("1001:1:refund", "-1", of="1001:1"), "id"),
        (refund("1001:1", "-1", of="none"), "id"),
        (refund("a:b:1000", "-1", of=None), "id"),
        (void("1001:2", "none"), "id"),
        (adjustment("1001:2:refund", "-1"), "id"),
        (view("1001:1", "/index", "bob"), "id"),
    ],
    ids=lambda one: one["type"] + one["id"] if isinstance(one, dict) else "",
)
def test_the_identities_under_which_orders_are_billed_are_reserved(
    world: World, event: dict[str, Any], field: str
) -> None:
    response = post(world, {**event, "source": "orders"})
    assert (response.status, response.json()["counts"]) == (422, {"rejected": 1})
    assert response.json()["items"][0]["errors"][0]["field"] == field
    assert items(world, "IdentityTable") == []


def test_corrections_of_an_orders_sales_have_ids_that_no_order_uses(world: World) -> None:
    ids = ["1001:1:part", "1001:0", "1001:01", "1001:1001", ":1", "1001", "rerate-1-x"]
    response = post(world, [{**adjustment(id_, "-1"), "source": "orders"} for id_ in ids])
    assert response.json()["counts"] == {"recorded": len(ids)}


def test_of_two_contents_under_one_id_in_a_request_the_first_is_recorded(world: World) -> None:
    response = post(world, [sale(), sale(amount="99.00"), sale()])
    assert (response.status, verdicts(response)) == (207, ["recorded", "conflict", "duplicate"])
    assert [item["amount"] for item in ledger(world)] == ["12.50"]


def test_a_changed_default_rate_makes_no_conflict_of_a_retry_and_changes_no_commission(world: World) -> None:
    post(world, sale())
    world.change_settings(commission_rate="0.5")
    assert verdicts(post(world, [sale(), sale("order-2")])) == ["duplicate", "recorded"]
    assert {item["id"]: item["commission_rate"] for item in ledger(world)} == {"order-1": "0.10", "order-2": "0.5"}


# ---------------------------------------------------------------- one bad item among others


def test_the_other_items_are_recorded_where_one_is_invalid(world: World) -> None:
    response = post(world, [sale("a"), sale("b", "much"), "no event", sale("a", "99"), sale("c")])
    assert response.status == 207
    assert verdicts(response) == ["recorded", "rejected", "rejected", "conflict", "recorded"]
    assert response.json()["counts"] == {"recorded": 2, "rejected": 2, "conflict": 1}
    assert sorted(item["id"] for item in ledger(world)) == ["a", "c"]
    assert response.json()["items"][1]["errors"] == [
        {
            "field": "data.amount",
            "problem": "is 'much'",
            "expected": "a decimal of at most 38 digits, as a string or a number",
        }
    ]


def test_a_batch_of_only_invalid_items_is_unprocessable(world: World) -> None:
    post(world, sale("a"))
    assert post(world, sale("b", "much")).status == 422
    assert post(world, [sale("b", "much"), sale("a", "99")]).status == 422
    assert len(ledger(world)) == 1


# ---------------------------------------------------------------- crashes between claim and append


def crashed(world: World, faults: Any) -> None:
    """Crash after the claim of an event: the request has no response, and the event is not in the ledger."""
    post(world, sale("before"))  # the process is warm: its control items are set
    faults.arm(FaultKind.KILL_AFTER, after=RATE_CARD_READ)
    with pytest.raises(Killed), faults.at_work():
        post(world, sale())
    world.stack.cold_start("ingest")
    assert [item["id"] for item in ledger(world)] == ["before"]
    assert {item["event"] for item in items(world, "IdentityTable")} == {"shop#before", "shop#order-1"}


@pytest.mark.parametrize("seconds", [0, 14 * 60, 16 * 60 + 24])
def test_a_retry_after_a_crash_puts_a_void_and_moves_the_claim_while_the_quarter_hour_is_open(seconds: int) -> None:
    with faulty() as (world, faults):
        crashed(world, faults)
        world.clock.advance(timedelta(seconds=seconds))
        response = post(world, sale())
        assert (response.status, verdicts(response)) == (202, ["duplicate"])
        assert receipt(response)["recorded_at"] == iso_millis(world.clock.now())
        assert len(ledger(world)) == 2
        assert sorted(one["count"] for one in items(world, "LedgerTable")) == ["0", "1", "1"]


@pytest.mark.parametrize("seconds", [16 * 60 + 25, 17 * 60 - 1])
def test_a_retry_after_a_crash_waits_while_the_quarter_hour_is_closing(seconds: int) -> None:
    with faulty() as (world, faults):
        crashed(world, faults)
        world.clock.advance(timedelta(seconds=seconds))
        response = post(world, sale())
        assert (response.status, verdicts(response)) == (503, ["unavailable"])
        assert response.headers["retry-after"]
        assert len(ledger(world)) == 1


@pytest.mark.parametrize("seconds", [17 * 60, 40 * 60, 86400])
def test_a_retry_after_a_crash_moves_the_claim_after_its_quarter_hour_is_final(seconds: int) -> None:
    with faulty() as (world, faults):
        crashed(world, faults)
        world.clock.advance(timedelta(seconds=seconds))
        now = (START + timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        moved = post(world, sale())
        assert (moved.status, receipt(moved)["recorded_at"]) == (202, now)
        assert [item["position"] for item in ledger(world) if item["id"] == "order-1"] == [receipt(moved)["position"]]
        world.clock.advance(timedelta(hours=1))
        again = post(world, sale())
        assert (verdicts(again), receipt(again)) == (["duplicate"], receipt(moved))
        assert len(ledger(world)) == 2


def test_a_conflict_with_a_claim_that_was_never_appended_writes_nothing() -> None:
    with faulty() as (world, faults):
        crashed(world, faults)
        assert verdicts(post(world, sale(amount="99.00"))) == ["conflict"]
        assert len(ledger(world)) == 1


# ---------------------------------------------------------------- AWS in trouble


def test_when_nothing_could_be_written_the_response_is_503_with_retry_after() -> None:
    with faulty("throttle=1") as (world, faults):
        with faults.at_work():
            response = post(world, [sale("a"), sale("b")])
        assert response.status == 503
        assert int(response.headers["retry-after"]) > 0
        assert items(world, "IdentityTable") == []
        assert post(world, [sale("a"), sale("b")]).json()["counts"] == {"recorded": 2}


def test_items_that_could_not_be_written_are_unavailable_and_recorded_by_a_retry() -> None:
    with faulty("throttle=1") as (world, faults):
        post(world, sale("before"))
        with faults.at_work():
            response = post(world, [sale("a"), sale("b", "much")])
        assert (response.status, verdicts(response)) == (207, ["unavailable", "rejected"])
        assert int(response.headers["retry-after"]) > 0
        assert verdicts(post(world, sale("a"))) == ["recorded"]


def test_a_batch_that_dynamodb_processes_in_part_is_written_completely() -> None:
    with faulty("unprocessed=0.7,seed=3") as (world, faults):
        with faults.at_work():
            response = post(world, [sale(str(i)) for i in range(60)])
            again = post(world, [sale(str(i)) for i in range(60)])
        assert [call.operation for call, _ in faults.struck].count("BatchGetItem") >= 1
        assert again.json()["counts"] == {"duplicate": 60}
        assert response.json()["counts"] == {"recorded": 60}
        assert len(ledger(world)) == 60


def test_a_claim_whose_response_was_lost_is_no_duplicate_of_itself() -> None:
    with faulty() as (world, faults):
        post(world, sale("before"))
        faults.arm(FaultKind.RESET_AFTER, after=RATE_CARD_READ)
        with faults.at_work():
            response = post(world, sale())
        assert faults.struck
        assert verdicts(response) == ["recorded"]
        assert len(ledger(world)) == 2


@pytest.mark.parametrize("kind", [FaultKind.STATEMENTS_BEFORE, FaultKind.STATEMENTS_AFTER])
@pytest.mark.parametrize("events", [1, 60])
def test_events_some_of_whose_claims_failed_at_first_are_recorded_all_the_same(kind: FaultKind, events: int) -> None:
    with faulty() as (world, faults):
        faults.arm(kind)
        with faults.at_work():
            response = post(world, [sale(f"s{number}") for number in range(events)])
        assert [call.operation for call, _ in faults.struck] == ["BatchExecuteStatement"]
        assert verdicts(response) == ["recorded"] * events
        assert len(ledger(world)) == events


def test_events_whose_claims_always_fail_are_unavailable_and_recorded_later() -> None:
    events = [sale(f"s{number}") for number in range(40)]
    with faulty("statements-before=1") as (world, faults):
        with faults.at_work():
            first = verdicts(post(world, events))
        assert set(first) <= {"recorded", "unavailable"}
        assert "unavailable" in first
        again = verdicts(post(world, events))
        assert again == ["duplicate" if one == "recorded" else "recorded" for one in first]
        assert len(ledger(world)) == 40


# ---------------------------------------------------------------- control items


def test_the_first_event_starts_the_reports_with_its_own_quarter_hour(world: World) -> None:
    post(world, sale("a"))
    assert entity(world, "checkpoint", "CONTROL")["sealed_through"] == "202610230115"
    world.clock.advance(timedelta(days=1))
    world.stack.cold_start("ingest")
    post(world, sale("b"))
    assert entity(world, "checkpoint", "CONTROL")["sealed_through"] == "202610230115"


def test_the_highest_number_of_shards_is_remembered(world: World) -> None:
    for shards, remembered in ((1, "1"), (4, "4"), (2, "4")):
        redeploy(world, "ingest", LEDGER_SHARDS=str(shards))
        post(world, sale(f"with-{shards}"))
        assert entity(world, "shards", "CONTROL")["shards"] == remembered


def test_requests_are_spread_over_the_shards_and_a_retry_finds_its_own(sharded: World) -> None:
    sales = [[sale(f"{i}-{j}") for j in range(3)] for i in range(20)]
    first, again = ([post(sharded, some) for some in sales] for _ in range(2))
    assert {item["quarter_hour"] for item in ledger(sharded)} == {f"202610230130#0{shard}" for shard in range(3)}
    assert all(len({receipt(one, i)["partition"] for i in range(3)}) == 1 for one in first)
    for sent, repeated in zip(first, again, strict=True):
        assert [receipt(repeated, i) for i in range(3)] == [receipt(sent, i) for i in range(3)]
    assert {str(one.json()["counts"]) for one in again} == {str({"duplicate": 3})}


def test_a_bad_request_writes_no_control_items(world: World) -> None:
    assert post(world, sale(amount="much")).status == 422
    assert items(world, "EntityTable") == items(world, "IdentityTable") == []


# ---------------------------------------------------------------- linked refunds


def test_a_sale_is_refunded_in_parts_and_never_beyond_its_amount(world: World) -> None:
    post(world, sale())
    assert verdicts(post(world, [refund("r1", "-5"), refund("r2", "-8"), refund("r3", "-7.50")])) == [
        "recorded",
        "rejected",
        "recorded",
    ]
    response = post(world, refund("r4", "-0.01"))
    assert response.status == 422
    (error,) = response.json()["items"][0]["errors"]
    assert (error["field"], error["problem"]) == ("data.amount", "is -0.01, more than is left of the sale")
    assert sorted(item["id"] for item in ledger(world)) == ["order-1", "r1", "r3"]


def test_a_refund_whose_response_was_lost_is_no_duplicate_of_itself() -> None:
    with faulty() as (world, faults):
        post(world, sale())
        faults.arm(FaultKind.RESET_AFTER, after=2)
        with faults.at_work():
            response = post(world, refund("r1", "-2"))
        assert [call.operation for call, _ in faults.struck] == ["TransactWriteItems"]
        assert verdicts(response) == ["recorded"]
        assert verdicts(post(world, refund("r2", "-10.50"))) == ["recorded"]


# ---------------------------------------------------------------- held events


def test_a_refund_before_its_sale_is_held_and_posted_with_it(world: World) -> None:
    response = post(world, refund("r1", "-2"))
    assert (response.status, response.json()["counts"]) == (202, {"held": 1})
    (item,) = response.json()["items"]
    assert "receipt" not in item
    assert item["held"]["reason"] == "unknown_sale"
    assert [one["field"] for one in item["held"]["problems"]] == ["data.refers_to"]
    assert ledger(world) == []
    assert verdicts(post(world, [refund("r1", "-2"), sale()])) == ["recorded", "recorded"]
    assert sorted(item["id"] for item in ledger(world)) == ["order-1", "r1"]
    assert [one for one in items(world, "EntityTable") if one["pk"].startswith("HELD#")] == []


def test_a_refund_of_a_sale_of_another_source_is_held_for_a_sale_of_its_own(world: World) -> None:
    post(world, sale())
    assert verdicts(post(world, {**refund("r1", "-1"), "source": "fair"})) == ["held"]


def test_a_refund_whose_response_was_lost_while_it_was_held_is_held() -> None:
    with faulty() as (world, faults):
        post(world, sale("other"))
        faults.arm(FaultKind.RESET_AFTER, after=1)
        with faults.at_work():
            response = post(world, refund("r1", "-2"))
        assert [call.operation for call, _ in faults.struck] == ["TransactWriteItems"]
        assert verdicts(response) == ["held"]
