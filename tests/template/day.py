"""A day on a deployed system in which every function meets everything that it has a call for."""

import io
import json
import socket
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from shutil import copyfileobj
from typing import Any
from urllib.parse import urlencode

import pytest

from quarterhour.aws.items import from_item, to_item
from quarterhour.file_formats.webhooks.delivery import Provider
from quarterhour.intake import chunks, inbox
from quarterhour.intake.connections.signatures import signed_headers
from quarterhour.ledger.keys import SHARDS_KEY
from quarterhour.ledger.postings.segments import archived_item, count_of, key_of_item
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import SealedFileError
from quarterhour.model.identifiers import Partition
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.keys import RUNS, Part
from quarterhour.reports.plan import Checkpoint
from quarterhour.reports.writer import SealedFileWriter
from tests.support.agencies import tax
from tests.support.repository import ROOT
from tests.support.tables import postings_in
from tests.template.calls import World, redirected
from tests.template.stack import OPTIONS, Properties

PARAMETERS = OPTIONS
"""With which the functions have the most to do."""

OCTOBER = 10
ALL_DONE: Properties = {"batchItemFailures": []}


def live_through(world: World) -> None:
    """Let every function meet everything that it has a call for."""
    live_with_documents(world)
    live_with_held_events(world)
    live_with_events(world)
    live_with_orders(world)
    live_with_subscriptions(world)
    live_with_intake(world)
    live_with_connections(world)
    live_with_parts(world)
    live_with_many_days(world)
    # Whatever has a current state by now, leaves its windows.
    states = [item for item in world.items("EntityTable") if item["sk"]["S"] == "latest"]
    assert world.leave_windows(states) == ALL_DONE
    live_with_statements(world)
    live_with_releases(world)
    live_with_disputes(world)
    live_with_forgetting(world)
    live_with_archive(world)


MONTHLY = [{"currency": "EUR", "charges": [{"name": "listing fee", "amount": "39.00", "per": "month"}]}]
"""Rules that charge an agency by the month: statements read them, of whichever agency they are."""


def live_with_documents(world: World) -> None:
    """Let finance decide about the base currency, and an agency have a rate card for the events to come."""
    write(world, "write-document", "settings", {"base_currency": "EUR"})
    world.clock.advance(timedelta(minutes=1))  # By then every function knows the settings.
    for since in ("2026-01-01T00:00:00Z", "2027-06-01T00:00:00Z"):
        write(world, "write-document", "rate-card:monthly", {"valid_from": since, "rules": MONTHLY})
    of_one = ("document", "document-versions", "document-version", "document-metadata", "document-permissions")
    for name in ("write-document", "write-document", "write-document-permissions", *(f"read-{one}" for one in of_one)):
        assert world.sample(name, document="rate-card:Nord & Süd")["statusCode"] in {200, 201}, name
    for name in ("read-documents", "write-agency", "read-agencies", "read-agency"):
        assert world.sample(name)["statusCode"] in {200, 201}, name
    again = json.loads((ROOT / "events" / "write-agency.json").read_text("utf-8"))
    assert world.run("write", {**again, "body": again["body"].replace('"seen": 0', '"seen": 1')})["statusCode"] == 201


def live_with_held_events(world: World) -> None:
    """Let a refund come before its sale, which a later request holds together with the refund."""
    held = world.sample("ingest-held")
    assert json.loads(held["body"])["counts"] == {"held": 1}, held
    # Of more refunds, finance and an operator release one each and discard one each; the watch posts one, and cannot
    # post another.
    sample = json.loads((ROOT / "events" / "ingest-held.json").read_text("utf-8"))
    refund = json.loads(sample["body"])
    for id_, of, amount in (
        ("CRN-0045:1", "none", "-1"),
        ("CRN-0046:1", "none", "-1"),
        ("CRN-0047:1", "none", "-1"),
        ("CRN-0048:1", "none", "-1"),
        ("CRN-0049:1", "INV-1001:1", "-9999"),
        ("CRN-0050:1", "INV-1001:1", "-0.01"),
    ):
        data = {"amount": amount, "currency": refund["data"]["currency"], "refers_to": of}
        world.run("ingest", {**sample, "body": json.dumps({**refund, "id": id_, "data": data})})
    assert world.sample("read-held")["statusCode"] == 200
    of_agency = json.loads((ROOT / "events" / "read-held.json").read_text("utf-8"))
    assert world.run("read", {**of_agency, "queryStringParameters": {"agency": "42"}})["statusCode"] == 200
    assert [world.sample("write-held")["statusCode"] for _ in range(2)] == [200, 200]
    discarded = (ROOT / "events" / "write-held.json").read_text("utf-8").replace("CRN-0046", "CRN-0045")
    assert world.run("write", json.loads(discarded.replace("release", "discard")))["statusCode"] == 200
    world.sample("repair-release")
    world.sample("repair-discard")


