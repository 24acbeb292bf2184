"""The report's calls to S3 and DynamoDB where an object or item exists already, or a call fails temporarily."""

from dataclasses import replace
from decimal import Decimal
from io import BytesIO
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from quarterhour.aws.items import from_item, to_item
from quarterhour.aws.workers import Workers
from quarterhour.model.errors import OvertakenError, SealedFileError, UnavailableError
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.registry.exchange_rates.exchange_rate import ExchangeRate
from quarterhour.reports.base_currency import pins_as_list
from quarterhour.reports.digests import hexdigest
from quarterhour.reports.plan import Plan
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.reports.store import CheckpointStore, PinStore
from tests.support.builders import QUARTER_HOUR, utc
from tests.support.script import Scripted, service_error

TIMEOUT = ReadTimeoutError(endpoint_url="bucket")
EXISTS = service_error("PreconditionFailed", 412)
UNMET = service_error("ConditionalCheckFailedException")
DENIED = service_error("AccessDeniedException")
CONTENT = b"sealed lines"
KEY = "ledger/dt=2026-10-23/quarter=0130/lines.csv.gz"
PLAN = Plan(
    QUARTER_HOUR,
    QUARTER_HOUR.next,
    "2026-10-23T02:03:00.000Z",
    "1.0",
    1,
    ("run-0", "hash-0"),
    (QUARTER_HOUR, QUARTER_HOUR.next),
)

pytestmark = pytest.mark.usefixtures("hands")


def checkpoints(dynamodb: Scripted) -> CheckpointStore:
    client: Any = dynamodb
    return CheckpointStore(client, "Entity")


def pins_of(dynamodb: Scripted) -> PinStore:
    client: Any = dynamodb
    return PinStore(client, "Entity", Workers(1))


def files(s3: Scripted) -> SealedFiles:
    client: Any = s3
    return SealedFiles(client, "bucket")


# ---------------------------------------------------------------- sealed objects


class Bucket(Scripted):
    """A bucket that answers from a script, and reads each body that it is given to the end."""

    def __init__(self, *answers: Any) -> None:
        super().__init__(*answers)
        self.bodies: list[bytes] = []

    def put_object(self, **request: Any) -> dict[str, Any]:
        body = request["Body"]
        self.bodies.append(body if isinstance(body, bytes) else body.read())
        answer: dict[str, Any] = self.__getattr__("put_object")(**request)
        return answer


def existing(content: bytes) -> dict[str, Any]:
    return {"Body": BytesIO(content)}


@pytest.mark.parametrize("content", [CONTENT, BytesIO(CONTENT)], ids=["bytes", "file"])
def test_an_object_is_created_only_where_none_exists_and_sent_whole_each_time(content: Any) -> None:
    bucket = Bucket(TIMEOUT, TIMEOUT, {})
    assert files(bucket).create(KEY, content, hexdigest(CONTENT))
    assert bucket.bodies == [CONTENT] * 3
    request = {"Bucket": "bucket", "Key": KEY, "Body": content, "ContentType": "application/gzip", "IfNoneMatch": "*"}
    assert bucket.calls == [("put_object", request)] * 3


def test_an_object_that_exists_with_the_same_bytes_is_left_as_it_is() -> None:
    bucket = Bucket(EXISTS, existing(CONTENT))
    assert not files(bucket).create(KEY, CONTENT, hexdigest(CONTENT))
    assert bucket.calls[1:] == [("get_object", {"Bucket": "bucket", "Key": KEY})]


def test_an_object_that_exists_with_other_bytes_is_refused_by_its_name() -> None:
    with pytest.raises(SealedFileError, match=KEY):
        files(Bucket(EXISTS, existing(CONTENT + b"!"))).create(KEY, CONTENT, hexdigest(CONTENT))


def test_a_large_object_that_exists_is_compared_to_its_last_byte() -> None:
    large = bytes(3 << 20)
    assert not files(Bucket(EXISTS, existing(large))).create(KEY, large, hexdigest(large))
    with pytest.raises(SealedFileError):
        files(Bucket(EXISTS, existing(large[:-1] + b"!"))).create(KEY, large, hexdigest(large))


def test_an_object_that_could_not_be_created_is_an_error_whether_it_exists_or_not() -> None:
    with pytest.raises(ClientError, match="AccessDenied"):
        files(Bucket(DENIED, existing(CONTENT))).create(KEY, CONTENT, hexdigest(CONTENT))
    with pytest.raises(UnavailableError):
        files(Bucket(TIMEOUT)).create(KEY, CONTENT, hexdigest(CONTENT))


# ---------------------------------------------------------------- pinned rates

