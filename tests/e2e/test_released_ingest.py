"""The functions of 0.2.0, from its commit, record beside this release's on the same tables, and meet its segments."""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from quarterhour.proof.reports import verify
from quarterhour_tools.emulator.http_api import Request
from tests.e2e.released_functions import DiedError, ReleasedFunctions
from tests.support.events import adjustment, refund, sale, void
from tests.support.requests import events_request, post, verdicts
from tests.support.system import opened
from tests.support.tables import stream

pytestmark = [pytest.mark.slow, pytest.mark.engine("dynamodb-local")]

DAY = {"from_": "2026-10-23T00:00:00Z", "to": "2026-10-24T00:00:00Z"}


@pytest.fixture
def functions(dynamodb_local_url: str, released: Path) -> Iterator[ReleasedFunctions]:
    with opened({"LedgerShards": 2}, engine=dynamodb_local_url) as world:
        yield ReleasedFunctions(world, released, dynamodb_local_url)


def record(functions: ReleasedFunctions, *events: dict[str, Any], appends: int | None = None) -> list[str]:
    """Let the function of 0.2.0 record events; return the verdicts."""
    _, body = functions.answer("ingest", events_request(list(events)), appends=appends)
    return [one["verdict"] for one in body["items"]]


def test_what_0_2_0_claimed_and_did_not_append_is_recorded_sealed_and_counted_once(
    functions: ReleasedFunctions,
) -> None:
    world = functions.world
    first = [sale(f"s{n}", f"{n + 1}.25", customer=f"c{n % 3}", agency=str(n % 2)) for n in range(30)]
    with pytest.raises(DiedError, match="killed"):
        record(functions, *first, appends=1)
    second = [refund("r0", "-0.25", of="s0", agency="0"), void("v1", "s1", agency="1")]
    with pytest.raises(DiedError, match="killed"):
        record(functions, *second, appends=0)
    assert len(stream(world, "LedgerTable")) == 25

    # The update: functions of both releases run. 0.2.0 fails where it meets a segment, after it has claimed.
    third = [sale("n1", "7"), sale("n2", "8"), refund("r2", "-1", of="s2", agency="0")]
    assert verdicts(post(world, third)) == ["recorded"] * 3
    fourth = [sale("o1", "9"), third[0]]
    with pytest.raises(DiedError, match="ValueError"):
        record(functions, *fourth)

    sent = [*first, *second, *third, *fourth]
    waiting = {"s25", "s26", "s27", "s28", "s29", "r0", "v1", "o1"}
    expected = ["unavailable" if one["id"] in waiting else "duplicate" for one in sent]
    assert verdicts(post(world, sent)) == expected
    assert verdicts(post(world, refund("r29", "-1", of="s29", agency="1"))) == ["unavailable"]
    world.drain()
    world.clock.advance(timedelta(minutes=17, seconds=1))
    for _ in range(2):
        assert verdicts(post(world, sent)) == ["duplicate"] * len(sent)
    assert verdicts(post(world, refund("r29", "-1", of="s29", agency="1"))) == ["recorded"]
    world.drain()
    world.clock.advance(timedelta(minutes=18))
    report = world.report()
    assert (report["complete"], report["drift"]) == (True, 0)
    ids = sorted({one["id"] for one in [*sent, {"id": "r29"}]})
    assert sorted(one["id"] for one in world.all("/events", **DAY)) == ids
    proof = verify(world.stack.bucket.open, world.stack.bucket.keys())
    assert (proof.proven, proof.lines) == (True, len(ids))
    amounts = {one["id"]: one["data"].get("amount", "-2.25") for one in sent} | {"r29": "-1"}
    shown = {one["agency"]: (one["events"], Decimal(one["net"])) for one in world.all("/accounts")}
    by_agency = {agency: [one["id"] for one in sent if one["subject"] == agency] for agency in shown}
    by_agency["1"].append("r29")
    assert shown == {
        agency: (len(set(some)), sum(Decimal(amounts[id_]) for id_ in set(some))) for agency, some in by_agency.items()
    }


@pytest.mark.parametrize(
    "sent",
    [
        [sale("new", "7")],
        [sale("new", "8")],
        [refund("r", "-1", of="new")],
        [void("v", "new")],
        [adjustment("a", "1", "new")],
    ],
    ids=["retry", "other content", "refund", "void", "adjustment"],
)
def test_0_2_0_fails_at_a_request_about_an_event_in_a_segment(
    functions: ReleasedFunctions, sent: list[dict[str, Any]]
) -> None:
    assert verdicts(post(functions.world, sale("new", "7"))) == ["recorded"]
    with pytest.raises(DiedError, match="ValueError"):
        record(functions, *sent)
    expected = "conflict" if sent[0] == sale("new", "8") else "duplicate" if sent[0]["id"] == "new" else "recorded"
    assert verdicts(post(functions.world, sent)) == [expected]


def test_0_2_0_stops_its_report_parks_a_segment_and_does_not_show_its_events(functions: ReleasedFunctions) -> None:
    world = functions.world
    assert record(functions, sale("old", "5")) == ["recorded"]
    assert verdicts(post(world, [sale("new", "7"), refund("r", "-1", of="old")])) == ["recorded"] * 2

    def read(path: str, query: str = "") -> Any:
        return functions.answer("api", Request("GET", path, query), environment_of="read")

    assert read("/events/shop/new")[0] == read("/events/shop/new/explain")[0] == 404
    status, story = read("/events/shop/old/story")
    assert (status, [one["id"] for one in story["items"]]) == (200, ["old"])
    span = "from=2026-10-23T00:00:00Z&to=2026-10-24T00:00:00Z"
    status, page = read("/events", f"{span}&agency=42")
    assert (status, [one["id"] for one in page["items"]]) == (200, ["old"])
    with pytest.raises(DiedError, match="KeyError: 'S'"):
        read("/events", span)
    world.clock.advance(timedelta(minutes=20))
    with pytest.raises(
        DiedError, match=r"LedgerItemError: the ledger item 202610230130#0\d 2026-10-23T01:30:00\.000Z\."
    ):
        functions.invoke("report", {})
    world.drain()
    report = world.report()
    assert (report["complete"], report["drift"]) == (True, 0)
    assert {one["id"] for one in world.all("/events", **DAY)} == {"old", "new", "r"}
