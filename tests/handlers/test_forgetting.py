"""Customers are stored as tokens, shown by name to the marketplace, and forgotten; texts of messages are removed."""

import gzip
import json
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from quarterhour.customers.store import VaultStore
from quarterhour.model.errors import InvalidError, NotFoundError, UnavailableError
from quarterhour.proof.reports import verify
from tests.handlers.desk import place, send
from tests.support.events import refund, sale, view
from tests.support.orders import item
from tests.support.repository import ROOT
from tests.support.requests import account, post, verdicts
from tests.support.system import World, opened
from tests.support.tables import items, ledger

ADA = "Ada Lovelace <ada@example.org>"
WHY = {"by": "ann", "reason": "request 17"}
TABLES = ("IdentityTable", "LedgerTable", "EntityTable")


def forget(world: World, customer: str = ADA) -> dict[str, Any]:
    result: dict[str, Any] = world.stack.invoke("repair", {"action": "forget", "customer": customer, **WHY})
    return result


def everything_of(world: World, *tables: str) -> str:
    """Return all that the stack stores, as text: items with the postings in segments, objects, and queues' messages."""
    found = [repr(items(world, table)) for table in tables] + [repr(ledger(world))]
    s3: Any = world.stack.engine.s3()
    bucket = world.stack.ref("ReportBucket")
    for one in s3.list_objects_v2(Bucket=bucket).get("Contents", ()):
        content = s3.get_object(Bucket=bucket, Key=one["Key"])["Body"].read()
        found.append(one["Key"] + (gzip.decompress(content) if one["Key"].endswith(".gz") else content).decode())
    sqs: Any = world.stack.engine.sqs()
    urls = sqs.list_queues()["QueueUrls"]
    found += [repr(sqs.receive_message(QueueUrl=url, VisibilityTimeout=0).get("Messages")) for url in urls]
    return "\n".join(found)


def customers(world: World) -> int:
    return int(world.read(account())["customers"])


def trade(world: World) -> list[dict[str, Any]]:
    """Let Ada buy, view, return, order and pay, and let a refund of hers be held; seal it. Return what she bought."""
    bought = [
        sale("s1", "10.00", customer=ADA),
        view("v1", "/index", ADA),
        refund("r1", "-4", of="s1", customer=ADA),
        sale("s2", "3.00", customer="bob"),
    ]
    assert verdicts(post(world, bought)) == ["recorded"] * 4
    assert verdicts(post(world, refund("h1", "-1", of="later", customer=ADA))) == ["held"]
    placed = place(world, "1001", item(), customer=ADA)
    assert placed.json()["customer"] == ADA
    assert place(world, "1001", item(), customer=ADA).json() == placed.json()
    assert send(world, "PUT", "/orders/1001/status", {"from": "open", "to": "paid"}).json()["customer"] == ADA
    world.pass_time(hours=1)
    world.report()
    return bought


def test_nothing_that_is_stored_or_logged_names_a_customer_and_after_forgetting_nobody_can_tell(
    capfd: pytest.CaptureFixture[str],
) -> None:
    with opened() as world:
        bought = trade(world)
        assert ADA not in everything_of(world, *TABLES), "the vault alone has names"
        shown = world.all("/events", from_="2026-10-23", to="2026-10-24", customer=ADA)
        assert {one["id"] for one in shown} == {"s1", "v1", "r1", "1001:1"}
        assert {one["customer"] for one in shown} == {ADA}
        assert [one["order"] for one in world.all(f"/customers/{quote(ADA)}/orders")] == ["1001"]
        assert world.read("/search", q=ADA)["customers"] == [{"customer": ADA}]
        before, counted = world.all("/accounts"), customers(world)
        assert counted == 2

        token = forget(world)["token"]
        assert ADA not in everything_of(world, *TABLES, "VaultTable")
        assert "ada@example" not in "".join(capfd.readouterr())
        assert (world.all("/accounts"), customers(world)) == (before, counted)
        assert verify(world.stack.bucket.open, world.stack.bucket.keys()).proven
        assert world.stack.invoke("repair", {"action": "rebuild"})["repaired"] == 0
        seen = world.all("/events", from_="2026-10-23", to="2026-10-24", customer=token)
        assert {one["id"] for one in seen} == {"s1", "v1", "r1", "1001:1"}, "whose they are, nobody knows"
        (entry,) = world.stack.invoke("repair", {"action": "forgotten"})["items"]
        assert (entry["token"], entry["by"], entry["reason"]) == (token, "ann", "request 17")

        # What was recorded stays what it was, and the customer who comes again is a new one.
        world.pass_time(minutes=2)
        assert verdicts(post(world, bought)) == ["duplicate"] * 4
        assert verdicts(post(world, refund("h1", "-1", of="later", customer=ADA))) == ["held"]
        assert verdicts(post(world, {**bought[0], "data": {**bought[0]["data"], "amount": "11"}})) == ["conflict"]
        assert verdicts(post(world, sale("s3", "1.00", customer=ADA))) == ["recorded"]
        world.pass_time(minutes=1)
        assert customers(world) == counted + 1
        assert forget(world)["token"] != token
        assert forget(world)["token"] is None


