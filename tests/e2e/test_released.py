"""Tables and bucket as a released version wrote them: today's code reads, continues, seals and proves them."""

import csv
import gzip
import io
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from itertools import pairwise
from typing import Any, Final

import pytest

from quarterhour.model.clock import ManualClock, parse_iso, using
from quarterhour.model.periods import Period
from quarterhour.reports.plan import SCHEMA, Plan
from quarterhour.reports.verify import verify
from quarterhour_tools.bucket import Objects
from quarterhour_tools.emulator.http_api import Request, Response
from quarterhour_tools.emulator.stack import open_stack
from quarterhour_tools.replay.replay import counted_accounts, counted_periods
from tests.support.events import refund
from tests.support.repository import ROOT
from tests.support.requests import post, receipt, verdicts
from tests.support.system import World
from tests.support.tables import ledger

Json = dict[str, Any]

RELEASED: Final = ROOT / "tests" / "released" / "0.1.0"
BUCKET: Final = RELEASED / "bucket"
TABLES: Final = {"IdentityTable": "identity", "LedgerTable": "ledger", "EntityTable": "entity"}
AT_ONCE: Final = 25
RENAMED: Final = {"/quarters": "/quarter-hours", "/rates": "/exchange-rates", "kind=rates": "kind=exchange-rates"}
"""The paths and parameters of 0.1.0 that have another name today."""
RENAMED_FIELDS: Final = {"proofs": "verdicts", "desired": "wanted"}
"""The fields of today's answers that had another name in 0.1.0."""

NO_PAYMENTS: Final = {"now": "0", "before": "0", "change": "0", "trend": "stable"}
"""The payments in the trend of an account without any."""

UNFINISHED_RUN: Final = "2026-10-23T0000-0100"
NEXT_RUN: Final = "2026-10-23T0100-0130"
FIRST_CHECKPOINT: Final = {
    "pk": {"S": "CONTROL"},
    "sk": {"S": "checkpoint"},
    "sealed_through": {"S": "202610222215"},
}
"""How far the reports had come before the first run."""


def lines(name: str) -> list[Json]:
    """Return what a file of JSON lines holds."""
    return [json.loads(line) for line in (RELEASED / f"{name}.ndjson").read_text("utf-8").splitlines()]


EXPECTED: Final[Json] = json.loads((RELEASED / "expected.json").read_text("utf-8"))
HISTORY: Final = lines("history")
SENT: Final = [step for step in HISTORY if step["do"] == "POST /events" and "answer" in step]
DIED: Final = {step["body"][0]["id"]: step["body"][0] for step in HISTORY if "died" in step and "events" in step["do"]}
FILES: Final = {file.relative_to(BUCKET).as_posix(): file.read_bytes() for file in BUCKET.rglob("*") if file.is_file()}


def load(world: World) -> None:
    """Write the released items and objects into the tables and the bucket of a new stack."""
    for table, name in TABLES.items():
        puts = [{"PutRequest": {"Item": item}} for item in lines(name)]
        for first in range(0, len(puts), AT_ONCE):
            world.stack.dynamodb.batch_write_item(RequestItems={world.stack.ref(table): puts[first : first + AT_ONCE]})
    for key, content in FILES.items():
        world.stack.engine.s3().put_object(Bucket=world.stack.ref("ReportBucket"), Key=key, Body=content)


@contextmanager
def opened(stage: str) -> Iterator[World]:
    """Deploy today's code on what the release wrote, at the instant of the dump."""
    clock = ManualClock(parse_iso(EXPECTED["at"]))
    with using(clock), open_stack("moto", {"Stage": stage, **EXPECTED["parameters"]}, virtual=True) as stack:
        world = World(stack, clock)
        load(world)
        # It runs every quarter-hour: the deployment has reset the schedule, the watch corrects it.
        stack.invoke("watch", {})
        yield world


@pytest.fixture(scope="module")
def _read() -> Iterator[World]:
    with opened("read") as world:
        yield world


@pytest.fixture
def read(_read: World) -> Iterator[World]:
    """The system as the release left it, for tests that add nothing."""
    with using(_read.clock):
        yield _read


def request(world: World, method: str, path: str, body: Any = None) -> Response:
    """Send a request of the release in today's words."""
    for old, new in RENAMED.items():
        path = path.replace(old, new)
    place, _, query = path.partition("?")
    content = b"" if body is None else json.dumps(body).encode()
    return world.stack.request(Request(method, place, query, (("Content-Type", "application/json"),), content))


