"""Old months leave the Ledger table, and every question about their events has the same answer as before."""

import json
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from quarterhour.proof.reports import verify
from tests.handlers.desk import send
from tests.support.events import refund, rerating, sale, void
from tests.support.old_month import PARAMETERS, SENT, STARTS, alone, fill_october, release_october
from tests.support.requests import post, put, receipt, verdicts
from tests.support.system import World, opened
from tests.support.tables import all_counters, items, ledger, lose_counter, redeploy

DISPUTE = "/statements/42/GBP/2026-10/disputes"
OCTOBER = {"from_": "2026-10-01T00:00:00Z", "to": "2026-11-01T00:00:00Z"}
ROUTES: list[tuple[str, dict[str, str]]] = [
    *((f"/events/shop/{id_}{of}", {}) for id_ in ("s1", "r1", "single", "kept") for of in ("", "/explain", "/story")),
    ("/events/orders/1001:1", {}),
    *(("/events", {**OCTOBER, "limit": limit, **only}) for limit in ("1", "3", "100") for only in (
        {}, {"agency": "42"}, {"source": "shop"}, {"source": "shop", "type": "sale.recorded"}, {"customer": "ann"},
    )),
    ("/sources/shop/events", {"after": "2026-10-23T01:30:00Z"}),
    ("/rerating", {**OCTOBER, "rate_card": "rate-card:42", "version": "1", "reason": "new contract", "agency": "42"}),
    ("/search", {"q": "s1"}),
    ("/accounts/42/GBP", {}),
    ("/accounts/42/GBP/periods", {}),
    ("/accounts/42/GBP/balance", {}),
    ("/receivables", {"agency": "42"}),
    ("/orders/1001", {}),
]  # fmt: skip
"""The requests before and after: every route that reads the ledger, and some that must not notice."""


class Archived(NamedTuple):
    """A marketplace whose October is archived, with what it answered and stored before."""

    world: World
    answers: dict[str, Any]
    counters: dict[Any, Any]
    postings: list[dict[str, str]]


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def archived() -> Iterator[Archived]:
    """Fill October, and let it be archived once nothing is open any more."""
    with opened(PARAMETERS, start=STARTS) as world:
        fill_october(world)
        close_october(world)
        before = Archived(world, answers(world), all_counters(world), ledger(world))
        result = world.report()["archive"]
        assert (result["waits_for"], result["through"], result["items"]) == (None, "202610312345", 5)
        world.drain()
        yield before


def close_october(world: World) -> None:
    """Make and release the drafts of October and November, resolve a dispute; nothing is archived before that."""
    redeploy(world, "report", LEDGER_RETENTION_MONTHS="0")
    assert "archive" not in world.report()
    redeploy(world, "report", LEDGER_RETENTION_MONTHS="1")
    assert waits_for(world) == "the lines of 2026-10 are not all in drafts"
    world.stack.invoke("statements", {})
    assert waits_for(world) == "a draft of 2026-10 is not released"
    release_october(world)
    line = {"source": "shop", "id": "s1"}
    assert send(world, "POST", DISPUTE, {**line, "reason": "this parcel came back"}).status == 201
    world.drain()
    assert waits_for(world) == "a dispute of 2026-10 is open"
    assert world.report()["archive"]["days_late"] == 4, "due since December began"
    assert send(world, "PUT", f"{DISPUTE}/shop/s1", {"reason": "it did not"}).status == 200
    world.drain()


def waits_for(world: World) -> Any:
    """Return why the archive waits: a draft, a dispute."""
    return world.stack.invoke("report", {})["archive"]["waits_for"]


def answers(world: World) -> dict[str, Any]:
    """Return all pages that each route answers."""
    found: dict[str, Any] = {}
    for path, query in ROUTES:
        page = world.read(path, **query)
        pages = [page]
        while page.get("next"):
            page = world.read(path, **{**query, "next": page["next"]})
            pages.append(page)
        found[f"{path} {query}"] = pages
    return found


def test_every_question_has_the_same_answer_as_before(archived: Archived) -> None:
    """Lists by agency, by source and by partition, in pages of any size; single events, explanations, stories, sums."""
    assert answers(archived.world) == archived.answers
    assert all_counters(archived.world) == archived.counters, "the replaced items are not counted again"


def test_an_item_is_replaced_only_if_its_sealed_lines_hold_every_value(archived: Archived) -> None:
    """Six items: three segments of the request, one of an order, and two of one sale, one with an operator."""
    stored = items(archived.world, "LedgerTable")
    assert sorted(one["schema"] for one in stored) == ["1", *["archived"] * 5]
    assert {name for one in stored if one["schema"] == "archived" for name in one} == {
        "quarter_hour", "position", "count", "schema",
    }  # fmt: skip
    (kept,) = [one for one in stored if one["schema"] == "1"]
    columns = json.loads(zlib.decompress(kept["events"]))
    assert (columns["id"], columns["recorded_by"]) == (["kept"], ["fay"])
    assert sum(int(one.get("count", 1)) for one in stored) == len(archived.postings)