def rates(world: World) -> None:
    """Enter an exchange rate, the same again, and an earlier one; read them."""
    assert [world.sample("write-exchange-rate")["statusCode"] for _ in range(2)] == [201, 200]
    sample = json.loads((ROOT / "events" / "write-exchange-rate.json").read_text("utf-8"))
    earlier = {**json.loads(sample["body"]), "as_of": "2026-10-21T14:15:00Z"}
    assert world.run("write", {**sample, "body": json.dumps(earlier)})["statusCode"] == 201
    for name in ("rates", "rate"):
        assert world.sample(f"read-exchange-{name}")["statusCode"] == 200, name


def live_with_events(world: World) -> None:
    """Let events be recorded, counted, reported, read, discussed, and repaired after all kinds of losses."""
    rates(world)

    recorded = recorded_batch(world)

    # Claims whose append was lost, retried while their quarter-hour is open: a void, then they move.
    lost = json.loads(recorded["body"])["items"][0]["receipt"]
    world.remove("LedgerTable", to_item(key_of_item((lost["partition"], lost["position"]))))
    assert world.sample("ingest-batch")["statusCode"] == 202
    world.pass_time(hours=1)
    assert world.sample("ingest-one")["statusCode"] == 202

    # Sealed once more after a crash that forgot the checkpoint: the files are there, and the same.
    world.pass_time(hours=1)
    (checkpoint,) = (item for item in world.items("EntityTable") if item["sk"]["S"] == "checkpoint")
    sealed = world.sample("report-schedule")
    assert (sealed["lines"], sealed["complete"]) == (5, True)
    world.put("EntityTable", checkpoint)
    assert world.sample("report-schedule") == sealed

    with world.without_sealed_lines():
        assert world.run("report", {"reseal": sealed["runs"][0]})["written"]

    # Counted only now, so that a later run updates the proof, once it finds the file.
    postings = segments(world)
    for delivered in (1, 4):
        assert world.stream("counters", *postings[:delivered]) == ALL_DONE
    assert world.stream("counters", *postings, {"quarter_hour": {"S": "no quarter-hour"}}) == ALL_DONE
    assert world.stream("counters", *map(a_year_earlier, postings)) == ALL_DONE, "windows leave"
    world.pass_time(hours=1)
    with world.without_totals(), pytest.raises(SealedFileError, match="is gone"):
        world.sample("report-schedule")
    world.sample("report-schedule")

    for name in ("history", "snapshots", "trend"):
        assert world.sample(f"read-exchange-rate-{name}")["statusCode"] == 200, name

    states = [item for item in world.items("EntityTable") if item["sk"]["S"] == "latest"]
    assert states
    assert world.leave_windows([*states, {"pk": {"S": "ACCOUNT#"}, "sk": {"S": "latest"}}]) == ALL_DONE

    read_everything(world, sealed["runs"][0])

    write_messages(world, sealed["runs"][0])

    world.deploy_schedule()
    for name in ("write", "read"):
        assert world.sample(f"{name}-schedule")["statusCode"] == 200, name
    assert world.sample("read-operations")["statusCode"] == 200
    assert world.sample("read-operations-person")["statusCode"] == 403
    world.deploy_schedule()
    assert world.sample("watch-tick")["reconciled"], "what was asked for goes before what was deployed"

    forget_counters(world)
    with world.without_sealed_lines(), pytest.raises(SealedFileError, match="is gone"):
        world.sample("repair-rebuild-account")
    assert world.sample("repair-rebuild-account")["repaired"] > 0

    # Parked by a version that could not read them; this one can.
    forget_counters(world)
    world.park("counters", next(item for item in segments(world) if "customer" in postings_in(item)[0]))
    kinds = {item["pk"]["S"].partition("#")[0]: item for item in states}
    for state in kinds.values():
        world.park("snapshots", state)
    unparked = world.sample("repair-unpark")
    assert unparked == {"snapshots": {"applied": len(kinds), "kept": 1}, "counters": {"applied": 1, "kept": 1}}, (
        "poison stays"
    )
    assert any(item["sk"]["S"] == "latest" for item in world.items("EntityTable"))
    world.park("counters", next(item for item in segments(world) if "customer" in postings_in(item)[0]))
    with world.without_sealed_lines(), pytest.raises(SealedFileError, match="is gone"):
        world.sample("repair-unpark")


def segments(world: World) -> list[Properties]:
    """Return the ledger's items that hold postings."""
    return [item for item in world.items("LedgerTable") if "events" in item]


def a_year_earlier(posting: Properties) -> Properties:
    """Return a posting as if it had been recorded a year earlier."""
    year = int(posting["quarter_hour"]["S"][:4])
    before = str(year), str(year - 1), 1
    earlier = {name: {"S": posting[name]["S"].replace(*before)} for name in ("quarter_hour", "position")}
    return {**posting, **earlier}


