"""Tables and bucket as released versions wrote them: today's code reads, continues, seals and proves them."""

import csv
import gzip
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from itertools import pairwise
from typing import Any, Final

import pytest

from quarterhour.model.clock import parse_iso, using
from quarterhour.proof.verify import verify
from quarterhour.reports.plan import SCHEMA, Plan
from quarterhour_tools.bucket import Objects
from quarterhour_tools.emulator.http_api import Request, Response
from quarterhour_tools.operations.remote import segment
from quarterhour_tools.replay.replay import counted_accounts, counted_periods
from tests.support.events import refund, sale, void
from tests.support.released import Item, Release, updated
from tests.support.requests import post, receipt, verdicts
from tests.support.system import World
from tests.support.tables import ledger

Json = dict[str, Any]
Figures = tuple[int, Decimal, Decimal, Decimal, Decimal]

RENAMED: Final = {"/quarters": "/quarter-hours", "/rates": "/exchange-rates", "kind=rates": "kind=exchange-rates"}
"""The paths and parameters of 0.1.0 that have another name today."""
RENAMED_FIELDS: Final = {"proofs": "verdicts", "desired": "wanted"}
"""The fields of today's answers that had another name in 0.1.0."""

NO_PAYMENTS: Final = {"now": "0", "before": "0", "change": "0", "trend": "stable"}
"""The payments in the trend of an account without any."""

AS_THEY_ARE_NOW: Final = ("/orders", "/statements")
"""What is written below these is answered as it is by now, also when it is sent again."""


@dataclass(frozen=True)
class Dump(Release):
    """A release, and what is true of its dump alone.

    ``first_checkpoint``: how far the reports had come before the first run. ``schema``: of its sealed files. ``span``:
    holds all of its events. ``writes``: how many other requests wrote something. ``left``: refunds of a sale that are
    too much, and what is left of it. ``under_way`` and ``following``: the run whose plan is under way, and the next.
    ``moved``: from where to where claims in a final quarter-hour move, and their events. ``resealed``: a sealed run and
    an instant within it. ``repaired``: how many counters a rebuild repairs. ``refused``: the verdicts of the events
    that it did not record. ``unlisted``: what ``verify`` says about the files of a statement run that is under way.
    """

    first_checkpoint: str
    schema: int
    span: tuple[str, str]
    sealed_runs: int
    writes: int
    left: tuple[tuple[str, str, str], ...]
    under_way: str
    following: str
    moved: tuple[str, str, tuple[str, ...]]
    resealed: tuple[str, str]
    repaired: int
    refused: tuple[str, ...]
    unlisted: str = ""


DUMPS: Final = (
    Dump(
        "0.1.0",
        first_checkpoint="202610222215",
        schema=2,
        span=("2026-10-22", "2026-10-24"),
        sealed_runs=2,
        writes=19,
        # Of s1, 40.00 are refunded, and 10.00 claimed by c2. Of s3, 20.00 are refunded.
        left=(("s1", "-50.01", "50.00"), ("s3", "-30.01", "30.00"), ("s14", "-1.11", "1.10")),
        under_way="2026-10-23T0000-0100",
        following="2026-10-23T0100-0145",
        moved=("202610230015#", "202610230115#", ("c1", "c2")),
        resealed=("2026-10-22T2315-2400", "2026-10-22T23:40:00Z"),
        repaired=7,  # the period of each account
        refused=("rejected", "conflict", "rejected"),
    ),
    Dump(
        "0.2.0",
        first_checkpoint="202611291915",
        schema=3,
        span=("2026-11-29", "2026-12-01"),
        sealed_runs=5,
        writes=53,
        # Of s1, 40.00 are refunded, and 10.00 claimed by c2. Of s3, 30.00 are refunded, and it was rerated between.
        left=(("s1", "-50.01", "50.00"), ("s3", "-20.01", "20.00"), ("n9", "-1.11", "1.10")),
        under_way="2026-11-30T0115-0215",
        following="2026-11-30T0215-0245",
        moved=("202611300030#", "202611300215#", ("c1", "c2", "c4")),
        resealed=("2026-11-29T2015-2315", "2026-11-29T20:35:00Z"),
        repaired=0,
        refused=("rejected", "conflict", "rejected", "rejected"),
        unlisted="statements/2026-10/manifest.json: is missing, so 5 files of 2026-10 are in no list: if their run is "
        "under way, verify again when it has ended",
    ),
)
NEWEST: Final = DUMPS[-1]
SCHEDULE: Final = "/schedule"
"""Read after the watch: a deployment resets the schedule, and the watch corrects it."""


