"""A whole deployment with a client and with Lambda's part played by hand, and the invariants that must hold.

Streams are delivered in lanes (shards), each in order and with its own checkpoint; a delivery may repeat
records before the checkpoint and may end anywhere. Killed functions start cold.
"""

import csv
import gzip
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import sha256
from itertools import count
from typing import Any
from urllib.parse import quote
from zoneinfo import ZoneInfo

from quarterhour.aws.items import from_item
from quarterhour.ledger.events.event import PAYMENT
from quarterhour.ledger.keys import CHECKPOINT_KEY
from quarterhour.ledger.reading.lookups import LOOKED_UP, quarter_hours_of, ranges
from quarterhour.ledger.reading.sealed_index import INDEXED, keys_in
from quarterhour.model import money
from quarterhour.model.charge_totals import ChargeTotals
from quarterhour.model.clock import iso_exact
from quarterhour.model.identifiers import Partition
from quarterhour.model.instants import ALWAYS
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.totals import Totals
from quarterhour.proof.reports import verify
from quarterhour.proof.verify import verify as prove
from quarterhour.registry.settings.settings import LEAD
from quarterhour.reports.keys import part_of_lines
from quarterhour.reports.plan import Checkpoint, Plan
from quarterhour.reports.projections.keys import currency_of, location_of
from quarterhour.reports.projections.products import MARKETPLACE, rows_of
from quarterhour.statements.keys import PROGRESS_KEY
from quarterhour.statements.plan import Progress
from quarterhour_tools.emulator.delivery import lambda_record
from quarterhour_tools.emulator.engines import EMBEDDED
from quarterhour_tools.emulator.faults import Faults, Killed
from quarterhour_tools.emulator.filters import matches
from quarterhour_tools.emulator.http_api import Request, Response
from quarterhour_tools.emulator.pump import Pump
from tests.invariants.corrections import (
    DISCARDED,
    SALE,
    Books,
    RateCard,
    check_story,
    facts_of,
    is_content,
    name_of,
    with_customer,
)
from tests.support.counted import counters
from tests.support.events import Cloud
from tests.support.requests import events_request
from tests.support.system import World, opened
from tests.support.tables import postings_in

START = datetime(2026, 10, 23, 1, 31, tzinfo=UTC)
GRACE = timedelta(seconds=120)
LANES = 3
REPEATED_AT_THE_END = 50


@dataclass
class Lane:
    """A shard of a stream: its records, and how far it was acknowledged."""

    function: str
    records: list[dict[str, Any]] = field(default_factory=list)
    checkpoint: int = 0

    @property
    def left(self) -> int:
        return len(self.records) - self.checkpoint