def write_messages(world: World, run: str) -> None:
    """Write messages about subjects of all kinds, and read their threads."""
    assert world.sample("write-message")["statusCode"] == 201
    assert world.sample("write-message", kind="reports", subject=run)["statusCode"] == 201
    assert world.sample("write-message", kind="orders", subject="none")["statusCode"] == 404
    assert world.sample("write-message", kind="agencies", subject="of no account")["statusCode"] == 404
    assert world.sample("write-message", kind="statements", subject="42#GBP#2026-10")["statusCode"] == 404, "not yet"
    for name in ("messages", "messages-user"):
        assert world.sample(f"read-{name}")["statusCode"] == 200, name
    assert world.sample("read-messages", kind="reports", subject=run)["statusCode"] == 200
    assert world.sample("read-messages", kind="agencies", subject="42")["statusCode"] == 200
    assert world.sample("read-messages", kind="agencies", subject="of no account")["statusCode"] == 404
    assert world.sample("read-messages", kind="statements", subject="42#GBP#2026-10")["statusCode"] == 404, "not yet"
    assert world.sample("read-messages", kind="orders", subject="none")["statusCode"] == 404
    assert world.sample("read-messages-person", subject=run)["statusCode"] == 403, "nobody has allowed it"


def live_with_orders(world: World) -> None:
    """Let an order be created, found in every way, paid, cancelled, and billed, at once or from the parked ones."""
    assert [world.sample("write-order")["statusCode"] for _ in range(2)] == [201, 200]
    world.pass_time(minutes=1)
    for name in ("read-order", "read-orders", "read-customer-orders", "read-customer-items", "write-order-status"):
        assert world.sample(name)["statusCode"] == 200, name
    due = json.loads((ROOT / "events" / "billing-batch.json").read_text("utf-8"))["Records"]
    no_order = {**due[0], "dynamodb": {**due[0]["dynamodb"], "NewImage": {}}}
    # The refund comes first, and is held until the sale is billed, too.
    assert world.run("billing", {"Records": due[1:]}) == ALL_DONE
    assert world.run("billing", {"Records": [no_order, *due]}) == ALL_DONE

    # Billed again after a claim whose append was lost, after its quarter-hour is final.
    for item in segments(world):
        if postings_in(item)[0]["source"] == "orders":
            world.remove("LedgerTable", {name: item[name] for name in ("quarter_hour", "position")})
    world.pass_time(hours=1)
    world.park("billing", due[0]["dynamodb"]["NewImage"], "MODIFY")
    assert world.sample("billing-unpark") == {"billing": {"applied": 1, "kept": 1}}, "poison stays"


def live_with_subscriptions(world: World) -> None:
    """Let a subscription get what happens, and be changed, read, and deleted."""
    assert world.sample("write-subscription-replay")["statusCode"] == 404
    assert [world.sample("write-subscription")["statusCode"] for _ in range(2)] == [201, 200]
    assert [world.sample("write-subscription-secret")["statusCode"] for _ in range(2)] == [200, 200]
    held = {
        "pk": {"S": "HELD#till#CRN-9"},
        "sk": {"S": "held"},
        "held_at": {"S": "2026-10-23T01:40:00.000Z"},
        "status": {"S": "held"},
        "reason": {"S": "unknown_sale"},
        "type": {"S": "sale.refunded"},
        "agency": {"S": "42"},
    }
    assert world.stream("billing", held) == ALL_DONE
    found = socket.getaddrinfo

    def of_this_machine(host: str, *more: Any, **named: Any) -> Any:
        return found(host, *more, **named) if host in {"127.0.0.1", "localhost"} else []

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "getaddrinfo", of_this_machine)
        notified = world.sample("notify-messages")
    assert (notified["batchItemFailures"], notified["failed"]) == ([], 1), "the name resolves to no address"
    for name in ("subscriptions", "subscription", "subscription-deliveries"):
        assert world.sample(f"read-{name}")["statusCode"] == 200, name
    subscription = next(one for one in world.items("EntityTable") if one["pk"]["S"] == "SUBSCRIPTIONS")
    world.put("EntityTable", {**subscription, "status": {"S": "disabled"}})
    assert world.sample("notify-messages")["disabled"] == 1
    now = json.dumps({"from": iso_millis(world.clock.now())})
    replay = json.loads((ROOT / "events" / "write-subscription-replay.json").read_text("utf-8"))
    assert world.run("write", {**replay, "body": now})["statusCode"] == 202
    assert world.sample("write-subscription-deletion")["statusCode"] == 200


