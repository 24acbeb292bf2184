"""The documents: each version written once after the one that was seen, every query, and the cost of each."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from benchmarks.metering import Bill, Meter, Tables
from quarterhour.aws import clients
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.items import to_item
from quarterhour.aws.workers import Workers
from quarterhour.ledger.reading.queries import EventLookup, ExplanationQueries
from quarterhour.ledger.recording.claim_store import ClaimStore
from quarterhour.ledger.recording.outcomes import Verdict
from quarterhour.ledger.recording.segment_store import SegmentStore
from quarterhour.ledger.recording.service import Recorder
from quarterhour.model.errors import ConflictError, NotFoundError
from quarterhour.model.identifiers import Account, Identity
from quarterhour.registry.agencies.agency import AGENCIES
from quarterhour.registry.agencies.queries import AgencyQueries
from quarterhour.registry.agencies.registration import Registration
from quarterhour.registry.agencies.store import RegistrationStore
from quarterhour.registry.documents.keys import (
    agency_document,
    group_rate_card_name,
    latest_key,
    rate_card_name,
)
from quarterhour.registry.documents.permissions import Permissions
from quarterhour.registry.documents.plan import MAX_CONTENT, WrittenDocument, read_draft
from quarterhour.registry.documents.queries import DocumentQueries
from quarterhour.registry.documents.service import DocumentService, DocumentStore
from quarterhour.registry.rate_cards.queries import RateCardQueries
from quarterhour.registry.rate_cards.rate_card import RATE_CARDS
from quarterhour.registry.rate_cards.store import RateCardStore
from quarterhour.web.access import Caller
from quarterhour.web.paging import Paging
from quarterhour_tools.emulator.engines import environment
from tests.contract.paging import everything
from tests.contract.storage import Storage
from tests.support.builders import event, person, rerating, settings
from tests.support.customers import tokens

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from quarterhour.registry.rate_cards.plan import RateCards

Record = Callable[[str, object], None]
MACHINE = Caller("shop", None)
ANN = person("42")


@dataclass(frozen=True, slots=True)
class Archive:
    """Documents on an engine, with a meter of their cost."""

    client: "DynamoDBClient"
    writer: DocumentService
    queries: DocumentQueries
    rate_cards: RateCardStore
    registrations: RegistrationStore
    meter: Meter

    def write(self, document: str, seen: int, content: Any, by: str = "shop") -> dict[str, Any]:
        return self.writer.write(draft(document, seen, content), by)[0]

    def history(self, document: str, limit: int = 100) -> list[int]:
        """Return the versions of all pages."""
        found: list[int] = []
        token = None
        while True:
            paging = Paging.of("request", limit, token)
            body = paging.body(self.queries.versions(document, paging))
            found += [item["version"] for item in body["items"]]
            token = body["next"]
            if token is None:
                return found

    def bill(self, do: Callable[[], object]) -> Bill:
        """Return the bill of a call."""
        self.meter.take()
        do()
        return self.meter.take()


def draft(document: str, seen: int, content: Any) -> WrittenDocument:
    return read_draft(document, {"seen": Decimal(seen), "content": content}, [AGENCIES, RATE_CARDS])


def rate_card(percent: str, valid_from: str) -> dict[str, Any]:
    return {"valid_from": f"{valid_from}T00:00:00Z", "rules": [{"percent": percent}]}


def costs(bill: Bill) -> str:
    """Return a bill as text."""
    return f"{bill.write_units:g} write units, {bill.read_units:g} read units, {bill.calls.total()} calls"


@pytest.fixture(scope="module")
def archive(storage: Storage) -> Archive:
    """The documents' stores with a client that is metered."""
    with environment({"AWS_ENDPOINT_URL_DYNAMODB": storage.stack.engine.dynamodb_url}):
        client = clients.dynamodb()
    meter = Meter(Tables(storage.stack.dynamodb))
    meter.attach(client)
    entities = EntityReader(client, storage.entity_table)
    writer = DocumentService(entities, DocumentStore(client, storage.entity_table))
    rate_cards = RateCardStore(client, storage.entity_table, Workers(1))
    registrations = RegistrationStore(client, storage.entity_table, Workers(1))
    return Archive(client, writer, DocumentQueries(entities), rate_cards, registrations, meter)