def named(value: object) -> str | None:
    """Return a dump's version, to name a test."""
    return value.version if isinstance(value, Dump) else None


@dataclass(frozen=True)
class Loaded:
    """A stack that was updated to today's code, and the dump of its release."""

    dump: Dump
    world: World


@pytest.fixture(scope="module", params=DUMPS, ids=named)
def _read(request: pytest.FixtureRequest) -> Iterator[Loaded]:
    with updated(request.param, "read") as world:
        yield Loaded(request.param, world)


@pytest.fixture
def read(_read: Loaded) -> Iterator[Loaded]:
    """The system as the release left it, for tests that add nothing."""
    with using(_read.world.clock):
        yield _read


def request(world: World, method: str, path: str, body: Any = None, person: Json | None = None) -> Response:
    """Send a request; of a person, as the API for people lets it through, with these claims."""
    place, _, query = path.partition("?")
    content = b"" if body is None else json.dumps(body).encode()
    sent = Request(method, place, query, (("Content-Type", "application/json"),), content)
    if person is None:
        return world.stack.request(sent)
    authorizer = {"jwt": {"claims": person, "scopes": None}}
    return world.stack._routed(sent, world.stack.template.people_routes(), authorizer)


def answer(world: World, path: str) -> Json:
    """Return what a request is answered: the items of all pages, without cursors and signed links."""
    path = encoded_twice(path)
    found = request(world, "GET", path)
    if found.status != 200:
        return {"status": found.status}
    body: Json = found.json()
    after = body.pop("next", None)
    body.pop("previous", None)
    while after:
        page = request(world, "GET", f"{path}{'&' if '?' in path else '?'}next={after}").json()
        body["items"] += page["items"]
        after = page["next"]
    if "links_valid_seconds" in body:
        for file in body["files"]:
            assert file.pop("url")
    return {"status": found.status, "body": body}


def encoded_twice(path: str) -> str:
    """Return a path whose slashes and percent signs in names are encoded twice, as API Gateway decodes them once.

    Some requests in the dumps encode them once, which the emulators of these releases let through.
    """
    place, mark, query = path.partition("?")
    return re.sub("%(?=2F|25(?![0-9A-F]{2}))", "%25", place) + mark + query


def answer_of(dump: Dump, world: World, path: str) -> Json:
    """Return what a request of a release is answered, in the words of that release."""
    if dump.version != "0.1.0":
        return in_words_of_0_2_0(answer(world, path), path)
    found = in_words_of_0_2_0(answer(world, in_todays_words(path)), path)
    if "body" not in found:
        return found
    body: Json = {RENAMED_FIELDS.get(name, name): value for name, value in found["body"].items()}
    if path.endswith("/explain"):
        body["terms"].pop("looked_at", None)  # 0.1.0 did not show it
    if path == SCHEDULE:
        body.pop("version")  # nor this
    if body.get("kind") == "rate-card":
        body["kind"] = "rate card"  # as 0.1.0 called it
    return {**found, "body": without_payments(body)}


def in_words_of_0_2_0(found: Json, path: str) -> Json:
    """Return an answer as 0.2.0 showed it: sealed periods, locations, a schedule, statements, previews and balances."""
    body = found.get("body", {})
    drop_what_releases_added(body)
    for one in body.get("items", []):
        if one.get("state") == "sealed":
            one["state"] = "stated"
        if path.startswith("/locations"):
            one["place"] = one.pop("location")
    if path == SCHEDULE:
        for setting in (body["desired"], *(one[name] for one in body["items"] for name in ("from", "to"))):
            setting["pinned"] = setting.pop("overridden")
    if "taxes" in body:
        (row,) = body.pop("taxes")
        named = {name: row[name] for name in ("scheme", "percent", "note")}
        body["tax_profile"] = named if row["scheme"] else None
        assert Decimal(body.pop("proceeds")) == 0  # every agency of a release collects
    if path.partition("?")[0].endswith("/balance") and "unbilled" in body:
        assert body.pop("collects") == "agency"
        assert Decimal(body["unbilled"].pop("proceeds")) == 0
        unbilled, last = body["unbilled"], body["statement"]
        owed = Decimal(last["closing"] if last else 0) + Decimal(unbilled["commission"]) + Decimal(unbilled.pop("tax"))
        assert Decimal(body["balance"]) == owed - Decimal(unbilled["payments"])
    return without_exact(found)