def live_with_intake(world: World) -> None:
    """Let messages be recorded and parked, a file be read in parts with its map, and parked events be tried again."""
    sample = json.loads((ROOT / "events" / "intake-messages.json").read_text("utf-8"))
    early = json.loads(sample["Records"][1]["body"])[2]
    held = {**sample["Records"][1], "body": json.dumps(early)}
    assert world.run("intake", {"Records": [held]}) == ALL_DONE, "before its sale, a refund is held"
    assert world.sample("intake-messages") == ALL_DONE
    (late,) = (one for one in world.items("LedgerTable") if "INV-2001" in str(postings_in(one)))
    world.remove("LedgerTable", {name: late[name] for name in ("quarter_hour", "position")})
    assert world.sample("intake-messages") == ALL_DONE
    others = {"Records": [json.loads(json.dumps(sample["Records"][0]).replace("INV-", "INV-9"))]}
    assert world.run("intake", others, milliseconds=1) != ALL_DONE, "without time, events are unavailable"
    assert world.run("intake", others) == ALL_DONE
    corrected = {"verdict": "rejected", "queue": "IntakeQueue", "message": "1", "index": 0, "event": early}
    world.send("IntakeParkedQueue", {"by": "intake", "reason": "its type was not known", "record": corrected})
    assert world.sample("intake-unpark") == {"intake": {"applied": 1, "kept": 2}}
    row = "INV-3001,2026-10-22 12:00:00,1.00"
    file = world.upload("inbox/till/october.csv", f"order,at,total\n{row}\n".encode())
    assert world.run("intake", file) == ALL_DONE, "without its map, it fails"
    world.upload("maps/till.toml", TILL.encode())
    again = json.loads(json.dumps(file).replace('sequencer\\": \\"', 'sequencer\\": \\"again'))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(inbox, "ENOUGH_SECONDS", 10_000)
        patch.setattr(chunks, "_PART", 40)
        assert world.run("intake", again) == ALL_DONE
    (record,) = again["Records"]
    (created,) = json.loads(record["body"])["Records"]
    thing = created["s3"]["object"]
    due = {"key": thing["key"], "etag": thing["eTag"], "upload": thing["sequencer"], "part": 1}
    record["body"] = json.dumps({"continue": due})
    assert world.run("intake", again) == ALL_DONE


def live_with_connections(world: World) -> None:
    """Let a connection deliver and be changed, and a delivery be parked, read, applied again and discarded."""
    assert world.sample("write-connection-parked")["statusCode"] == 202
    assert [world.sample("write-connection")["statusCode"] for _ in range(2)] == [201, 200]
    assert world.sample("connections-delivery")["statusCode"] == 200
    sample = json.loads((ROOT / "events" / "connections-delivery.json").read_text("utf-8"))
    assert world.run("connections", {**sample, "body": "no JSON"})["statusCode"] == 401
    secret = json.loads(json.loads((ROOT / "events" / "write-connection.json").read_text("utf-8"))["body"])["secret"]
    signature = signed_headers(Provider.SHOPIFY, secret, b"no JSON", "", world.clock.now())
    headers = {name: one for name, one in sample["headers"].items() if name != "x-shopify-test"}
    unreadable = {**sample, "body": "no JSON", "headers": {**headers, **signature}}
    for _ in range(2):
        assert json.loads(world.run("connections", unreadable)["body"])["delivery"] == "parked"
    for name in ("connections", "connection", "connection-parked", "connection-delivery"):
        assert world.sample(f"read-{name}")["statusCode"] == 200, name
    assert world.sample("write-connection-parked")["statusCode"] == 202
    queue = world.names["InboxQueue"].rpartition("/")[2]
    message = {"eventSourceARN": f"arn:aws:sqs:none:none:{queue}", "messageId": "1", "body": ""}
    apply = {"Records": [{**message, "body": json.dumps({"apply": {"connection": "shop", "after": None}})}]}
    assert world.run("intake", apply) == ALL_DONE, "it stays parked"
    assert world.sample("write-connection-deletion")["statusCode"] == 409
    live_with_repaired_connection(world, apply)
    sample = json.loads((ROOT / "events" / "write-connection.json").read_text("utf-8"))
    rotated = json.dumps({**json.loads(sample["body"]), "secret": "shpss_another_secret"})
    for _ in range(2):
        assert world.run("write", {**sample, "body": rotated})["statusCode"] == 200
    again = json.dumps({**json.loads(sample["body"]), "secret": "shpss_a_third_secret"})
    assert world.run("write", {**sample, "body": again})["statusCode"] == 200
    assert world.sample("write-connection-discard")["statusCode"] == 200
    assert world.sample("write-connection-deletion")["statusCode"] == 200


def live_with_repaired_connection(world: World, apply: Properties) -> None:
    """Let events of all kinds be delivered, and some be parked until their connection is repaired."""
    assert connect_partner(world, {}) == 201
    sold: Properties = {
        "specversion": "1.0",
        "id": "P-1",
        "source": "partner",
        "type": "sale.recorded",
        "subject": "42",
    }
    sold = {**sold, "data": {"amount": "10.00", "currency": "GBP", "customer": "Paula"}}
    data = {"amount": "-1.00", "currency": "GBP", "refers_to": "P-1"}
    refund = {**sold, "id": "P-2", "type": "sale.refunded", "data": data}
    for events in ([refund], [sold], [sold, refund]):
        assert deliver_as_partner(world, events)["delivery"] == "taken"
    (item,) = (one for one in segments(world) if [each["id"] for each in postings_in(one)] == ["P-1"])
    world.remove("LedgerTable", {name: item[name] for name in ("quarter_hour", "position")})
    assert deliver_as_partner(world, [sold])["delivery"] == "taken", "what was lost is written again"
    live_with_a_payment(world)
    live_with_external_ids(world, apply)
    assert deliver_as_partner(world, [{**sold, "id": "P-3", "source": "a" * 201}])["delivery"] == "parked"
    assert connect_partner(world, {"source": "partner"}) == 200
    of_partner = json.loads(json.dumps(apply).replace("shop", "partner"))
    assert world.run("intake", of_partner) == ALL_DONE
    assert not any(item["pk"]["S"] == "PARKED#partner" for item in world.items("EntityTable"))


