"""The examples of the API: every request is sent, and gets the response of its example.

The examples are those of the OpenAPI document, from which the reference is generated, and those of docs/api.md.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

import pytest
from jsonschema import Draft202012Validator

from quarterhour.file_formats.webhooks.delivery import Provider
from quarterhour.notifications.subscription import Attempt, DeliveryOutcome
from quarterhour.notifications.webhook import WebhookSender
from quarterhour_tools.emulator.http_api import Request, Response
from tests.handlers.described import DOCUMENT, OPERATIONS, Json, closed
from tests.handlers.desk import send
from tests.handlers.test_approvals import record as recorded_by_a_person
from tests.support.cases import cases
from tests.support.connections import delivered
from tests.support.events import Cloud, adjustment, payment, refund, rerating, sale
from tests.support.proposals import drafted, keep_proposal
from tests.support.repository import ROOT
from tests.support.requests import post, verdicts
from tests.support.stored_statements import LAST_HOUR
from tests.support.system import World, opened

OF_STATEMENTS: Final = re.compile(
    r"/(periods|drafts|releases|statements|receivables|bank-files|disputes|search)\b|/accounts/[^?]+/balance"
)
"""The targets of the examples from the days after October was sealed."""
OF_RATE_CARDS: Final = re.compile(r"/events/shop/(novel|atlas)/|/rerating")
"""The targets of the examples whose events were charged by a rate card."""
STACK: Final = re.compile(r"^\d{12}/[a-z0-9-]+/[a-z0-9-]+/(?=msg_)")
"""The stack with which the id of a notification begins: another one in the examples than here."""
VARYING: Final = frozenset(
    {"code_version", "manifest_sha256", "next", "position", "previous", "request_id", "secret", "sha256", "size", "url"}
)
"""The fields whose values differ from one system, run or version to another."""

WITHOUT_BODY: Final[Json] = {"content": {"": {}}}


@dataclass(frozen=True, slots=True)
class Example:
    """An example: a request of a route and its response."""

    route: str
    method: str
    target: str
    content_type: str
    body: Any
    status: int
    response: Any

    @property
    def request(self) -> Request:
        """The request as it is sent."""
        path, _, query = self.target.partition("?")
        if self.body is None:
            return Request(self.method, path, query)
        text = self.body if isinstance(self.body, str) else json.dumps(self.body)
        return Request(self.method, path, query, (("content-type", self.content_type),), text.encode())


def examples() -> Iterator[Example]:
    """Yield the examples of the document; a route's body belongs to each of them."""
    for route, operation in OPERATIONS.items():
        for status, response in operation["responses"].items():
            for name, one in response.get("content", {}).get("application/json", {}).get("examples", {}).items():
                method, _, target = one["x-request"].partition(" ")
                kind, media = next(iter(operation.get("requestBody", WITHOUT_BODY)["content"].items()))
                body = media["examples"][name]["value"] if kind else None
                yield Example(route, method, target, kind, body, int(status), one["value"])


EXAMPLES: Final = [*examples()]
CLOSED: Final = closed(DOCUMENT)


@dataclass(slots=True)
class Shown:
    """A system in the state that examples show; ``answers``: what it answered to examples that brought it there."""

    world: World
    answers: dict[tuple[str, str], Response] = field(default_factory=dict)

    def send(self, route: str) -> None:
        """Send the examples of a route."""
        for one in EXAMPLES:
            if one.route == route:
                self.answers[one.method, one.target] = self.world.stack.request(one.request)

    def answer(self, example: Example) -> Response:
        """Return the answer to an example, which is sent now if it was not sent before."""
        if example.method == "GET" or (example.method, example.target) not in self.answers:
            return self.world.stack.request(example.request)
        return self.answers[example.method, example.target]