def without_exact(found: Json) -> Json:
    """Return an answer without a balance and its commission, which 0.2.0 neither rounded nor taxed."""
    body = found.get("body", {})
    if "unbilled" not in body:
        return found
    unbilled = {name: value for name, value in body["unbilled"].items() if name != "commission"}
    rest = {name: value for name, value in body.items() if name != "balance"}
    return {**found, "body": {**rest, "unbilled": unbilled}}


def drop_what_releases_added(body: Json) -> None:
    """Take from statements of 0.2.0 what those of a release have more."""
    for statement in [body, *body.get("items", [])]:
        if "number" in statement and "document" in statement:
            assert (statement.pop("issued_on"), statement.pop("due_on"), statement.pop("proceeds")) == (None, None, "0")
            assert statement.pop("dispute_until") is None
        if body.get("items"):
            statement.pop("documents", None)
    body.pop("payment", None)
    if "documents" in body:
        (document,) = body.pop("documents")
        assert [{**one, "url": ""} for one in document["files"]] == [{**one, "url": ""} for one in body["files"]]
        assert body.pop("cancelled") is None


def in_todays_words(path: str) -> str:
    """Return the path of today for a path of 0.1.0."""
    for old, new in RENAMED.items():
        path = path.replace(old, new)
    return path


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


def sums(events: Iterable[dict[str, str]]) -> dict[str, Figures]:
    """Add up events by account: how many, sold, refunded, commission, paid."""
    found: dict[str, list[Any]] = {}
    for event in events:
        amount = Decimal(event["amount"])
        place = 4 if event["type"] == "payment.recorded" else 1 if amount >= 0 else 2
        figures = found.setdefault(f"{event['agency']}#{event['currency']}", [0, *map(Decimal, "0000")])
        figures[0] += 1
        figures[place] += amount
        figures[3] += Decimal(event["commission"])
    return {account: (one[0], one[1], one[2], one[3], one[4]) for account, one in found.items()}


def figures(totals: Json) -> Figures:
    """Return the figures of totals as they are shown."""
    gross, refunds, commission = (Decimal(totals[name]) for name in ("gross", "refunds", "commission"))
    return totals["events"], gross, refunds, commission, Decimal(totals.get("payments", 0))


def counted(world: World) -> dict[str, Figures]:
    """Return what the API says that each account comes to."""
    return {f"{one['agency']}#{one['currency']}": figures(one) for one in world.all("/accounts")}


def seal(world: World) -> list[Json]:
    """Run the report until every final quarter-hour is sealed; a state machine may do that, too."""
    results = [world.report()]
    while not results[-1]["complete"]:
        results.append(world.report())
    return results


# ---------------------------------------------------------------- reading


def test_every_request_has_the_answer_that_the_release_gave(read: Loaded) -> None:
    answers = {path: without_exact(one) for path, one in read.dump.expected["answers"].items() if path != SCHEDULE}
    assert len(answers) > 80
    assert {path: answer_of(read.dump, read.world, path) for path in answers} == answers


def test_accounts_come_to_what_was_worked_out_by_hand(read: Loaded) -> None:
    expected = {account: figures(totals) for account, totals in read.dump.expected["accounts"].items()}
    assert counted(read.world) == expected


def test_all_accounts_of_the_release_are_listed(read: Loaded) -> None:
    stored = [one["pk"]["S"] for one in read.dump.lines("entity") if one["sk"]["S"] == "latest"]
    expected = {account.removeprefix("ACCOUNT#") for account in stored if account.startswith("ACCOUNT#")}
    assert counted(read.world).keys() == expected


@pytest.mark.parametrize("limit", [1, 100])
def test_an_agencys_events_are_found_with_and_without_an_index_of_the_release(read: Loaded, limit: int) -> None:
    since, until = read.dump.span
    span = {"from_": since, "to": until}
    events = read.world.all("/events", **span)
    assert len(events) > 10
    for agency in {one["agency"] for one in events}:
        expected = [one for one in events if one["agency"] == agency]
        assert read.world.all("/events", **span, agency=agency, limit=limit) == expected