def live_with_a_payment(world: World) -> None:
    """Let a refund that names no agency wait for its charge."""
    put = (ROOT / "events" / "write-connection.json").read_text("utf-8").replace("ions/shop", "ions/payments")
    secret = PARTNER
    body = json.dumps({"provider": "stripe", "secret": secret, "agency": {"field": "metadata.agency"}})
    assert world.run("write", {**json.loads(put), "body": body})["statusCode"] == 201
    common = {"amount": 1000, "currency": "gbp", "status": "succeeded", "created": int(world.clock.now().timestamp())}
    refund = {"object": "refund", "id": "re_1", "charge": "ch_1", **common}
    charge = {"object": "charge", "id": "ch_1", "captured": True, "metadata": {"agency": "42"}, **common}
    sample = json.loads((ROOT / "events" / "connections-delivery.json").read_text("utf-8"))
    for thing, expected in ((refund, "parked"), (charge, "taken")):
        content = json.dumps({"type": "x", "livemode": True, "data": {"object": thing}})
        signed = signed_headers(Provider.STRIPE, secret, content.encode(), "", world.clock.now())
        sent = {**sample, "body": content, "pathParameters": {"name": "payments"}, "headers": signed}
        assert json.loads(world.run("connections", sent)["body"])["delivery"] == expected
    assert not any(item["pk"]["S"] == "PARKED#payments" for item in world.items("EntityTable"))


def live_with_external_ids(world: World, apply: Properties) -> None:
    """Let a delivery wait until the registry knows whose its id at the provider is; then let an id be given up."""
    sample = (ROOT / "events" / "write-connection.json").read_text("utf-8").replace("ions/shop", "ions/payments")
    body = json.dumps({"provider": "stripe", "secret": PARTNER, "agency": {"external_id": "account"}})
    assert world.run("write", {**json.loads(sample), "body": body})["statusCode"] == 200
    charge = {"object": "charge", "id": "ch_2", "captured": True, "amount": 1000, "currency": "gbp"}
    charge |= {"status": "succeeded", "created": int(world.clock.now().timestamp())}
    content = json.dumps({"type": "x", "account": "acct_9", "livemode": True, "data": {"object": charge}})
    signed = signed_headers(Provider.STRIPE, PARTNER, content.encode(), "", world.clock.now())
    sent = json.loads((ROOT / "events" / "connections-delivery.json").read_text("utf-8"))
    sent |= {"body": content, "pathParameters": {"name": "payments"}, "headers": signed}
    assert json.loads(world.run("connections", sent)["body"])["delivery"] == "parked"
    put = json.loads(sample.replace("connections/payments", "agencies/harbour"))
    for seen, ids in enumerate((["acct_9", "acct_8"], ["acct_9"])):
        body = json.dumps({"seen": seen, "content": {"external_ids": {"stripe": ids}}})
        assert world.run("write", {**put, "body": body})["statusCode"] == 201
    assert world.run("intake", json.loads(json.dumps(apply).replace("shop", "payments"))) == ALL_DONE
    assert not any(item["pk"]["S"] == "PARKED#payments" for item in world.items("EntityTable"))


PARTNER = f"whsec_{b64encode(bytes(32)).decode()}"
"""The secret of the connection of a partner."""


def connect_partner(world: World, content: Properties) -> int:
    """Create or change the connection of a partner who sends CloudEvents; return the status."""
    put = (ROOT / "events" / "write-connection.json").read_text("utf-8").replace("ions/shop", "ions/partner")
    body = json.dumps({"provider": "generic", "secret": PARTNER, **content})
    status: int = world.run("write", {**json.loads(put), "body": body})["statusCode"]
    return status


def deliver_as_partner(world: World, events: list[Properties]) -> Properties:
    """Deliver events by the connection of a partner; return the answer."""
    sample = json.loads((ROOT / "events" / "connections-delivery.json").read_text("utf-8"))
    body = json.dumps(events)
    signed = signed_headers(Provider.GENERIC, PARTNER, body.encode(), "msg_1", world.clock.now())
    sent = {**sample, "body": body, "pathParameters": {"name": "partner"}, "headers": signed}
    answer: Properties = json.loads(world.run("connections", sent)["body"])
    return answer


TILL = """
[[event]]
id = "{order}"
source = "till"
type = "sale.recorded"
subject = "42"
[event.data]
amount = "{total}"
currency = "GBP"
"""