# ---------------------------------------------------------------- writing


def test_a_new_version_becomes_the_latest_and_joins_the_history(archive: Archive, own: str) -> None:
    for seen, content in enumerate(("a", "b", "c")):
        assert archive.write(own, seen, content)["version"] == seen + 1
        assert archive.queries.latest(own)["content"] == f'"{content}"'
    assert [archive.queries.version(own, number)["content"] for number in (1, 2, 3)] == ['"a"', '"b"', '"c"']
    assert archive.queries.metadata(own)["kind"] == "document"


def test_a_version_after_an_outdated_one_is_a_conflict_and_changes_nothing(archive: Archive, own: str) -> None:
    archive.write(own, 0, "a")
    archive.write(own, 1, "b")
    for seen in (0, 1, 3, 99):
        with pytest.raises(ConflictError, match="its latest version is 2"):
            archive.write(own, seen, "mine")
    assert archive.history(own) == [2, 1]
    assert archive.queries.latest(own)["content"] == '"b"'


def test_a_retry_gets_the_version_that_it_wrote_even_after_later_versions(archive: Archive, own: str) -> None:
    first = archive.write(own, 0, {"n": 1}, "ann")
    archive.write(own, 1, {"n": 2}, "bob")
    again = archive.write(own, 0, {"n": 1}, "carl")
    assert {name: again[name] for name in ("version", "sha256", "written_by")} == {
        name: first[name] for name in ("version", "sha256", "written_by")
    }
    assert archive.history(own) == [2, 1]


def test_of_writers_that_saw_the_same_version_one_wins(archive: Archive, own: str) -> None:
    archive.write(own, 0, "start")

    def attempt(number: int) -> bool:
        try:
            archive.write(own, 1, number)
        except ConflictError:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(attempt, range(8))) == 1
    assert archive.history(own) == [2, 1]


def test_the_largest_document_fits(archive: Archive, own: str) -> None:
    archive.write(own, 0, "x" * (MAX_CONTENT - 2))
    assert len(archive.queries.latest(own)["content"]) == MAX_CONTENT


# ---------------------------------------------------------------- reading


def test_the_history_is_paged_newest_first_past_the_tenth_version(archive: Archive, own: str) -> None:
    for seen in range(12):
        archive.write(own, seen, seen)
    for limit in (1, 5, 12, 100):
        assert archive.history(own, limit) == list(range(12, 0, -1))


def test_a_missing_document_or_version_raises_not_found(archive: Archive, own: str) -> None:
    with pytest.raises(NotFoundError):
        archive.queries.latest(own)
    with pytest.raises(NotFoundError):
        archive.history(own)
    archive.write(own, 0, "a")
    with pytest.raises(NotFoundError):
        archive.queries.version(own, 2)


def test_new_permissions_hold_from_the_next_request(archive: Archive, own: str) -> None:
    archive.write(own, 0, "a")
    assert (archive.queries.may_read(own, MACHINE), archive.queries.may_read(own, ANN)) == (True, False)
    for permissions in (Permissions(agencies=("42",)), Permissions(people=("ann", "bob"))):
        archive.writer.permit(own, permissions, "shop")
        assert archive.queries.may_read(own, ANN)
        assert archive.queries.permissions(own) == permissions
    archive.writer.permit(own, Permissions(), "shop")
    assert not archive.queries.may_read(own, ANN)
    with pytest.raises(NotFoundError):
        archive.queries.check(own, ANN)


# ---------------------------------------------------------------- lists


def listed(archive: Archive, kind: str, limit: int) -> list[str]:
    """Return the names of the documents of a kind, from all pages."""
    return [one["document"] for one in everything(lambda paging: archive.queries.of_kind(kind, paging), limit)]


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_documents_are_listed_by_kind_and_name_page_by_page(archive: Archive, own: str, limit: int) -> None:
    names = [f"{own} {name}" for name in ("B", "a", "z", "ä", "\uffdc", "\U0001f600")]
    for name in reversed(names):
        archive.write(name, 0, "x")
    archive.write(rate_card_name(own), 0, rate_card("1", "2026-01-01"))
    # DynamoDB sorts by the bytes of UTF-8.
    assert [one for one in listed(archive, "document", limit) if one.startswith(f"{own} ")] == names
    assert rate_card_name(own) in listed(archive, "rate-card", 100)