def test_what_the_release_sealed_is_proven(read: Loaded) -> None:
    bucket = read.world.stack.bucket
    proof = verify(bucket.open, bucket.keys())
    assert (proof.reports.runs, proof.problems) == (read.dump.sealed_runs, [*filter(None, [read.dump.unlisted])])


# ---------------------------------------------------------------- what was sent before


def test_an_event_sent_again_is_a_duplicate_with_its_old_receipt(read: Loaded) -> None:
    before = ledger(read.world)
    events, receipts = zip(*read.dump.recorded(), strict=True)
    again = post(read.world, list(events))
    assert verdicts(again) == ["duplicate"] * len(receipts)
    assert tuple(item["receipt"] for item in again.json()["items"]) == receipts
    assert ledger(read.world) == before


def test_other_content_under_an_old_identity_is_a_conflict(read: Loaded) -> None:
    changed = [{**event, "time": "2026-10-01T00:00:00Z"} for event, _ in read.dump.recorded()]
    assert set(verdicts(post(read.world, changed))) == {"conflict"}


def test_an_event_that_the_release_refused_is_refused_again(read: Loaded) -> None:
    refused = [(event, one["verdict"]) for event, one in read.dump.sent() if one["verdict"] in {"rejected", "conflict"}]
    assert tuple(verdict for _, verdict in refused) == read.dump.refused
    assert verdicts(post(read.world, [event for event, _ in refused])) == [verdict for _, verdict in refused]


def test_what_else_was_written_is_known_when_it_is_sent_again(read: Loaded) -> None:
    steps = [step for step in read.dump.history if step["do"].startswith(("POST /", "PUT /")) and "status" in step]
    others = [step for step in steps if step["do"] != "POST /events" and not step["do"].endswith(SCHEDULE)]
    assert len(others) == read.dump.writes
    for step in others:
        method, path = step["do"].split(" ")
        if read.dump.version == "0.1.0":
            path = in_todays_words(path)
        again = request(read.world, method, path, step["body"], step.get("as"))
        assert again.status == 200, step["do"]
        if not path.startswith(AS_THEY_ARE_NOW):
            assert again.json() == step["answer"], step["do"]


def test_a_refund_cannot_exceed_what_the_release_left_of_a_sale(read: Loaded) -> None:
    for of, amount, left in read.dump.left:
        sold = next(event for event, _ in read.dump.recorded() if event["id"] == of)
        data = {"amount": amount, "currency": sold["data"]["currency"], "refers_to": of}
        too_much = {**sold, "id": f"beyond {of}", "type": "sale.refunded", "data": data}
        (item,) = post(read.world, too_much).json()["items"]
        assert item["verdict"] == "rejected", of
        assert f"{left} is left" in item["errors"][0]["expected"]


# ---------------------------------------------------------------- going on


@dataclass(frozen=True)
class Continued:
    """The system after today's code has gone on from the dump, and what it answered and sealed."""

    dump: Dump
    world: World
    watched: Json
    schedule: Json
    receipts: dict[str, dict[str, str]]
    reports: list[Json]
    objects: dict[str, bytes]

    @property
    def manifests(self) -> list[bytes]:
        """The runs' manifests, in the order of time."""
        keys = sorted(key for key in self.objects if key.startswith("reports/") and key.endswith("manifest.json"))
        return [self.objects[key] for key in keys]

    @property
    def runs(self) -> dict[str, Json]:
        """The content of the manifests, by the run, in the order of time."""
        return {manifest["run"]: manifest for manifest in map(json.loads, self.manifests)}

    @property
    def sealed(self) -> list[dict[str, str]]:
        """All sealed lines."""
        packed = [content for key, content in self.objects.items() if key.startswith("ledger/")]
        texts = [io.StringIO(gzip.decompress(content).decode(), newline="") for content in packed]
        return [line for text in texts for line in csv.DictReader(text)]


