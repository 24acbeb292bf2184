"""Drafts and their release over HTTP: decisions, their checks, documents in their order, and who may decide."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

import pytest

from quarterhour.reports.store import ProjectionStore
from quarterhour.statements.drafts.service import DraftResult, DraftRunner
from quarterhour.statements.releases.store import ReleaseStore
from quarterhour_tools.emulator.http_api import Response
from tests.handlers.desk import send
from tests.handlers.test_statement_runs import EXEMPT, LONDON, NOTHING, NOVEMBER, OCTOBER, Marketplace, payment
from tests.handlers.test_taxes import AMSTERDAM, OF_NOVEMBER, REVERSE, STANDARD_21, agency, owner, sold, taxes
from tests.support.agencies import FULL, OWNER, tax
from tests.support.copies import OnACopy
from tests.support.events import refund, sale
from tests.support.requests import BATCH, ONE, post, verdicts
from tests.support.system import World, opened

EVE = datetime(2026, 10, 31, 22, tzinfo=UTC)
CUT_OFF = datetime(2026, 11, 2, 0, 20, tzinfo=UTC)
NEXT_CUT_OFF = datetime(2026, 12, 2, 0, 20, tzinfo=UTC)
RATED = {"commission_rate": "0.125"}
MANUAL: dict[str, str | int] = {**LONDON, "release": "manual", "JwtRoleClaim": "role"}
DRAFT = "/drafts/a1/GBP/2026-10"
DECIDE = "PUT /drafts/{agency}/{currency}/{period}"


def decide(
    shop: Marketplace,
    decision: str,
    seen: int,
    draft: str = "a1/GBP/2026-10",
    reason: str = "checked",
) -> Response:
    """Decide about a draft as a machine."""
    return send(shop.world, "PUT", f"/drafts/{draft}", {"decision": decision, "seen": seen, "reason": reason})


def decided(shop: Marketplace, decision: str, seen: int, draft: str = "a1/GBP/2026-10") -> str:
    """Decide about a draft; return its state."""
    answer = decide(shop, decision, seen, draft)
    assert answer.status == 200, answer.json()
    return str(answer.json()["state"])


def documents(shop: Marketplace, *names: str) -> list[tuple[str, ...]]:
    """Return some columns of all documents, in the order of the releases."""
    lists = [key for key in sorted(shop.files("statements/releases/")) if key.endswith(".csv")]
    rows = [row for key in lists for row in csv.DictReader(io.StringIO(shop.read(key).decode(), newline=""))]
    return [tuple(row[name] for name in names) for row in rows]


def document(shop: Marketplace, folder: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(shop.read(f"statements/{folder}/statement.json"))
    return found


def failed(shop: Marketplace, path: str) -> dict[str, str]:
    """Return the messages of the checks that a draft fails, by their names."""
    found = shop.world.read(path)["checks"]
    return {one["check"]: one["message"] for one in found if one["level"] == "failed"}


@contextmanager
def marketplace(parameters: dict[str, str | int], *agencies: str, start: datetime = EVE) -> Iterator[Marketplace]:
    """A marketplace with its owner, and with agencies that are taxed at 20 %."""
    with opened(parameters, start=start) as world:
        shop = Marketplace(world)
        shop.write("/documents/owner", OWNER)
        for one in agencies:
            shop.write(f"/agencies/{one}", tax(percent="20"))
        yield shop


@contextmanager
def three_drafts() -> Iterator[Marketplace]:
    """The drafts of October of three agencies, which sold 100.00, 200.00 and 300.00; a person must release them."""
    with marketplace(MANUAL, "a1", "a2", "a3") as shop:
        shop.record(*(sale(f"s{n}", f"{n}00.00", agency=f"a{n}", **RATED) for n in (1, 2, 3)))
        shop.until(CUT_OFF)
        assert shop.seal() == {**NOTHING, "periods": ["2026-10"], "drafts": 3}
        yield shop


@pytest.fixture(scope="module")
def drafts() -> Iterator[Marketplace]:
    """Three drafts that nobody has decided about."""
    with three_drafts() as shop:
        yield shop


@pytest.fixture
def shop(drafts: Marketplace, on_a_copy: OnACopy) -> Iterator[Marketplace]:
    """Three drafts that nobody has decided about, for one test."""
    with on_a_copy(drafts.world):
        yield drafts


@pytest.fixture(scope="module")
def drafts_of_two_months() -> Iterator[Marketplace]:
    """The drafts of October and November of an agency, which sold 100.00 and 40.00; a person must release them."""
    with marketplace(MANUAL, "a1") as shop:
        shop.record(sale("s1", "100.00", agency="a1", **RATED))
        shop.until(CUT_OFF)
        shop.seal()
        shop.record(sale("s2", "40.00", agency="a1", **RATED))
        shop.until(NEXT_CUT_OFF)
        shop.seal()
        yield shop


@pytest.fixture
def months(drafts_of_two_months: Marketplace, on_a_copy: OnACopy) -> Iterator[Marketplace]:
    """The drafts of October and November, for one test."""
    with on_a_copy(drafts_of_two_months.world):
        yield drafts_of_two_months


# ---------------------------------------------------------------- release


def test_a_draft_waits_for_a_person_and_shows_the_statement_that_it_would_be(shop: Marketplace) -> None:
    listed = shop.world.all("/drafts", limit=1)
    assert [(one["agency"], one["state"], one["commission_exact"], one["checks"]) for one in listed] == [
        ("a1", "open", "12.50000", []),
        ("a2", "open", "25.00000", []),
        ("a3", "open", "37.50000", []),
    ]
    assert all("tax" not in one for one in listed)
    previewed = shop.world.all("/drafts", limit=2, preview="true")
    assert [tuple(one[name] for name in ("agency", "commission", "tax", "closing")) for one in previewed] == [
        ("a1", "12.50", "2.50", "15.00"),
        ("a2", "25.00", "5.00", "30.00"),
        ("a3", "37.50", "7.50", "45.00"),
    ]
    found = shop.world.read(DRAFT)
    assert (found["seen"], found["decisions"], found["number"], found["lines"]) == (0, [], None, 1)
    statement = found["statement"]
    assert [statement[name] for name in ("number", "commission", "tax", "closing")] == ["", "12.50", "2.50", "15.00"]
    assert shop.world.read("/statements", agency="a1")["items"] == []
    assert shop.world.read("/releases")["items"] == []


def test_one_draft_is_released(shop: Marketplace) -> None:
    assert decided(shop, "release", 0) == "releasing"
    assert shop.seal() == {**NOTHING, "releases": [1], "documents": 1}
    assert documents(shop, "agency", "number", "closing") == [("a1", "S-000001", "15.00")]
    found = shop.world.read(DRAFT)
    assert (found["state"], found["number"], found["statement"]) == ("released", "S-000001", None)
    assert [one["agency"] for one in shop.world.read("/drafts")["items"]] == ["a2", "a3"]
    assert shop.seal() == NOTHING


def test_some_and_then_all_are_released_with_numbers_in_the_order_of_the_accounts(shop: Marketplace) -> None:
    for name in ("a3", "a1"):
        decided(shop, "release", 0, f"{name}/GBP/2026-10")
    shop.seal()
    decided(shop, "release", 0, "a2/GBP/2026-10")
    shop.seal()
    assert documents(shop, "agency", "number") == [("a1", "S-000001"), ("a3", "S-000002"), ("a2", "S-000003")]
    assert shop.world.read("/drafts")["items"] == []
    second, first = shop.world.all("/releases", limit=1)
    assert (first["release"], first["statements"], first["currencies"]["GBP"]["closing"]) == (1, 2, "60.00")
    assert (second["release"], second["statements"], second["currencies"]["GBP"]["closing"]) == (2, 1, "30.00")


def test_drafts_are_listed_by_period_and_agency(months: Marketplace) -> None:
    def periods(**query: str) -> list[str]:
        return [one["period"] for one in months.world.all("/drafts", **query)]

    assert periods() == periods(agency="a1") == ["2026-10", "2026-11"]
    assert (periods(period="2026-11"), periods(agency="a2")) == (["2026-11"], [])


def test_the_watch_releases_what_a_person_decided(shop: Marketplace) -> None:
    assert shop.watch() is None
    decided(shop, "release", 0)
    shop.watch()
    assert documents(shop, "agency", "number") == [("a1", "S-000001")]


def test_drafts_are_shown_and_released_once_their_period_is_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run dies after it has written the drafts, and before it has written the period."""

    def write(*_: Any) -> None:
        raise RuntimeError("died")

    with marketplace(LONDON, "a1") as shop:
        shop.record(sale("s1", "100.00", agency="a1", **RATED))
        shop.until(CUT_OFF)
        monkeypatch.setattr(ProjectionStore, "write", write)
        with pytest.raises(RuntimeError, match="died"):
            shop.seal()
        monkeypatch.undo()
        assert shop.world.read("/drafts")["items"] == []
        assert "2026-10 is not sealed" in shop.world.missing(DRAFT)
        monkeypatch.setattr(DraftRunner, "run", lambda *_: DraftResult())
        assert shop.seal() == NOTHING, "another run, which has found nothing to make"
        monkeypatch.undo()
        assert shop.seal() == {**NOTHING, "periods": ["2026-10"], "drafts": 1, "releases": [1], "documents": 1}


