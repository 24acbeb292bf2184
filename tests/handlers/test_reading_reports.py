"""Reading reports: the runs with their proofs, a run's manifest and links to its files."""

import gzip
import json
from collections.abc import Iterator
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from quarterhour.aws.items import to_item
from tests.handlers.desk import send
from tests.support.events import ABSENT, view
from tests.support.requests import post
from tests.support.system import World, opened

FIRST = "2026-10-23T0130-0145"
SECOND = "2026-10-23T0145-0215"


@pytest.fixture(scope="module")
def reported() -> Iterator[World]:
    """The system after two runs: of one quarter-hour with two events, then of two with one."""
    with opened() as world:
        world.sell("1.00")
        world.sell("2.00", agency="=1+1")
        world.pass_time(minutes=18)
        world.report()
        world.sell("4.00")
        world.pass_time(minutes=30)
        world.report()
        world.drain()
        yield world


def content(world: World, url: str) -> bytes:
    """Return what a link leads to."""
    parts, bucket = urlsplit(url), world.stack.ref("ReportBucket")
    assert parts.netloc.startswith(bucket + ".s3.")
    return world.stack.engine.s3().get_object(Bucket=bucket, Key=unquote(parts.path[1:]))["Body"].read()


def test_there_are_no_runs_before_the_first(world: World) -> None:
    assert world.read("/reports") == {"items": [], "next": None}


def test_the_runs_are_listed_newest_first_with_their_worst_proof(reported: World) -> None:
    second, first = reported.read("/reports")["items"]
    assert (second["run"], second["quarter_hours"], second["lines"], second["counters"]) == (SECOND, 2, 1, "verified")
    manifest_sha256 = first.pop("manifest_sha256")
    assert len(manifest_sha256) == 64
    assert first == {
        "run": FIRST,
        "from": "2026-10-23T01:30:00Z",
        "to": "2026-10-23T01:45:00Z",
        "planned_at": "2026-10-23T01:48:00.000Z",
        "quarter_hours": 1,
        "lines": 2,
        "default_rate_events": 0,
        "counters": "verified",
    }
    assert [item["run"] for item in reported.all("/reports", limit=1)] == [SECOND, FIRST]


def test_a_run_says_how_many_events_the_default_rate_charged(world: World) -> None:
    rate_card = {"valid_from": "2026-10-01T00:00:00Z", "rules": [{"category": "books", "percent": "8"}]}
    assert send(world, "PUT", "/documents/rate-card:42", {"seen": 0, "content": rate_card}).status == 201
    world.sell("1.00", commission_rate=ABSENT)
    world.sell("1.00", agency="7", commission_rate=ABSENT)
    world.sell("1.00", category="books", commission_rate=ABSENT)
    world.sell("1.00", commission_rate="0.1")
    post(world, view("v1", "/index", "ann"))
    world.pass_time(minutes=20)
    world.report()
    (run,) = world.read("/reports")["items"]
    assert (run["lines"], run["default_rate_events"]) == (5, 2)
    assert world.read(f"/reports/{run['run']}")["default_rate_events"] == 2


def test_a_run_whose_counters_lag_is_pending_until_the_next(world: World) -> None:
    world.sell("1.00")
    world.clock.advance_to(world.clock.now().replace(hour=1, minute=50))
    world.report()
    assert [(item["run"], item["counters"]) for item in world.read("/reports")["items"]] == [(FIRST, "pending")]
    assert world.read(f"/reports/{FIRST}")["proofs"] == {"202610230130": "pending"}
    world.drain()
    world.report()
    assert [(item["run"], item["counters"]) for item in world.read("/reports")["items"]] == [(FIRST, "verified")]


