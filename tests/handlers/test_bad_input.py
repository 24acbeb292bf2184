"""Bad input to every route: refused by its field, with nothing written, and never a server error."""

import gzip
import json
from collections.abc import Callable, Iterator
from collections.abc import Set as AbstractSet
from copy import deepcopy
from dataclasses import dataclass, field, replace
from io import StringIO
from typing import Any, Final
from urllib.parse import quote, urlencode

import pytest
from botocore.client import BaseClient
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.aws.telemetry import logger
from quarterhour.file_formats.bank.line import FILE
from quarterhour.model.identifiers import Account
from quarterhour_tools.emulator.http_api import Request, Response
from tests.handlers.test_rate_cards import keep as keep_rate_card
from tests.support.agencies import FULL
from tests.support.bank_files import table
from tests.support.cases import cases
from tests.support.events import refund, sale
from tests.support.laws import examples
from tests.support.orders import body as order
from tests.support.proposals import drafted, keep_proposal
from tests.support.requests import BATCH, LINES, ONE, post
from tests.support.stored_statements import document, keep_draft, keep_sealed, plan_of
from tests.support.system import World, opened
from tests.support.tables import items, ledger

JSON: Final = "application/json"
DAY: Final = {"from": "2026-10-23", "to": "2026-10-24", "limit": "10"}
ACCOUNT: Final = {"agency": "42", "currency": "GBP"}
THREAD: Final = {"kind": "lines", "subject": "shop%23good"}
MESSAGE: Final = {"id": "m-1", "user": "ann", "text": "Where is it?"}
NEWEST: Final = {"order": "newest", "limit": "10"}
RULES: Final = {"document": "house%20rules"}
PROPOSED: Final = drafted("house rules", {"pets": "cats"}, 1)
AGENCY: Final = {"agency": "42"}
STATEMENT: Final = {**ACCOUNT, "period": "2026-10"}
STATES: Final = {"layer": "5m", "last": "3"}

Path = tuple[str | int, ...]
"""The path of a value in a JSON text."""


@dataclass(frozen=True, slots=True)
class Good:
    """A valid request of a route; each bad request differs from it in one thing.

    ``statuses``: those of a successful response. ``accepts``: the names of tricks that are valid, by variable of the
    path or parameter. ``anything``: the fields of the body that hold any JSON. A body that is a text is sent as it is.
    """

    variables: dict[str, str] = field(default_factory=dict)
    query: dict[str, str] = field(default_factory=dict)
    body: Any = None
    content_type: str = ""
    statuses: tuple[int, ...] = (200,)
    accepts: dict[str, AbstractSet[str]] = field(default_factory=dict)
    anything: tuple[str, ...] = ()


TRICKS: Final = {
    "a parent": "..",
    "a parent, encoded": "..%2F..%2Fetc%2Fpasswd",
    "a parent, encoded twice": "%252e%252e%252f%252e%252e%252f",
    "an absolute path": "%2Fetc%2Fpasswd",
    "an absolute path of Windows": "C:%5Cboot.ini",
    "a NUL": "2026-10-23T0130-0215%00",
    "a line break": "42%0D%0Alevel%3A%20ERROR",
    "an escape of the terminal": "%1B%5B31m42",
    "digits of another script": quote("\u0662\u0660\u0662\u0666-10-23T0130-0215"),
    "wide letters": quote("\uff27\uff22\uff30"),
    "a letter that looks like another": quote("G\u0412P"),
    "text that runs backwards": quote("\u202eGBP"),
    "an invisible character": quote("G\u200bBP"),
    "no UTF-8": "%FF%FE",
    "half of a pair": "%ED%A0%80",
    "the separator of keys": "42%23GBP%23x",
    "a wildcard": "*",
    "a blank": "%20",
    "a template": "%7Bagency%7D",
    "a question mark": "x%3Ffrom%3D1",
    "a script": "%3Cscript%3Ealert(1)%3C%2Fscript%3E",
    "8,000 characters": "x" * 8_000,
    "8,000 characters after a separator": f"shop%23{'x' * 8_000}",
    "a run's manifest": "2026-10-23T0130-0215%2Fmanifest.json",
}
"""Bad values of a variable of the path, as sent."""

NAMES: Final = TRICKS.keys() - {
    "a NUL",
    "a line break",
    "an escape of the terminal",
    "text that runs backwards",
    "an invisible character",
    "the separator of keys",
    "8,000 characters",
    "8,000 characters after a separator",
}
"""The tricks that are valid names."""
SEPARATED: Final = {"the separator of keys"}