def test_registered_agencies_are_listed_with_their_latest_version(archive: Archive, own: str) -> None:
    names = [f"{own}-{number}" for number in range(3)]
    for name in names:
        archive.write(agency_document(name), 0, {"group": "eu"})
    archive.write(agency_document(names[1]), 1, {"group": "uk", "valid_from": "2026-03-01T00:00:00Z"})
    agencies = AgencyQueries(archive.queries)
    found = [one for one in everything(agencies.registered, 2) if one["agency"].startswith(own)]
    assert [(one["agency"], one["version"], one["group"]) for one in found] == [
        (names[0], 1, "eu"),
        (names[1], 2, "uk"),
        (names[2], 1, "eu"),
    ]
    assert agencies.agency([names[1]], datetime(2026, 2, 1, tzinfo=UTC))[1]["content"] == '{"group":"eu"}'


# ---------------------------------------------------------------- rate cards in force


def in_force(archive: Archive, agency: str, *days: str) -> list[int | None]:
    at = [datetime.fromisoformat(day).replace(tzinfo=UTC) for day in days]
    rate_cards = archive.rate_cards.read({(agency, one) for one in at})
    return [next((found.version for found in rate_cards.at(agency, "", one)), None) for one in at]


def test_the_rate_card_in_force_is_found_for_any_instant(archive: Archive, own: str) -> None:
    document = rate_card_name(own)
    for seen, valid_from in enumerate(("2026-01-01", "2026-03-01", "2026-06-01", "2026-05-01")):
        archive.write(document, seen, rate_card(str(seen + 1), valid_from))
    days = ("2025-12-31", "2026-01-01", "2026-02-28", "2026-03-01", "2026-04-30", "2026-05-01", "2026-07-01")
    assert in_force(archive, own, *days) == [None, 1, 1, 2, 2, 4, 4]
    assert in_force(archive, f"{own}-other", "2026-07-01") == [None]
    assert archive.queries.metadata(document)["kind"] == "rate-card"


def test_rate_cards_of_more_agencies_than_one_call_takes_are_read(archive: Archive, own: str) -> None:
    agencies = [f"{own}-{number}" for number in range(120)]
    for agency in agencies[::40]:
        archive.write(rate_card_name(agency), 0, rate_card("1", "2026-01-01"))
    at = datetime(2026, 7, 1, tzinfo=UTC)
    rate_cards = archive.rate_cards.read({(agency, at) for agency in agencies})
    assert [agency for agency in agencies if list(rate_cards.at(agency, "", at))] == agencies[::40]


# ---------------------------------------------------------------- registrations


def test_an_agency_is_closed_while_a_version_that_says_so_is_in_force(archive: Archive, own: str) -> None:
    closed, active = ({"status": status, "contact": "closed"} for status in ("closed", "active"))
    document = agency_document(own)
    archive.write(document, 0, {**active, "valid_from": "2026-02-01T00:00:00Z"})
    archive.write(document, 1, {**closed, "valid_from": "2026-03-01T00:00:00Z"})
    archive.write(document, 2, {**active, "valid_from": "2026-06-01T00:00:00Z"})
    found = {
        day: archive.registrations.read([own, f"{own}-other", "default"], datetime.fromisoformat(f"{day}T00:00:00Z"))
        for day in ("2026-01-01", "2026-02-01", "2026-03-01", "2026-05-31", "2026-06-01")
    }
    assert [one[own] is Registration.CLOSED for one in found.values()] == [False, False, True, True, False]
    assert {one[own] for one in found.values()} == {Registration.ACTIVE, Registration.CLOSED}
    assert {one[other] for one in found.values() for other in (f"{own}-other", "default")} == {Registration.NONE}


# ---------------------------------------------------------------- commissions by a rate card, recorded and explained