@pytest.fixture(scope="module", params=DUMPS, ids=named)
def _continued(request: pytest.FixtureRequest) -> Iterator[Continued]:
    dump: Dump = request.param
    with updated(dump, "continued") as world:
        watched = world.stack.invoke("watch", {})
        schedule = answer_of(dump, world, SCHEDULE)
        receipts = {}
        for id_, event in dump.died.items():
            again = post(world, event)
            # A process of the release may still be appending to the quarter-hour that is open.
            assert verdicts(again) == (["unavailable"] if id_ == "c3" else ["duplicate"]), id_
            if id_ != "c3":
                receipts[id_] = receipt(again)
        assert verdicts(post(world, refund("rest", "-50.00", of="s1"))) == ["recorded"]
        assert verdicts(post(world, refund("more", "-0.01", of="s1"))) == ["rejected"]
        world.pass_time(minutes=11)
        again = post(world, dump.died["c3"])
        assert verdicts(again) == ["duplicate"]
        receipts["c3"] = receipt(again)
        world.pass_time(minutes=18)
        reports = seal(world)
        bucket = world.stack.bucket
        objects = {key: content_of(bucket, key) for key in bucket.keys()}  # noqa: SIM118 - no dict
        yield Continued(dump, world, watched, schedule, receipts, reports, objects)


@pytest.fixture
def continued(_continued: Continued) -> Iterator[Continued]:
    """The system after the watch, the dead requests sent again, a refund, the streams and a report."""
    with using(_continued.world.clock):
        yield _continued


def test_the_schedule_of_the_release_is_kept(continued: Continued) -> None:
    assert continued.schedule == continued.dump.expected["answers"][SCHEDULE]


def test_a_claim_in_an_open_quarter_hour_waits_until_it_is_final_and_moves(continued: Continued) -> None:
    assert continued.receipts["c3"]["partition"] > continued.dump.claimed("c3")["partition"]


def test_a_claim_in_a_final_quarter_hour_is_moved_to_the_current_one(continued: Continued) -> None:
    before, after, ids = continued.dump.moved
    assert continued.dump.died.keys() == {*ids, "c3"}
    for id_ in ids:
        assert continued.dump.claimed(id_)["partition"].startswith(before), id_
        assert continued.receipts[id_]["partition"].startswith(after), id_


def test_every_event_is_sealed_once(continued: Continued) -> None:
    dump = continued.dump
    known = Counter((event["source"]["S"], event["id"]["S"]) for event in dump.lines("ledger"))
    posted = ("h8", "h10") if dump.version == "0.2.0" else ()
    known.update(("shop", id_) for id_ in (*dump.died, "rest", *posted))
    assert Counter((line["source"], line["id"]) for line in continued.sealed) == known
    assert Counter((event["source"], event["id"]) for event in ledger(continued.world)) == known


def test_the_plan_under_way_is_finished_as_it_was_fixed_and_the_next_one_follows(continued: Continued) -> None:
    dump, world = continued.dump, continued.world
    assert list(continued.runs)[dump.sealed_runs :] == [dump.under_way, dump.following]
    finished, following = continued.runs[dump.under_way], continued.runs[dump.following]
    planned = next(
        step["at"] for step in reversed(dump.history) if step["do"] == "invoke report" and "event" not in step
    )
    assert (parse_iso(finished["planned_at"]), finished["code_version"]) == (parse_iso(planned), dump.version)
    assert finished["base_currency"] == "EUR"
    today = world.stack.template.parameters["CodeVersion"]
    assert (parse_iso(following["planned_at"]), following["code_version"]) == (world.clock.now(), today)


def test_the_chain_of_manifests_goes_on(continued: Continued) -> None:
    for before, after in pairwise(continued.manifests):
        run = json.loads(before)["run"]
        assert json.loads(after)["previous"] == {"run": run, "sha256": sha256(before).hexdigest()}


def test_no_file_of_the_release_changes(continued: Continued) -> None:
    assert continued.objects.items() >= continued.dump.files.items()


def test_all_that_is_sealed_is_proven(continued: Continued) -> None:
    proof = verify(continued.world.stack.bucket.open, continued.objects).reports
    assert (proof.runs, proof.lines, proof.problems) == (continued.dump.sealed_runs + 2, len(continued.sealed), [])


def test_counters_equal_the_sealed_lines(continued: Continued) -> None:
    """The stream has delivered all of its records again, the released ones too: none was counted twice."""
    assert counted(continued.world) == sums(continued.sealed)
    assert [report["drift"] for report in continued.reports] == [0] * len(continued.reports)
    runs = answer(continued.world, "/reports?limit=10")["body"]["items"]
    assert {run["counters"] for run in runs} == {"verified"}, "the verdict that was pending is final now"