MAP: Final = """
[settings]
agency = "the agency"
[[event]]
id = "{id}"
source = "till"
type = "sale.recorded"
subject = "{agency}"
[event.data]
amount = "{price}"
currency = "EUR"
"""
PARKED: Final = "6tU1tmgrB7QHHMrXoxQ916"
"""The id of a delivery."""
GOOD: dict[str, Good] = {
    "POST /events": Good(body=sale("good", product="tea", quantity=2), content_type=ONE, statuses=(202,)),
    "POST /csv/events": Good(
        body={"map": MAP, "settings": {"agency": "42"}, "part": "aWQscHJpY2UKMSwyCg==", "last": True},
        anything=("settings", "last"),
    ),
    "POST /statement-runs": Good(),
    "PUT /connections/{name}": Good(
        {"name": "shop"},
        body={"provider": "shopify", "secret": "shpss_0123456789abcdef", "agency": "42"},
        statuses=(409,),
    ),
    "GET /connections": Good(),
    "GET /connections/{name}": Good({"name": "shop"}, statuses=(404,)),
    "DELETE /connections/{name}": Good({"name": "shop"}),
    "GET /connections/{name}/parked": Good({"name": "shop"}),
    "GET /connections/{name}/parked/{delivery}": Good({"name": "shop", "delivery": PARKED}, statuses=(404,)),
    "POST /connections/{name}/parked": Good({"name": "shop"}, statuses=(409,)),
    "DELETE /connections/{name}/parked/{delivery}": Good({"name": "shop", "delivery": PARKED}),
    "PUT /subscriptions/{name}": Good(
        {"name": "erp"}, body={"address": "https://hooks.marketplace.com/hook"}, statuses=(409,)
    ),
    "DELETE /subscriptions/{name}": Good({"name": "erp"}),
    "POST /subscriptions/{name}/secrets": Good({"name": "erp"}, statuses=(409,)),
    "POST /subscriptions/{name}/replays": Good({"name": "erp"}, body={"from": "2026-10-23T01:30:00Z"}, statuses=(409,)),
    "GET /subscriptions": Good(),
    "GET /subscriptions/{name}": Good({"name": "erp"}, statuses=(404,)),
    "GET /subscriptions/{name}/deliveries": Good({"name": "erp"}, statuses=(404,)),
    "POST /csv/maps": Good(body={"part": "aWQscHJpY2UKMSwyCg==", "name": "till.csv", "last": True}, anything=("last",)),
    "POST /csv/agencies": Good(body={"file": "YWdlbmN5CjQ0Cg=="}),
    "POST /rerating": Good(
        body={
            "rate_card": "rate-card:42",
            "agency": "42",
            "content": {"valid_from": "2026-10-01T00:00:00Z", "rules": [{"percent": "8"}]},
            "from": "2026-10-01T00:00:00Z",
            "to": "2026-11-01T00:00:00Z",
        }
    ),
    "GET /rerating": Good(
        query={
            "from": "2026-10-23",
            "to": "2026-10-24",
            "rate_card": "rate-card:42",
            "version": "1",
            "agency": "42",
            "reason": "new contract",
        },
        accepts={"reason": SEPARATED | {"a line break"}},
    ),
    "GET /events": Good(query={**DAY, "agency": "42", "source": "shop", "type": "sale.recorded"}),
    "GET /events/{source}/{event}": Good({"source": "shop", "event": "good"}),
    "GET /accounts": Good(query={**ACCOUNT, "limit": "10"}),
    "GET /overview": Good(query={"period": "2026-10", "agency": "42", "limit": "10"}),
    "GET /held": Good(
        query={"status": "held", "reason": "unknown_sale", "agency": "42", "before": "2026-10-24", "limit": "10"}
    ),
    "PUT /held/{source}/{event}": Good(
        {"source": "shop", "event": "too early"}, body={"decision": "release", "reason": "the sale is lost"}
    ),
    "GET /accounts/{agency}/{currency}": Good(ACCOUNT),
    "GET /accounts/{agency}/{currency}/quarter-hours": Good(ACCOUNT, DAY),
    "GET /accounts/{agency}/{currency}/days": Good(ACCOUNT, DAY),
    "GET /accounts/{agency}/{currency}/periods": Good(ACCOUNT, {"from": "2026-10", "to": "2026-11"}),
    "GET /accounts/{agency}/{currency}/snapshots": Good(ACCOUNT, STATES),
    "GET /accounts/{agency}/{currency}/changes": Good(ACCOUNT, {"limit": "10"}),
    "GET /accounts/{agency}/{currency}/trend": Good(ACCOUNT, {"layer": "5m"}),
    "GET /windows/{layer}/{start}": Good({"layer": "1h", "start": "2026-10-23T01:00:00Z"}, {"limit": "10"}),
    "GET /me": Good(),
    "GET /openapi.json": Good(),
    "GET /reports": Good(query={"limit": "10"}),
    "GET /reports/{run}": Good({"run": "2026-10-23T0130-0215"}),
    "GET /operations": Good(),
    "GET /schedule": Good(query={"limit": "10"}),
    "PUT /schedule": Good(body={"expression": "rate(30 minutes)", "reason": "sale", "seen": 0}),
    "POST /threads/{kind}/{subject}/messages": Good(THREAD, body=MESSAGE, statuses=(200, 201)),
    "GET /threads/{kind}/{subject}/messages": Good(THREAD, {"user": "ann", "period": "2026-10", **NEWEST}),
    "POST /orders": Good(body=order(order="o-1"), statuses=(200, 201)),
    "GET /orders": Good(query={**DAY, "status": "paid"}),
    "GET /orders/{order}": Good({"order": "o-1"}, {"limit": "10"}),
    "PUT /orders/{order}/status": Good({"order": "o-1"}, body={"from": "open", "to": "paid"}),
    "GET /customers/{customer}/orders": Good({"customer": "ann"}, DAY, accepts={"customer": NAMES}),
    "GET /customers/{customer}/items": Good(
        {"customer": "ann"}, {"product": "A-7", "limit": "10"}, accepts={"customer": NAMES}
    ),
    "GET /sources/{source}/events": Good({"source": "shop"}, DAY, accepts={"source": NAMES}),
    "GET /events/{source}/{event}/explain": Good({"source": "shop", "event": "good"}),
    "GET /events/{source}/{event}/story": Good({"source": "shop", "event": "good"}),
    "GET /sales": Good(query={**DAY, "by": "category", "agency": "42"}),
    "GET /locations": Good(query={**DAY, "level": "1"}),
    "GET /locations/{location}": Good(
        {"location": "GB"}, {**DAY, "level": "1"}, accepts={"location": NAMES | SEPARATED | {"a line break"}}
    ),
    "PUT /agencies/{agency}": Good(
        AGENCY,
        body={"seen": 0, "content": FULL},
        statuses=(200, 201),
        accepts={"agency": NAMES - {"a blank", "a wildcard"}},
    ),
    "GET /agencies": Good(query={"limit": "10"}),
    "GET /agencies/{agency}": Good(AGENCY, {"at": "2026-10-23T01:30:00Z"}),
    "GET /agencies/{agency}/rate-cards": Good(AGENCY, {"at": "2026-10-23T01:30:00Z"}, accepts={"agency": NAMES}),
    "GET /accounts/{agency}/{currency}/balance": Good(ACCOUNT, {"at": "2026-10-23T01:45:00Z"}),
    "GET /periods": Good(query={"limit": "10"}),
    "GET /drafts": Good(query={"period": "2026-10", "agency": "42", "limit": "10"}),
    "GET /drafts/{agency}/{currency}/{period}": Good(STATEMENT),
    "PUT /drafts/{agency}/{currency}/{period}": Good(
        STATEMENT, body={"decision": "hold", "reason": "wrong name", "seen": 1}
    ),
    "GET /releases": Good(query={"limit": "10"}),
    "GET /statements": Good(query={"period": "2026-09", "agency": "42", "status": "issued", "limit": "10"}),
    "GET /statements/{agency}/{currency}/{period}": Good(STATEMENT),
    "PUT /statements/{agency}/{currency}/{period}/status": Good(
        {**STATEMENT, "period": "2026-09"}, body={"status": "accepted", "reason": "checked", "seen": 0}
    ),
    "POST /statements/{agency}/{currency}/{period}/disputes": Good(
        STATEMENT, body={"source": "shop", "id": "e0", "reason": "returned"}, statuses=(200, 201)
    ),
    "PUT /statements/{agency}/{currency}/{period}/disputes/{source}/{event}": Good(
        {**STATEMENT, "source": "shop", "event": "e0"}, body={"reason": "agreed"}
    ),
    "POST /bank-files": Good(query={"format": "csv"}, body=table([("121.00", "S-000001")]).decode(), content_type=FILE),
    "GET /receivables": Good(query={"agency": "42", "on": "2026-12-31", "limit": "10"}),
    "GET /search": Good(query={"q": "e0"}, accepts={"q": SEPARATED | {"a line break"}}),
    "GET /disputes": Good(query={"status": "open", "agency": "42", "limit": "10"}),
    "GET /documents": Good(query={"kind": "document", "limit": "10"}),
    "PUT /documents/{document}": Good(
        RULES,
        body={"seen": 0, "content": {"pets": "none"}},
        statuses=(201,),
        accepts={"document": NAMES - {"a blank"}},
        anything=("content",),
    ),
    "GET /documents/{document}": Good(RULES),
    "GET /documents/{document}/versions": Good(RULES, {"limit": "10"}),
    "GET /documents/{document}/versions/{version}": Good({**RULES, "version": "1"}),
    "GET /documents/{document}/metadata": Good(RULES),
    "GET /documents/{document}/proposal": Good(RULES),
    "PUT /documents/{document}/proposal": Good(
        RULES, body={"decision": "release", "sha256": PROPOSED.sha256, "reason": "checked"}
    ),
    "PUT /documents/{document}/permissions": Good(
        RULES, body={"agencies": ["42"], "people": ["ann"]}, accepts={"document": NAMES}
    ),
    "GET /documents/{document}/permissions": Good(RULES, accepts={"document": NAMES}),
    "PUT /exchange-rates/{currency}": Good(
        {"currency": "USD"}, body={"units_per_base": "1.25", "source": "bank"}, statuses=(200, 201)
    ),
    "GET /exchange-rates": Good(query={"limit": "10"}),
    "GET /exchange-rates/{currency}": Good({"currency": "USD"}, {"at": "2026-10-24T00:00:00Z"}),
    "GET /exchange-rates/{currency}/history": Good({"currency": "USD"}, {"last": "3"}),
    "GET /exchange-rates/{currency}/snapshots": Good({"currency": "USD"}, STATES),
    "GET /exchange-rates/{currency}/trend": Good({"currency": "USD"}, {"layer": "5m"}),
}
"""Every route of the template."""