def live_with_parts(world: World) -> None:
    """Let a run be sealed in parts, as with more than 8 shards, and seal a part once more too late."""
    world.put("EntityTable", to_item({**SHARDS_KEY, "shards": 9}))
    world.pass_time(hours=1)
    run = seal_in_parts(world)
    assert world.run("report", {"reseal": run})["written"] == []
    assert world.sample("report-seal")["lines"] is None
    world.sample("report-publish")


def seal_in_parts(world: World) -> str:
    """Let what was recorded be sealed in parts; return the name of the run."""
    assert world.sample("report-schedule")["complete"] is False
    (item,) = (one for one in world.items("EntityTable") if "plan" in one and one["sk"]["S"] == "checkpoint")
    plan = Checkpoint.of(from_item(item)).plan
    assert plan
    for part in map(str, plan.all_parts):
        assert world.run("report", {"seal": {"run": plan.run, "part": part}})["lines"] is not None
    assert world.run("report", {"publish": plan.run})["runs"] == [plan.run]
    return plan.run


def live_with_many_days(world: World) -> None:
    """Let more days be rebuilt than one invocation does, and follow the execution."""
    runs = [to_item({"pk": RUNS, "sk": f"2026-10-0{day}T0000-2400"}) for day in range(1, 9)]
    for run in runs:
        world.put("EntityTable", run)
    started = world.sample("repair-rebuild")
    execution = started["execution"]
    assert world.run("repair", {"action": "follow", "execution": execution})["execution"] == execution
    for run in runs:
        world.remove("EntityTable", run)


def live_with_statements(world: World) -> None:
    """Let a month be drafted and released, before and after whose plan documents were written."""
    later = "2027-01-01T00:00:00Z"
    write(world, "write-agency", "Nord & Süd", {"tax": {"scheme": "reverse_charge"}})
    write(world, "write-agency", "Nord & Süd", {"valid_from": later})
    write(world, "write-agency", "42", tax(percent="20"))
    owner = {"legal_name": "Riverside Market Ltd", "address": "1 Quay", "country": "GB", "vat_id": "GB980780684"}
    write(world, "write-document", "owner", owner)
    seal_through(world, datetime(2026, 11, 4, tzinfo=UTC))
    assert world.sample("watch-tick")["statements_due"] == "2026-10"
    assert json.loads(world.sample("write-statement-run")["body"]) == {"period": "2026-10", "release": None}
    with world.without_sealed_lines(), pytest.raises(SealedFileError, match="is gone"):
        world.sample("statements-run")
    world.pass_time(minutes=1)
    write(world, "write-document", "owner", {**owner, "address": "2 Quay"})
    made = world.sample("statements-run")
    assert (made["periods"], made["documents"]) == (["2026-10"], 1), made


def live_with_releases(world: World) -> None:
    """Let a month be drafted and released, and a statement of it be cancelled and released again."""
    sample = json.loads((ROOT / "events" / "ingest-one.json").read_text("utf-8"))
    for id_, agency in (("INV-2001:1", "42"), ("INV-2002:1", "Nord & Süd")):
        sold = {**json.loads(sample["body"]), "id": id_, "subject": agency, "time": iso_millis(world.clock.now())}
        recorded = world.run("ingest", {**sample, "body": json.dumps(sold)})
        assert json.loads(recorded["body"])["counts"] == {"recorded": 1}, recorded
    world.pass_time(hours=1)
    seal_in_parts(world)
    assert world.stream("counters", *segments(world)[-2:]) == ALL_DONE
    seal_through(world, datetime(2026, 12, 4, tzinfo=UTC))
    made = world.sample("statements-period")
    assert (made["periods"], made["drafts"], made["documents"]) == (["2026-11"], 2, 1), made
    for name in ("drafts", "releases", "draft"):
        assert world.sample(f"read-{name}")["statusCode"] == 200, name
    for agency in ("42", "Nord & Süd"):
        for name in ("draft", "statement"):
            assert world.sample(f"read-{name}", agency=agency, period="2026-11")["statusCode"] == 200, (name, agency)
    assert decide(world, "cancel", 2) == 200
    assert world.sample("watch-tick")["statements_due"] is None, "a release is due, no period"
    assert json.loads(world.sample("write-statement-run")["body"])["release"] == 3
    assert world.sample("statements-run")["documents"] == 1
    release_again(world)
    assert world.sample("statements-run")["documents"] == 1
    world.pass_time(hours=1)
    write(world, "write-document", "rate-card:monthly", {"valid_from": "2027-07-01T00:00:00Z", "rules": MONTHLY})
    world.lose("work/2026-11/roster.jsonl.gz")
    assert world.sample("statements-reseal")["written"] == []
    lost = ["statements/2026-11/42/GBP/3/statement.json", "statements/releases/000004/statements.csv"]
    world.lose(*lost)
    write(world, "write-agency", "42", tax(percent="21"))
    write(world, "write-document", "owner", {"legal_name": "Riverside Market Ltd"})
    assert world.sample("statements-reseal")["written"] == lost, "for the parties of then"
    for step in ("collect", "add-up", "write", "publish"):
        world.sample(f"statements-{step}")