def answer(world: World, path: str) -> Json:
    """Return what a request is answered: the items of all pages, without cursors and signed links."""
    found = request(world, "GET", path)
    if found.status != 200:
        return {"status": found.status}
    body: Json = {RENAMED_FIELDS.get(name, name): value for name, value in found.json().items()}
    if path.endswith("/explain"):
        body["terms"].pop("looked_at", None)  # 0.1.0 did not show it
    if path == "/schedule":
        body.pop("version")  # nor this
    if body.get("kind") == "rate-card":
        body["kind"] = "rate card"  # as 0.1.0 called it
    after = body.pop("next", None)
    body.pop("previous", None)
    while after:
        page = request(world, "GET", f"{path}&next={after}").json()
        body["items"] += page["items"]
        after = page["next"]
    if "links_valid_seconds" in body:
        for file in body["files"]:
            assert file.pop("url")
    return {"status": found.status, "body": without_payments(body)}


def without_payments(shown: Any) -> Any:
    """Return a part of an answer without the totals of payments, which 0.1.0 did not know: they are 0."""
    if isinstance(shown, list):
        return [without_payments(one) for one in shown]
    if not isinstance(shown, dict):
        return shown
    assert shown.get("payments", "0") in ("0", NO_PAYMENTS)
    return {name: without_payments(value) for name, value in shown.items() if name != "payments"}


def content_of(bucket: Objects, key: str) -> bytes:
    """Return the bytes of an object."""
    with bucket.open(key) as file:
        return file.read()


def unposted(id_: str) -> dict[str, str]:
    """Return where the release claimed a place for an event of its shop."""
    (claim,) = [one for one in lines("identity") if one["event"]["S"] == f"shop#{id_}"]
    return {"partition": claim["quarter_hour"]["S"], "position": claim["position"]["S"]}


def sums(events: list[dict[str, str]]) -> dict[str, tuple[int, Decimal, Decimal, Decimal]]:
    """Add up events by account: how many, sold, refunded, commission."""
    found: dict[str, tuple[int, Decimal, Decimal, Decimal]] = {}
    for event in events:
        account, amount = f"{event['agency']}#{event['currency']}", Decimal(event["amount"])
        count, gross, refunds, commission = found.get(account, (0, Decimal(0), Decimal(0), Decimal(0)))
        sold, refunded = (amount, Decimal(0)) if amount >= 0 else (Decimal(0), amount)
        found[account] = (count + 1, gross + sold, refunds + refunded, commission + Decimal(event["commission"]))
    return found


def figures(totals: Json) -> tuple[int, Decimal, Decimal, Decimal]:
    """Return the four figures of totals as they are shown."""
    return totals["events"], *(Decimal(totals[name]) for name in ("gross", "refunds", "commission"))


def counted(world: World) -> dict[str, tuple[int, Decimal, Decimal, Decimal]]:
    """Return what the API says that each account comes to."""
    paths = [path for path in EXPECTED["answers"] if path.startswith("/accounts/") and path.count("/") == 3]
    bodies = [answer(world, path)["body"] for path in paths]
    return {f"{body['agency']}#{body['currency']}": figures(body) for body in bodies}


# ---------------------------------------------------------------- reading


@pytest.mark.parametrize("path", EXPECTED["answers"])
def test_a_request_has_the_answer_that_the_release_gave(read: World, path: str) -> None:
    assert answer(read, path) == EXPECTED["answers"][path]


def test_accounts_come_to_what_was_worked_out_by_hand(read: World) -> None:
    assert counted(read) == {account: figures(totals) for account, totals in EXPECTED["accounts"].items()}


def test_all_accounts_of_the_release_are_listed(read: World) -> None:
    listed = {f"{one['agency']}#{one['currency']}": figures(one) for one in read.all("/accounts")}
    assert listed.items() >= counted(read).items()
    assert len(listed) == sum(
        one["sk"]["S"] == "latest" and one["pk"]["S"].startswith("ACCOUNT#") for one in lines("entity")
    )


@pytest.mark.parametrize("limit", [1, 100])
def test_an_agencys_events_that_the_release_sealed_are_found_without_an_index(read: World, limit: int) -> None:
    span = {"from_": "2026-10-22", "to": "2026-10-24"}
    events = read.all("/events", **span)
    assert len(events) > 10
    for agency in {one["agency"] for one in events}:
        expected = [one for one in events if one["agency"] == agency]
        assert read.all("/events", **span, agency=agency, limit=limit) == expected


def test_what_the_release_sealed_is_proven(read: World) -> None:
    proof = verify(read.stack.bucket.open, read.stack.bucket.keys())
    assert (proof.runs, proof.problems) == (2, [])


# ---------------------------------------------------------------- what was sent before


def recorded() -> Iterator[tuple[Json, dict[str, str]]]:
    """Yield the events that the release recorded, and their receipts."""
    for step in SENT:
        for event, item in zip(step["body"], step["answer"]["items"], strict=True):
            if item["verdict"] == "recorded":
                yield event, item["receipt"]