TEXTS: Final = {
    "nothing": "",
    "a NUL": "\x00",
    "a line break": "2026-10-23\nERROR",
    "an escape of the terminal": "\x1b[2J",
    "the separator of keys": "#",
    "8,000 characters": "x" * 8_000,
}
"""Bad values of every query parameter."""

LONGEST_KEY: Final = 2048
"""The maximum size of a key in bytes."""
CALL: Final = BaseClient._make_api_call  # type: ignore[attr-defined]
DEEP: Final = 100_000
BODIES: Final[dict[str, tuple[bytes, int]]] = {
    "none": (b"", 400),
    "blanks": (b" \n", 400),
    "no JSON": (b"amount=12.50", 400),
    "two of them": (b"{}{}", 400),
    "Python": (b"{'a': 1}", 400),
    "UTF-16": ('{"a": 1}'.encode("utf-16"), 400),
    "Latin-1": ('{"a": "é"}'.encode("latin-1"), 400),
    "a mark of the byte order": (b'\xef\xbb\xbf{"a": 1}', 400),
    "half of a pair": (b'{"a": "\xed\xa0\x80"}', 400),
    "a NUL": (b'{"a": "\x00"}', 400),
    "a line break in a text": (b'{"a": "\n"}', 400),
    "compressed": (gzip.compress(b'{"a": 1}'), 400),
    "XML": (b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY e SYSTEM "file:///etc/passwd">]><a>&e;</a>', 400),
    "a key twice": (b'{"a": 1, "a": 2}', 400),
    "a key twice, deep inside": (b'{"a": [{"b": {"c": 1, "c": 1}}]}', 400),
    "a key twice among 50,000": (b'{"k": 1,' + b",".join(b'"%d": 1' % n for n in range(50_000)) + b', "k": 2}', 400),
    "lists nested beyond reason": (b"[" * DEEP + b"]" * DEEP, 400),
    "objects nested beyond reason": (b'{"a":' * DEEP + b"1" + b"}" * DEEP, 400),
    "5,000,000 bytes": (b" " * 5_000_000 + b"{}", 413),
}
"""Bad bodies of every route, with the status of the response."""