def test_an_archived_event_that_comes_again_is_a_duplicate_or_a_conflict(archived: Archived) -> None:
    answer = post(archived.world, [*SENT, alone("single"), sale("s3", "8.00")])
    assert verdicts(answer) == ["duplicate"] * 9 + ["conflict"]
    assert receipt(answer)["position"] == archived.answers["/events/shop/s1 {}"][0]["position"]


def test_a_function_that_may_not_read_sealed_files_takes_no_archived_event_for_new(archived: Archived) -> None:
    """So does a version that does not know archived items: nothing is recorded twice after a rollback."""
    world = archived.world
    stored = items(world, "IdentityTable")
    redeploy(world, "ingest", REPORT_BUCKET="")
    sent = [SENT[0], refund("early", "-1.00", of="s1"), sale("new", "1.00")]
    assert verdicts(post(world, sent)) == ["unavailable", "unavailable", "recorded"]
    assert [one for one in items(world, "IdentityTable") if one in stored] == stored
    redeploy(world, "ingest", REPORT_BUCKET=world.stack.ref("ReportBucket"))
    assert verdicts(post(world, sent)) == ["duplicate", "recorded", "duplicate"]


def test_the_sealed_files_stay_proven_and_can_be_written_again(archived: Archived) -> None:
    world = archived.world
    bucket = world.stack.bucket
    assert verify(bucket.open, bucket.keys()).problems == []
    run = "2026-10-31T2230-2400"
    lines, page = "ledger/dt=2026-10-31/quarter=2230/lines.csv.gz", "reports/2026/10/31/2230-2400/report.html"
    content = {key: bucket.open(key).read() for key in (lines, page)}
    s3 = world.stack.engine.s3()
    s3.delete_object(Bucket=world.stack.ref("ReportBucket"), Key=page)
    assert world.stack.invoke("report", {"reseal": run})["written"] == [page]
    assert bucket.open(page).read() == content[page]


def test_a_sale_that_is_archived_is_still_corrected(archived: Archived) -> None:
    """A refund takes the sale's rate and what is left of it; so does a re-rating; then it is voided."""
    world = archived.world
    story = "/events/shop/s1/story"
    before = len(world.read(story)["items"])
    content = {"valid_from": "2026-10-01T00:00:00Z", "rules": [{"percent": "25"}]}
    put(world, "/documents/rate-card:42", {"seen": 1, "content": content})
    sent = [
        refund("late", "-20.00", of="s1"),
        rerating("rerate", of="s1", version=2),
        refund("too much", "-31.00", of="s1"),
    ]
    assert verdicts(post(world, sent)) == ["recorded", "recorded", "rejected"]
    assert verdicts(post(world, [void("void", of="s1"), void("void-2", of="single")])) == ["recorded"] * 2
    steps = world.read(story)["items"]
    assert [one["id"] for one in steps[before:]] == ["late", "rerate", "void"]
    assert world.read("/events/shop/s1")["amount"] == "80.00"
    assert world.read("/events/shop/s1/explain")["in_force"]
    assert [world.read(f"/events/shop/{one['id']}")["agency"] for one in steps] == ["42"] * len(steps)


def test_counters_are_rebuilt_from_the_sealed_files(archived: Archived) -> None:
    world = archived.world
    lose_counter(world, "PERIOD#2026-10")
    started = world.stack.invoke("repair", {"action": "rebuild"})
    assert world.stack.invoke("repair", {"action": "follow", "execution": started["execution"]})["repaired"] > 0
    assert world.read("/accounts/42/GBP/periods") == archived.answers["/accounts/42/GBP/periods {}"][0]


def test_events_that_were_sealed_in_parts_are_read_from_their_part() -> None:
    with opened({**PARAMETERS, "LedgerShards": 9}, start=STARTS) as world:
        fill_october(world)
        redeploy(world, "report", LEDGER_RETENTION_MONTHS="1")
        world.stack.invoke("statements", {})
        release_october(world)
        span = {**OCTOBER, "agency": "42"}
        before = world.read("/events", **span)
        for _ in range(2):  # the first one begins to seal December, in parts
            world.report()
        archived = [one for one in items(world, "LedgerTable") if one["schema"] == "archived"]
        assert {one["part"] for one in archived} == {"0", "1"}
        assert world.read("/events", **span) == before