def test_an_event_sent_again_is_a_duplicate_with_its_old_receipt(read: World) -> None:
    before = ledger(read)
    events, receipts = zip(*recorded(), strict=True)
    again = post(read, list(events))
    assert verdicts(again) == ["duplicate"] * len(receipts)
    assert tuple(item["receipt"] for item in again.json()["items"]) == receipts
    assert ledger(read) == before


def test_other_content_under_an_old_identity_is_a_conflict(read: World) -> None:
    changed = [{**event, "subject": "another"} for event, _ in recorded()]
    assert set(verdicts(post(read, changed))) == {"conflict"}


def test_an_event_that_the_release_refused_is_refused_again(read: World) -> None:
    refused = [
        (event, item["verdict"])
        for step in SENT
        for event, item in zip(step["body"], step["answer"]["items"], strict=True)
        if item["verdict"] in {"rejected", "conflict"}
    ]
    assert [verdict for _, verdict in refused] == ["rejected", "conflict", "rejected"]
    assert verdicts(post(read, [event for event, _ in refused])) == [verdict for _, verdict in refused]


def test_what_else_was_written_is_known_when_it_is_sent_again(read: World) -> None:
    steps = [step for step in HISTORY if step["do"].startswith(("POST /", "PUT /")) and "status" in step]
    others = [step for step in steps if step not in SENT and not step["do"].endswith("/schedule")]
    assert len(others) == 19
    for step in others:
        method, path = step["do"].split(" ")
        again = request(read, method, path, step["body"])
        assert again.status == 200, step["do"]
        if not path.startswith("/orders"):  # an order is answered as it is now
            assert again.json() == step["answer"], step["do"]


@pytest.mark.parametrize(
    ("sale", "amount", "left"),
    [
        ("s1", "-50.01", "50.00"),  # 40.00 refunded, 10.00 claimed by c2
        ("s3", "-30.01", "30.00"),  # 20.00 refunded
        ("s14", "-1.11", "1.10"),  # nothing refunded
    ],
)
def test_a_refund_cannot_exceed_what_the_release_left_of_a_sale(read: World, sale: str, amount: str, left: str) -> None:
    sold = next(event for event, _ in recorded() if event["id"] == sale)
    data = {"amount": amount, "currency": sold["data"]["currency"], "refers_to": sale}
    too_much = {**sold, "id": f"beyond {sale}", "type": "sale.refunded", "data": data}
    (item,) = post(read, too_much).json()["items"]
    assert item["verdict"] == "rejected"
    assert f"{left} is left" in item["errors"][0]["expected"]


# ---------------------------------------------------------------- going on


@dataclass(frozen=True)
class Continued:
    """The system after today's code has gone on from the dump, and what it answered and sealed."""

    world: World
    receipts: dict[str, dict[str, str]]
    report: Json
    objects: dict[str, bytes]

    @property
    def manifests(self) -> list[bytes]:
        """The runs' manifests, in the order of time."""
        return [self.objects[key] for key in sorted(self.objects) if key.endswith("manifest.json")]

    @property
    def sealed(self) -> list[dict[str, str]]:
        """All sealed lines."""
        packed = [content for key, content in self.objects.items() if key.endswith("lines.csv.gz")]
        texts = [io.StringIO(gzip.decompress(content).decode(), newline="") for content in packed]
        return [line for text in texts for line in csv.DictReader(text)]


@pytest.fixture(scope="module")
def _continued() -> Iterator[Continued]:
    with opened("continued") as world:
        receipts = {}
        for id_, event in DIED.items():
            again = post(world, event)
            assert verdicts(again) == ["duplicate"], id_
            receipts[id_] = receipt(again)
        assert verdicts(post(world, refund("rest", "-50.00", of="s1"))) == ["recorded"]
        assert verdicts(post(world, refund("more", "-0.01", of="s1"))) == ["rejected"]
        world.pass_time(minutes=11)
        report = world.report()
        bucket = world.stack.bucket
        yield Continued(world, receipts, report, {key: content_of(bucket, key) for key in bucket.keys()})  # noqa: SIM118


@pytest.fixture
def continued(_continued: Continued) -> Iterator[Continued]:
    """The system after the dead requests were sent again, a refund, the streams and a report."""
    with using(_continued.world.clock):
        yield _continued


def test_a_claim_in_an_open_quarter_hour_is_completed_where_it_points(continued: Continued) -> None:
    assert continued.receipts["c3"].items() >= unposted("c3").items()


@pytest.mark.parametrize("id_", ["c1", "c2"])
def test_a_claim_in_a_final_quarter_hour_is_moved_to_the_current_one(continued: Continued, id_: str) -> None:
    assert unposted(id_)["partition"].startswith("202610230015#")
    assert continued.receipts[id_]["partition"].startswith("202610230115#")