CONTENT_TYPES: Final = {
    "none": "",
    "text": "text/plain",
    "a form": "application/x-www-form-urlencoded",
    "a form in parts": "multipart/form-data; boundary=x",
    "XML": "application/xml",
    "another encoding": "{}; charset=utf-16",
    "a line break": "{}\r\nx-injected: 1",
    "8,000 characters": "x" * 8_000,
}
"""Bad content types of every route; ``{}`` is replaced by the right one."""

VALUES: Final = {
    "true": True,
    "a list": [1],
    "NaN": float("nan"),
    "infinity": float("-inf"),
    "a NUL": "a\x00b",
    "an escape of the terminal": "\x1b[2Ja",
    "half of a pair": "\ud83d",
    "200,000 characters": "9" * 200_000,
}
"""Bad values of every field of a body."""
DESCRIPTIONS: Final = {"reason", "product", "text", "legal_name", "contact", "address", "name"}
"""The fields of a body that describe: what nobody sees goes, and what is too long is cut where it is in no key."""
GO_FROM_DESCRIPTIONS: Final = {"a NUL", "an escape of the terminal", "half of a pair", "200,000 characters"}

Sent = tuple[Request, int | None, str]
"""A bad request, the status of its response (``None``: 400, 404 or 422), and the field that must be named, if any."""