RATE = ExchangeRate(Decimal("0.8"), "ECB", "EUR", utc("01:00"))
OTHER = replace(RATE, units_per_base=Decimal("0.5"))


def test_exchange_rates_are_pinned_where_none_are() -> None:
    table = Scripted({})
    pins: dict[str, ExchangeRate | None] = {"GBP": RATE, "USD": None}
    assert pins_of(table).pin(QUARTER_HOUR, "EUR", pins) == pins
    ((operation, request),) = table.calls
    assert (operation, request["ConditionExpression"]) == ("put_item", "attribute_not_exists(pk)")
    item = from_item(request["Item"])
    assert (item["pk"], item["sk"], item["rates"]) == (f"PINNED#{QUARTER_HOUR}", "EUR", pins_as_list(pins))


def test_exchange_rates_that_are_pinned_already_stay() -> None:
    item = to_item({"pk": f"PINNED#{QUARTER_HOUR}", "sk": "EUR", "rates": pins_as_list({"GBP": OTHER})})
    table = Scripted(TIMEOUT, service_error("ConditionalCheckFailedException", Item=item))
    assert pins_of(table).pin(QUARTER_HOUR, "EUR", {"GBP": RATE}) == {"GBP": OTHER}
    assert pins_of(Scripted({"Item": item})).pinned(QUARTER_HOUR, "EUR") == {"GBP": OTHER}


def test_a_pin_that_could_not_be_written_is_an_error() -> None:
    with pytest.raises(ClientError):
        pins_of(Scripted(DENIED)).pin(QUARTER_HOUR, "EUR", {"GBP": RATE})


def test_where_no_exchange_rates_are_pinned_none_are_returned() -> None:
    assert pins_of(Scripted({})).pinned(QUARTER_HOUR, "EUR") == {}


# ---------------------------------------------------------------- the checkpoint


def checkpoint(through: QuarterHour, **more: Any) -> dict[str, Any]:
    return {"Item": to_item({"sealed_through": str(through), "previous": ["run-0", "hash-0"], **more})}


def test_a_finished_run_moves_the_checkpoint_from_the_start_of_its_plan() -> None:
    table = Scripted({})
    checkpoints(table).finish(PLAN, "hash-1")
    ((operation, request),) = table.calls
    values = from_item(request["ExpressionAttributeValues"])
    assert operation == "update_item"
    assert request["ConditionExpression"] == "#sealed_through = :at AND #plan.planned_at = :planned_at"
    assert values == {
        ":sealed_through": str(PLAN.last),
        ":previous": [PLAN.run, "hash-1"],
        ":at": str(QUARTER_HOUR.previous),
        ":planned_at": PLAN.planned_at,
    }


@pytest.mark.parametrize("through", [PLAN.last, PLAN.last.next])
def test_finishing_a_finished_run_is_no_error(through: QuarterHour) -> None:
    """The answer to the first try was lost, or another invocation was faster."""
    table = Scripted(TIMEOUT, UNMET, checkpoint(through))
    checkpoints(table).finish(PLAN, "hash-1")
    assert [operation for operation, _ in table.calls] == ["update_item", "update_item", "get_item"]


@pytest.mark.parametrize("answer", [checkpoint(PLAN.last.previous), checkpoint(QUARTER_HOUR.previous), {}])
def test_finishing_a_run_that_is_not_under_way_is_an_error(answer: dict[str, Any]) -> None:
    with pytest.raises(OvertakenError, match=str(PLAN.last)):
        checkpoints(Scripted(UNMET, answer)).finish(PLAN, "hash-1")


def test_a_plan_that_another_run_stored_first_is_no_error() -> None:
    table = Scripted(UNMET)
    at = checkpoints(Scripted(checkpoint(QUARTER_HOUR.previous))).checkpoint()
    assert at
    checkpoints(table).save_plan(at, PLAN)
    assert len(table.calls) == 1


@pytest.mark.parametrize("error", [DENIED, service_error("ValidationException")])
def test_a_checkpoint_that_could_not_be_moved_is_an_error(error: ClientError) -> None:
    with pytest.raises(ClientError):
        checkpoints(Scripted(error, checkpoint(PLAN.last))).finish(PLAN, "hash-1")


def test_a_checkpoint_is_read_as_it_was_stored() -> None:
    read = checkpoints(Scripted(checkpoint(QUARTER_HOUR.previous, plan=PLAN.as_dict()))).checkpoint()
    assert read
    assert (read.sealed_through, read.previous, read.plan) == (QUARTER_HOUR.previous, ("run-0", "hash-0"), PLAN)
    assert checkpoints(Scripted({})).checkpoint() is None
