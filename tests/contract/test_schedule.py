"""The schedule in EventBridge Scheduler and in the Entity table: a change and its record are written together."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from quarterhour.aws.retries import is_cancelled
from quarterhour.model.errors import ConflictError
from quarterhour.reports.schedule.keys import SCHEDULE
from quarterhour.reports.schedule.plan import DesiredSchedule, ScheduleChange, ScheduleRequest, change
from quarterhour.reports.schedule.service import ScheduleReconciler
from quarterhour.reports.schedule.store import update_request
from quarterhour.web.paging import Paging
from tests.contract.storage import Storage

NOW = datetime(2026, 10, 23, 8, 0, tzinfo=UTC)
DEPLOYED = "rate(1 hour)"
NIGHTLY = "cron(0 2 * * ? *)"
OFTEN = "rate(15 minutes)"


def planned(current: DesiredSchedule, by: str = "ann", **fields: Any) -> ScheduleChange:
    made = change(current, ScheduleRequest(fields, None), DEPLOYED, by, NOW)
    assert made
    return made


@pytest.fixture(autouse=True)
def _as_deployed(storage: Storage) -> Iterator[None]:
    """There is one schedule, so each test restores the deployed one."""
    yield
    storage.forget(SCHEDULE)
    request = update_request(storage.schedule.actual(), DesiredSchedule().setting(DEPLOYED))
    if request:
        storage.schedule.update(request)


@pytest.fixture
def reconciler(storage: Storage) -> ScheduleReconciler:
    return ScheduleReconciler(storage.schedule, DEPLOYED)


def recorded(storage: Storage) -> list[tuple[str, Any]]:
    """Return the sender and the new expression of each change, newest first."""
    return [(one["by"], one["to"]["expression"]) for one in storage.schedule.changes(None, 100)]


# ---------------------------------------------------------------- the desired schedule


def test_at_first_the_desired_schedule_is_the_deployed_one(storage: Storage) -> None:
    assert storage.schedule.desired() == DesiredSchedule()
    assert recorded(storage) == []


def test_a_desired_schedule_is_written_together_with_the_record_of_its_change(storage: Storage) -> None:
    first = planned(DesiredSchedule(), expression=NIGHTLY)
    storage.schedule.record(first)
    second = planned(first.desired, "bob", paused=True, expression=None)
    storage.schedule.record(second)
    assert storage.schedule.desired() == second.desired
    assert recorded(storage) == [("bob", DEPLOYED), ("ann", NIGHTLY)]


def test_of_two_first_changes_one_is_kept(storage: Storage) -> None:
    first, other = planned(DesiredSchedule(), expression=NIGHTLY), planned(DesiredSchedule(), "bob", expression=OFTEN)
    storage.schedule.record(first)
    with pytest.raises(ClientError) as lost:
        storage.schedule.record(other)
    assert is_cancelled(lost.value)
    assert storage.schedule.desired() == first.desired
    assert recorded(storage) == [("ann", NIGHTLY)]


def test_of_two_later_changes_one_is_kept(storage: Storage) -> None:
    before = planned(DesiredSchedule(), expression=NIGHTLY)
    storage.schedule.record(before)
    first, other = planned(before.desired, expression=OFTEN), planned(before.desired, "bob", paused=True)
    storage.schedule.record(other)
    with pytest.raises(ClientError) as lost:
        storage.schedule.record(first)
    assert is_cancelled(lost.value)
    assert storage.schedule.desired() == other.desired
    assert recorded(storage) == [("bob", NIGHTLY), ("ann", NIGHTLY)]


def test_changes_are_listed_newest_first_page_by_page(storage: Storage, reconciler: ScheduleReconciler) -> None:
    desired = DesiredSchedule()
    for number in range(5):
        made = planned(desired, f"user-{number}", expression=f"rate({15 + number} minutes)")
        storage.schedule.record(made)
        desired = made.desired
    listed, after = [], None
    for _ in range(3):
        page = reconciler.changes(Paging(2, "request", after))
        listed.append([one["version"] for one in page.items])
        after = page.after
    assert (listed, after) == ([[5, 4], [3, 2], [1]], None)


# ---------------------------------------------------------------- the actual schedule


def test_an_update_changes_only_the_expression_and_the_state(storage: Storage) -> None:
    before = storage.schedule.actual()
    request = update_request(before, DesiredSchedule(1, NIGHTLY, paused=True).setting(DEPLOYED))
    assert request
    storage.schedule.update(request)
    after = storage.schedule.actual()
    assert (after.expression, after.paused) == (NIGHTLY, True)
    changed = {"ScheduleExpression", "State", "LastModificationDate", "ResponseMetadata"}
    assert {name: value for name, value in after.fields.items() if name not in changed} == {
        name: value for name, value in before.fields.items() if name not in changed
    }


def test_reconciling_corrects_the_actual_schedule_once(storage: Storage, reconciler: ScheduleReconciler) -> None:
    storage.schedule.record(planned(DesiredSchedule(), expression=NIGHTLY))
    assert [corrected for _, corrected in (reconciler.reconcile(), reconciler.reconcile())] == [True, False]
    assert storage.schedule.actual().expression == NIGHTLY


def test_without_a_desired_expression_the_deployed_one_is_enforced(
    storage: Storage, reconciler: ScheduleReconciler
) -> None:
    request = update_request(
        storage.schedule.actual(), DesiredSchedule(1, "rate(1 minute)", paused=True).setting(DEPLOYED)
    )
    assert request
    storage.schedule.update(request)
    assert reconciler.reconcile()[1], "somebody has changed it by hand"
    assert (storage.schedule.actual().expression, storage.schedule.actual().paused) == (DEPLOYED, False)


# ---------------------------------------------------------------- concurrent changes


def meanwhile(storage: Storage, operation: str, act: Callable[[], None]) -> None:
    """Call ``act`` once, just before the next call of the operation."""
    client: Any = storage.scheduler if operation in {"GetSchedule", "UpdateSchedule"} else storage.dynamodb
    done: list[str] = []

    def interrupt(**_: object) -> None:
        if not done:
            done.append(operation)
            client.meta.events.unregister(event, interrupt)
            act()

    event = f"before-call.{client.meta.service_model.service_id.hyphenize()}.{operation}"
    client.meta.events.register(event, interrupt)


def test_the_loser_of_a_race_gets_a_conflict_and_changes_nothing(
    storage: Storage, reconciler: ScheduleReconciler
) -> None:
    other = ScheduleReconciler(storage.schedule, DEPLOYED)
    meanwhile(storage, "TransactWriteItems", lambda: other.change(ScheduleRequest({"expression": OFTEN}, None), "bob"))
    with pytest.raises(ConflictError):
        reconciler.change(ScheduleRequest({"expression": NIGHTLY}, None), "ann")
    assert recorded(storage) == [("bob", OFTEN)]
    assert storage.schedule.actual().expression == OFTEN


def test_two_equal_requests_at_once_both_succeed_and_make_one_change(
    storage: Storage, reconciler: ScheduleReconciler
) -> None:
    other = ScheduleReconciler(storage.schedule, DEPLOYED)
    meanwhile(storage, "TransactWriteItems", lambda: other.change(ScheduleRequest({"expression": OFTEN}, None), "bob"))
    reconciler.change(ScheduleRequest({"expression": OFTEN}, None), "ann")
    assert recorded(storage) == [("bob", OFTEN)]


@pytest.mark.parametrize("operation", ["GetSchedule", "UpdateSchedule"])
def test_after_concurrent_changes_the_actual_schedule_is_the_newest_desired_one(
    storage: Storage, reconciler: ScheduleReconciler, operation: str
) -> None:
    other = ScheduleReconciler(storage.schedule, DEPLOYED)
    meanwhile(storage, operation, lambda: other.change(ScheduleRequest({"expression": OFTEN}, None), "bob"))
    reconciler.change(ScheduleRequest({"expression": NIGHTLY}, None), "ann")
    assert recorded(storage) == [("bob", OFTEN), ("ann", NIGHTLY)]
    assert storage.schedule.actual().expression == OFTEN


def test_a_transaction_that_conflicts_with_another_is_retried(
    storage: Storage, reconciler: ScheduleReconciler, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts: list[ScheduleChange] = []
    record = storage.schedule.record

    def fail_once(_: object, made: ScheduleChange) -> None:
        attempts.append(made)
        if len(attempts) == 1:
            raise ClientError({"Error": {"Code": "TransactionConflictException"}}, "TransactWriteItems")
        record(made)

    monkeypatch.setattr("quarterhour.reports.schedule.store.ScheduleStore.record", fail_once)
    reconciler.change(ScheduleRequest({"expression": OFTEN}, None), "ann")
    assert (len(attempts), recorded(storage)) == (2, [("ann", OFTEN)])