# ---------------------------------------------------------------- hold, order, retries


def test_a_held_draft_keeps_its_reason_until_it_is_released(shop: Marketplace) -> None:
    assert decide(shop, "hold", 0, reason="the address is wrong").json()["state"] == "held"
    assert failed(shop, DRAFT) == {"held": "it is held: the address is wrong"}
    assert shop.seal() == NOTHING
    assert decided(shop, "release", 1) == "releasing"
    assert shop.seal()["documents"] == 1
    last = [(one["state"], one["reason"]) for one in shop.world.read(DRAFT)["decisions"]]
    assert last == [("held", "the address is wrong"), ("releasing", "checked"), ("released", "S-000001")]


def test_a_later_month_is_refused_until_the_one_before_is_released(months: Marketplace) -> None:
    november = "a1/GBP/2026-11"
    refused = decide(months, "release", 0, november)
    assert (refused.status, refused.json()["detail"]) == (
        (409, "the draft of 'a1' in GBP for 2026-11 cannot be released yet")
    )
    (problem,) = refused.json()["errors"]
    assert (problem["field"], problem["expected"]) == ("order", "the draft of 2026-10 comes first: release it")
    assert months.seal() == NOTHING
    assert decided(months, "release", 0) == decided(months, "release", 0, november) == "releasing"
    assert months.seal() == {**NOTHING, "releases": [1], "documents": 2}
    assert documents(months, "period", "number", "opening", "closing") == [
        ("2026-10", "S-000001", "0", "15.00"),
        ("2026-11", "S-000002", "15.00", "21.00"),
    ]
    assert document(months, "2026-11/a1/GBP")["previous"]["number"] == "S-000001"


