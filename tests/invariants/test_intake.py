"""The ways in beside HTTP under death at every AWS call: SQS delivers again, and each event is recorded once."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from quarterhour.intake import chunks, inbox
from tests.invariants.crashing import Crashes, Numbers
from tests.invariants.trial import Trial, on_trial
from tests.support.events import Cloud, refund, sale
from tests.support.intake import ndjson, results, send, upload

pytestmark = pytest.mark.slow


@pytest.fixture
def place() -> Iterator[Trial]:
    with on_trial(intake=True) as made:
        yield made


def deliver(place: Trial, logical: str) -> bool:
    """Deliver the messages of a queue once, as Lambda does; return whether all of them are done."""
    url, arn = place.stack.ref(logical), place.stack._attribute(logical, "Arn")
    found = place.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, VisibilityTimeout=0).get("Messages", [])
    if not found:
        return True
    records = [{"messageId": one["MessageId"], "body": one["Body"], "eventSourceARN": arn} for one in found]
    answer = place.invoke("intake", {"Records": records})
    if answer is None:
        return False
    failed = {one["itemIdentifier"] for one in answer["batchItemFailures"]}
    for one in found:
        if one["MessageId"] not in failed:
            place.sqs.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])
    return False


def deliver_all(place: Trial, logical: str) -> None:
    """Deliver until the queue is empty."""
    place.faults.disarm()
    for _ in range(20):
        if deliver(place, logical):
            return
    raise AssertionError("a message comes again and again")


def taken(place: Trial) -> Iterator[Any]:
    """Take the records out of the queue of parked events."""
    url = place.stack.ref("IntakeParkedQueue")
    while found := place.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
        for one in found:
            yield json.loads(one["Body"])["record"]
            place.sqs.delete_message(QueueUrl=url, ReceiptHandle=one["ReceiptHandle"])


def sent(place: Trial, *events: Cloud) -> list[Cloud]:
    """Remember what a sender has sent."""
    for event in events:
        place.sent.setdefault(event["id"], []).append(event)
    return list(events)


def test_a_batch_of_messages_of_queue_and_bus_may_die_at_any_call(
    place: Trial, number: Numbers, crashes: Crashes
) -> None:
    def prepare(trial: Trial) -> None:
        n = number()
        send(trial, sent(trial, sale(f"s{n}", "10"), refund(f"r{n}", "-4", of=f"s{n}"), sale(f"bad{n}", "ten")))
        (of_bus,) = sent(trial, sale(f"b{n}", "2"))
        send(trial, {"detail-type": "quarterhour.event", "source": "till", "detail": of_bus})
        send(trial, sent(trial, sale(f"s{n}", "11"))[0])

    def act(trial: Trial) -> None:
        deliver(trial, "IntakeQueue")

    def recover(trial: Trial) -> None:
        deliver_all(trial, "IntakeQueue")
        n = number.last
        # The two sales of one id come in any order: one is recorded, the other is parked.
        accepted = [trial.sent[f"{kind}{n}"][0] for kind in "rb"]
        trial.accepted |= {event["id"]: event for event in accepted}
        parked = {(one["verdict"], one["event"]["id"]) for one in taken(trial)}
        assert parked == {("rejected", f"bad{n}"), ("conflict", f"s{n}")}

    crashes.at_each_later_call("messages of the queue", place, prepare, act, recover, first=0)


def test_the_parts_of_a_file_may_die_at_any_call(
    place: Trial, number: Numbers, crashes: Crashes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox, "ENOUGH_SECONDS", 1000)  # each part is one chunk
    monkeypatch.setattr(chunks, "MAX_BATCH", 2)

    def prepare(trial: Trial) -> None:
        n = number()
        events = sent(trial, sale(f"a{n}", "1"), sale(f"b{n}", "2"), refund(f"c{n}", "-1", of=f"a{n}"))
        upload(trial, f"inbox/{n}.ndjson", ndjson(events))

    def act(trial: Trial) -> None:
        while not deliver(trial, "InboxQueue"):
            if trial.faults.struck and trial.faults.struck[-1][0].position == len(trial.faults.calls) - 1:
                return  # It has died; another part is delivered later.

    def recover(trial: Trial) -> None:
        deliver_all(trial, "InboxQueue")
        n = number.last
        trial.accepted |= {f"{kind}{n}": trial.sent[f"{kind}{n}"][0] for kind in "abc"}
        result = results(trial)[f"inbox/{n}.ndjson"]
        assert (result["status"], sum(result["counts"].values()), result["problems"]) == ("done", 3, [])

    crashes.at_each_later_call("parts of a file", place, prepare, act, recover, first=0)