def test_each_customer_is_counted_once(continued: Continued) -> None:
    customers: dict[tuple[str, str], set[str]] = {}
    for line in continued.sealed:
        customers.setdefault((line["agency"], line["currency"]), set()).update(filter(None, [line["customer"]]))
    shown = {(one["agency"], one["currency"]): one for one in continued.world.all("/accounts")}
    for account, expected in customers.items():
        one = continued.world.read(f"/accounts/{segment(account[0])}/{account[1]}")
        assert one["customers"] == len(expected), account
    assert shown.keys() == customers.keys()


def test_a_rebuild_finds_nothing_to_repair_but_the_periods_that_a_release_did_not_count(continued: Continued) -> None:
    stack, accounts = continued.world.stack, len(counted(continued.world))
    for repaired in (continued.dump.repaired, 0):
        rebuilt = stack.invoke("repair", {"action": "rebuild"})
        assert (rebuilt["days"], rebuilt["accounts"], rebuilt["repaired"]) == (2, accounts, repaired)
    lines = continued.sealed
    for account in counted_accounts(stack):
        of_account = [line for line in lines if f"{line['agency']}#{line['currency']}" == str(account)]
        expected = {
            period: sums(line for line in of_account if period_of(line) == period)[str(account)]
            for period in set(map(period_of, of_account))
        }
        found = counted_periods(stack, account)
        assert {str(period): figures(totals.as_dict()) for period, totals in found.items()} == expected


def period_of(line: dict[str, str]) -> str:
    """Return the period of a sealed line; 0.1.0 sealed none."""
    return line.get("period") or "2026-10"


def test_lost_documents_of_a_released_run_are_written_again_at_its_pinned_rates(continued: Continued) -> None:
    dump, stack = continued.dump, continued.world.stack
    run, within = dump.resealed
    later = {"units_per_base": "0.5", "source": "ECB", "as_of": within}
    assert request(continued.world, "PUT", "/exchange-rates/GBP", later).status == 201
    day, _, bounds = run.partition("T")
    lost = [key for key in dump.files if key.startswith(f"reports/{day.replace('-', '/')}/{bounds}/")]
    assert len(lost) == (2 if dump.version == "0.1.0" else 3)
    for key in lost:
        stack.engine.s3().delete_object(Bucket=stack.ref("ReportBucket"), Key=key)
    stack.invoke("report", {"reseal": run})
    assert {key: content_of(stack.bucket, key) for key in lost} == {key: dump.files[key] for key in lost}


def test_an_order_that_the_release_left_half_written_is_completed(continued: Continued) -> None:
    (step,) = [step for step in continued.dump.history if step["do"] == "POST /orders" and "died" in step]
    assert request(continued.world, "POST", "/orders", step["body"]).status == 201
    continued.world.pass_time(minutes=1)
    found = answer(continued.world, "/orders/F-1003")["body"]
    assert (found["status"], [item["product"] for item in found["items"]]) == ("open", ["P-1", "P-2"])


# ---------------------------------------------------------------- sealing