def test_a_draft_is_released_once(shop: Marketplace) -> None:
    first = decide(shop, "release", 0)
    assert decide(shop, "release", 0).json() == first.json(), "a retry"
    again = decide(shop, "release", 1)
    assert (again.status, "is being released" in again.json()["detail"]) == (409, True)
    assert decide(shop, "hold", 1).status == 409
    assert shop.seal()["documents"] == 1
    assert decide(shop, "release", 0).status == 200, "a late retry"
    again = decide(shop, "release", 2)
    assert (again.status, "is released: cancel its statement" in again.json()["detail"]) == (409, True)
    assert again.json()["errors"][0]["expected"] == "cancel"
    assert shop.seal() == NOTHING
    assert documents(shop, "number") == [("S-000001",)]


def overtaken(monkeypatch: pytest.MonkeyPatch, other: Callable[[], object]) -> None:
    """Let something else happen between the read and the write of the next decision."""
    plain = ReleaseStore.decide

    def decide_(*arguments: Any) -> bool:
        monkeypatch.undo()
        other()
        return plain(*arguments)

    monkeypatch.setattr(ReleaseStore, "decide", decide_)


def test_of_two_decisions_at_once_the_later_one_is_a_conflict(
    shop: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    overtaken(monkeypatch, lambda: decided(shop, "hold", 0))
    refused = decide(shop, "release", 0)
    assert (refused.status, refused.json()["errors"][0]["field"]) == (409, "seen")
    assert shop.world.read(DRAFT)["state"] == "held"
    assert shop.seal() == NOTHING


def test_the_same_decision_twice_at_once_is_made_once(shop: Marketplace, monkeypatch: pytest.MonkeyPatch) -> None:
    overtaken(monkeypatch, lambda: decided(shop, "release", 0))
    assert decided(shop, "release", 0) == "releasing"
    assert len(shop.world.read(DRAFT)["decisions"]) == 1
    shop.seal()
    assert documents(shop, "number") == [("S-000001",)]


def test_a_decision_of_after_a_run_numbered_its_documents_is_for_the_next_release(
    shop: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    decided(shop, "release", 0)
    plain = ReleaseStore.finish

    def finish(*arguments: Any) -> None:
        monkeypatch.undo()
        decided(shop, "release", 0, "a2/GBP/2026-10")
        plain(*arguments)

    monkeypatch.setattr(ReleaseStore, "finish", finish)
    assert shop.seal() == {**NOTHING, "releases": [1, 2], "documents": 2}
    assert documents(shop, "agency", "number") == [("a1", "S-000001"), ("a2", "S-000002")]


def test_a_decision_of_after_an_interrupted_release_is_kept(shop: Marketplace, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run dies after it has written the items, and before it has finished; a person cancels the statement."""
    decided(shop, "release", 0)

    def finish(*_: Any) -> None:
        raise RuntimeError("died")

    monkeypatch.setattr(ReleaseStore, "finish", finish)
    with pytest.raises(RuntimeError, match="died"):
        shop.seal()
    monkeypatch.undo()
    assert decided(shop, "cancel", 2) == "cancelling"
    assert shop.seal() == {**NOTHING, "releases": [1, 2], "documents": 2}
    assert documents(shop, "number", "cancels") == [("S-000001", ""), ("C-000001", "S-000001")]
    assert shop.world.read(DRAFT)["state"] == "held"


# ---------------------------------------------------------------- cancellation


def test_a_statement_is_cancelled_and_issued_again_after_a_later_month_was_released(months: Marketplace) -> None:
    """October: 12.50 and 2.50 of tax. November: 5.00 and 1.00. The name on October's statement was wrong."""
    world = months.world
    for period in ("2026-10", "2026-11"):
        decided(months, "release", 0, f"a1/GBP/{period}")
    months.seal()
    before = months.files("statements/2026-1")
    assert decided(months, "cancel", 2) == "cancelling"
    assert months.seal()["documents"] == 1
    assert failed(months, DRAFT) == {"held": "it is held: cancelled: checked"}
    world.clock.advance_to(datetime(2026, 12, 3, 9, tzinfo=UTC))
    months.write("/agencies/a1", {**tax(percent="20"), "legal_name": "Harbour Books plc"}, seen=1)
    assert decided(months, "release", 4) == "releasing"
    assert months.seal()["documents"] == 1
    columns = ("period", "revision", "number", "cancels", "opening", "commission", "tax", "closing")
    assert documents(months, *columns) == [
        ("2026-10", "1", "S-000001", "", "0", "12.50", "2.50", "15.00"),
        ("2026-11", "1", "S-000002", "", "15.00", "5.00", "1.00", "21.00"),
        ("2026-10", "2", "C-000001", "S-000001", "21.00", "-12.50", "-2.50", "6.00"),
        ("2026-10", "3", "S-000003", "", "6.00", "12.50", "2.50", "21.00"),
    ]
    cancelled, again = document(months, "2026-10/a1/GBP/2"), document(months, "2026-10/a1/GBP/3")
    named = {"number": "S-000001", "document": "statement", "issued_on": "2026-12-02"}
    assert cancelled["cancels"] == {**named, "carried": {"taxes": [], "proceeds": "0"}}
    assert (cancelled["document"], cancelled["replaces"]) == ("credit_note", None)
    assert (again["cancels"], again["replaces"], again["issued_on"]) == (None, "S-000001", "2026-12-03")
    names = [one["customer"]["legal_name"] for one in (cancelled, again)]
    assert names == [FULL["legal_name"], "Harbour Books plc"]
    assert {key: content for key, content in months.files().items() if key in before} == before
    balance = world.read("/accounts/a1/GBP/balance")
    assert (balance["statement"]["number"], balance["balance"]) == ("S-000003", "21.00")


def cancel_october(shop: Marketplace) -> None:
    assert decided(shop, "cancel", 2) == "cancelling"


def release_november(shop: Marketplace) -> None:
    assert decided(shop, "release", 0, "a1/GBP/2026-11") == "releasing"


@pytest.mark.parametrize("order", ["cancelled first", "released first", "at once", "at once, the other way"])
def test_a_month_is_cancelled_while_a_later_one_is_released_in_any_order(
    months: Marketplace, monkeypatch: pytest.MonkeyPatch, order: str
) -> None:
    """October: 12.50 and 2.50 of tax. November: 5.00 and 1.00."""
    decided(months, "release", 0)
    months.seal()
    first, second = cancel_october, release_november
    if order in {"released first", "at once, the other way"}:
        first, second = second, first
    if order.startswith("at once"):
        overtaken(monkeypatch, lambda: second(months))
        first(months)
    else:
        first(months)
        second(months)
    assert months.seal() == {**NOTHING, "releases": [2], "documents": 2}
    columns = ("period", "number", "cancels", "opening", "closing")
    assert documents(months, *columns) == [
        ("2026-10", "S-000001", "", "0", "15.00"),
        ("2026-10", "C-000001", "S-000001", "15.00", "0.00"),
        ("2026-11", "S-000002", "", "0.00", "6.00"),
    ]


def test_a_month_is_released_while_an_earlier_one_is_cancelled_and_held(months: Marketplace) -> None:
    decided(months, "release", 0)
    months.seal()
    cancel_october(months)
    months.seal()
    assert failed(months, "/drafts/a1/GBP/2026-11") == {}
    release_november(months)
    assert months.seal() == {**NOTHING, "releases": [3], "documents": 1}
    assert decided(months, "release", 4) == "releasing"
    months.seal()
    assert documents(months, "period", "number", "opening", "closing") == [
        ("2026-10", "S-000001", "0", "15.00"),
        ("2026-10", "C-000001", "15.00", "0.00"),
        ("2026-11", "S-000002", "0.00", "6.00"),
        ("2026-10", "S-000003", "6.00", "21.00"),
    ]


def test_a_paid_statement_is_cancelled_and_the_balance_stays_right() -> None:
    """October's statement of 15.00 is paid in November: cancelled, the marketplace owes the 15.00."""
    with marketplace(LONDON, "42") as shop:
        shop.record(sale("s1", "100.00", **RATED))
        shop.until(CUT_OFF)
        shop.seal()
        shop.record(payment("p1", "15.00"))
        shop.until(NEXT_CUT_OFF)
        assert shop.seal()["documents"] == 1
        draft, columns = "42/GBP/2026-10", ("number", "opening", "payments", "closing")
        assert decided(shop, "cancel", 2, draft) == "cancelling"
        shop.seal()
        cancelled = document(shop, "2026-10/42/GBP/2")
        assert (cancelled["closing"], cancelled["due_on"]) == ("-15.00", None)
        assert decided(shop, "release", 4, draft) == "releasing"
        shop.seal()
        assert documents(shop, *columns) == [
            ("S-000001", "0", "0", "15.00"),
            ("S-000002", "15.00", "15.00", "0.00"),
            ("C-000001", "0.00", "0", "-15.00"),
            ("S-000003", "-15.00", "0", "0.00"),
        ]
        assert shop.world.read("/accounts/42/GBP/balance")["balance"] == "0.00"


def test_a_cancellation_leaves_the_payments_of_its_month_where_they_are() -> None:
    """November has 6.00, and the payment of October's 15.00. Cancelled, nothing is owed; issued again, 6.00 is."""
    with marketplace(LONDON, "42") as shop:
        shop.record(sale("s1", "100.00", **RATED))
        shop.until(CUT_OFF)
        shop.seal()
        shop.record(sale("s2", "40.00", **RATED), payment("p1", "15.00"))
        shop.until(NEXT_CUT_OFF)
        shop.seal()
        draft, columns = "42/GBP/2026-11", ("number", "opening", "commission", "tax", "payments", "closing")
        assert decided(shop, "cancel", 2, draft) == "cancelling"
        shop.seal()
        balance = shop.world.read("/accounts/42/GBP/balance")
        assert (balance["balance"], balance["statement"]["closing"]) == ("6.00", "0.00")
        assert (balance["unbilled"]["commission"], balance["unbilled"]["payments"]) == ("5.00", "0")
        proposed = shop.world.read("/drafts/42/GBP/2026-11")["statement"]
        assert (proposed["opening"], proposed["payments"], proposed["closing"]) == ("0.00", "0", "6.00")
        assert decided(shop, "release", 4, draft) == "releasing"
        shop.seal()
        assert documents(shop, *columns) == [
            ("S-000001", "0", "12.50", "2.50", "0", "15.00"),
            ("S-000002", "15.00", "5.00", "1.00", "15.00", "6.00"),
            ("C-000001", "6.00", "-5.00", "-1.00", "0", "0.00"),
            ("S-000003", "0.00", "5.00", "1.00", "0", "6.00"),
        ]
        again = document(shop, "2026-11/42/GBP/3")
        assert (again["lines"], again["by_kind"]["payments"]) == (2, {"lines": 1, "amount": "0", "commission": "0.00"})
        assert shop.world.read("/accounts/42/GBP/balance")["balance"] == "6.00"
        assert shop.world.read("/receivables")["items"][0]["balance"] == "6.00"


def test_only_a_released_statement_is_cancelled_and_only_once(shop: Marketplace) -> None:
    refused = decide(shop, "cancel", 0)
    assert (refused.status, "has no statement to cancel" in refused.json()["detail"]) == (409, True)
    assert refused.json()["errors"][0]["expected"] == "release or hold"
    decided(shop, "release", 0)
    assert decide(shop, "cancel", 1).status == 409, "it is being released"
    shop.seal()
    decided(shop, "cancel", 2)
    assert decide(shop, "cancel", 3).status == 409
    shop.seal()
    assert decide(shop, "cancel", 4).status == 409
    assert documents(shop, "number", "closing") == [("S-000001", "15.00"), ("C-000001", "0.00")]


def test_a_credit_note_is_cancelled_by_a_statement() -> None:
    with marketplace(LONDON, "42") as shop:
        shop.record(refund("r1", "-30.00", of=None, **RATED))
        shop.until(CUT_OFF)
        shop.seal()
        decided(shop, "cancel", 2, "42/GBP/2026-10")
        shop.seal()
        assert documents(shop, "number", "document", "cancels", "closing") == [
            ("C-000001", "credit_note", "", "-4.50"),
            ("S-000001", "statement", "C-000001", "0.00"),
        ]


# ---------------------------------------------------------------- people


EVENTS = "POST /events"


def as_person(world: World, route: str, path: str, body: object = None, sub: str = "fay", **claims: str) -> Any:
    """Return the status and the body of the response to a person, whose request the API for people has admitted."""
    method, _, template = route.partition(" ")
    path, _, query = path.partition("?")
    names = [part.strip("{}") for part in template.split("/") if part.startswith("{")]
    event = {
        "version": "2.0",
        "routeKey": route,
        "rawPath": path,
        "rawQueryString": query,
        "queryStringParameters": dict(parse_qsl(query)),
        "headers": {"content-type": _content_type(route, body)},
        "pathParameters": dict(zip(names, path.split("/")[2:], strict=True)),
        "requestContext": {
            "http": {"method": method, "path": path},
            "stage": "$default",
            "requestId": "r",
            "authorizer": {"jwt": {"claims": {"sub": sub, **claims}, "scopes": None}},
        },
        "body": json.dumps(body) if body is not None else "",
        "isBase64Encoded": False,
    }
    function = "ingest" if route == EVENTS else "read" if method == "GET" else "write"
    response = world.stack.invoke(function, event)
    return response["statusCode"], json.loads(response["body"])


def _content_type(route: str, body: object) -> str:
    if route != EVENTS:
        return "application/json"
    return ONE if isinstance(body, dict) else BATCH


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        ({"role": "finance"}, 200),
        ({"role": "support"}, 403),
        ({"role": "auditor"}, 403),
        ({"role": "agency", "agency": "a1"}, 403),
    ],
    ids=["finance", "support", "auditor", "agency"],
)
def test_finance_alone_decides_about_drafts(shop: Marketplace, claims: dict[str, str], status: int) -> None:
    body = {"decision": "release", "seen": 0}
    assert as_person(shop.world, DECIDE, DRAFT, body, **claims)[0] == status
    assert shop.world.read(DRAFT)["state"] == ("releasing" if status == 200 else "open")


@pytest.mark.parametrize(
    ("route", "path"),
    [
        ("GET /drafts", "/drafts"),
        ("GET /drafts/{agency}/{currency}/{period}", DRAFT),
        ("GET /releases", "/releases"),
    ],
)
def test_staff_see_drafts_and_releases_and_an_agency_s_person_sees_none(
    shop: Marketplace, route: str, path: str
) -> None:
    for role in ("finance", "support", "auditor"):
        assert as_person(shop.world, route, path, role=role)[0] == 200
    status, answer = as_person(shop.world, route, path, role="agency", agency="a1")
    assert (status, "12.5" in json.dumps(answer)) == (403, False)


def test_a_decision_is_noted_under_the_name_of_the_person(shop: Marketplace) -> None:
    body = {"decision": "hold", "reason": "wrong name", "seen": 0}
    _, found = as_person(shop.world, DECIDE, DRAFT, body, role="finance")
    last = {"state": "held", "by": "fay", "at": "2026-11-02T00:20:00.000Z", "reason": "wrong name"}
    assert found["decisions"][-1] == shop.world.read(DRAFT)["decisions"][-1] == last


def test_with_two_approvals_a_second_person_must_agree_to_release_and_to_cancel() -> None:
    with marketplace({**MANUAL, "approvals": 2}, "a1") as shop:
        shop.record(sale("s1", "100.00", agency="a1", **RATED))
        shop.until(CUT_OFF)
        shop.seal()

        def person(sub: str, decision: str, number: int) -> tuple[int, Any]:
            body = {"decision": decision, "reason": "checked", "seen": number}
            status, found = as_person(shop.world, DECIDE, DRAFT, body, sub, role="finance")
            return status, found.get("state", found.get("detail"))

        assert person("fay", "release", 0) == (200, "proposed")
        assert shop.seal() == NOTHING
        assert person("fay", "release", 0) == (200, "proposed"), "a retry"
        alone = "the draft of 'a1' in GBP for 2026-10: a second person must agree"
        assert person("fay", "release", 1) == (409, alone)
        assert person("bob", "release", 1) == (200, "releasing")
        assert shop.seal()["documents"] == 1
        assert person("bob", "cancel", 3) == (200, "cancel_proposed")
        assert shop.seal() == NOTHING
        assert person("bob", "cancel", 4) == (409, alone)
        assert person("fay", "cancel", 4) == (200, "cancelling")
        assert shop.seal()["documents"] == 1
        assert [one["by"] for one in shop.world.read(DRAFT)["decisions"]] == [
            *("fay", "bob", "release", "bob", "fay", "release"),
        ]


def test_two_people_who_propose_at_once_do_not_agree_unseen(monkeypatch: pytest.MonkeyPatch) -> None:
    with marketplace({**MANUAL, "approvals": 2}, "a1") as shop:
        shop.record(sale("s1", "100.00", agency="a1", **RATED))
        shop.until(CUT_OFF)
        shop.seal()

        def release(sub: str, number: int) -> tuple[int, Any]:
            body = {"decision": "release", "reason": "checked", "seen": number}
            status, found = as_person(shop.world, DECIDE, DRAFT, body, sub, role="finance")
            return status, found.get("state", found.get("errors"))

        overtaken(monkeypatch, lambda: release("bob", 0))
        status, errors = release("fay", 0)
        assert (status, errors[0]["field"]) == (409, "seen")
        assert shop.world.read(DRAFT)["state"] == "proposed"
        assert release("fay", 1) == (200, "releasing")
        assert shop.seal() == {**NOTHING, "releases": [1], "documents": 1}
        assert documents(shop, "number") == [("S-000001",)]


def test_one_of_two_people_who_release_and_hold_at_once_reads_first(
    shop: Marketplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def person(sub: str, decision: str) -> Any:
        body = {"decision": decision, "reason": "checked", "seen": 0}
        return as_person(shop.world, DECIDE, DRAFT, body, sub, role="finance")

    overtaken(monkeypatch, lambda: person("bob", "hold"))
    status, refused = person("fay", "release")
    assert (status, refused["errors"][0]["field"]) == (409, "seen")
    assert [one["by"] for one in shop.world.read(DRAFT)["decisions"]] == ["bob"]
    assert shop.seal() == NOTHING


# ---------------------------------------------------------------- bad requests


@pytest.mark.parametrize("path", ["/drafts/a4/GBP/2026-10", "/drafts/a1/EUR/2026-10", "/drafts/a1/GBP/2026-11"])
def test_a_draft_that_does_not_exist_is_not_found(shop: Marketplace, path: str) -> None:
    _, _, name, currency, period = path.split("/")
    message = f"there is no draft of '{name}' in {currency} for {period}"
    assert shop.world.missing(path) == message
    answer = send(shop.world, "PUT", path, {"decision": "release", "seen": 0})
    assert (answer.status, answer.json()["detail"]) == (404, message)


# ---------------------------------------------------------------- numbers


def test_a_prefix_with_the_year_begins_with_1_each_year_of_issue() -> None:
    with marketplace({**MANUAL, "statement_prefix": "S-{year}-"}, "a1", "a2") as shop:
        shop.record(*(sale(f"s{n}", "10.00", agency=f"a{n}", **RATED) for n in (1, 2)))
        shop.until(CUT_OFF)
        shop.seal()
        decided(shop, "release", 0)
        shop.seal()
        shop.world.clock.advance_to(datetime(2027, 1, 1, tzinfo=UTC))
        decided(shop, "release", 0, "a2/GBP/2026-10")
        shop.seal()
        assert documents(shop, "agency", "number") == [("a1", "S-2026-000001"), ("a2", "S-2027-000001")]


# ---------------------------------------------------------------- the checks, and the cases of the finance review


def test_without_an_owner_a_release_is_refused_and_says_what_is_missing() -> None:
    """S1."""
    with opened(LONDON, start=EVE) as world:
        shop = Marketplace(world)
        shop.write("/agencies/42", tax(percent="20"))
        shop.record(sale("s1", "100.00", **RATED))
        shop.until(CUT_OFF)
        assert shop.seal()["documents"] == 0
        message = "the owner lacks legal_name, address, country, vat_id: write them with `quarterhour owner`"
        assert failed(shop, "/drafts/42/GBP/2026-10") == {"owner": message}
        refused = decide(shop, "release", 1, "42/GBP/2026-10")
        assert (refused.status, [one["expected"] for one in refused.json()["errors"]]) == (409, [message])
        shop.write("/documents/owner", OWNER)
        assert decided(shop, "release", 1, "42/GBP/2026-10") == "releasing"
        assert shop.seal()["documents"] == 1
        assert shop.statement(OCTOBER, "42")["owner"]["legal_name"] == OWNER["legal_name"]


def test_the_reverse_charge_without_a_vat_number_and_an_address_fails_a_check() -> None:
    """S2."""
    with marketplace(LONDON) as shop:
        content = {"legal_name": "Nord GmbH", "country": "DE", "tax": {"scheme": "reverse_charge"}}
        shop.write("/agencies/42", content)
        shop.record(sale("s1", "100.00", **RATED))
        shop.until(CUT_OFF)
        assert shop.seal()["documents"] == 0
        message = "the agency lacks address, tax.vat_id, which the reverse charge needs: register them"
        assert failed(shop, "/drafts/42/GBP/2026-10") == {"agency": message}
        assert decide(shop, "release", 1, "42/GBP/2026-10").status == 409


@contextmanager
def amsterdam(*agencies: str, **more: str | int) -> Iterator[Marketplace]:
    """A marketplace in Amsterdam on 5 October, with agencies that are taxed at 21 %."""
    with opened({**AMSTERDAM, **more}, start=datetime(2026, 10, 5, 10, tzinfo=UTC)) as world:
        shop = Marketplace(world)
        shop.write("/documents/owner", owner("Market B.V."))
        for name in agencies:
            shop.write(f"/agencies/{name}", agency(name, STANDARD_21))
        yield shop


def test_a_version_from_next_month_changes_nothing_of_this_one_though_it_is_released_in_the_next() -> None:
    """F1: two sales of 100 at 10 %, at 21 %. From 1 November on, the agency has another name and the reverse charge."""
    with amsterdam("chg", release="manual") as shop:
        shop.record(sold("c1", "chg"), sold("c2", "chg"))
        shop.until(datetime(2026, 10, 25, 10, tzinfo=UTC))
        shop.write("/agencies/chg", agency("chg renamed", REVERSE, OF_NOVEMBER), seen=1)
        shop.write("/documents/owner", owner("Market N.V.", OF_NOVEMBER), seen=1)
        shop.until(datetime(2026, 11, 2, 1, tzinfo=UTC))
        shop.seal()
        shop.world.clock.advance_to(datetime(2026, 11, 20, 1, tzinfo=UTC))
        draft = shop.world.read("/drafts/chg/EUR/2026-10")
        decided(shop, "release", 0, "chg/EUR/2026-10")
        shop.seal()
        found = shop.statement(OCTOBER, "chg", "EUR")
        for one in (draft["statement"], found):
            assert (one["commission"], one["tax"], one["payable"]) == ("20.00", "4.20", "24.20")
            assert (one["customer"]["legal_name"], one["owner"]["legal_name"]) == ("chg", "Market B.V.")
        assert found["issued_on"] == "2026-11-20"


def test_an_agency_that_is_registered_afterwards_is_taxed_when_its_draft_is_released() -> None:
    """F4: a sale of 100 at 10 % of an agency that is registered in November, from October on, at 21 %."""
    with amsterdam() as shop:
        shop.record(sold("n1", "late"))
        shop.until(datetime(2026, 11, 2, 1, tzinfo=UTC))
        assert shop.seal()["documents"] == 0
        draft = "late/EUR/2026-10"
        assert set(failed(shop, f"/drafts/{draft}")) == {"agency", "tax"}
        assert decide(shop, "release", 1, draft).status == 409
        shop.write("/agencies/late", agency("late", STANDARD_21))
        assert failed(shop, f"/drafts/{draft}") == {}
        assert shop.seal() == NOTHING, "a person must release it now"
        assert decided(shop, "release", 1, draft) == "releasing"
        shop.seal()
        found = shop.statement(OCTOBER, "late", "EUR")
        assert (found["tax"], found["closing"], taxes(found)) == ("2.10", "12.10", [("standard", "10.00", "2.10")])
        assert "not_issued" not in found


def test_a_credit_and_what_is_still_owed_are_shown_apart() -> None:
    """S4: October has a sale of 1,000; November has a sale of 300 and a refund of the 1,000; all at 10 % and 21 %."""
    with amsterdam("mix") as shop:
        shop.record(sold("x1", "mix", "1000"))
        shop.until(datetime(2026, 11, 2, 1, tzinfo=UTC))
        shop.seal()
        shop.record(sold("x2", "mix", "300"), refund("x3", "-1000", "x1", agency="mix", currency="EUR"))
        shop.until(datetime(2026, 12, 2, 1, tzinfo=UTC))
        shop.seal()
        found = shop.statement(NOVEMBER, "mix", "EUR")
        assert (found["document"], found["number"]) == ("credit_note", "C-000001")
        figures = ("opening", "sales", "refunds", "commission", "tax", "payable", "closing")
        assert [found[name] for name in figures] == [
            *("121.00", "300", "-1000", "-70.00", "-14.70", "-84.70", "36.30"),
        ]
        assert found["earlier_months"] == [{"month": "2026-10", "lines": 1, "net": "-1000", "commission": "-100.00"}]
        assert (found["issued_on"], found["due_on"]) == ("2026-12-02", "2027-01-01"), "36.30 is still owed"


def test_an_account_without_lines_takes_no_number() -> None:
    """S5: of two agencies with a balance, one sells nothing in November."""
    with marketplace(LONDON, "42", "7") as shop:
        shop.record(sale("s1", "100.00", **RATED), sale("s2", "10.00", agency="7", **RATED))
        shop.until(CUT_OFF)
        shop.seal()
        shop.record(sale("s3", "10.00", agency="7", **RATED))
        shop.until(NEXT_CUT_OFF)
        shop.seal()
        assert documents(shop, "period", "agency", "number") == [
            ("2026-10", "42", "S-000001"),
            ("2026-10", "7", "S-000002"),
            ("2026-11", "7", "S-000003"),
        ]
        assert shop.world.missing("/drafts/42/GBP/2026-11")
        assert shop.world.read("/accounts/42/GBP/balance")["balance"] == "15.00"


def test_the_held_sales_of_a_closed_agency_are_on_no_statement_and_its_draft_says_so() -> None:
    """S9: a sale of 100.00, and one of 50.00 after the agency was closed."""
    with marketplace({**LONDON, "release": "manual"}, "42") as shop:
        shop.record(sale("s1", "100.00", **RATED))
        shop.write("/agencies/42", {**tax(percent="20"), "status": "closed"}, seen=1)
        shop.world.pass_time(minutes=20)
        assert verdicts(post(shop.world, sale("s2", "50.00", **RATED))) == ["held"]
        shop.until(CUT_OFF)
        shop.seal()
        draft = shop.world.read("/drafts/42/GBP/2026-10")
        assert (draft["net"], draft["commission_exact"], draft["lines"]) == ("100.00", "12.50000", 1)
        (warning,) = draft["checks"]
        assert warning == {"check": "held_events", "level": "warning", "message": "the agency has 1 held event"}


def test_a_warning_does_not_keep_a_draft_from_being_released_at_once() -> None:
    """The commission is 12.50 in October and 125.00 in November."""
    with marketplace(LONDON, "42") as shop:
        shop.write("/agencies/7", tax(**EXEMPT))
        shop.record(sale("s1", "100.00", **RATED))
        shop.until(CUT_OFF)
        shop.seal()
        shop.record(sale("s2", "1000.00", **RATED))
        shop.until(NEXT_CUT_OFF)
        assert shop.seal()["documents"] == 1
        (warning,) = shop.world.read("/drafts/42/GBP/2026-11")["checks"]
        assert (warning["check"], warning["level"]) == ("change", "warning")
        assert warning["message"] == "the commission is 125.00000, and was 12.50000 in the period before"