def test_every_event_is_sealed_once(continued: Continued) -> None:
    known = Counter((event["source"]["S"], event["id"]["S"]) for event in lines("ledger"))
    known.update(("shop", id_) for id_ in (*DIED, "rest"))
    assert Counter((line["source"], line["id"]) for line in continued.sealed) == known
    assert Counter((event["source"], event["id"]) for event in ledger(continued.world)) == known


def test_the_plan_under_way_is_finished_as_it_was_fixed_and_the_next_one_follows(continued: Continued) -> None:
    assert (continued.report["runs"], continued.report["complete"]) == ([UNFINISHED_RUN, NEXT_RUN], True)
    finished, following = (json.loads(content) for content in continued.manifests[2:])
    assert (finished["planned_at"], finished["code_version"]) == ("2026-10-23T01:05:00.000Z", "0.1.0")
    assert finished["base_currency"] == "EUR"
    today = continued.world.stack.template.parameters["CodeVersion"]
    assert (following["planned_at"], following["code_version"]) == ("2026-10-23T01:33:00.000Z", today)


def test_the_chain_of_manifests_goes_on(continued: Continued) -> None:
    assert len(continued.manifests) == 4
    for before, after in pairwise(continued.manifests):
        run = json.loads(before)["run"]
        assert json.loads(after)["previous"] == {"run": run, "sha256": sha256(before).hexdigest()}


def test_no_file_of_the_release_changes(continued: Continued) -> None:
    assert continued.objects.items() >= FILES.items()


def test_all_that_is_sealed_is_proven(continued: Continued) -> None:
    proof = verify(continued.world.stack.bucket.open, continued.objects)
    assert (proof.runs, proof.lines, proof.problems) == (4, len(continued.sealed), [])


def test_counters_equal_the_sealed_lines(continued: Continued) -> None:
    """The stream has delivered all of its records again, the released ones too: none was counted twice."""
    assert counted(continued.world) == sums(continued.sealed)
    assert continued.report["drift"] == 0
    runs = answer(continued.world, "/reports?limit=10")["body"]["items"]
    assert [run["counters"] for run in runs] == ["verified"] * 4, "the verdict that was pending is final now"


def test_a_rebuild_gives_periods_to_the_released_events_and_finds_nothing_else_to_repair(continued: Continued) -> None:
    for repaired in (7, 0):  # the period of each account
        rebuilt = continued.world.stack.invoke("repair", {"action": "rebuild"})
        assert (rebuilt["days"], rebuilt["accounts"], rebuilt["repaired"]) == (2, 7, repaired)
    stack = continued.world.stack
    for account, totals in counted_accounts(stack).items():
        assert counted_periods(stack, account) == {Period(2026, 10): totals}


def test_lost_documents_of_a_released_run_are_written_again_at_its_pinned_rates(continued: Continued) -> None:
    later = {"units_per_base": "0.5", "source": "ECB", "as_of": "2026-10-22T23:40:00Z"}
    assert request(continued.world, "PUT", "/rates/GBP", later).status == 201
    lost = [key for key in FILES if key.startswith("reports/2026/10/22/2315-2400/")]
    assert len(lost) == 2
    stack = continued.world.stack
    for key in lost:
        stack.engine.s3().delete_object(Bucket=stack.ref("ReportBucket"), Key=key)
    stack.invoke("report", {"reseal": "2026-10-22T2315-2400"})
    assert {key: content_of(stack.bucket, key) for key in lost} == {key: FILES[key] for key in lost}


def test_an_order_that_the_release_left_half_written_is_completed(continued: Continued) -> None:
    (step,) = [step for step in HISTORY if step["do"] == "POST /orders" and "died" in step]
    assert request(continued.world, "POST", "/orders", step["body"]).status == 201
    continued.world.pass_time(minutes=1)
    found = answer(continued.world, "/orders/F-1003")["body"]
    assert (found["status"], [item["product"] for item in found["items"]]) == ("open", ["P-1", "P-2"])


# ---------------------------------------------------------------- sealing


def test_todays_code_seals_the_same_lines_from_the_released_ledger(monkeypatch: pytest.MonkeyPatch) -> None:
    """Compares the lines, not their compression: that may differ between machines."""
    defaults = tuple(2 if value == SCHEMA else value for value in Plan.__init__.__defaults__ or ())
    monkeypatch.setattr(Plan.__init__, "__defaults__", defaults)  # the schema of the release
    with opened("sealing") as world:
        for key in FILES:
            world.stack.engine.s3().delete_object(Bucket=world.stack.ref("ReportBucket"), Key=key)
        world.stack.dynamodb.put_item(TableName=world.stack.ref("EntityTable"), Item=FIRST_CHECKPOINT)
        assert world.report()["complete"]
        for key, content in FILES.items():
            if key.endswith("lines.csv.gz"):
                assert gzip.decompress(content_of(world.stack.bucket, key)) == gzip.decompress(content), key