def test_a_run_is_returned_with_its_manifest_and_links_to_its_files(reported: World) -> None:
    run = reported.read(f"/reports/{FIRST}")
    assert (run["run"], run["counters"], run["proofs"]) == (FIRST, "verified", {"202610230130": "verified"})
    assert run["manifest"]["accounts"][0]["gross"] == "1.00"
    assert [file["key"] for file in run["files"]] == [
        "reports/2026/10/23/0130-0145/manifest.json",
        "reports/2026/10/23/0130-0145/summary.csv",
        "reports/2026/10/23/0130-0145/products.csv",
        "reports/2026/10/23/0130-0145/report.html",
        "ledger/dt=2026-10-23/quarter=0130/lines.csv.gz",
    ]
    for file in run["files"]:
        body = content(reported, file["url"])
        assert (sha256(body).hexdigest(), len(body)) == (file["sha256"], file["size"])
    assert json.loads(content(reported, run["files"][0]["url"])) == run["manifest"]
    assert len(gzip.decompress(content(reported, run["files"][4]["url"])).splitlines()) == 3
    assert len(reported.read(f"/reports/{SECOND}")["files"]) == 5


def test_links_are_signed_for_fifteen_minutes(reported: World) -> None:
    run = reported.read(f"/reports/{FIRST}")
    assert run["links_valid_seconds"] == 900
    for file in run["files"]:
        signed = parse_qs(urlsplit(file["url"]).query)
        assert signed["X-Amz-Expires"] == ["900"]
        assert signed["X-Amz-Algorithm"] == ["AWS4-HMAC-SHA256"]


def test_a_manifest_that_is_too_large_for_a_response_is_only_linked(
    reported: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quarterhour.reports.queries.LARGEST_MANIFEST", 100)
    run = reported.read(f"/reports/{FIRST}")
    assert run["manifest"] is None
    assert len(run["files"]) == 5


def test_the_end_of_a_day_is_shown_as_midnight_of_the_next(world: World) -> None:
    world.clock.advance_to(world.clock.now().replace(hour=23, minute=40))
    world.sell("1.00")
    world.pass_time(minutes=30)
    world.report()
    (run,) = world.read("/reports")["items"]
    assert (run["run"], run["to"]) == ("2026-10-23T2330-2400", "2026-10-24T00:00:00Z")
    assert world.read("/reports/2026-10-23T2330-2400")["lines"] == 1


def test_an_unknown_run_is_not_found(reported: World) -> None:
    for run in (
        "2026-10-23T0145-0200",
        "2026-10-23",
        "9999-99-99T9999-9999",
        "..%252F..%252Fledger",
        "2026-10-23T0130-0145%252F..%252Fx",
        "2026-10-23T0130-0145%00",
        "2026-10-23T0130-0145%0A",
        "%D9%A2026-10-23T0130-0145",
        "pending",
        "x" * 5000,
    ):
        assert reported.missing(f"/reports/{run}").startswith("there is no run ")


def test_only_runs_are_listed_among_the_runs(reported: World) -> None:
    table: dict[str, Any] = {"TableName": reported.stack.ref("EntityTable")}
    reported.stack.dynamodb.put_item(**table, Item=to_item({"pk": "RUNS", "sk": FIRST}))
    reported.stack.dynamodb.put_item(**table, Item=to_item({"pk": "RUN#pending", "sk": FIRST}))
    assert [item["run"] for item in reported.all("/reports", limit=1)] == [SECOND, FIRST]


def test_a_run_takes_no_parameters_and_the_list_no_others(reported: World) -> None:
    assert reported.refused(f"/reports/{FIRST}", limit=1)["field"] == "limit"
    assert reported.refused("/reports", from_="2026-10-23")["field"] == "from"


def test_the_runs_of_a_day_are_listed_by_its_date(reported: World) -> None:
    assert [item["run"] for item in reported.all("/reports", date="2026-10-23", limit=1)] == [SECOND, FIRST]
    assert reported.read("/reports", date="2026-10-22")["items"] == []
    assert reported.read("/reports", date="2026-10-24")["items"] == []
    assert reported.refused("/reports", date="yesterday")["field"] == "date"
