"""Authorization: machines may do everything, people what their roles allow, an invalid token sees nothing."""

import hmac
import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from gzip import decompress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, Final
from urllib.parse import quote

import jwt
import pytest
from botocore.client import BaseClient
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from quarterhour.web.access import STAFF, Role
from quarterhour_tools.emulator.authorizer import JwtAuthorizer
from quarterhour_tools.emulator.http_api import Request, Response, path_parameters
from quarterhour_tools.emulator.template import Route
from tests.handlers.described import OPERATIONS, reference
from tests.handlers.desk import place
from tests.handlers.test_bad_input import GOOD, as_dynamodb_would, bad_paths
from tests.handlers.test_rate_cards import keep
from tests.support.cases import cases
from tests.support.events import adjustment, payment, refund, rerating, sale, view, void
from tests.support.orders import item
from tests.support.requests import ONE, post
from tests.support.stored_statements import document, keep_sealed, plan_of
from tests.support.system import World, opened
from tests.support.tables import items
from tests.unit.registry.rate_cards.builders import content

AUDIENCE: Final = "quarterhour"
CLAIM: Final = "custom:agency"
ROLE: Final = "custom:role"
SPAN: Final = "from=2026-10-23&to=2026-10-24"

OWN = {
    "GET /accounts/{agency}/{currency}": "/accounts/42/GBP",
    "GET /accounts/{agency}/{currency}/quarter-hours": f"/accounts/42/GBP/quarter-hours?{SPAN}",
    "GET /accounts/{agency}/{currency}/days": f"/accounts/42/GBP/days?{SPAN}",
    "GET /accounts/{agency}/{currency}/periods": "/accounts/42/GBP/periods",
    "GET /accounts/{agency}/{currency}/snapshots": "/accounts/42/GBP/snapshots?layer=5m&last=3",
    "GET /accounts/{agency}/{currency}/trend": "/accounts/42/GBP/trend",
    "GET /accounts/{agency}/{currency}/changes": "/accounts/42/GBP/changes",
    "GET /accounts/{agency}/{currency}/balance": "/accounts/42/GBP/balance",
    "GET /statements/{agency}/{currency}/{period}": "/statements/42/GBP/2026-10",
    "GET /agencies/{agency}": "/agencies/42",
    "GET /agencies/{agency}/rate-cards": "/agencies/42/rate-cards",
}
"""Routes of an agency's data: a person sees their own agency's."""
MESSAGES_PATH = "/threads/{kind}/{subject}/messages"
LINES = {
    f"GET {MESSAGES_PATH}": "/threads/lines/shop%23e0/messages",
    f"POST {MESSAGES_PATH}": "/threads/lines/shop%23e0/messages",
}
"""Routes of threads: a person may use those on their own agency's lines."""
EVENT = {
    "GET /events/{source}/{event}": "/events/shop/e0",
    "GET /events/{source}/{event}/explain": "/events/shop/e0/explain",
    "GET /events/{source}/{event}/story": "/events/shop/e0/story",
}
"""Routes of a single event: a person sees their own agency's."""
ACCEPT = {
    "PUT /statements/{agency}/{currency}/{period}/status": "/statements/42/GBP/2026-10/status",
    "POST /statements/{agency}/{currency}/{period}/disputes": "/statements/42/GBP/2026-10/disputes",
}
"""Routes that change what became of a statement: a person may use those of their own agency."""
NARROWED = {
    "GET /events": f"/events?{SPAN}",
    "GET /accounts": "/accounts",
    "GET /overview": "/overview?period=2026-10",
    "GET /sales": f"/sales?{SPAN}",
    "GET /held": "/held",
    "GET /statements": "/statements",
    "GET /receivables": "/receivables",
    "GET /search": "/search?q=e0",
    "GET /disputes": "/disputes",
    "GET /periods": "/periods",
}
"""Routes that show each caller only their own data."""
PERMITTED = {
    "GET /reports/{run}": "/reports/2026-10-23T0130-0215",
    "GET /documents/{document}": "/documents/terms",
    "GET /documents/{document}/versions": "/documents/terms/versions",
    "GET /documents/{document}/versions/{version}": "/documents/terms/versions/1",
    "GET /documents/{document}/metadata": "/documents/terms/metadata",
}
"""Routes of documents and reports that a person may read with a permission; without it they are not found."""
COMMON = {
    "GET /openapi.json": "/openapi.json",
    "GET /exchange-rates": "/exchange-rates",
    "GET /exchange-rates/{currency}": "/exchange-rates/USD",
    "GET /exchange-rates/{currency}/history": "/exchange-rates/USD/history?last=3",
    "GET /exchange-rates/{currency}/snapshots": "/exchange-rates/USD/snapshots?layer=5m&last=3",
    "GET /exchange-rates/{currency}/trend": "/exchange-rates/USD/trend",
}
"""Routes of data that all agencies may see."""
MYSELF = {"GET /me": "/me"}
"""The route that shows each caller themselves."""
STAFF_READS = {
    "GET /windows/{layer}/{start}": "/windows/5m/2026-10-23T01:30:00Z",
    "GET /reports": "/reports",
    "GET /locations": f"/locations?{SPAN}",
    "GET /locations/{location}": f"/locations/GB?{SPAN}",
    "GET /sources/{source}/events": f"/sources/shop/events?{SPAN}",
    "GET /orders": "/orders?status=open",
    "GET /orders/{order}": "/orders/1001",
    "GET /customers/{customer}/orders": "/customers/c-1/orders",
    "GET /customers/{customer}/items": "/customers/c-1/items",
    "GET /agencies": "/agencies",
    "GET /drafts": "/drafts",
    "GET /drafts/{agency}/{currency}/{period}": "/drafts/42/GBP/2026-11",
    "GET /releases": "/releases",
    "GET /documents": "/documents",
    "GET /documents/{document}/permissions": "/documents/terms/permissions",
    "GET /documents/{document}/proposal": "/documents/terms/proposal",
    "GET /schedule": "/schedule",
    "GET /operations": "/operations",
    "GET /connections": "/connections",
    "GET /connections/{name}": "/connections/shop",
    "GET /connections/{name}/parked": "/connections/shop/parked",
    "GET /subscriptions": "/subscriptions",
    "GET /subscriptions/{name}": "/subscriptions/erp",
    "GET /subscriptions/{name}/deliveries": "/subscriptions/erp/deliveries",
}
"""Routes that show all agencies: staff use them."""
FINANCE_WRITES = {
    "POST /events": "/events",
    "POST /bank-files": "/bank-files",
    "PUT /exchange-rates/{currency}": "/exchange-rates/USD",
    "POST /statement-runs": "/statement-runs",
    "POST /csv/events": "/csv/events",
    "POST /rerating": "/rerating",
    "POST /csv/maps": "/csv/maps",
    "POST /csv/agencies": "/csv/agencies",
    "GET /rerating": f"/rerating?{SPAN}&rate_card=rate-card:42&agency=42&reason=x",
    "PUT /agencies/{agency}": "/agencies/42",
    "PUT /schedule": "/schedule",
    "PUT /documents/{document}": "/documents/rate-card:42",
    "PUT /documents/{document}/proposal": "/documents/rate-card:42/proposal",
    "PUT /drafts/{agency}/{currency}/{period}": "/drafts/42/GBP/2026-11",
    "PUT /held/{source}/{event}": "/held/shop/e0",
    "PUT /connections/{name}": "/connections/shop",
    "DELETE /connections/{name}": "/connections/other",
    "GET /connections/{name}/parked/{delivery}": "/connections/shop/parked/6tU1tmgrB7QHHMrXoxQ916",
    "POST /connections/{name}/parked": "/connections/shop/parked",
    "DELETE /connections/{name}/parked/{delivery}": "/connections/shop/parked/6tU1tmgrB7QHHMrXoxQ916",
    "PUT /subscriptions/{name}": "/subscriptions/erp",
    "DELETE /subscriptions/{name}": "/subscriptions/other",
    "POST /subscriptions/{name}/secrets": "/subscriptions/erp/secrets",
    "POST /subscriptions/{name}/replays": "/subscriptions/erp/replays",
    "PUT /statements/{agency}/{currency}/{period}/disputes/{source}/{event}": (
        "/statements/42/GBP/2026-10/disputes/shop/e0"
    ),
}
"""Routes of finance."""
MACHINES = {
    "POST /orders": "/orders",
    "PUT /orders/{order}/status": "/orders/1001/status",
    "PUT /documents/{document}/permissions": "/documents/terms/permissions",
}
"""Routes for machines only."""
AS_FINANCE = {("finance",): "finance", ("finance", "support"): "support"}
"""The role of a message that a person of finance writes, by the roles of their token."""
CLOSED = STAFF_READS | FINANCE_WRITES | MACHINES
"""Routes that people of agencies cannot use."""
ROUTES = OWN | LINES | EVENT | ACCEPT | NARROWED | PERMITTED | COMMON | MYSELF | CLOSED
ROLES: Final[dict[str, frozenset[Role]]] = {
    **dict.fromkeys(
        OWN | EVENT | NARROWED | PERMITTED | COMMON | MYSELF | {f"GET {MESSAGES_PATH}": ""}, frozenset(Role)
    ),
    **dict.fromkeys(STAFF_READS, STAFF),
    **dict.fromkeys(FINANCE_WRITES, frozenset({Role.FINANCE})),
    **dict.fromkeys(MACHINES, frozenset()),
    f"POST {MESSAGES_PATH}": frozenset({Role.AGENCY, Role.SUPPORT, Role.FINANCE}),
    "PUT /statements/{agency}/{currency}/{period}/status": frozenset({Role.AGENCY, Role.FINANCE}),
    "POST /statements/{agency}/{currency}/{period}/disputes": frozenset({Role.AGENCY}),
}
"""The roles of people who may use each route."""