@contextmanager
def selling() -> Iterator[Shown]:
    """Open the system with two shops' agencies on the morning of 23 October 2026."""
    with opened({"base_currency": "EUR", "approvals": 2, "JwtRoleClaim": "role"}) as world:
        shown = Shown(world)
        for route in ("PUT /agencies/{agency}", "PUT /documents/{document}", "PUT /documents/{document}/permissions"):
            shown.send(route)
        shown.send("POST /orders")
        other = {"order": "1002", "currency": "GBP", "items": [{"agency": "42", "product": "CUP-1", "amount": "8.50"}]}
        assert send(world, "POST", "/orders", other).status == 201
        earlier = {"units_per_base": "0.8705", "source": "ECB", "as_of": "2026-10-22T14:15:00Z"}
        assert send(world, "PUT", "/exchange-rates/GBP", earlier).status == 201
        shown.send("PUT /exchange-rates/{currency}")
        shown.send("POST /events")
        world.pass_time(minutes=2)
        in_london = {"location": "GB#London", "customer": "c-2", "order_id": "1002"}
        _record(world, sale("e1", "80.50", commission_rate="0.125", **in_london))
        world.pass_time(minutes=15)
        in_soho = {"location": "GB#London#Soho", "commission_rate": "0.125"}
        _record(world, refund("e2", "-20.00", of="e0", order_id="1001"))
        _record(world, sale("e3", "15.00", agency="Nord & Süd", currency="EUR", **in_soho))
        assert verdicts(post(world, refund("e4", "-5.00", of="e9"))) == ["held"]
        given = adjustment("a1", "-2.50", agency="43", reason="goodwill")
        assert recorded_by_a_person(world, given)["verdict"] == "held"
        world.pass_time(minutes=20)
        world.report()
        shown.send("PUT /schedule")
        shown.send("PUT /orders/{order}/status")
        shown.send("POST /threads/{kind}/{subject}/messages")
        yield shown


@contextmanager
def charged() -> Iterator[Shown]:
    """Open the system with two books that were sold: one by a rate card, and one by another after a re-rating."""
    with opened() as world:
        books = {
            "category": "books",
            "currency": "GBP",
            "charges": [{"name": "commission", "percent": "12.5", "fixed": "0.30", "maximum": "15.00"}],
        }
        for seen, rules in enumerate(([{"percent": "10"}], [{"percent": "20"}], [{"percent": "10"}, books])):
            rate_card = {"valid_from": "2026-10-01T00:00:00Z", "rules": rules}
            assert send(world, "PUT", "/documents/rate-card:42", {"seen": seen, "content": rate_card}).status == 201
            if not seen:
                _record(world, sale("atlas", "100"))
        _record(world, sale("novel", "125.00", category="books", quantity=2), rerating(of="atlas", version=2))
        yield Shown(world)


@contextmanager
def sealed() -> Iterator[Shown]:
    """Open the system on 5 November 2026: three agencies have statements of October, and two have disputed a sale.

    A fourth one is not registered, so its draft is not released.
    """
    owner = {"legal_name": "Market Ltd", "address": "1 Quay", "country": "GB", "vat_id": "GB980780684"}
    with opened(start=LAST_HOUR) as world:
        assert send(world, "PUT", "/documents/owner", {"seen": 0, "content": owner}).status == 201
        for number, (agency, vat) in enumerate((("42", "20"), ("43", "0"), ("44", "0")), 1):
            tax = {"scheme": "standard", "percent": vat}
            content = {"legal_name": f"Agency {agency}", "address": "2 Quay", "country": "GB", "tax": tax}
            assert send(world, "PUT", f"/agencies/{agency}", {"seen": 0, "content": content}).status == 201
            _record(world, sale(f"e-{number}", "100.05", agency=agency, commission_rate="0.125"))
        _record(world, sale("e0", "80.00", agency="43", commission_rate="0.125"))
        _record(world, sale("e-4", "50.00", agency="7", commission_rate="0.125"))
        _record(world, sale("e-5", "-0.02", "sale.refunded", commission_rate="0.125"), payment("p-1", "5"))
        world.drain()
        world.clock.advance_to(datetime(2026, 11, 4, 0, 20, tzinfo=UTC))
        world.report()
        assert world.stack.invoke("statements", {})["documents"] == 3
        for agency, disputed in (("43", "e-2"), ("44", "e-3")):
            body = {"source": "shop", "id": disputed, "reason": "this sale was returned"}
            assert send(world, "POST", f"/statements/{agency}/GBP/2026-10/disputes", body).status == 201
        world.clock.advance_to(datetime(2026, 11, 5, 10, 2, 31, 870_000, tzinfo=UTC))
        _record(world, sale("e-6", "10.00", commission_rate="0.125"), payment("p-2", "2.50"))
        _record(world, sale("e-7", "1.00", commission_rate="0.125"))
        _record(world, refund("r-1", "-100.05", of="e-3", agency="44"))
        world.drain()
        assert world.stack.invoke("watch", {})["disputes"]["resolved"] == 1
        yield Shown(world)


@contextmanager
def subscribed() -> Iterator[Shown]:
    """Open the system with a subscription that has got a notification."""
    with pytest.MonkeyPatch.context() as patch, opened({"Notifications": "webhooks"}) as world:
        patch.setattr(WebhookSender, "send", lambda *_: Attempt(DeliveryOutcome.DELIVERED, 204))
        shown = Shown(world)
        shown.send("PUT /subscriptions/{name}")
        _record(world, sale("e0", "1.00"))
        world.pass_time(hours=2)
        world.report()
        world.drain()
        yield shown


