"""What the OpenAPI document promises of an answer, and the system that is held to it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
import schemathesis
from requests import Session
from schemathesis.checks import not_a_server_error
from schemathesis.config import SchemathesisConfig
from schemathesis.core.transport import Response
from schemathesis.specs.openapi import checks

from quarterhour.aws.items import to_item
from quarterhour.file_formats.webhooks.delivery import Provider
from quarterhour.model.identifiers import Account
from quarterhour.notifications.subscription import Attempt, DeliveryOutcome
from quarterhour.notifications.webhook import WebhookSender
from quarterhour.statements.listing import ListTotals
from quarterhour.statements.releases.keys import release_key
from quarterhour.statements.releases.plan import ReleasePlan
from tests.handlers.described import ADDRESS, DOCUMENT, OPERATIONS, WRITES, closed, parameters, session
from tests.handlers.desk import place, send
from tests.support.connections import delivered
from tests.support.drafts import keep_draft
from tests.support.events import refund, sale
from tests.support.proposals import drafted, keep_proposal
from tests.support.requests import LINES, post
from tests.support.stored_statements import document, keep_sealed, plan_of
from tests.support.system import World, opened

CHECKS: Final = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
]
CONFIG: Final = SchemathesisConfig.from_dict(
    {
        "base-url": ADDRESS,
        "generation": {"deterministic": True, "max-examples": 25, "with-security-parameters": False},
        # What was answered before gives nothing to go on from: it differs from run to run.
        "phases": {
            "examples": {"extra-data-sources": {"responses": False}},
            "coverage": {"extra-data-sources": {"responses": False}, "unexpected-methods": []},
            "fuzzing": {"extra-data-sources": {"responses": False}, "error-feedback": {"enabled": False}},
        },
        "checks": {"negative_data_rejection": {"expected-statuses": ["400", "404", "413", "415", "422"]}},
    }
)
OTHER_NAMES: Final = {
    "PUT /statements/{agency}/{currency}/{period}/status": {"period": "2026-09"},
    "PUT /held/{source}/{event}": {"event": "released"},
    "DELETE /subscriptions/{name}": {"name": "other"},
    "DELETE /connections/{name}": {"name": "other"},
    "DELETE /connections/{name}/parked/{delivery}": {"delivery": "2hR7cVQ9mC1xZ4dKpTn8Yb"},
}
"""Other names in the path than those of the example: an accepted statement can no longer be disputed."""
Case = schemathesis.Case[Any]


@schemathesis.serializer(LINES)
def lines(_: object, value: object) -> bytes:
    """Return a body of lines; one that is not text, as a negative example may be, is its JSON."""
    return (value if isinstance(value, str) else json.dumps(value)).encode()


schema = schemathesis.openapi.from_dict(closed(DOCUMENT), config=CONFIG)


def example(route: str, **chosen: Any) -> Case:
    """Return the document's example of a request; ``chosen`` stand for what can be left out of its query."""
    method, _, path = route.partition(" ")
    operation = OPERATIONS[route]
    sent: dict[str, dict[str, Any]] = {"path": {}, "query": dict(chosen)}
    for one in parameters(operation):
        if "example" in one and (one["required"] or not chosen):
            sent[one["in"]][one["name"]] = one["example"]
    sent["path"] |= OTHER_NAMES.get(route, {})
    content = operation.get("requestBody", {}).get("content", {})
    bodies = (
        {"body": one["value"], "media_type": kind}
        for kind, media in content.items()
        for one in media["examples"].values()
    )
    return schema[path][method].Case(path_parameters=sent["path"], query=sent["query"], **next(bodies, {}))


def answered(client: Session, case: Case) -> Response:
    """Send a request, and hold the answer to the document."""
    answer = case.call(session=client)
    case.validate_response(answer, checks=CHECKS)
    return answer


@contextmanager
def described_system() -> Iterator[World]:
    """A system to which every write has been sent, as the document gives it for an example, and some more events."""
    options = {"base_currency": "EUR", "Notifications": "webhooks", "Intake": "queue"}
    with pytest.MonkeyPatch.context() as patch, opened(options) as world:
        patch.setattr(WebhookSender, "send", lambda *_: Attempt(DeliveryOutcome.DELIVERED, 204))
        for period in ("2026-10", "2026-09"):
            keep_sealed(world, plan_of(period, bound="202610230130"), document(closing="10.00"))
        for agency in ("7", "42"):
            keep_draft(world, plan_of("2026-10", bound="202610230130"), Account(agency, "GBP"))
            decision = {"decision": "hold", "reason": "it is new", "seen": 0}
            assert send(world, "PUT", f"/drafts/{agency}/GBP/2026-10", decision).status == 200
        release = ReleasePlan(1, "2026-10-23T01:30:00.000Z", "1.0", ("S-", "C-"), {}, "")
        item = {**release_key(1), **release.as_dict(), **ListTotals.of_release().as_dict(), "manifest_sha256": "0" * 64}
        world.stack.dynamodb.put_item(TableName=world.stack.ref("EntityTable"), Item=to_item(item))
        assert post(world, refund("released", "-1.00", of="not sent yet")).status == 202
        rate_card = OPERATIONS["PUT /documents/{document}"]["requestBody"]["content"]["application/json"]["examples"]
        keep_proposal(world, drafted("rate-card:42", rate_card["rate-card"]["value"]["content"], 1))
        for route in WRITES:
            assert answered(session(world.stack), example(route)).status_code in {200, 201, 202}
        sent = OPERATIONS["PUT /connections/{name}"]["requestBody"]["content"]["application/json"]["examples"]
        secret = sent["example"]["value"]["secret"]
        unreadable = delivered(b"no JSON", "erp", Provider.SHOPIFY, secret, x_shopify_topic="orders/paid")
        assert world.stack.request(unreadable).json()["delivery"] == "parked"
        assert place(world, "1002").status == 201
        charged = [
            sale(order_id="1001", customer="ann"),
            refund("taken back", "-1.00"),
            refund("too early", "-1.00", of="not sent yet"),
            sale("more", extra={"gift": True}, quantity=2, category="books"),
        ]
        named = sale("mended", "1.00", "adjustment.recorded", commission="0.10")
        seen = {**sale("seen", type_="view.recorded"), "data": {"customer": "ann"}}
        assert post(world, [*charged, named, seen]).status == 202
        world.pass_time(minutes=37)
        world.report()
        yield world