def recorder_of(archive: Archive, storage: Storage) -> Recorder:
    claims = ClaimStore(archive.client, storage.identity_table, storage.entity_table, Workers(1))
    segments = SegmentStore(archive.client, storage.ledger_table, storage.entity_table, Workers(1))
    return Recorder(settings, claims, segments, archive.rate_cards.read, archive.registrations.read, tokens)


def record(archive: Archive, storage: Storage, own: str, at: datetime, numbers: range) -> list[Verdict]:
    """Record sales of an agency that are priced by its rate card."""
    sold = [event(f"{own}-{number}", amount="100", category="books") for number in numbers]
    events = [replace(one, account=Account(own, "GBP"), time=at) for one in sold]
    recorder = recorder_of(archive, storage)
    return [one.verdict for one in recorder.record(events, f"{own}-{numbers}", 60)]


def test_a_price_by_rate_card_costs_no_more_writes_and_is_explained_with_three_reads(
    archive: Archive, storage: Storage, own: str, at: datetime, record_property: Record
) -> None:
    rules = [
        {
            "category": "books",
            "currency": "GBP",
            "charges": [{"name": "commission", "percent": "8", "fixed": "0.30", "maximum": "20"}],
        }
    ]
    archive.write(rate_card_name(own), 0, {"valid_from": "2026-01-01T00:00:00Z", "rules": rules})
    assert record(archive, storage, own, at, range(1)) == [Verdict.RECORDED]
    bill = archive.bill(lambda: record(archive, storage, own, at, range(1, 101)))
    record_property("record 100 events priced by a rate card, and write 3 control items", costs(bill))
    prepared = 3  # a new recorder writes the control items first, the mark of its quarter-hour among them
    assert bill.write_units - prepared <= 110
    assert bill.calls.total() - prepared == 4 + 1 + 1 + 1
    assert bill.read_units == 4

    lookup = EventLookup(archive.client, storage.identity_table, storage.ledger_table)
    explainer = ExplanationQueries(lookup, RateCardQueries(archive.queries.entities))
    explain = archive.bill(lambda: explainer.explain([Identity("shop", f"{own}-7")], MACHINE))
    record_property("explain a commission", costs(explain))
    assert (explain.write_units, explain.read_units, explain.calls.total()) == (0, 3, 3)
    for caller in (MACHINE, person(own)):
        found = explainer.explain([Identity("shop", f"{own}-7")], caller)
        assert (found["commission"], found["terms"]["rule"]) == ("8.30", rules[0])
    with pytest.raises(NotFoundError):
        explainer.explain([Identity("shop", f"{own}-7")], ANN)


def test_a_rerating_costs_what_a_refund_costs_and_the_read_of_its_rate_card(
    archive: Archive, storage: Storage, own: str, at: datetime, record_property: Record
) -> None:
    for seen, percent in enumerate(("10", "20")):
        archive.write(rate_card_name(own), seen, rate_card(percent, "2026-01-01"))
    assert record(archive, storage, own, at, range(1)) == [Verdict.RECORDED]
    sent = rerating(f"{own}-rr", 1, of=f"{own}-0", rate_card=rate_card_name(own), agency=own)
    verdicts: list[Verdict] = []
    recorder = recorder_of(archive, storage)
    bill = archive.bill(lambda: verdicts.extend(one.verdict for one in recorder.record([sent], own, 60)))
    record_property("record a re-rating, and write 3 control items", costs(bill))
    assert verdicts == [Verdict.RECORDED]
    prepared = 3  # a new recorder writes the control items first, the mark of its quarter-hour among them
    assert bill.write_units - prepared == 7
    assert bill.read_units == 4
    assert bill.calls.total() - prepared == 5
    lookup = EventLookup(archive.client, storage.identity_table, storage.ledger_table)
    explainer = ExplanationQueries(lookup, RateCardQueries(archive.queries.entities))
    sale = explainer.explain([Identity("shop", f"{own}-0")], MACHINE)
    assert (sale["commission"], sale["in_force"]["commission"]) == ("20.00", "10.00")