@pytest.mark.parametrize("dump", DUMPS, ids=named)
def test_todays_code_seals_the_same_lines_from_the_released_ledger(dump: Dump, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compares the lines, not their files: shards, and so the parts of a quarter-hour, may have changed since."""
    defaults = tuple(dump.schema if value == SCHEMA else value for value in Plan.__init__.__defaults__ or ())
    monkeypatch.setattr(Plan.__init__, "__defaults__", defaults)
    with updated(dump, "sealing") as world:
        stack = world.stack
        for key in dump.files:
            stack.engine.s3().delete_object(Bucket=stack.ref("ReportBucket"), Key=key)
        first = {"pk": "CONTROL", "sk": "checkpoint", "sealed_through": dump.first_checkpoint}
        item = {name: {"S": value} for name, value in first.items()}
        stack.dynamodb.put_item(TableName=stack.ref("EntityTable"), Item=item)
        seal(world)
        resealed = {key: content_of(stack.bucket, key) for key in stack.bucket.keys()}  # noqa: SIM118 - no dict
        expected = lines_by_quarter_hour(dump.files)
        assert {key: lines for key, lines in lines_by_quarter_hour(resealed).items() if key in expected} == expected


def lines_by_quarter_hour(files: dict[str, bytes]) -> dict[str, list[bytes]]:
    """Return the sealed lines of each quarter-hour with events, each line as its bytes."""
    found: dict[str, list[bytes]] = {}
    for key, content in files.items():
        if key.startswith("ledger/"):
            folder, _, _ = key.rpartition("/")
            header, *lines = gzip.decompress(content).splitlines(keepends=True)
            found[folder] = sorted({header, *found.get(folder, []), *lines})
    return found


# ---------------------------------------------------------------- statements, held events and parked records

of_the_newest = pytest.mark.parametrize("_continued", [NEWEST], ids=named, indirect=True, scope="module")
"""For a test of what only the newest dump holds."""


@pytest.fixture(scope="module")
def _later() -> Iterator[World]:
    with updated(NEWEST, "later") as world:
        world.stack.invoke("watch", {})
        world.pass_time(minutes=11)
        world.clock.advance_to(parse_iso("2026-11-30T23:05:00Z"))
        seal(world)
        world.stack.invoke("watch", {})
        yield world


@pytest.fixture
def later(_later: World) -> Iterator[World]:
    """The system after the cut-off of the period that is open at the dump of 0.2.0."""
    with using(_later.clock):
        yield _later


@pytest.mark.slow
def test_the_statements_under_way_are_finished_as_they_were_planned_and_the_next_ones_follow(later: World) -> None:
    december, november, october, september = later.all("/periods")
    assert (december["state"], [one["state"] for one in (november, october, september)]) == ("open", ["sealed"] * 3)
    assert (october["planned_at"], october["code_version"]) == ("2026-11-30T01:20:00.000Z", "0.2.0")
    today = later.stack.template.parameters["CodeVersion"]
    assert (november["planned_at"], november["code_version"]) == ("2026-11-30T23:05:00.000Z", today)
    before = next(one for one in NEWEST.expected["answers"]["/periods"]["body"]["items"] if one["state"] == "stated")
    assert september == {**before, "state": "sealed"}


@pytest.mark.slow
def test_numbers_and_balances_go_on_from_the_statements_of_the_release(later: World) -> None:
    statements = later.all("/statements")
    numbers = sorted(one["number"] for one in statements if one["document"] == "statement")
    assert numbers == [f"S-{number:06}" for number in range(1, len(numbers) + 1)]
    closing = {(one["agency"], one["currency"], one["period"]): Decimal(one["closing"]) for one in statements}
    for one in statements:
        account = one["agency"], one["currency"]
        previous = {"2026-09": "2026-08", "2026-10": "2026-09", "2026-11": "2026-10"}[one["period"]]
        opening = closing.get((*account, previous), Decimal(0)) + Decimal(one["brought_forward"])
        assert Decimal(one["opening"]) == opening, one


@pytest.mark.slow
def test_the_first_release_continues_numbers_and_balances_and_leaves_drafts_that_lack_something(later: World) -> None:
    released = later.read("/statements/42/GBP/2026-11")
    assert (released["number"], released["opening"]) == (
        "S-000011",
        later.read("/statements/42/GBP/2026-10")["closing"],
    )
    (release,) = later.all("/releases")
    assert (release["release"], release["statements"], release["credit_notes"]) == (1, 3, 0)
    waiting = {one["agency"]: [check["check"] for check in one["checks"]] for one in later.all("/drafts")}
    assert (len(waiting), waiting["44"]) == (8, ["agency"])
    preview = later.read("/statements/44/GBP/2026-11")
    assert (preview["preview"], preview["state"]) == (True, "sealed")
    assert preview["opening"] == later.read("/statements/44/GBP/2026-10")["closing"]


@pytest.mark.slow
def test_the_statements_of_the_release_and_of_today_are_proven_together(later: World) -> None:
    proof = verify(later.stack.bucket.open, later.stack.bucket.keys())
    assert (proof.periods, proof.problems) == (3, [])
    objects = {key: content_of(later.stack.bucket, key) for key in NEWEST.files}
    assert objects == NEWEST.files


@of_the_newest
def test_held_events_of_the_release_are_posted_when_they_may_be(continued: Continued) -> None:
    before = {one["id"] for one in NEWEST.expected["answers"]["/held"]["body"]["items"]}
    assert before - {one["id"] for one in continued.world.all("/held")} == {"h8", "h10"}
    assert continued.world.read("/events/shop/h8")["agency"] == "late"
    assert continued.world.read("/events/shop/h10")["amount"] == "-1.00"


def test_sales_that_the_release_refunded_and_rerated_come_to_nothing_once_all_is_given_back() -> None:
    with updated(NEWEST, "rest") as world:
        rest = [refund("rest-s3", "-20.00", of="s3"), void("rest-s13", of="s13")]
        assert verdicts(post(world, rest)) == ["recorded"] * 2
        for sold in ("s3", "s13"):
            story = [one for one in ledger(world) if sold in (one["id"], one.get("refers_to"))]
            assert len(story) == {"s3": 5, "s13": 4}[sold]
            for figure in ("amount", "commission"):
                assert sum(Decimal(one[figure]) for one in story) == 0, (sold, figure)


@of_the_newest
def test_parked_records_of_the_release_are_applied(continued: Continued) -> None:
    before = counted(continued.world)
    applied = {"applied": 1, "kept": 0}
    assert continued.world.stack.invoke("repair", {"action": "unpark"}) == {"snapshots": applied, "counters": applied}
    assert continued.world.stack.invoke("billing", {"action": "unpark"}) == {"billing": applied}
    assert counted(continued.world) == before


@of_the_newest
def test_a_message_that_the_release_claimed_is_written_at_its_instant(continued: Continued) -> None:
    (step,) = [step for step in NEWEST.history if "died" in step and "/messages" in step["do"]]
    _, path = step["do"].split(" ")
    assert request(continued.world, "POST", path, step["body"]).status in {200, 201}
    (message,) = [one for one in continued.world.all(path) if one["id"] == step["body"]["id"]]
    assert (message["at"], message["text"]) == ("2026-11-29T23:31:00.000Z", step["body"]["text"])


# ---------------------------------------------------------------- old and new code side by side


def write(world: World, id_: str, *tables: str) -> None:
    """Let a late process of the release write what it has for an event into these tables."""
    written = [one for one in NEWEST.lines("after") if one["table"] in tables and event_of(one["item"]) == id_]
    assert len(written) == len(tables)
    for one in written:
        world.stack.dynamodb.put_item(TableName=world.stack.ref(one["table"]), Item=one["item"])


def event_of(item: Item) -> str:
    """Return the id of the event that a claim, an entry in the list of a sale or a posting is of."""
    return str((item["id"] if "id" in item else item["event"])["S"]).removeprefix("shop#")


def test_events_of_a_late_process_of_the_release_are_recorded_between_todays() -> None:
    with updated(NEWEST, "side") as world:
        world.clock.advance_to(parse_iso("2026-11-30T02:23:00Z"))
        post(world, sale("x1", "2.00"))
        write(world, "t1", "IdentityTable", "LedgerTable")
        world.drain()
        post(world, sale("x2", "2.00"))
        # The claim of a refund, and the change of its sale, before the posting.
        write(world, "n9", "IdentityTable")
        write(world, "t2", "IdentityTable", "EntityTable")
        refunded = refund("t2", "-1.00", of="n9")
        late = sale("c3", "1.00", agency="43")
        # Today's code writes no posting for what the late process has claimed, as long as that may be writing it.
        assert verdicts(post(world, refunded)) == ["unavailable"]
        write(world, "t2", "LedgerTable")
        write(world, "c3", "LedgerTable")
        world.drain()
        again = post(world, [sale("t1", "3.00", customer="gina"), refunded, late])
        assert verdicts(again) == ["duplicate"] * 3
        assert verdicts(post(world, refund("x3", "-0.11", of="n9"))) == ["rejected"]
        assert verdicts(post(world, refund("x4", "-0.10", of="n9"))) == ["recorded"]

        world.pass_time(minutes=11)
        reports = seal(world)
        recorded = {(one["source"], one["id"]) for one in ledger(world)}
        assert {("shop", id_) for id_ in ("t1", "t2", "c3", "x1", "x2", "x4")} <= recorded
        assert [report["drift"] for report in reports] == [0] * len(reports)
        assert counted(world) == sums(ledger(world))
        bucket = world.stack.bucket
        assert verify(bucket.open, bucket.keys()).problems == [NEWEST.unlisted]