class Trial(World):
    """The system on trial, and what its client knows."""

    def __init__(self, world: World, faults: Faults, *, registered_only: bool) -> None:
        super().__init__(world.stack, world.clock)
        stack = world.stack
        self.faults = faults
        self.registered_only = registered_only
        self.accepted: dict[str, Cloud] = {}
        """What was answered as recorded or duplicate, by id."""
        self.receipts: dict[str, dict[str, str]] = {}
        """The receipts of these."""
        self.held: dict[str, Cloud] = {}
        """What was answered as held, or as held and discarded, by id."""
        self.turned_away: list[tuple[Cloud, list[str]]] = []
        """What was answered as rejected or as a conflict, with the problems."""
        self.released: set[str] = set()
        """The ids of the events that an operator released, or tried to."""
        self.registered: set[str] = set()
        """The agencies that were registered, or may be."""
        self.calendars: list[tuple[datetime, ZoneInfo, int, str]] = [(ALWAYS[0], ZoneInfo("UTC"), 3, "")]
        """From when on each zone, grace days and first period apply, in the order of time."""
        self.rate_cards: dict[tuple[str, int], RateCard] = {}
        """The versions of rate cards that sales are priced by."""
        self._registering: set[str] = set()
        """Those of them without an answer."""
        self.outbox: list[Cloud] = []
        """What the client has to send again."""
        self.sent: dict[str, list[Cloud]] = {}
        self._traces = count()
        """A new trace for each request, as clients send it: that of a retry is another one."""
        self.sealed: dict[str, bytes] = {}
        self.lanes_a_stream = LANES
        self.lanes: dict[tuple[str, int], Lane] = {}
        self._iterators: dict[str, Any] = {}
        self.engine = stack.engine.name
        self.s3: Any = stack.engine.s3()
        self.sqs: Any = stack.engine.sqs()
        self.dynamodb: Any = stack.engine.dynamodb()
        self._streams: Any = stack.engine.streams()

    # ------------------------------------------------------------ the client

    def send(self, events: list[Cloud]) -> list[str]:
        """Send a batch once, as it comes; whatever has no final answer waits in the outbox. Returns the verdicts."""
        for event in events:
            self.sent.setdefault(event["id"], []).append(event)
        trace = f"00-{next(self._traces):032x}"
        try:
            with self.faults.at_work():
                answer = self.stack.request(events_request([{**event, "traceparent": trace} for event in events]))
        except Killed:
            self.stack.cold_start("ingest")
            self.outbox += events
            return []
        if answer.status >= 500 and "items" not in answer.json():
            self.outbox += events
            return []
        items = answer.json()["items"]
        verdicts = [item["verdict"] for item in items]
        for event, item, verdict in zip(events, items, verdicts, strict=True):
            if verdict in {"recorded", "duplicate"}:
                self.accepted[event["id"]] = event
                assert self.receipts.setdefault(event["id"], item["receipt"]) == item["receipt"], "another receipt"
            elif verdict == "held":
                self._remember_held(event)
            elif verdict == "unavailable":
                self.outbox.append(event)
            else:
                problems = [problem["problem"] for problem in item["errors"]]
                self.turned_away.append((event, problems))
                if any(DISCARDED in problem for problem in problems):  # The answer `held` may have been lost.
                    self._remember_held(event)
        return verdicts

    def _remember_held(self, event: Cloud) -> None:
        before = self.held.setdefault(event["id"], event)
        assert _without_customer(before) == _without_customer(event), "two contents of one event are held"

    def request(self, function: str, method: str, path: str, body: Any = None) -> Response | None:
        """Send a request to another function once; ``None`` where it died and gave no answer."""
        content = b"" if body is None else json.dumps(body).encode()
        try:
            with self.faults.at_work():
                return self.stack.request(
                    Request(method, path, headers=(("content-type", "application/json"),), body=content)
                )
        except Killed:
            self.stack.cold_start(function)
            return None

    def send_again(self) -> None:
        """Send what waits in the outbox."""
        events, self.outbox = self.outbox, []
        if events:
            self.send(events)

    # ------------------------------------------------------------ Lambda's part

    def set_environment(self, function: str, name: str, value: str) -> None:
        """Deploy a function with another value in its environment."""
        environment = self.stack.functions[function].environment
        assert isinstance(environment, dict)
        environment[name] = value
        self.stack.cold_start(function)

    def expire(self) -> None:
        """Delete items past their time to live, as DynamoDB does after a while; the stream holds these deletions."""
        now = int(self.clock.now().timestamp())
        table = self.stack.ref("EntityTable")
        for item in self.entities():
            if int(item.get("expires_at", {"N": str(now + 1)})["N"]) <= now:
                self.dynamodb.delete_item(TableName=table, Key={"pk": item["pk"], "sk": item["sk"]})

    def invoke(self, function: str, event: dict[str, Any], seconds: float | None = None) -> Any:
        """Invoke a function; ``None`` where it died or failed."""
        try:
            with self.faults.at_work():
                return self.stack.invoke(function, event, seconds)
        except Killed:
            self.stack.cold_start(function)
        except Exception:
            if not self.faults.struck:
                raise
        return None

    def tick(self) -> Any:
        """Let the watch post held events; ``None`` where it died or failed."""
        return self.invoke("watch", {})

    def register(self, agency: str) -> None:
        """Register an agency; the function may die."""
        content = {"legal_name": "Nord & Sons", "valid_from": "2026-01-01T00:00:00Z"}
        self.registered.add(agency)
        self._registering.add(agency)
        path = f"/agencies/{quote(quote(agency))}"
        answer = self.request("write", "PUT", path, {"seen": 0, "content": content})
        assert answer is None or answer.status in {200, 201, 503}, answer.body
        if answer and answer.status != 503:
            self._registering.remove(agency)

    def write_rate_card(self, document: str, *versions: RateCard) -> None:
        """Write versions of a rate card; the last one is in force."""
        for seen, one in enumerate(versions):
            content = {"valid_from": "2026-10-01T00:00:00Z", "rules": [one.rule]}
            answer = self.request("write", "PUT", f"/documents/{document}", {"seen": seen, "content": content})
            assert answer, "nothing fails here"
            assert answer.status in {200, 201}, answer.body
            self.rate_cards[document, seen + 1] = one

    def change_calendar(self, zone: str, days: int, first: str, later: timedelta) -> None:
        """Let finance change the calendar, as early as it may or later; no function starts again for that."""
        fixed = self.clock.now() + LEAD
        found = self.get("/documents/settings")
        seen, before = (found.json()["version"], found.json()["content"]) if found.status == 200 else (0, {})
        calendar = {"time_zone": zone, "grace_days": days, "first_period": first or None}
        self.write("/documents/settings", {**before, **calendar, "periods_from": iso_exact(fixed + later)}, seen)
        self.calendars = [one for one in self.calendars if one[0] < fixed]
        self.calendars.append((fixed + later, ZoneInfo(zone), days, first))

    def _local(self, item: dict[str, str], name: str) -> tuple[datetime, int, str]:
        """Return an instant of an event on the wall clock that applies, with the grace days and the first period."""
        recorded = datetime.fromisoformat(item["recorded_at"])
        _, zone, days, first = [one for one in self.calendars if one[0] <= recorded][-1]
        at = datetime.fromisoformat(item.get(name, item["recorded_at"]))
        return at.astimezone(zone).replace(tzinfo=None), days, first

    def decide(self, action: str, id_: str, source: str = "shop") -> Any:
        """Let an operator release or discard a held event; ``None`` where the function died or refused it."""
        event = {"action": action, "source": source, "id": id_, "by": "ann", "reason": "a trial"}
        if action == "release":
            self.released.add(id_)
        try:
            return self.invoke("repair", event)
        except Exception as error:
            if any(reason in str(error) for reason in ("is held", "in the meantime", "discarded before", "discard it")):
                return None
            raise

    def read_streams(self) -> None:
        """Take what came into the streams, and sort it into lanes by partition key."""
        for pump in (one for one in self.stack.pumps if isinstance(one, Pump)):
            mapping, function = pump.mapping, pump.function.rpartition(":")[2]
            for record in self._new_records(mapping.stream, function):
                shaped = lambda_record(record, mapping.stream, "us-east-1", self.clock.now())
                keys = shaped["dynamodb"]["Keys"]
                key = next(keys[name]["S"] for name in ("quarter_hour", "pk") if name in keys)
                if matches(mapping.filters, shaped):
                    lane = (function, sha256(key.encode()).digest()[0] % self.lanes_a_stream)
                    self.lanes.setdefault(lane, Lane(function)).records.append(shaped)

    def _new_records(self, stream: str, reader: str) -> Iterator[Any]:
        client = self._streams
        while True:
            iterator = self._iterators.get(reader)
            if iterator is None:
                shard = client.describe_stream(StreamArn=stream)["StreamDescription"]["Shards"][0]["ShardId"]
                iterator = client.get_shard_iterator(StreamArn=stream, ShardId=shard, ShardIteratorType="TRIM_HORIZON")[
                    "ShardIterator"
                ]
            answer = client.get_records(ShardIterator=iterator)
            if reader in self._iterators or answer["Records"]:  # DynamoDB Local refuses one of an empty shard.
                self._iterators[reader] = answer["NextShardIterator"]
            if not answer["Records"]:
                return
            yield from answer["Records"]

    def deliver(self, lane: Lane, count: int, repeat: int = 0) -> None:
        """Deliver the next records of a lane, with some of those before the checkpoint once more."""
        first = max(0, lane.checkpoint - repeat)
        batch = lane.records[first : lane.checkpoint + count]
        if not batch:
            return
        answer = self.invoke(lane.function, {"Records": batch})
        if answer is None:
            return
        failed = {failure["itemIdentifier"] for failure in answer["batchItemFailures"]}
        numbers = [record["dynamodb"]["SequenceNumber"] for record in batch]
        done = min((numbers.index(number) for number in failed), default=len(batch))
        lane.checkpoint = max(min(lane.checkpoint, first + done), first + done)

    def report(self, seconds: float | None = None) -> Any:
        answer = self.invoke("report", {}, seconds)
        if answer and not answer["complete"]:
            answer = self.execute() or answer
        self.watch_sealed()
        return answer

    def make_statements(self) -> None:
        """Make the drafts and statements that are due, as the state machine does, and start again after a death."""
        while (result := self.invoke("statements", {})) is None or result["next"] != "done":
            if result and result["parts"]:
                self._make_in_parts(result["parts"])

    def _make_in_parts(self, parts: dict[str, Any]) -> None:
        period = parts["period"]
        steps: list[dict[str, Any]] = [{"collect": {"period": period, "day": day}} for day in parts["days"]]
        steps += [{"add_up": period}, *({"write": {"period": period, "group": group}} for group in parts["groups"])]
        for step in [*steps, {"publish": period}]:
            if self.invoke("statements", step) is None:
                return

    def execute(self) -> Any:
        """Take the steps of the execution that is under way, as the state machine does, until one fails."""
        answer = None
        while (plan := self.plan()) and plan.parts > 1:
            steps: list[dict[str, Any]] = [{"seal": {"run": plan.run, "part": str(part)}} for part in plan.all_parts]
            for step in [*steps, {"publish": plan.run}]:
                answer = self.invoke("report", step)
                if answer is None:
                    return None
        return answer

    def plan(self) -> Plan | None:
        """Return the plan under way."""
        key = {name: {"S": value} for name, value in CHECKPOINT_KEY.items()}
        item = self.dynamodb.get_item(TableName=self.stack.ref("EntityTable"), Key=key).get("Item")
        return Checkpoint.of(from_item(item)).plan if item else None

    # ------------------------------------------------------------ the end

    def drain(self) -> None:
        """Let everything come to rest without further faults: retries, deliveries, reports."""
        self.faults.disarm()
        for _ in range(4):
            self.send_again()
            self.clock.advance(GRACE)
        assert not self.outbox, "the client still waits for an answer"
        for agency in sorted(self._registering):
            self.register(agency)
        for repeat in (0, 2, REPEATED_AT_THE_END):
            # What a tick has claimed and not appended may be in a quarter-hour that is closing.
            self.clock.advance(GRACE)
            assert self.tick(), "the watch failed"
            self.read_streams()
            for lane in self.lanes.values():
                self.deliver(lane, lane.left, repeat)
                assert not lane.left, "a record was not delivered"
        self.clock.advance(timedelta(minutes=15) + GRACE)
        answer = self.report()
        assert answer, "the last report failed"
        assert answer["complete"]

    def close_all_months(self) -> None:
        """Pass every cut-off, make all drafts, and hold each sealed line of the drafted months to be on one of them."""
        self.clock.advance(timedelta(days=190))
        assert self.report(), "the report failed"
        self.make_statements()
        objects = self.objects()
        progress = self._progress_of_statements()
        drafted = {str(period) for period in progress.drafted}
        lines = [line for key, content in objects.items() if part_of_lines(key) for line in _lines(content)]
        drafts = [key for key in objects if key.startswith("statements/") and key.endswith("lines.csv.gz")]
        on = Counter(line["position"] for key in drafts for line in _lines(objects[key]))
        assert on == Counter(line["position"] for line in lines if line["period"] in drafted)
        first = progress.first_period
        assert not lines or (first and all(line["period"] in drafted or line["period"] < str(first) for line in lines))
        assert prove(_opener(objects), objects).problems == []

    def _progress_of_statements(self) -> Progress:
        key = {name: {"S": value} for name, value in PROGRESS_KEY.items()}
        item = self.dynamodb.get_item(TableName=self.stack.ref("EntityTable"), Key=key).get("Item")
        return Progress.of(from_item(item)) if item else Progress()

    # ------------------------------------------------------------ what is stored

    def objects(self) -> dict[str, bytes]:
        bucket = self.stack.bucket
        return {key: bucket.open(key).read() for key in bucket.keys()}  # noqa: SIM118 - no dict

    def ledger(self) -> list[dict[str, str]]:
        pages = self.dynamodb.get_paginator("scan").paginate(
            TableName=self.stack.ref("LedgerTable"), ConsistentRead=True
        )
        return [posting for page in pages for item in page["Items"] for posting in postings_in(item)]

    def entities(self) -> list[dict[str, Any]]:
        pages = self.dynamodb.get_paginator("scan").paginate(
            TableName=self.stack.ref("EntityTable"), ConsistentRead=True
        )
        return [item for page in pages for item in page["Items"]]

    def watch_sealed(self) -> None:
        """Remember what is sealed; a sealed file never changes."""
        for key, content in self.objects().items():
            assert self.sealed.setdefault(key, content) == content, f"{key} changed after it was sealed"

    # ------------------------------------------------------------ the invariants

    def check(self) -> None:
        """Hold the invariants; everything must have come to rest."""
        ledger = self.ledger()
        books = self.books(ledger)
        objects = self.objects()
        lines = [line for key, content in objects.items() if part_of_lines(key) for line in _lines(content)]
        self._none_held_is_lost(books)
        self._each_accepted_once(ledger, lines)
        self._nothing_else(books)
        self._every_append_is_the_same(ledger)
        self.watch_sealed()
        books.check()
        self._periods_are_right(ledger)
        self._tax_points_are_right(ledger)
        self._sums_agree(ledger, lines)
        self._places_agree(ledger)
        self._products_agree(ledger)
        self._indexes_agree(ledger)
        proof = verify(_opener(objects), objects)
        assert not proof.problems

    def books(self, ledger: list[dict[str, str]]) -> Books:
        """Return all that is stored of events."""
        held, discarded = ({name_of(one): one for one in self._listed_as(status)} for status in ("held", "discarded"))
        registered = frozenset(self.registered) if self.registered_only else None
        return Books(ledger, held, discarded, self.sent, registered, frozenset(self.released), self.rate_cards)

    def _listed_as(self, status: str) -> list[dict[str, Any]]:
        """Return the events that are held or discarded, with their content."""
        return [{**one, **one["event"]} for one in self.all("/held", status=status, limit="1000")]

    def stories_agree(self) -> None:
        """Hold the story of each sale that has several corrections to the ledger."""
        books = self.books(self.ledger())
        for (source, id_), corrections in books.corrections.items():
            if len(corrections) > 1 and books.ledger[source, id_]["type"] == SALE:
                story = self.read(f"/events/{source}/{id_}/story", limit="1000")
                check_story(books.ledger[source, id_], corrections, story)

    def _none_held_is_lost(self, books: Books) -> None:
        """What was answered as held is posted, or still listed; what has an identity is stored, and nothing else."""
        for id_, event in self.held.items():
            name = name_of(event)
            assert books.stored(name), "a held event is lost"
            if name in books.ledger:
                self.accepted.setdefault(id_, event)
        stored = [*books.ledger, *books.held, *books.discarded]
        assert sorted(self._identities()) == sorted("#".join(name) for name in stored), "identities differ"

    def _identities(self) -> dict[str, Any]:
        """Return the claims and reservations by the names of their events."""
        pages = self.dynamodb.get_paginator("scan").paginate(
            TableName=self.stack.ref("IdentityTable"), ConsistentRead=True
        )
        items = (item for page in pages for item in page["Items"])
        return {item["event"]["S"]: item for item in items if not item["event"]["S"].startswith("#")}  # no orders

    def _every_append_is_the_same(self, ledger: list[dict[str, str]]) -> None:
        """Each posting has the attributes that its claim fixes, whichever request appended it."""
        claims = self._identities()
        for item in ledger:
            claimed = claims[f"{item['source']}#{item['id']}"].get("attributes", {}).get("S")
            assert item.get("attributes") == claimed, "an append took the attributes of another request"

    def _each_accepted_once(self, ledger: list[dict[str, str]], lines: list[dict[str, str]]) -> None:
        assert len(ledger) == len({item["id"] for item in ledger}), "an event is in the ledger twice"
        assert set(self.accepted) <= {item["id"] for item in ledger}, "an accepted event is not in the ledger"
        sealed = Counter(line["id"] for line in lines)
        assert sealed == Counter(item["id"] for item in ledger), "sealed lines differ from the ledger"

    def _nothing_else(self, books: Books) -> None:
        for (_, id_), item in books.ledger.items():
            assert id_ in self.sent, "an event that nobody sent"
            # A customer is no content: a duplicate may name another one, or none.
            customers = {one["data"].get("customer") for one in self.sent[id_]}
            assert id_ not in self.accepted or any(
                is_content(with_customer(self.accepted[id_], one), item) for one in customers
            ), "not what was accepted"
        for event, problems in self.turned_away:
            id_, stored = event["id"], books.stored(name_of(event))
            taken = id_ in self.accepted or id_ in self.held
            assert taken or not stored or not is_content(event, stored), "a refused event is stored"
            for problem in problems:
                assert books.is_right(facts_of(event), problem), f"{event} was refused, though not: {problem}"

    def _periods_are_right(self, ledger: list[dict[str, str]]) -> None:
        """Each event is in its month, in the earliest one that is not cut off, or in the one of its recording."""
        for item in ledger:
            (own, days, first), (recorded, _, _) = self._local(item, "time"), self._local(item, "recorded_at")
            month, now, open_ = (one.isoformat()[:7] for one in (own, recorded, recorded - timedelta(days=days)))
            expected = min(max(month, open_), now), month < open_
            if month < first:
                expected = min(month, now), False
            assert (item["period"], "prior_period" in item) == expected, "an event is in another period"

    def _tax_points_are_right(self, ledger: list[dict[str, str]]) -> None:
        """Each event has its own date, or if it corrects a sale, that of the sale; a void of a refund, too."""
        posted = {name_of(item): item for item in ledger}
        for item in ledger:
            dated = item
            for _ in range(2):  # from a void of a refund to the refund, and on to its sale
                of = (dated.get("refers_to_source", dated["source"]), dated.get("refers_to", ""))
                dated = posted.get(of, dated)
            expected = self._local(dated, "time")[0].isoformat()[:10]
            assert item["tax_point"] == expected, "an event has another tax point"

    def counters(self) -> dict[tuple[str, str], dict[str, Any]]:
        """Return all counters in plain values, as if all windows had left."""
        return counters(map(from_item, self.entities()))

    def _sums_agree(self, ledger: list[dict[str, str]], lines: list[dict[str, str]]) -> None:
        accounts = {
            item["pk"]["S"].removeprefix("ACCOUNT#"): Totals(
                int(item["events"]["N"]),
                Decimal(item["gross"]["S"]),
                Decimal(item["refunds"]["S"]),
                Decimal(item["commission"]["S"]),
                Decimal(item["payments"]["S"]),
            )
            for item in self.entities()
            if item["sk"]["S"] == "latest" and item["pk"]["S"].startswith("ACCOUNT#")
        }
        assert accounts == _sums(ledger), "counters differ from the ledger"
        assert accounts == _sums(lines), "counters differ from the reports"
        self._periods_agree(ledger, lines)
        self._customers_agree(ledger)

    def _periods_agree(self, ledger: list[dict[str, str]], lines: list[dict[str, str]]) -> None:
        counted = {
            (pk.removeprefix("ACCOUNT#"), sk.removeprefix("PERIOD#")): Totals.of(counter)
            for (pk, sk), counter in self.counters().items()
            if sk.startswith("PERIOD#")
        }
        for items, where in ((ledger, "ledger"), (lines, "reports")):
            sums: dict[tuple[str, str], Totals] = {}
            for item in items:
                of = f"{item['agency']}#{item['currency']}", item["period"]
                before = sums.get(of, Totals())
                charges = ChargeTotals.of_event(item.get("charges", ""), Decimal(item["commission"]), item["position"])
                sums[of] = replace(_plus(before, item), charges=before.charges + charges)
            assert {of: totals for of, totals in counted.items() if totals.events} == sums, (
                f"periods differ from the {where}"
            )

    def _places_agree(self, ledger: list[dict[str, str]]) -> None:
        sold: dict[tuple[str, str], Totals] = {}
        for item in ledger:
            if "location" in item and item["currency"] != "XXX":
                place = item["location"], item["currency"]
                sold[place] = _plus(sold.get(place, Totals()), item)
        projected: dict[tuple[str, str], Totals] = {}
        for entity in self.entities():
            if entity["pk"]["S"].startswith("PLACE#"):
                place = location_of(entity["sk"]["S"])
                projected[place] = projected.get(place, Totals()) + Totals.of(from_item(entity))
        assert projected == sold, "sales by location differ from the ledger"

    def _products_agree(self, ledger: list[dict[str, str]]) -> None:
        sold: dict[tuple[str, ...], Totals] = {}
        for item in ledger:
            if item["type"] != PAYMENT and item["currency"] != "XXX":
                for agency in (item["agency"], MARKETPLACE):
                    of = agency, item["currency"], item.get("category", ""), item.get("product", "")
                    sold[of] = _plus(sold.get(of, Totals()), item)
        projected: dict[tuple[str, ...], Totals] = {}
        for entity in self.entities():
            if entity["pk"]["S"].startswith("PRODUCTS#"):
                values = from_item(entity)
                agency, currency = values["sk"].partition("##")[0], currency_of(values["sk"])
                for category, product, one in rows_of(values):
                    of = agency, currency, category, product
                    projected[of] = projected.get(of, Totals()) + one.totals
        assert projected == sold, "sales by product differ from the ledger"

    def _indexes_agree(self, ledger: list[dict[str, str]]) -> None:
        for attribute, prefix in INDEXED.items():
            indexed = Counter(
                (item["pk"]["S"].removeprefix(prefix), *key)
                for item in self.entities()
                if item["pk"]["S"].startswith(prefix)
                for key in keys_in(from_item(item))
            )
            stored = Counter((item[attribute], item["quarter_hour"], item["position"]) for item in ledger)
            assert indexed == stored, f"the index by {attribute} differs from the ledger"
        for attribute, prefix in LOOKED_UP.items():
            items = [one for one in map(from_item, self.entities()) if one["pk"].startswith(prefix)]
            stored_in = {item[attribute]: set[QuarterHour]() for item in ledger if attribute in item}
            for item in ledger:
                if attribute in item:
                    stored_in[item[attribute]].add(Partition.parse(item["quarter_hour"]).quarter_hour)
            for value, quarter_hours in stored_in.items():
                pks = {one.pk for one in ranges(attribute, value, min(quarter_hours), max(quarter_hours))}
                found = quarter_hours_of(value, (one for one in items if one["pk"] in pks))
                assert found == sorted(quarter_hours), f"the lookup by {attribute} differs from the ledger"

    def _customers_agree(self, ledger: list[dict[str, str]]) -> None:
        seen: dict[tuple[str, str], set[str]] = {}
        for item in ledger:
            if "customer" in item:
                account = f"ACCOUNT#{item['agency']}#{item['currency']}"
                for sk in ("CUSTOMERS", f"CUSTOMERS#{item['recorded_at'][:10]}"):
                    seen.setdefault((account, sk), set()).add(item["customer"])
        counted = {
            place: int(counter["customers"])
            for place, counter in self.counters().items()
            if place[1].startswith("CUSTOMERS")
        }
        assert counted == {count: len(customers) for count, customers in seen.items()}, "customers differ"