def request(route: str, good: Good, body: bytes | None = None, **headers: str) -> Request:
    """Return a valid request, or one with another body or other headers."""
    method, _, path = route.partition(" ")
    for name, text in good.variables.items():
        path = path.replace(f"{{{name}}}", text)
    text = good.body if isinstance(good.body, str) else "" if good.body is None else json.dumps(good.body)
    content = text.encode() if body is None else body
    kind = {"Content-Type": good.content_type or JSON} if method != "GET" else {}
    sent = {**kind, **{name.replace("_", "-"): text for name, text in headers.items()}}
    return Request(method, path, urlencode(good.query), tuple(sent.items()), content)


def bad_paths(route: str, good: Good) -> Iterator[tuple[str, Sent]]:
    """Yield the requests with a bad path."""
    for name in good.variables:
        for trick in TRICKS.keys() - good.accepts.get(name, set()):
            text = TRICKS[trick]
            yield (
                f"{name}: {trick}",
                (request(route, replace(good, variables={**good.variables, name: text})), None, ""),
            )


def bad_queries(route: str, good: Good) -> Iterator[tuple[str, Sent]]:
    """Yield the requests with a bad query."""
    for unknown in ("nobody", "__proto__", "from[]", "a b"):
        changed = replace(good, query={**good.query, unknown: "1"})
        yield f"a parameter {unknown}", (request(route, changed), 400, unknown)
    for name in good.query:
        for trick in TEXTS.keys() - good.accepts.get(name, set()):
            changed = replace(good, query={**good.query, name: TEXTS[trick]})
            yield f"{name}: {trick}", (request(route, changed), 400, name)


def bad_bodies(route: str, good: Good) -> Iterator[tuple[str, Sent]]:
    """Yield the requests with a bad body or content type."""
    for trick, (body, status) in BODIES.items():
        yield f"body: {trick}", (request(route, good, body), status, "body")
    right = good.content_type or JSON
    for trick, kind in CONTENT_TYPES.items():
        changed = request(route, good, Content_Type=kind.replace("{}", right))
        yield f"content type: {trick}", (changed, 415, "content-type")


def bad_fields(route: str, good: Good) -> Iterator[tuple[str, Sent]]:
    """Yield the requests with a bad field in the body; a file has none."""
    if isinstance(good.body, str):
        return
    for path in leaves({name: value for name, value in good.body.items() if name not in good.anything}):
        described = GO_FROM_DESCRIPTIONS if path[-1] in DESCRIPTIONS else set()
        for trick in VALUES.keys() - described:
            changed = replace(good, body=with_value(good.body, path, VALUES[trick]))
            yield (
                f"{shown(path)}: {trick}",
                (request(route, changed), None, [one for one in path if isinstance(one, str)][-1]),
            )
    for path in objects({name: value for name, value in good.body.items() if name not in good.anything}):
        for unknown in ("no-body", "__proto__"):
            changed = replace(good, body=with_value(good.body, (*path, unknown), 1))
            yield f"a field {shown((*path, unknown))}", (request(route, changed), None, unknown)