def test_forgetting_twice_at_once_with_a_sale_between_leaves_no_name(monkeypatch: pytest.MonkeyPatch) -> None:
    with opened() as world:
        post(world, sale("s1", "10.00", customer=ADA))
        late = VaultStore.forget

        def overtaken(*of_late: Any) -> bool:
            monkeypatch.undo()
            assert forget(world)["token"]
            world.pass_time(minutes=2)
            post(world, sale("s2", "1.00", customer=ADA))
            return late(*of_late)

        monkeypatch.setattr(VaultStore, "forget", overtaken)
        with pytest.raises(UnavailableError, match="run quarterhour forget again"):
            forget(world)
        assert forget(world)["token"]
        assert ADA not in everything_of(world, *TABLES, "VaultTable")


def test_people_of_an_agency_see_a_token_and_cannot_ask_for_a_name() -> None:
    parameters = {"JwtIssuer": "https://issuer.example", "JwtAudience": "q", "JwtAgencyClaim": "agency"}
    with opened(parameters) as world:
        post(world, sale("s1", "10.00", customer=ADA))

        def read(customer: str = "") -> list[dict[str, Any]]:
            query = {"from": "2026-10-23", "to": "2026-10-24", **({"customer": customer} if customer else {})}
            event = {
                **json.loads((ROOT / "events" / "read-events.json").read_text("utf-8")),
                "rawQueryString": urlencode(query),
                "queryStringParameters": query,
            }
            event["requestContext"]["authorizer"] = {"jwt": {"claims": {"sub": "ann", "agency": "42"}, "scopes": None}}
            found: list[dict[str, Any]] = json.loads(world.stack.invoke("read", event)["body"])["items"]
            return found

        (one,) = read()
        assert one["customer"].startswith("ct_")
        assert read(one["customer"]) == [one]
        assert read(ADA) == []


def test_a_message_whose_text_is_removed_stays_without_it_and_no_retry_brings_it_back() -> None:
    with opened() as world:
        post(world, sale("s1", "10.00"))
        path = "/threads/lines/shop%2523s1/messages"
        message = {"id": "m-1", "user": "ben", "text": f"Please call {ADA}"}
        assert send(world, "POST", path, message).status == 201
        redact = {"action": "redact", "kind": "lines", "subject": "shop#s1", "user": "ben", "id": "m-1", **WHY}
        at = world.stack.invoke("repair", redact)["redacted"]
        (shown,) = world.all(path.replace("%2523", "%23"))
        assert (shown["text"], shown["redacted"]) == ("", {"at": at, "reason": "request 17"})
        assert send(world, "POST", path, message).status == 409
        assert ADA not in everything_of(world, *TABLES)
        with pytest.raises(NotFoundError):
            world.stack.invoke("repair", {**redact, "id": "m-2"})
        for request in ({"customer": ADA, "reason": f"for {ADA.lower()}"}, {"customer": ADA * 10}):
            with pytest.raises(InvalidError) as refused:
                world.stack.invoke("repair", {"action": "forget", **WHY, **request})
            assert "ada" not in str(refused.value).lower()