@dataclass(slots=True)
class Issuer:
    """An OpenID Connect issuer: signs tokens and publishes its keys."""

    url: str = ""
    key: RSAPrivateKey = field(default_factory=lambda: generate_private_key(65537, 2048))

    def published(self, path: str) -> dict[str, Any]:
        """Return the document at a path."""
        if path == "/.well-known/openid-configuration":
            return {"issuer": self.url, "jwks_uri": f"{self.url}/keys"}
        public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return {"keys": [{**public, "kid": "one", "use": "sig"}]}

    def claims(self, **others: Any) -> dict[str, Any]:
        """Return the claims of a person of agency 42; ``None`` leaves one out."""
        expires = datetime.now(UTC) + timedelta(hours=1)
        usual = {"iss": self.url, "aud": AUDIENCE, "sub": "ann", CLAIM: "42", ROLE: "agency"}
        return {name: value for name, value in {**usual, "exp": expires, **others}.items() if value is not None}

    def token(self, **others: Any) -> str:
        """Return a good token, but for the claims given."""
        return self.signed(self.claims(**others))

    def signed(self, claims: dict[str, Any]) -> str:
        """Return a token of these claims."""
        return jwt.encode(claims, self.key, "RS256", {"kid": "one"})


@pytest.fixture(scope="module")
def issuer() -> Iterator[Issuer]:
    """An issuer that listens on this machine."""
    issuer = Issuer()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            content = json.dumps(issuer.published(self.path)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        issuer.url = f"http://127.0.0.1:{server.server_port}"
        Thread(target=server.serve_forever, args=[0.02], daemon=True).start()
        yield issuer
        server.shutdown()


@pytest.fixture(scope="module")
def world(issuer: Issuer) -> Iterator[World]:
    """The system with two agencies' sales, reported, and people who sign in."""
    parameters = {"JwtIssuer": issuer.url, "JwtAudience": AUDIENCE, "JwtAgencyClaim": CLAIM, "JwtRoleClaim": ROLE}
    with opened(parameters) as world:
        for agency, amount in (("42", "100.00"), ("43", "7.00"), ("50% off", "1.00"), ("50%25 off", "2.00")):
            world.sell(amount, agency=agency)
        world.pass_time(hours=1)
        world.report()
        for path, body in SEALED.items():
            assert put(world, path, body).status in {200, 201}
        world.drain()
        yield world


SEALED: Final = {
    "/exchange-rates/USD": {"units_per_base": "1.08", "source": "test"},
    "/documents/terms": {"seen": 0, "content": {"title": "Terms"}},
    "/agencies/42": {"seen": 0, "content": {"legal_name": "Agency 42"}},
}
"""The data that machines have written."""


def put(world: World, path: str, body: Any) -> Response:
    """Send a machine's PUT."""
    headers = (("Content-Type", "application/json"),)
    return world.stack.request(Request("PUT", path, "", headers, json.dumps(body).encode()))


def send(world: World, token: str, route: str, target: str = "") -> Response:
    """Send a request with a token."""
    path, _, query = (target or ROUTES[route]).partition("?")
    headers = (("Authorization", f"Bearer {token}"),) if token else ()
    return world.stack.request(Request(route.partition(" ")[0], path, query, headers))


@contextmanager
def permitted(world: World, allowed: dict[str, list[str]]) -> Iterator[None]:
    """Grant permissions to read for the length of the block."""

    def permit(readers: dict[str, list[str]]) -> None:
        run = PERMITTED["GET /reports/{run}"].rpartition("/")[2]
        for name in ("terms", quote(f"report:{run}", safe="")):
            assert put(world, f"/documents/{name}/permissions", readers).status == 200

    permit(allowed)
    yield
    permit({"agencies": [], "people": []})


def function_of(world: World, route: str) -> str:
    """Return the name of the function of a route."""
    method, _, path = route.partition(" ")
    return world.stack.answered_routes()[Route(method, path)]


def test_every_route_is_known_here(world: World) -> None:
    assert {f"{one.method} {one.path}" for one in world.stack.answered_routes()} == ROUTES.keys()


def test_the_openapi_document_says_which_routes_people_may_use() -> None:
    opened_ = {route for route, one in OPERATIONS.items() if {"token": []} in one["security"]}
    assert opened_ == {route for route, roles in ROLES.items() if roles}


# ---------------------------------------------------------------- valid tokens


@cases("route", OWN)
def test_a_person_sees_their_own_agency(world: World, issuer: Issuer, route: str) -> None:
    response = send(world, issuer.token(), route)
    assert response.status == 200, response.body
    assert response.body == world.stack.request(Request("GET", *ROUTES[route].partition("?")[::2])).body


@cases("route", OWN)
def test_a_person_cannot_see_whether_another_agency_exists(world: World, issuer: Issuer, route: str) -> None:
    for agency in ("43", "nobody", "420", "4", "42%2523GBP"):
        response = send(world, issuer.token(), route, re.sub("/42(?=/|$)", f"/{agency}", ROUTES[route]))
        assert (response.status, response.json()["title"]) == (403, "Forbidden"), agency


def test_a_person_sees_only_their_own_events(world: World, issuer: Issuer) -> None:
    shown = send(world, issuer.token(), "GET /events").json()["items"]
    assert [event["agency"] for event in shown] == ["42"]
    assert send(world, issuer.token(), "GET /events", f"/events?{SPAN}&agency=42").json()["items"] == shown
    assert send(world, issuer.token(), "GET /events", f"/events?{SPAN}&agency=43").status == 403


def test_a_person_sees_only_their_own_accounts(world: World, issuer: Issuer) -> None:
    shown = send(world, issuer.token(), "GET /accounts").json()["items"]
    assert {account["agency"] for account in shown} == {"42"}
    assert send(world, issuer.token(), "GET /accounts", "/accounts?agency=42").json()["items"] == shown
    assert send(world, issuer.token(), "GET /accounts", "/accounts?agency=43").status == 403


def test_a_person_sees_only_their_own_accounts_and_days_in_the_overview(world: World, issuer: Issuer) -> None:
    path = "/overview?period=2026-10"
    shown = send(world, issuer.token(), "GET /overview", path).json()
    assert {account["agency"] for account in shown["items"]} == {"42"}
    assert shown["days"][0]["net"] == shown["items"][0]["now"]["net"]
    assert send(world, issuer.token(), "GET /overview", f"{path}&agency=42").json() == shown
    assert send(world, issuer.token(), "GET /overview", f"{path}&agency=43").status == 403


def test_a_person_sees_only_their_own_statements_and_disputes(world: World, issuer: Issuer) -> None:
    for agency in ("42", "43"):
        keep_sealed(world, plan_of("2026-09", bound="202610230200"), document(agency))
    shown = send(world, issuer.token(), "GET /statements").json()["items"]
    assert [statement["agency"] for statement in shown] == ["42"]
    for path in ("/statements", "/disputes", "/receivables"):
        assert send(world, issuer.token(), f"GET {path}", f"{path}?agency=43").status == 403
        assert send(world, issuer.token(), f"GET {path}", f"{path}?agency=42").status == 200


def test_a_person_sees_only_the_receivables_of_their_own_agency(world: World, issuer: Issuer) -> None:
    for agency in ("42", "43"):
        keep_sealed(
            world, plan_of("2026-09", bound="202610230200"), document(agency, closing="7.50", commission="7.50")
        )
    shown = send(world, issuer.token(), "GET /receivables").json()
    assert [one["agency"] for one in shown["items"]] == ["42"]
    assert [one["balance"] for one in shown["totals"]] == [shown["items"][0]["balance"]]


def test_a_person_finds_only_what_belongs_to_their_own_agency(world: World, issuer: Issuer) -> None:
    def found(text: str) -> dict[str, Any]:
        answer = send(world, issuer.token(), "GET /search", f"/search?q={text}").json()
        return {kind: some for kind, some in answer.items() if some and kind != "all_sources"}

    assert [one["id"] for one in found("e0")["events"]] == ["e0"]
    assert found("shop%23e1") == found("e1") == {}, "an event of agency 43"
    assert found("42") == {"accounts": [{"agency": "42", "currency": "GBP"}]}
    assert found("43") == {}
    keep_sealed(world, plan_of("2026-09", bound="202610230200"), document("43", number="S-000900"))
    assert found("S-000900") == {}
    assert [one["agency"] for one in world.read("/search", q="S-000900")["statements"]] == ["43"]


def test_a_person_sees_no_totals_of_a_period(world: World, issuer: Issuer) -> None:
    keep_sealed(world, plan_of("2026-09", bound="202610230200"), document("43"))
    (sealed,) = (one for one in send(world, issuer.token(), "GET /periods").json()["items"] if one["state"] == "sealed")
    assert sealed.keys() == {"period", "state", "from", "to", "cut_off", "recorded_until", "time_zone"}


def test_a_person_accepts_a_statement_and_disputes_a_line_of_their_own_agency(world: World, issuer: Issuer) -> None:
    for period in ("2026-07", "2026-08"):
        keep_sealed(world, plan_of(period, bound="202610230200"), document("42"))
    headers = (("Authorization", f"Bearer {issuer.token()}"), ("Content-Type", "application/json"))
    accepted = json.dumps({"status": "accepted", "reason": "checked", "seen": 0}).encode()
    path = "/statements/42/GBP/2026-07/status"
    response = world.stack.request(Request("PUT", path, "", headers, accepted))
    assert (response.status, response.json()["history"][0]["by"]) == (200, "ann")
    disputed = json.dumps({"source": "shop", "id": "e0", "reason": "not ours"}).encode()
    path = "/statements/42/GBP/2026-08/disputes"
    response = world.stack.request(Request("POST", path, "", headers, disputed))
    assert (response.status, "has no line of that event" in response.json()["detail"]) == (404, True)


def test_a_person_sees_only_their_own_held_events_and_no_names_of_others(world: World, issuer: Issuer) -> None:
    for agency in ("42", "43"):
        post(world, refund(f"held-{agency}", "-1", of="late", agency=agency))
    post(world, refund("known", "-1", of="late"))
    post(world, sale("late", agency="43"))
    decision = {"action": "discard", "source": "shop", "id": "known", "by": "arn:bob", "reason": "sent twice"}
    world.stack.invoke("repair", decision)
    world.stack.invoke("watch", {})
    (held,) = send(world, issuer.token(), "GET /held").json()["items"]
    assert (held["id"], held["problems"][0]["problem"]) == ("held-42", "is a sale of another account")
    assert "43" not in json.dumps(held["problems"])
    (discarded,) = send(world, issuer.token(), "GET /held", "/held?status=discarded").json()["items"]
    assert (discarded["discarded"].keys(), discarded["discarded"]["reason"]) == ({"at", "reason"}, "sent twice")
    (shown,) = world.read("/held", status="discarded")["items"]
    assert shown["discarded"]["by"] == "arn:bob"


def test_a_person_does_not_see_which_operator_rerated_a_sale(world: World, issuer: Issuer) -> None:
    keep(world, 0, {"percent": "10"})
    post(world, [sale("rerated", "100"), rerating("held", "never")])
    keep(world, 1, {"percent": "20"})
    post(world, rerating("rr", "rerated", 2))
    for path in (f"/events?{SPAN}", "/events/shop/rr", "/events/shop/rr/explain", "/events/shop/rr/story", "/held"):
        shown = send(world, issuer.token(), f"GET {path}", path).body.decode()
        assert ("rate-card:42" in shown, '"ann"' in shown) == (True, False), path
    assert world.read("/events/shop/rr")["rerating"]["by"] == "ann"


@pytest.mark.parametrize("route", EVENT)
def test_a_person_reads_only_their_own_agencys_events_and_their_explanations(
    world: World, issuer: Issuer, route: str
) -> None:
    assert send(world, issuer.token(), route).status == 200
    other, none = (send(world, issuer.token(), route, ROUTES[route].replace("e0", one)) for one in ("e1", "none"))
    assert other.status == none.status in {403, 404}


@pytest.mark.parametrize("route", COMMON)
def test_a_person_sees_what_all_agencies_may_see(world: World, issuer: Issuer, route: str) -> None:
    response = send(world, issuer.token(**{CLAIM: "43"}), route)
    assert response.status == 200
    assert response.body == world.stack.request(Request("GET", *ROUTES[route].partition("?")[::2])).body


@pytest.mark.parametrize("route", PERMITTED)
def test_a_person_reads_what_is_permitted_to_their_agency_or_to_them(world: World, issuer: Issuer, route: str) -> None:
    for allowed in ({"agencies": ["42"], "people": []}, {"agencies": [], "people": ["ann"]}):
        with permitted(world, allowed):
            assert send(world, issuer.token(), route).status == 200
            assert send(world, issuer.token(sub="bob", **{CLAIM: "43"}), route).status == 404
    assert send(world, issuer.token(), route).status == 404


def test_a_person_writes_messages_on_their_own_agencys_lines_under_their_own_name(world: World, issuer: Issuer) -> None:
    def say(token: str, **body: str) -> Response:
        content = json.dumps({"id": f"m-{len(items(world, 'EntityTable'))}", "text": "Hello?", **body}).encode()
        headers = (("Authorization", f"Bearer {token}"), ("Content-Type", "application/json"))
        return world.stack.request(Request("POST", LINES[f"GET {MESSAGES_PATH}"], "", headers, content))

    assert (say(issuer.token()).status, say(issuer.token(), user="bob").status) == (201, 403)
    response = send(world, issuer.token(), f"GET {MESSAGES_PATH}")
    assert [message["user"] for message in response.json()["items"]] == ["ann"]
    assert say(issuer.token(**{CLAIM: "43"})).status == 403


def test_people_of_an_agency_finance_and_support_write_about_the_agency_and_its_statements(
    world: World, issuer: Issuer
) -> None:
    keep_sealed(world, plan_of("2026-05", bound="202610230200"), document("42"))
    for subject in ("agencies/42", "statements/42%23GBP%232026-05"):
        path = f"/threads/{subject}/messages"
        ann, sam = issuer.token(), issuer.token(sub="sam", **{ROLE: "support", CLAIM: None})
        for token in (ann, sam):
            assert written(world, token, "POST", path, {"id": "m-1", "text": "Hello?"}).status == 201
        for role in Role:
            token = issuer.token(**{ROLE: role, CLAIM: "42" if role is Role.AGENCY else None})
            shown = send(world, token, f"GET {MESSAGES_PATH}", path).json()["items"]
            assert {(one["user"], one["role"]) for one in shown} == {("ann", "agency"), ("sam", "support")}
        auditor = issuer.token(**{ROLE: "auditor", CLAIM: None})
        assert written(world, auditor, "POST", path, {"id": "m-2", "text": "Hello?"}).status == 403
        for number, (roles, shown_role) in enumerate(AS_FINANCE.items()):
            token = issuer.token(sub="fay", **{ROLE: [*roles], CLAIM: None})
            answer = written(world, token, "POST", path, {"id": f"m-{number}", "text": "It is overdue."})
            assert (answer.status, answer.json()["role"]) == (201, shown_role)
        other = issuer.token(**{CLAIM: "43"})
        assert send(world, other, f"GET {MESSAGES_PATH}", path).status == 403
        assert written(world, other, "POST", path, {"id": "m-2", "text": "Hello?"}).status == 403


def test_a_person_cannot_read_threads_on_orders_reports_or_subjects_of_other_agencies(
    world: World, issuer: Issuer
) -> None:
    assert place(world, "thread", item(agency="42"), item(agency="43")).status == 201
    keep_sealed(world, plan_of("2026-09", bound="202610230200"), document("43"))
    run = PERMITTED["GET /reports/{run}"].rpartition("/")[2]
    existing = (
        "lines/shop%23e1",
        "orders/thread",
        f"reports/{run}",
        "agencies/43",
        "statements/43%23GBP%232026-09",
    )
    missing = (
        "lines/shop%23none",
        "orders/none",
        "reports/2026-10-23T0115-0130",
        "agencies/none",
        "statements/42%23GBP%232026-01",
    )
    for subjects, status in ((existing, 200), (missing, 404)):
        for subject in subjects:
            path = f"/threads/{subject}/messages"
            assert world.get(path).status == status, subject
            response = send(world, issuer.token(), f"GET {MESSAGES_PATH}", path)
            assert (response.status, response.json()["title"]) == (403, "Forbidden"), subject
    with permitted(world, {"agencies": ["42"], "people": []}):
        assert send(world, issuer.token(), f"GET {MESSAGES_PATH}", f"/threads/reports/{run}/messages").status == 200


def test_the_story_of_an_event_that_refers_to_another_agencys_sale_does_not_show_the_sale(
    world: World, issuer: Issuer
) -> None:
    seen = view("looked", "page", "ann")
    post(world, {**seen, "subject": "42", "data": {**seen["data"], "refers_to": "e1"}})
    path, route = "/events/shop/looked/story", "GET /events/{source}/{event}/story"
    assert [one["id"] for one in world.read(path)["items"]] == ["e1"]
    assert [one["id"] for one in send(world, issuer.token(), route, path).json()["items"]] == ["looked"]


def test_a_person_with_an_invalid_name_cannot_write_messages(world: World, issuer: Issuer) -> None:
    address = LINES[f"GET {MESSAGES_PATH}"]
    for subject in ("ann#2026", "ann\nbob", "x" * 201):
        headers = (("Authorization", f"Bearer {issuer.token(sub=subject)}"), ("Content-Type", "application/json"))
        response = world.stack.request(Request("POST", address, "", headers, b'{"id": "m-1", "text": "Hello?"}'))
        assert (response.status, response.json()["title"]) == (403, "Forbidden"), subject
    assert world.get(address).status == 200


@pytest.mark.parametrize("route", [route for route in ROUTES if route.startswith("GET")])
def test_an_invalid_name_in_a_path_is_refused_for_a_person_too(
    world: World, issuer: Issuer, route: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(BaseClient, "_make_api_call", as_dynamodb_would)
    headers = (("Authorization", f"Bearer {issuer.token()}"),)
    for what, (sent, _, _) in bad_paths(route, GOOD[route]):
        assert world.stack.request(replace(sent, headers=headers)).status in {400, 403, 404}, what


@cases("route", CLOSED)
def test_a_person_cannot_use_routes_that_show_all_agencies(world: World, issuer: Issuer, route: str) -> None:
    before = items(world, "LedgerTable")
    assert send(world, issuer.token(), route).status in {403, 404}
    assert items(world, "LedgerTable") == before


def test_of_two_agencies_that_a_path_can_mean_each_person_sees_their_own(world: World, issuer: Issuer) -> None:
    """Decoded once more, ``50%25 off`` becomes ``50% off``."""
    both = "GET /accounts/{agency}/{currency}", "/accounts/50%2525%20off/GBP"
    for agency, gross in (("50% off", "1.00"), ("50%25 off", "2.00")):
        response = send(world, issuer.token(**{CLAIM: agency}), *both)
        assert (response.status, response.json().get("gross")) == (200, gross), agency
    for agency in ("50", "50%2525 off"):
        assert send(world, issuer.token(**{CLAIM: agency}), *both).status == 403


@cases("route", ROUTES)
def test_a_machine_may_use_every_route_of_the_template(world: World, route: str) -> None:
    path, _, query = ROUTES[route].partition("?")
    response = world.stack.request(Request(route.partition(" ")[0], path, query))
    assert response.status not in {401, 403}
    assert "no route" not in str(response.json())


# ---------------------------------------------------------------- roles


def written(world: World, token: str, method: str, path: str, body: Any) -> Response:
    """Send a body with a token."""
    headers = (("Authorization", f"Bearer {token}"), ("Content-Type", "application/json"))
    return world.stack.request(Request(method, path, "", headers, json.dumps(body).encode()))


def is_refused(response: Response) -> bool:
    """Return whether a caller was not admitted to a route, or the people's API has no such route."""
    return response.status in {401, 403} or response.json() == {"message": "Not Found"}


def test_the_openapi_document_names_the_roles_of_each_route() -> None:
    named = {route: set(one.get("x-roles", [])) for route, one in OPERATIONS.items()}
    assert named == {route: set(roles) for route, roles in ROLES.items()}


@pytest.mark.parametrize(("words", "roles"), [("machines only", frozenset()), ("machines and staff", STAFF)])
def test_the_docs_say_of_each_route_that_agencies_cannot_use_who_may(words: str, roles: frozenset[Role]) -> None:
    text = " ".join(reference().split())
    said = {
        route
        for route, callers in re.findall(r"### `([A-Z]+ [^`]+)` .*?\*\*Callers:\*\* ([^.]+)\.", text)
        if callers == words
    }
    assert said == {route for route in ROLES if ROLES[route] == roles}


@cases("role", Role)
@cases("route", ROUTES)
def test_each_role_may_use_its_routes_and_no_other(world: World, issuer: Issuer, route: str, role: Role) -> None:
    token = issuer.token(**{ROLE: role, CLAIM: "42" if role is Role.AGENCY else None})
    response = send(world, token, route)
    assert is_refused(response) == (role not in ROLES[route]), response.body


@cases("route", OWN | EVENT | NARROWED | COMMON | STAFF_READS)
def test_staff_see_what_machines_see(world: World, issuer: Issuer, route: str) -> None:
    seen = world.stack.request(Request("GET", *ROUTES[route].partition("?")[::2]))
    for role in STAFF:
        response = send(world, issuer.token(**{ROLE: role, CLAIM: None}), route)
        if response.status == 200:
            assert response.body == seen.body
        else:
            assert (response.status, response.json()["detail"]) == (seen.status, seen.json()["detail"])


@pytest.mark.parametrize("route", PERMITTED)
def test_staff_read_documents_and_reports_without_a_permission(world: World, issuer: Issuer, route: str) -> None:
    for role in STAFF:
        assert send(world, issuer.token(**{ROLE: role}), route).status == 200


def test_callers_see_who_they_are_with_their_roles_and_agencies(world: World, issuer: Issuer) -> None:
    def shown(**claims: Any) -> Any:
        return send(world, issuer.token(**claims), "GET /me").json()

    zone: dict[str, object] = {"time_zone": "UTC", "first_period": None, "upload_sources": [], "rounding": "half-even"}
    assert shown() == {"name": "ann", "machine": False, "roles": ["agency"], "agencies": ["42"], **zone}
    assert shown(**{CLAIM: ["43", "42"]})["agencies"] == ["42", "43"]
    fay = {"name": "fay", "machine": False, "roles": ["finance", "support"], "agencies": [], **zone}
    assert shown(sub="fay", **{ROLE: ["support", "finance"]}) == fay, "the agency in the token of staff is none"
    shop = world.read("/me")
    assert (shop["machine"], shop["roles"], shop["agencies"]) == (True, [], [])


def test_an_agency_in_the_token_of_staff_narrows_nothing(world: World, issuer: Issuer) -> None:
    shown = send(world, issuer.token(**{ROLE: "support", CLAIM: "43"}), "GET /accounts").json()["items"]
    assert {"42", "43"} <= {account["agency"] for account in shown}


def test_roles_of_staff_add_up(world: World, issuer: Issuer) -> None:
    both = issuer.token(**{ROLE: ["finance", "support"], CLAIM: None})
    for route, roles in ROLES.items():
        assert is_refused(send(world, both, route)) == roles.isdisjoint({Role.FINANCE, Role.SUPPORT}), route


def test_a_person_of_several_agencies_sees_each_and_no_other(world: World, issuer: Issuer) -> None:
    token = issuer.token(**{CLAIM: ["42", "43"]})
    for agency, status in (("42", 200), ("43", 200), ("50% off", 403)):
        name = quote(agency)
        assert send(world, token, "GET /accounts", f"/accounts?agency={name}").status == status
        assert send(world, token, "GET /accounts", f"/accounts/{quote(name)}/GBP").status == status
    response = send(world, token, "GET /accounts")
    assert (response.status, response.json()["errors"][0]["expected"]) == (400, "one of your agencies: 42, 43")


def test_finance_resolves_the_dispute_of_a_statement(world: World, issuer: Issuer) -> None:
    keep_sealed(world, plan_of("2026-06", bound="202610230200"), document("43"))
    fay = issuer.token(sub="fay", **{ROLE: "finance", CLAIM: None})
    bob = issuer.token(sub="bob", **{CLAIM: "43"})
    path = "/statements/43/GBP/2026-06/status"
    for seen, (token, status) in enumerate(((bob, "disputed"), (fay, "resolved"))):
        body = {"status": status, "reason": f"it is {status}", "seen": seen}
        assert written(world, token, "PUT", path, body).json()["status"] == status
    changes = send(world, fay, "GET /statements", "/statements/43/GBP/2026-06").json()["history"]
    assert [(one["party"], one["by"]) for one in changes] == [("agency", "bob"), ("marketplace", "fay")]
    changes = send(world, bob, "GET /statements", "/statements/43/GBP/2026-06").json()["history"]
    assert [one.get("by") for one in changes] == ["bob", None], "an agency does not see who of staff it was"


def test_an_agency_cannot_issue_a_statement(world: World, issuer: Issuer) -> None:
    keep_sealed(world, plan_of("2026-05", bound="202610230200"), document("42"))
    body = {"status": "issued", "reason": "hurry", "seen": 0}
    response = written(world, issuer.token(), "PUT", "/statements/42/GBP/2026-05/status", body)
    assert (response.status, "ask the marketplace" in response.json()["detail"]) == (403, True)


def test_finance_registers_agencies_and_writes_rate_cards_and_no_other_document(world: World, issuer: Issuer) -> None:
    fay = issuer.token(sub="fay", **{ROLE: "finance", CLAIM: None})
    registration = {"seen": 0, "content": {"legal_name": "Agency 44"}}
    assert written(world, fay, "PUT", "/agencies/44", registration).status == 201
    rate_card = {"seen": 0, "content": content({"percent": "12.5"}, valid_from="2026-10-01T00:00:00Z")}
    for name, status in (("rate-card:44", 201), ("terms-2", 403), ("agency:45", 403), ("owner:default", 403)):
        response = written(world, fay, "PUT", f"/documents/{name}", rate_card)
        assert response.status == status, (name, response.body)
    metadata = send(world, fay, "GET /documents", "/documents/rate-card:44/metadata").json()
    assert metadata["created_by"] == "fay"


def recorded(world: World, token: str, **event: Any) -> tuple[str, str]:
    """Send an event of finance's source; return its verdict, and the fields of its problems."""
    body = json.dumps({"source": "finance", **event}).encode()
    headers = (("Authorization", f"Bearer {token}"), ("Content-Type", ONE))
    (item,) = world.stack.request(Request("POST", "/events", "", headers, body)).json()["items"]
    return item["verdict"], " ".join(error["field"] for error in item.get("errors", []))


def test_finance_records_payments_and_adjustments_under_its_own_name(world: World, issuer: Issuer) -> None:
    fay, bob = (issuer.token(sub=sub, **{ROLE: "finance", CLAIM: None}) for sub in ("fay", "bob"))
    paid = payment("paid", "30", reason="transfer 8") | {"recordedby": "somebody else"}
    adjusted = adjustment("adjusted", "-1.50", "e0", refers_to_source="shop", reason="agreed")
    for event in (paid, adjusted):
        assert recorded(world, fay, **event | {"source": "finance"}) == ("recorded", "")
        assert recorded(world, bob, **event | {"source": "finance"}) == ("duplicate", "")
        shown = world.read(f"/events/finance/{event['id']}")
        assert (shown["recorded_by"], shown["reason"]) == ("fay", event["data"]["reason"])
    assert "recorded_by" not in world.read("/events/shop/e0"), "a machine recorded it"
    world.drain()
    assert world.read("/accounts/42/GBP")["payments"] == "30"


def test_an_agency_and_the_sealed_files_do_not_name_who_recorded_an_event(world: World, issuer: Issuer) -> None:
    fay = issuer.token(sub="fay", **{ROLE: "finance", CLAIM: None})
    unseen = {"source": "finance"}
    assert recorded(world, fay, **payment("unseen", "1") | unseen) == ("recorded", "")
    assert recorded(world, fay, **adjustment("waiting", "1", "later", refers_to_source="shop") | unseen)[0] == "held"
    events = [f"/events/finance/unseen{part}" for part in ("", "/story", "/explain")]
    for path in (f"/events?{SPAN}", "/held", *events):
        shown = send(world, issuer.token(), f"GET {path}", path)
        assert (shown.status, b"recorded_by" in shown.body, b"fay" in shown.body) == (200, False, False), path
    (held,) = (one for one in world.read("/held")["items"] if one["id"] == "waiting")
    assert held["event"]["recorded_by"] == "fay"
    post(world, sale("later"))
    world.pass_time(minutes=15)
    world.stack.invoke("watch", {})
    assert world.read("/events/finance/waiting")["recorded_by"] == "fay", "also after it was held"
    world.pass_time(hours=1)
    world.report()
    sealed = [key for key in world.stack.bucket.keys() if key.endswith("lines.csv.gz")]  # noqa: SIM118 - no dict
    lines = b"".join(decompress(world.stack.bucket.open(key).read()) for key in sealed)
    assert (b",finance,waiting," in lines, b"fay" in lines) == (True, False)


def test_finance_cannot_record_what_a_shop_sends(world: World, issuer: Issuer) -> None:
    fay = issuer.token(sub="fay", **{ROLE: "finance", CLAIM: None})
    before = items(world, "LedgerTable")
    for event, field_ in (
        (sale("s"), "type"),
        (refund("r", "-1", of="e0"), "type"),
        (void("v", "e0"), "type"),
        (view("w", "page", "ann"), "type"),
        (rerating("rr2", "e0"), "id data.rerating.by"),
        (sale("s", "-1"), "data.amount"),
    ):
        assert recorded(world, fay, **event | {"source": "finance"}) == ("rejected", field_), event
    assert recorded(world, fay, **payment("e0") | {"source": "shop"}) == ("rejected", "source")
    assert recorded(world, fay, **sale("s")) == ("rejected", "type source")
    assert items(world, "LedgerTable") == before


def test_support_writes_messages_on_any_agencys_lines_under_its_own_name(world: World, issuer: Issuer) -> None:
    sue = issuer.token(sub="sue", **{ROLE: "support", CLAIM: None})
    path = "/threads/lines/shop%23e1/messages"
    assert written(world, sue, "POST", path, {"id": "s-1", "text": "We are looking at it."}).status == 201
    assert written(world, sue, "POST", path, {"id": "s-2", "text": "Hello", "user": "ann"}).status == 403
    shown = send(world, issuer.token(**{CLAIM: "43"}), f"GET {MESSAGES_PATH}", path).json()["items"]
    assert [(one["user"], one["text"]) for one in shown] == [("sue", "We are looking at it.")]


# ---------------------------------------------------------------- invalid tokens

Bad = Callable[[Issuer], str]


def _past() -> datetime:
    return datetime.now(UTC) - timedelta(minutes=1)


def _soon() -> datetime:
    return datetime.now(UTC) + timedelta(minutes=10)


def _stranger(issuer: Issuer, header: dict[str, Any]) -> str:
    return jwt.encode(issuer.claims(), generate_private_key(65537, 2048), "RS256", header)


def _with_public_key_as_secret(issuer: Issuer) -> str:
    """Sign with the public key as an HMAC secret, which a verifier accepts if it trusts the token's algorithm."""
    public = issuer.key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    head = _base64(json.dumps({"alg": "HS256", "kid": "one", "typ": "JWT"}).encode())
    content = f"{head}.{issuer.token().split('.')[1]}"
    return f"{content}.{_base64(hmac.digest(public, content.encode(), 'sha256'))}"


def _base64(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()


def _with_other_claims(issuer: Issuer) -> str:
    head, _, signature = issuer.token().split(".")
    return ".".join([head, issuer.token(**{CLAIM: "43"}).split(".")[1], signature])


UNAUTHORIZED: dict[str, Bad] = {
    "signed by a stranger": lambda issuer: _stranger(issuer, {"kid": "one"}),
    "of a key nobody knows": lambda issuer: _stranger(issuer, {"kid": "two"}),
    "of no named key": lambda issuer: _stranger(issuer, {}),
    "not signed": lambda issuer: jwt.encode(issuer.claims(), "", "none", {"kid": "one"}),
    "signed with the public key as a secret": _with_public_key_as_secret,
    "with another's claims put in": _with_other_claims,
    "with the signature cut off": lambda issuer: issuer.token().rpartition(".")[0] + ".",
    "with the signature cut short": lambda issuer: issuer.token()[:-8],
    "expired": lambda issuer: issuer.token(exp=_past()),
    "that never expires": lambda issuer: issuer.token(exp=None),
    "not valid yet": lambda issuer: issuer.token(nbf=_soon()),
    "issued in the future": lambda issuer: issuer.token(iat=_soon()),
    "of another issuer": lambda issuer: issuer.token(iss="https://elsewhere.example"),
    "of an issuer that begins alike": lambda issuer: issuer.token(iss=f"{issuer.url}/"),
    "of no issuer": lambda issuer: issuer.token(iss=None),
    "for another audience": lambda issuer: issuer.token(aud="another-app"),
    "for other audiences": lambda issuer: issuer.token(aud=["a", "b"]),
    "for no audience": lambda issuer: issuer.token(aud=None),
    "for an audience that is an object": lambda issuer: issuer.token(aud={AUDIENCE: AUDIENCE}),
    "for an audience in a list within a list": lambda issuer: issuer.token(aud=[[AUDIENCE]]),
    "for an audience that begins alike": lambda issuer: issuer.token(aud=f"{AUDIENCE} "),
    "for an audience that is part of the name": lambda issuer: issuer.token(aud=AUDIENCE[:-1]),
    "for an audience in capitals": lambda issuer: issuer.token(aud=AUDIENCE.upper()),
    "for a client that is an object": lambda issuer: issuer.token(aud=None, client_id={AUDIENCE: AUDIENCE}),
    "for another client": lambda issuer: issuer.token(aud=None, client_id="another-app"),
    "that is garbage": lambda _: "x.y.z",
    "that is empty": lambda _: " ",
}
"""Tokens that API Gateway refuses."""

UNNAMED: dict[str, Bad] = {
    "of no agency": lambda issuer: issuer.token(**{CLAIM: None}),
    "of an agency without a name": lambda issuer: issuer.token(**{CLAIM: ""}),
    "of an invalid agency": lambda issuer: issuer.token(**{CLAIM: "42#GBP"}),
    "of an agency with a blank at the end": lambda issuer: issuer.token(**{CLAIM: "42 "}),
    "of null as an agency": lambda issuer: issuer.signed({**issuer.claims(), CLAIM: None}),
    "with the agency in another claim": lambda issuer: issuer.token(**{CLAIM: None, "agency": "42"}),
    "of a list of agencies with an invalid one": lambda issuer: issuer.token(**{CLAIM: ["42", ""]}),
    "of no role": lambda issuer: issuer.token(**{ROLE: None}),
    "of an unknown role": lambda issuer: issuer.token(**{ROLE: "admin"}),
    "of an unknown role beside a known one": lambda issuer: issuer.token(**{ROLE: ["finance", "admin"]}),
    "of an agency's person who is of staff, too": lambda issuer: issuer.token(**{ROLE: ["agency", "finance"]}),
    "of nobody": lambda issuer: issuer.token(sub=None),
    "of somebody without a name": lambda issuer: issuer.token(sub=""),
}
"""Verified tokens without a person, an agency or a role, or with roles that do not go together."""

FOREIGN: dict[str, Bad] = {
    "of another agency": lambda issuer: issuer.token(**{CLAIM: "43"}),
    "of every agency": lambda issuer: issuer.token(**{CLAIM: "*"}),
    "of an agency that begins alike": lambda issuer: issuer.token(**{CLAIM: "420"}),
    "of an agency that ends alike": lambda issuer: issuer.token(**{CLAIM: "042"}),
    "of an agency whose name is shorter": lambda issuer: issuer.token(**{CLAIM: "4"}),
    "of an agency with other digits": lambda issuer: issuer.token(**{CLAIM: "\uff14\uff12"}),
}
"""Verified tokens of other agencies than 42."""


def test_an_invalid_token_is_refused_on_every_route(
    world: World, issuer: Issuer, record_property: Callable[[str, object], None]
) -> None:
    for name, bad in UNAUTHORIZED.items():
        token = bad(issuer)
        for route in ROUTES:
            response = send(world, token, route)
            assert (response.status, response.json()) == (401, {"message": "Unauthorized"}), (name, route)
    record_property("bad tokens", f"{len(UNAUTHORIZED)} kinds refused on {len(ROUTES)} routes each")


def test_a_token_without_a_person_an_agency_or_a_role_is_refused_on_every_route(
    world: World, issuer: Issuer, record_property: Callable[[str, object], None]
) -> None:
    authorizer = JwtAuthorizer(issuer.url, (AUDIENCE,))
    for name, unnamed in UNNAMED.items():
        token = unnamed(issuer)
        context = authorizer.authorize(token)
        for route in ROUTES:
            # The API itself refuses a token on a route for machines (403 or 404); on other routes the function does.
            expected = {403, 404} if route in CLOSED else {403}
            assert send(world, token, route).status in expected, (name, route)
            assert invoked(world, route, context)["statusCode"] == 403, (name, route)
    record_property("tokens of nobody", f"{len(UNNAMED)} kinds refused on {len(ROUTES)} routes each")


def test_a_token_of_another_agency_shows_nothing_of_an_agency(
    world: World, issuer: Issuer, record_property: Callable[[str, object], None]
) -> None:
    refused = OWN | LINES | EVENT | ACCEPT | PERMITTED | CLOSED
    with permitted(world, {"agencies": ["42"], "people": []}):
        assert {send(world, issuer.token(), route).status for route in PERMITTED} == {200}
        for name, foreign in FOREIGN.items():
            token = foreign(issuer)
            for route in refused:
                assert send(world, token, route).status in {403, 404}, (name, route)
            response = send(world, token, "GET /events")
            assert response.status == 200, name
            assert "42" not in {event["agency"] for event in response.json()["items"]}, name
    record_property("foreign tokens", f"{len(FOREIGN)} kinds refused on {len(refused)} routes each")


# ---------------------------------------------------------------- events that reach a function directly


@cases("route", ROUTES)
@cases("authorizer", [None, {}, {"iam": {"userArn": ""}}, {"iam": None}, {"lambda": {"agency": "42"}}])
def test_a_function_refuses_an_unauthenticated_event(world: World, route: str, authorizer: object) -> None:
    response = invoked(world, route, authorizer)
    assert (response["statusCode"], json.loads(response["body"])["title"]) == (401, "Unauthenticated")


@cases("route", CLOSED)
def test_a_function_refuses_a_person_on_a_route_for_machines(world: World, route: str) -> None:
    person = {"jwt": {"claims": {"sub": "ann", CLAIM: "42", ROLE: "agency"}, "scopes": None}}
    response = invoked(world, route, person)
    assert (response["statusCode"], json.loads(response["body"])["title"]) == (403, "Forbidden")


def invoked(world: World, route: str, authorizer: object) -> dict[str, Any]:
    """Invoke the function behind a route as if API Gateway had admitted the request."""
    method, _, template = route.partition(" ")
    path, _, query = ROUTES[route].partition("?")
    event = {
        "version": "2.0",
        "routeKey": route,
        "rawPath": path,
        "rawQueryString": query,
        "headers": {},
        "queryStringParameters": dict(pair.split("=") for pair in query.split("&")) if query else {},
        "pathParameters": path_parameters(Route(method, template), path),
        "requestContext": {
            "http": {"method": method, "path": path},
            "stage": "$default",
            "requestId": "r",
            **({} if authorizer is None else {"authorizer": authorizer}),
        },
        "isBase64Encoded": False,
    }
    response: dict[str, Any] = world.stack.invoke(function_of(world, route), event)
    return response