def leaves(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of the values without children."""
    match value:
        case dict():
            for name, inner in value.items():
                yield from leaves(inner, (*path, name))
        case list():
            for index, inner in enumerate(value):
                yield from leaves(inner, (*path, index))
        case _:
            yield path


def objects(value: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the paths of the objects."""
    if isinstance(value, dict):
        yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, one in inner:
        yield from objects(one, (*path, name))


def with_value(body: Any, path: Path, value: Any) -> Any:
    """Return a body with another value at a path."""
    changed = deepcopy(body)
    *above, last = path
    at = changed
    for name in above:
        at = at[name]
    at[last] = value
    return changed


def shown(path: Path) -> str:
    return ".".join(map(str, path))


def bad_requests(route: str) -> dict[str, Sent]:
    """Return the requests that a route must refuse, by their flaw."""
    good = GOOD[route]
    kinds: list[Callable[[str, Good], Iterator[tuple[str, Sent]]]] = [bad_paths, bad_queries]
    if good.body is not None:
        kinds += [bad_bodies, bad_fields]
    return dict(one for kind in kinds for one in kind(route, good))


def blamed(response: Response) -> list[str]:
    """Return the fields that a response names, of the request or of its one item."""
    body = response.json()
    errors = body.get("errors") or [error for item in body.get("items", []) for error in item["errors"]]
    assert all(error["problem"] and error["expected"] for error in errors)
    return [error["field"] for error in errors]


def refuses_properly(response: Response, status: int | None, blame: str) -> bool:
    """Return whether a response refuses a request with the right status and field."""
    if response.status not in ((400, 404, 422) if status is None else (status,)) or not response.body.isascii():
        return False
    if any(byte < 32 for byte in response.body):
        return False
    if response.headers["content-type"] != "application/problem+json":
        return response.status == 422 and response.json()["counts"] == {"rejected": 1} and blame in leaf(response)
    return (
        response.json()["status"] == response.status
        and bool(response.json()["detail"])
        and (blame in ["", *leaf(response)])
    )


def leaf(response: Response) -> list[str]:
    """Return the last parts of the fields that a response names."""
    return [name.rpartition(".")[2] for name in blamed(response)]


def everything(world: World) -> list[Any]:
    """Return the content of all tables and the keys of the bucket."""
    tables = [items(world, table) for table in ("IdentityTable", "LedgerTable", "EntityTable")]
    return [*(sorted(map(repr, table)) for table in tables), sorted(world.stack.bucket.keys())]


def as_dynamodb_would(client: BaseClient, operation: str, params: dict[str, Any]) -> Any:
    """Refuse keys that are too long for DynamoDB."""
    keys = [params["Key"]] if "TableName" in params and "Key" in params else []
    for one in params.get("RequestItems", {}).values():
        keys += one.get("Keys", []) if isinstance(one, dict) else []
    if "KeyConditionExpression" in params:
        keys.append(params["ExpressionAttributeValues"])
    for text in (value["S"] for key in keys for value in key.values() if "S" in value):
        if len(text.encode()) > LONGEST_KEY:
            raise ValueError(f"a key of {len(text.encode())} bytes")
    return CALL(client, operation, params)


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    """A system to which every valid request was sent."""
    with pytest.MonkeyPatch.context() as patch, opened() as world:
        patch.setattr(BaseClient, "_make_api_call", as_dynamodb_would)
        world.sell("10.00", product="tea")
        keep_rate_card(world, 0, {"percent": "10"})
        world.pass_time(hours=1)
        world.report()
        for period in ("2026-10", "2026-09"):
            keep_sealed(world, plan_of(period, bound="202610230200"), document())
        keep_draft(world, plan_of("2026-10", bound="202610230200"), Account("42", "GBP"))
        assert post(world, refund("too early", "-1.00", of="not sent yet")).status == 202
        keep_proposal(world, PROPOSED)
        for route in sorted(GOOD, key=lambda route: route.startswith("GET")):
            response = world.stack.request(request(route, GOOD[route]))
            assert response.status in GOOD[route].statuses, (route, response.body)
            world.drain()
        yield world


def test_every_route_of_the_template_has_its_row(world: World) -> None:
    assert {f"{one.method} {one.path}" for one in world.stack.answered_routes()} == GOOD.keys()


@pytest.mark.parametrize("route", GOOD)
def test_bad_input_is_refused_by_its_field_and_writes_nothing(
    world: World, route: str, record_property: Callable[[str, object], None]
) -> None:
    before = everything(world)
    bad = bad_requests(route)
    wrong = {}
    for what, (sent, status, blame) in bad.items():
        response = world.stack.request(sent)
        if not refuses_properly(response, status, blame):
            wrong[what] = (response.status, response.body[:300])
    assert wrong == {}
    assert everything(world) == before
    record_property(f"bad requests refused by {route}", len(bad))


NOT_UTF_8: Final = {
    "PUT /orders/{order}/status": ["a%25ff", "a%ff"],
    "PUT /agencies/{agency}": ["bad%25ff", "bad%ff"],
    "PUT /documents/{document}": ["bad%25ff", "bad%25fe", "bad%ff", "rate-card:x%25fe"],
    "PUT /documents/{document}/permissions": ["bad%25ff", "rate-card:x%25fe"],
    "PUT /statements/{agency}/{currency}/{period}/status": ["a%25ff", "a%ff"],
    "POST /statements/{agency}/{currency}/{period}/disputes": ["a%25ff", "a%ff"],
}
RATE_CARD: Final = {"seen": 0, "content": {"valid_from": "2026-10-01T00:00:00Z", "rules": [{"percent": "10"}]}}


@cases(("route", "name"), [(route, name) for route, names in NOT_UTF_8.items() for name in names])
def test_a_write_whose_path_is_not_utf_8_writes_nothing(world: World, route: str, name: str) -> None:
    """A lenient decoder replaces each invalid byte by U+FFFD, so different names become one."""
    before = everything(world)
    good = GOOD[route]
    body = RATE_CARD if name.startswith("rate-card:") and "permissions" not in route else good.body
    response = world.stack.request(
        request(route, replace(good, variables=dict.fromkeys(good.variables, name), body=body))
    )
    assert (response.status, blamed(response)) == (400, ["path"])
    assert everything(world) == before


@cases("route", [route for route in GOOD if route.startswith("GET")])
def test_unknown_headers_change_nothing(world: World, route: str) -> None:
    sent = request(route, GOOD[route], Cookie="x" * 100_000, X_Forwarded_For="\x1b[2J", X_Http_Method_Override="DELETE")
    assert world.stack.request(sent).status in GOOD[route].statuses


# ---------------------------------------------------------------- the logs

MARK: Final = "\x1b[2J\nINFO forged walrus"


def marked(value: Any) -> Any:
    """Return a body with the mark in place of every value."""
    match value:
        case dict():
            return {name: marked(inner) for name, inner in value.items()} | {MARK: MARK}
        case list():
            return [marked(inner) for inner in value]
        case _:
            return MARK


def test_no_content_of_a_request_is_logged(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    logs = StringIO()
    monkeypatch.setattr(world.stack, "_logs", logs)
    monkeypatch.setattr(logger.registered_handler, "stream", logs)
    seen = sale("walrus", product="walrus", customer="walrus") | {"source": "walrus", "subject": "walrus"}
    assert post(world, seen).status == 202
    for route, good in GOOD.items():
        kind = (("Content-Type", good.content_type or JSON),)
        headers = (*kind, ("User-Agent", MARK), ("Cookie", MARK), ("X-Forwarded-For", MARK))
        encoded = quote(MARK, safe="")
        for bad in (
            replace(good, variables=dict.fromkeys(good.variables, encoded), body=marked(good.body)),
            replace(good, query={MARK: MARK}),
            replace(good, query=dict.fromkeys(good.query, MARK)),
        ):
            world.stack.request(replace(request(route, bad), headers=headers))
    world.drain()
    lines = [json.loads(line) for line in logs.getvalue().splitlines()]
    assert {line["message"] for line in lines if "message" in line} >= {"refused"}
    assert "walrus" not in logs.getvalue()


# ---------------------------------------------------------------- events


def test_a_repeated_request_gets_the_same_receipt_and_writes_nothing(world: World) -> None:
    route = "POST /events"
    before = everything(world)
    for _ in range(3):
        response = world.stack.request(request(route, GOOD[route]))
        assert (response.status, response.json()["counts"]) == (202, {"duplicate": 1})
    assert everything(world) == before


EXTRAS = {
    "4,097 bytes": ({"x": "a" * 4089}, "has 4097 bytes as JSON"),
    "33 levels": (json.loads('{"a":' * 34 + "1" + "}" * 34), "is nested too deeply, more than 32 levels"),
    "NaN inside": ({"x": [float("nan")]}, "holds a number that is not finite"),
    "a text": ("gift", "is 'gift'"),
}


@pytest.mark.parametrize(("extra", "problem"), EXTRAS.values(), ids=EXTRAS)
def test_an_invalid_extra_is_refused_with_the_reason(world: World, extra: object, problem: str) -> None:
    response = post(world, sale("extra", extra=extra))
    ((error,),) = (item["errors"] for item in response.json()["items"])
    assert (response.status, error["field"], error["problem"]) == (422, "data.extra", problem)


AMOUNTS = {
    "true": "is true",
    "NaN": "is not a finite number",
    "Infinity": "is not a finite number",
    "-Infinity": "is not a finite number",
    "1e99999999999999999999": "is not a finite number",
    "1e999999": "is 1E+999999",
    "9" * 39: f"is {'9' * 39}",
    "9" * 300: f"is {'9' * 60}... (300 characters)",
    '"1e3"': "is '1e3'",
    '"=1+1"': "is '=1+1'",
    '"١٢"': "is '\\u0661\\u0662'",
    '"0x10"': "is '0x10'",
    '" 1"': "is ' 1'",
}


@cases(("amount", "problem"), AMOUNTS.items())
def test_an_invalid_amount_is_shown_as_it_was_sent(world: World, amount: str, problem: str) -> None:
    response = post(world, json.dumps(sale("amount", amount=0)).replace('"amount": 0', f'"amount": {amount}'), ONE)
    ((error,),) = (item["errors"] for item in response.json()["items"])
    assert (response.status, error["field"], error["problem"]) == (422, "data.amount", problem)


# ---------------------------------------------------------------- random input

VALUES_AT_ALL = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.sampled_from(["specversion", "id", "source", "type", "subject", "time", "datacontenttype", "data", "other"])
DATA = st.sampled_from(["amount", "currency", "commission_rate", "quantity", "line", "refers_to", "extra", "other"])


@st.composite
def nearly_events(draw: st.DrawFn) -> dict[str, Any]:
    """Draw an event of which some fields are anything."""
    event: dict[str, Any] = sale(draw(st.text(min_size=1, max_size=3)), draw(st.decimals().map(str)))
    event["data"] |= draw(st.dictionaries(DATA, VALUES_AT_ALL, max_size=2))
    return event | draw(st.dictionaries(FIELDS, VALUES_AT_ALL, max_size=2))


def assert_nothing_lost(world: World, response: Response, before: int) -> None:
    """Assert that the ledger holds exactly the events that the response reports as recorded."""
    assert response.status in {202, 207, 400, 409, 413, 415, 422}, response.body
    recorded = response.json().get("counts", {}).get("recorded", 0)
    assert len(ledger(world)) == before + recorded


@examples(150)
@given(
    body=st.binary(max_size=200), kind=st.sampled_from([ONE, BATCH, LINES, JSON, f"{ONE}; charset=utf-8"]) | st.text()
)
def test_any_bytes_get_a_defined_response(world: World, body: bytes, kind: str) -> None:
    before = len(ledger(world))
    assert_nothing_lost(world, post(world, body, kind), before)


@examples(150)
@given(body=VALUES_AT_ALL | nearly_events() | st.lists(nearly_events() | VALUES_AT_ALL, max_size=4))
def test_any_json_gets_a_defined_response_and_recorded_events_are_in_the_ledger(world: World, body: Any) -> None:
    before = len(ledger(world))
    assert_nothing_lost(world, post(world, body, BATCH if isinstance(body, list) else ONE), before)


@examples(300)
@given(data=st.data(), route=st.sampled_from([route for route in GOOD if route.startswith("GET")]))
def test_any_text_in_path_and_query_gets_a_defined_response(world: World, data: st.DataObject, route: str) -> None:
    texts = st.text(st.characters(exclude_categories=["Cs"]))
    good = GOOD[route]
    variables = {name: data.draw(st.just(text) | texts.filter(bool)) for name, text in good.variables.items()}
    query = {name: data.draw(st.just(text) | texts) for name, text in good.query.items()}
    encoded = {name: quote(text, safe="") for name, text in variables.items()}
    response = world.stack.request(request(route, replace(good, variables=encoded, query=query)))
    assert response.status in {*good.statuses, 400, 404}, response.body