def release_again(world: World) -> None:
    """Decide to release the draft of the sample.

    The index still has one of the period before, and both parties get a version at the same moment.
    """
    items = world.items("EntityTable")
    (earlier,) = (one for one in items if one["pk"]["S"] == "DRAFTS#2026-10" and one["sk"]["S"] == "42#GBP")
    world.put("EntityTable", {**earlier, "gsi1pk": {"S": "OPEN-DRAFTS"}, "gsi1sk": {"S": "2026-10#42#GBP"}})
    latest = [
        one for one in items if one["pk"]["S"] in {"DOCUMENT#owner", "DOCUMENT#agency:42"} and one["sk"]["S"] == "v_0"
    ]
    for one in latest:
        world.put("EntityTable", {**one, "written_at": {"S": iso_millis(world.clock.now() + timedelta(seconds=1))}})
    assert decide(world, "release", 4) == 200
    for one in latest:
        world.put("EntityTable", one)
    world.put("EntityTable", earlier)


def decide(world: World, decision: str, seen: int) -> int:
    """Decide about the draft of the sample; return the status."""
    sample = json.loads((ROOT / "events" / "write-draft.json").read_text("utf-8"))
    body = json.dumps({**json.loads(sample["body"]), "decision": decision, "seen": seen})
    status: int = world.run("write", {**sample, "body": body})["statusCode"]
    return status


def live_with_disputes(world: World) -> None:
    """Let a statement be disputed, corrected and resolved, and be read in every way."""
    write(world, "write-agency", "42", {"valid_from": "2027-01-01T00:00:00Z"})
    assert world.sample("read-statement", period="2026-12")["statusCode"] == 200, "a preview"
    assert [world.sample("write-dispute")["statusCode"] for _ in range(2)] == [201, 200]
    another = json.loads((ROOT / "events" / "write-dispute.json").read_text("utf-8"))
    another["body"] = another["body"].replace("INV-1001:1", "CRN-0031:1")
    assert world.run("write", another)["statusCode"] == 201
    assert [world.sample("write-dispute-resolution")["statusCode"] for _ in range(2)] == [200, 200]
    world.pass_time(minutes=1)
    sample = json.loads((ROOT / "events" / "ingest-held.json").read_text("utf-8"))
    correction = json.loads(sample["body"])
    data = {"amount": "-0.02", "currency": correction["data"]["currency"], "refers_to": "INV-1001:1"}
    world.run("ingest", {**sample, "body": json.dumps({**correction, "id": "CRN-0051:1", "data": data})})
    assert world.sample("watch-tick")["disputes"] == {"resolved": 1, "open": 0}
    assert world.sample("write-statement-status")["statusCode"] == 409, "others have changed it"
    assert world.sample("read-messages", kind="statements", subject="42#GBP#2026-10")["statusCode"] == 200
    for name in (
        "periods",
        "statements",
        "statement",
        "receivables",
        "disputes",
        "account-balance",
        "search",
        "bank-file",
    ):
        assert world.sample(f"read-{name}")["statusCode"] == 200, name
    for name in ("statements", "disputes"):
        of_agency = json.loads((ROOT / "events" / f"read-{name}.json").read_text("utf-8"))
        assert world.run("read", {**of_agency, "queryStringParameters": {"agency": "42"}})["statusCode"] == 200


def live_with_forgetting(world: World) -> None:
    """Let each function that records meet new customers; forget some, and remove the text of a message."""
    order = (ROOT / "events" / "write-order.json").read_text("utf-8")
    again = world.run("write", json.loads(order.replace("C-77", "Anna")))
    assert again["statusCode"] == 200, "customers are not compared"
    message = (ROOT / "events" / "intake-messages.json").read_text("utf-8")
    named = message.replace('\\"currency\\": \\"GBP\\"', '\\"currency\\": \\"GBP\\", \\"customer\\": \\"Carl\\"')
    assert world.run("intake", json.loads(named)) == ALL_DONE
    reason = {"by": "ann", "reason": "request 18"}
    assert world.run("repair", {"action": "forget", "customer": "Anna", **reason})["token"]
    token = world.sample("repair-forget")["token"]
    assert world.run("repair", {"action": "forget", "customer": token, **reason})["token"] is None
    assert len(world.sample("repair-forgotten")["items"]) == 2
    assert world.sample("repair-redact")["redacted"]