def test_the_rate_cards_of_five_agencies_in_five_groups_are_read_in_two_calls(
    archive: Archive, own: str, record_property: Record
) -> None:
    at = datetime(2026, 7, 1, tzinfo=UTC)
    agencies = [f"{own}-{number}" for number in range(5)]
    for agency in agencies:
        archive.write(agency_document(agency), 0, {"group": f"{agency}-old"})
        archive.write(agency_document(agency), 1, {"group": agency, "valid_from": "2026-03-01T00:00:00Z"})
        archive.write(rate_card_name(agency), 0, rate_card("1", "2026-01-01"))
        archive.write(group_rate_card_name(agency), 0, rate_card("2", "2026-01-01"))
    found: list[RateCards] = []
    bill = archive.bill(lambda: found.append(archive.rate_cards.read({(agency, at) for agency in agencies})))
    record_property("rate cards of a batch of 500 events of five agencies in five groups", costs(bill))
    assert bill.read_units / 500 <= 0.04
    assert bill.calls.total() == 2
    for agency in agencies:
        assert [one.document for one in found[0].at(agency, found[0].group(agency, at), at)] == [
            rate_card_name(agency),
            group_rate_card_name(agency),
        ]
        assert found[0].is_registered(agency)


# ---------------------------------------------------------------- costs


def test_each_access_pattern_costs_what_the_data_model_says(
    archive: Archive, own: str, record_property: Record
) -> None:
    document, registration = rate_card_name(own), agency_document(own)
    agencies = AgencyQueries(archive.queries)
    bills = {
        "create a document": archive.bill(lambda: archive.write(document, 0, rate_card("1", "2026-01-01"))),
        "write a version": archive.bill(lambda: archive.write(document, 1, rate_card("2", "2026-02-01"))),
        "a retry of it": archive.bill(lambda: archive.write(document, 1, rate_card("2", "2026-02-01"))),
        "the latest version": archive.bill(lambda: archive.queries.latest(document)),
        "one version": archive.bill(lambda: archive.queries.version(document, 1)),
        "the history": archive.bill(lambda: archive.history(document)),
        "metadata": archive.bill(lambda: archive.queries.metadata(document)),
        "permit": archive.bill(lambda: archive.writer.permit(document, Permissions(("42",)), "shop")),
        "permissions": archive.bill(lambda: archive.queries.permissions(document)),
        "whether a machine may read": archive.bill(lambda: archive.queries.check(document, MACHINE)),
        "whether a person may read": archive.bill(lambda: archive.queries.check(document, ANN)),
        "register an agency": archive.bill(lambda: archive.write(registration, 0, {"group": "eu"})),
        "an agency": archive.bill(lambda: agencies.agency([own], None)),
        "an agency as it was": archive.bill(lambda: agencies.agency([own], datetime(2026, 7, 1, tzinfo=UTC))),
        "the card in force now": archive.bill(lambda: in_force(archive, own, "2026-07-01")),
        "the cards in force now and before": archive.bill(lambda: in_force(archive, own, "2026-07-01", "2026-01-02")),
    }
    for name, bill in bills.items():
        record_property(name, costs(bill))
    assert {name: (bill.write_units, bill.read_units, bill.calls.total()) for name, bill in bills.items()} == {
        "create a document": (8, 1, 2),
        "write a version": (4, 1, 2),
        "a retry of it": (0, 2, 2),
        "the latest version": (0, 1, 1),
        "one version": (0, 1, 1),
        "the history": (0, 0.5, 1),
        "metadata": (0, 1, 1),
        "permit": (1, 0, 1),
        "permissions": (0, 1, 1),
        "whether a machine may read": (0, 0, 0),
        "whether a person may read": (0, 1, 1),
        "register an agency": (8, 1, 2),
        "an agency": (0, 1, 1),
        "an agency as it was": (0, 1, 1),
        "the card in force now": (0, 4, 2),
        "the cards in force now and before": (0, 5, 2),
    }


def test_the_latest_version_sorts_before_the_whole_history(archive: Archive, own: str, storage: Storage) -> None:
    archive.write(own, 0, "a")
    items = storage.dynamodb.query(
        TableName=storage.entity_table,
        KeyConditionExpression="pk = :pk AND begins_with(sk, :version)",
        ExpressionAttributeValues=to_item({":pk": latest_key(own)["pk"], ":version": "v_"}),
    )["Items"]
    assert [item["sk"]["S"] for item in items] == ["v_0", "v_00000001"]
