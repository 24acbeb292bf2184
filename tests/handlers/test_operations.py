"""The state of the operation over HTTP: the depths of the queues, and the delay of the reports."""

from collections.abc import Iterator
from datetime import UTC, datetime

import botocore.session
import pytest
from botocore.validate import ParamValidator

from quarterhour.aws.queues import depth_request
from tests.support.system import World, faulty, opened

QUEUES = {
    "records-parked": "ParkedQueue",
    "dead-letters": "DeadLetterQueue",
}


@pytest.fixture
def world() -> Iterator[World]:
    with opened() as world:
        yield world


def depths(world: World) -> dict[str, tuple[int, int]]:
    """Return the messages of each queue that wait, and those in flight."""
    return {one["queue"]: (one["waiting"], one["in_flight"]) for one in world.read("/operations")["queues"]}


def test_a_new_system_has_empty_queues_and_is_on_time(world: World) -> None:
    assert depths(world) == dict.fromkeys(QUEUES, (0, 0))
    reports = world.read("/operations")["reports"]
    assert reports == {"sealed_until": None, "delay_seconds": 0, "delay_firings": 0, "late": False}


@pytest.mark.parametrize(("name", "queue"), QUEUES.items(), ids=QUEUES)
def test_messages_are_counted_in_their_own_queue(world: World, name: str, queue: str) -> None:
    sqs, url = world.stack.engine.sqs(), world.stack.ref(queue)
    for _ in range(3):
        sqs.send_message(QueueUrl=url, MessageBody="{}")
    sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=1)
    assert depths(world) == {**dict.fromkeys(QUEUES, (0, 0)), name: (2, 1)}


def test_the_delay_counts_from_the_oldest_quarter_hour_that_could_be_sealed(world: World) -> None:
    world.sell("1")  # at 01:30, so its quarter-hour is due from 01:47 on
    world.clock.advance_to(datetime(2026, 10, 23, 3, 47, tzinfo=UTC))
    late = {"sealed_until": "2026-10-23T01:30:00Z", "delay_seconds": 7200, "delay_firings": 2, "late": True}
    assert world.read("/operations")["reports"] == late
    world.report()
    on_time = {"sealed_until": "2026-10-23T03:45:00Z", "delay_seconds": 0, "delay_firings": 0, "late": False}
    assert world.read("/operations")["reports"] == on_time


def test_a_queue_that_cannot_be_read_is_an_error_and_not_empty() -> None:
    with faulty() as (world, _):
        world.stack.engine.sqs().delete_queue(QueueUrl=world.stack.ref("ParkedQueue"))
        response = world.get("/operations")
        assert (response.status, "queues" in response.json()) == (500, False)


def test_the_request_is_valid_for_aws() -> None:
    """The clients do not validate parameters, so this test does."""
    shape = botocore.session.get_session().get_service_model("sqs").operation_model("GetQueueAttributes").input_shape
    assert shape is not None
    assert ParamValidator().validate(depth_request("https://sqs.example/q"), shape).generate_report() == ""