def live_with_archive(world: World) -> None:
    """Let what was sealed be archived, once no draft is open, and every function meet archived events."""
    assert world.sample("report-schedule")["archive"]["waits_for"] == "a draft of 2026-10 is not released"
    for item in world.items("EntityTable"):
        if item.get("gsi1pk") == {"S": "OPEN-DRAFTS"}:
            world.remove("EntityTable", {name: item[name] for name in ("pk", "sk")})
        elif item["pk"]["S"] == RUNS:
            world.put("EntityTable", {**item, "proofs": {"M": {}}})
    assert world.sample("report-schedule")["archive"]["complete"]
    for item in segments(world):
        part = Part(Partition.parse(item["quarter_hour"]["S"]).quarter_hour, 9)
        if part.quarter_hour.day.month == OCTOBER:
            world.put("LedgerTable", archived_item(item, count_of(item), part.number))
            lines = io.BytesIO()
            with SealedFileWriter() as writer:
                writer.write(postings_in(item))
                writer.seal()
                copyfileobj(writer.file, lines)
            world.store(part.lines_key, lines.getvalue())
    for item in world.items("EntityTable"):
        if item["pk"]["S"].startswith("DISPUTES#"):
            world.put("EntityTable", {**item, "status": {"S": "open"}, "gsi1pk": {"S": "DISPUTES#open"}})
    due = json.loads((ROOT / "events" / "billing-batch.json").read_text("utf-8"))["Records"]
    world.run("billing", {"Records": due})
    for name in ("ingest-batch", "intake-messages", "write-message", "watch-tick"):
        world.sample(name)
    sold = json.loads(json.loads((ROOT / "events" / "ingest-batch.json").read_text("utf-8"))["body"])
    assert connect_partner(world, {}) == 200
    world.pass_time(minutes=2)
    deliver_as_partner(world, sold)


def write(world: World, sample: str, name: str, content: Properties) -> None:
    """Write a version of a document after its latest one."""
    parameter, prefix = ("agency", "agency:") if sample == "write-agency" else ("document", "")
    items = [item for item in world.items("EntityTable") if item["pk"]["S"] == f"DOCUMENT#{prefix}{name}"]
    seen = max((int(item["version"]["N"]) for item in items if "version" in item), default=0)
    event = json.loads((ROOT / "events" / f"{sample}.json").read_text("utf-8"))
    event = redirected(event, world.functions["write"].routes.operations, {parameter: name})
    written = world.run("write", {**event, "body": json.dumps({"seen": seen, "content": content})})
    assert written["statusCode"] == 201, written


def seal_through(world: World, instant: datetime) -> None:
    """Let everything before an instant be sealed, and pass until a while after it; nothing was recorded meanwhile."""
    (item,) = (one for one in world.items("EntityTable") if one["sk"]["S"] == "checkpoint")
    item = {name: value for name, value in item.items() if name != "plan"}
    world.put("EntityTable", {**item, "sealed_through": {"S": str(QuarterHour.at(instant).previous)}})
    world.clock.advance_to(instant + timedelta(minutes=15))


def recorded_batch(world: World) -> Properties:
    """Let events be priced by themselves, by a rate card, and at the default rate; one has no time left."""
    single = json.loads((ROOT / "events" / "ingest-one.json").read_text("utf-8"))
    late = json.dumps({**json.loads(single["body"]), "id": "LATE"})
    assert world.run("ingest", {**single, "body": late}, milliseconds=0)["statusCode"] == 503
    sold = {**json.loads(single["body"]), "id": "UNPRICED"}
    del sold["data"]["commission_rate"]
    assert world.run("ingest", {**single, "body": json.dumps(sold)})["statusCode"] == 202
    recorded: Properties = world.sample("ingest-batch")
    assert recorded["statusCode"] == 202, recorded
    return recorded


def read_everything(world: World, run: str) -> None:
    """Send every request that the reading function accepts."""
    for event in ("INV-1002:1", "UNPRICED"):
        assert world.sample("read-event-explain", event=event)["statusCode"] == 200, event
    of_agency = json.loads((ROOT / "events" / "read-events.json").read_text("utf-8"))
    span = {name: of_agency["queryStringParameters"][name] for name in ("from", "to")}
    for only in ({"order": "1001"}, {"customer": "ada"}):
        query = span | only
        sent = {"queryStringParameters": query, "rawQueryString": urlencode(query)}
        assert world.run("read", {**of_agency, **sent})["statusCode"] == 200, only
    for name in (
        "me",
        "openapi",
        "accounts",
        "overview",
        "account",
        "account-changes",
        "account-quarter-hours",
        "account-days",
        "account-periods",
        "account-snapshots",
        "account-trend",
        "window",
        "reports",
        "events",
        "event",
        "held",
        "csv-events",
        "csv-agencies",
        "csv-maps",
        "rerating",
        "rerating-effect",
        "event-explain",
        "event-story",
        "source-events",
        "location",
        "locations",
        "sales",
    ):
        assert world.sample(f"read-{name}")["statusCode"] == 200, name
    for layer in ("5m", "30m", "12h", "1d"):
        world.sample("read-window", layer=layer)
    window = json.loads((ROOT / "events" / "read-window.json").read_text("utf-8"))
    world.run("read", {**window, "queryStringParameters": {"kind": "exchange-rates"}})
    assert world.sample("read-report", run=run)["statusCode"] == 200
    assert world.sample("read-report-person", run=run)["statusCode"] == 404, "nobody has allowed it"


def forget_counters(world: World) -> None:
    """Lose all that was counted."""
    for item in world.items("EntityTable"):
        if item["pk"]["S"].startswith(("ACCOUNT#", "SEEN#")):
            world.remove("EntityTable", {name: item[name] for name in ("pk", "sk")})