@contextmanager
def connected() -> Iterator[Shown]:
    """Open the system with a connection, one of whose deliveries is parked."""
    with opened({"Intake": "queue"}) as world:
        shown = Shown(world)
        shown.send("PUT /connections/{name}")
        world.pass_time(minutes=45, seconds=7.412)
        (sent,) = (one for one in EXAMPLES if one.route == "PUT /connections/{name}")
        secret = json.loads(sent.request.body)["secret"]
        headers = {"x_shopify_topic": "orders/paid", "x_shopify_triggered_at": "2026-10-23T02:15:05Z"}
        unreadable = delivered(b"no JSON", "shop", Provider.SHOPIFY, secret, **headers)
        assert world.stack.request(unreadable).json()["delivery"] == "parked"
        yield shown


@contextmanager
def proposed() -> Iterator[Shown]:
    """Open the system with a version of a rate card that waits for a second person for ten minutes."""
    with opened({"approvals": 2, "JwtRoleClaim": "role"}) as world:
        rate_card = {"valid_from": "2026-10-01T00:00:00Z", "rules": [{"percent": "12.5"}]}
        assert send(world, "PUT", "/documents/rate-card:42", {"seen": 0, "content": rate_card}).status == 201
        (sent,) = (
            one
            for one in EXAMPLES
            if (one.route, one.target) == ("PUT /documents/{document}", "/documents/rate-card:42")
        )
        keep_proposal(world, drafted("rate-card:42", sent.body["content"], seen=1))
        world.pass_time(minutes=10)
        yield Shown(world)


def _record(world: World, *events: Cloud) -> None:
    assert set(verdicts(post(world, list(events)))) == {"recorded"}


def system(target: str) -> Any:
    """Return what opens the system of an example."""
    if target.startswith("/subscriptions"):
        return subscribed
    if target.startswith("/connections"):
        return connected
    if target.endswith("/proposal"):
        return proposed
    return sealed if OF_STATEMENTS.match(target) else charged if OF_RATE_CARDS.match(target) else selling


@pytest.fixture(scope="module")
def shown(request: pytest.FixtureRequest) -> Iterator[Shown]:
    """The system of some examples: each has the clock to itself."""
    with request.param() as shown:
        yield shown


def like(expected: Any, response: Any) -> bool:
    """Return whether a response equals the expected one; of varying fields, whether it has a value of the same type."""
    match expected, response:
        case dict(), dict():
            return expected.keys() == response.keys() and all(
                type(value) is type(response[name]) if name in VARYING else like(value, response[name])
                for name, value in expected.items()
            )
        case list(), list():
            return len(expected) == len(response) and all(map(like, expected, response))
        case str(), str():
            return STACK.sub("<stack>/", expected) == STACK.sub("<stack>/", response)
        case _:
            return bool(expected == response)


@pytest.mark.parametrize(
    ("shown", "example"),
    [
        pytest.param(opens, one, id=f"{one.method} {one.target}")
        for opens in (selling, charged, sealed, subscribed, connected, proposed)
        for one in EXAMPLES
        if system(one.target) is opens
    ],
    indirect=["shown"],
    scope="module",  # else each test opens a new system, because of the argument that is no fixture
)
def test_an_example_gets_its_response(shown: Shown, example: Example) -> None:
    answer = shown.answer(example)
    assert like(example.response, answer.json()), json.dumps(answer.json(), indent=1, ensure_ascii=False)
    assert answer.status == example.status


@pytest.mark.parametrize("shown", [selling], indirect=True)
def test_an_example_of_the_page_gets_its_response(shown: Shown) -> None:
    page = (ROOT / "docs" / "api.md").read_text("utf-8")
    examples = re.findall(r"```http\nGET (\S+)\n```\n\n```json\n(.*?)```", page, re.DOTALL)
    assert len(examples) == page.count("```http") > 1
    for target, response in examples:
        path, _, query = target.partition("?")
        assert like(json.loads(response), shown.world.stack.request(Request("GET", path, query)).json()), target


def test_every_route_but_that_of_the_document_itself_has_an_example() -> None:
    assert {one.route for one in EXAMPLES} == OPERATIONS.keys() - {"GET /openapi.json"}


@cases("example", EXAMPLES, ids=lambda one: f"{one.method} {one.target}")
def test_an_example_has_the_promised_form_and_nothing_else(example: Example) -> None:
    content = OPERATIONS[example.route]["responses"][str(example.status)]["content"]["application/json"]
    Draft202012Validator({**content["schema"], "components": CLOSED["components"]}).validate(example.response)