@contextmanager
def on_trial(  # noqa: PLR0913 - all are options
    engine: str = EMBEDDED,
    shards: int = 2,
    start: datetime = START,
    base: str = "",
    policy: str = "open",
    *,
    intake: bool = False,
    **settings: Any,
) -> Iterator[Trial]:
    """Deploy, with faults at hand and a clock that is set by hand; calls run one by one, so that faults are counted.

    ``settings``: more of those that finance decides.
    """
    own: dict[str, Any] = {
        **settings,
        "LedgerShards": shards,
        "base_currency": base or None,
        "agency_policy": policy,
        "Intake": "queue" if intake else "off",
    }
    with Faults().installed() as faults, opened(own, engine=engine, start=start, executes=False) as world:
        yield Trial(world, faults, registered_only=policy == "registered")


def _without_customer(event: Cloud) -> Cloud:
    """Return an event without its customer, of whom no digest knows: with another one it has the same content."""
    return {**event, "data": {name: value for name, value in event["data"].items() if name != "customer"}}


def _lines(content: bytes) -> Iterator[dict[str, str]]:
    yield from csv.DictReader(io.StringIO(gzip.decompress(content).decode(), newline=""))


def _sums(items: Iterable[dict[str, str]]) -> dict[str, Totals]:
    sums: dict[str, Totals] = {}
    for item in items:
        account = f"{item['agency']}#{item['currency']}"
        sums[account] = _plus(sums.get(account, Totals()), item)
    return sums


def _plus(totals: Totals, item: dict[str, str]) -> Totals:
    """Return totals after one more event; a payment is in no figure but its own."""
    amount, commission = Decimal(item["amount"]), Decimal(item["commission"])
    if item["type"] == "payment.recorded":
        assert commission == 0, "a payment has a commission"
        return replace(totals, events=totals.events + 1, payments=money.add(totals.payments, amount))
    return totals.plus(amount, commission)


def _opener(objects: dict[str, bytes]) -> Any:
    def open_object(key: str) -> io.BytesIO:
        if key not in objects:
            raise FileNotFoundError(key)
        return io.BytesIO(objects[key])

    return open_object
