"""The schedule in the scheduler and in the Entity table: what is asked for is kept with its record, or not at all."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from quarterhour.aws.retries import is_cancelled
from quarterhour.model.errors import ConflictError
from quarterhour.schedule.keys import SCHEDULE
from quarterhour.schedule.plan import Change, DesiredSchedule, ScheduleRequest, change
from quarterhour.schedule.service import ScheduleReconciler
from quarterhour.schedule.store import update_request
from quarterhour.web.paging import Paging
from tests.contract.storage import Storage

NOW = datetime(2026, 10, 23, 8, 0, tzinfo=UTC)
DEPLOYED = "rate(1 hour)"
NIGHTLY = "cron(0 2 * * ? *)"
OFTEN = "rate(15 minutes)"


def planned(standing: DesiredSchedule, by: str = "ann", **asked: Any) -> Change:
    made = change(standing, ScheduleRequest(asked, None), DEPLOYED, by, NOW)
    assert made
    return made


@pytest.fixture(autouse=True)
def _as_deployed(storage: Storage) -> Iterator[None]:
    """The schedule has one place, so every test begins and ends with it as it was deployed."""
    yield
    storage.forget(SCHEDULE)
    request = update_request(storage.schedule.actual(), DesiredSchedule().setting(DEPLOYED))
    if request:
        storage.schedule.update(request)


@pytest.fixture
def reconciler(storage: Storage) -> ScheduleReconciler:
    return ScheduleReconciler(storage.schedule, DEPLOYED)


def told(storage: Storage) -> list[tuple[str, Any]]:
    """Return who has changed what to what, the newest first."""
    return [(one["by"], one["to"]["expression"]) for one in storage.schedule.changes(None, 100)]


# ---------------------------------------------------------------- what is wanted


def test_nothing_is_wanted_at_first(storage: Storage) -> None:
    assert storage.schedule.desired() == DesiredSchedule()
    assert told(storage) == []


def test_a_wish_is_kept_together_with_the_record_of_its_change(storage: Storage) -> None:
    first = planned(DesiredSchedule(), expression=NIGHTLY)
    storage.schedule.record(first)
    second = planned(first.desired, "bob", paused=True, expression=None)
    storage.schedule.record(second)
    assert storage.schedule.desired() == second.desired
    assert told(storage) == [("bob", DEPLOYED), ("ann", NIGHTLY)]


def test_of_two_first_changes_one_is_kept(storage: Storage) -> None:
    first, other = planned(DesiredSchedule(), expression=NIGHTLY), planned(DesiredSchedule(), "bob", expression=OFTEN)
    storage.schedule.record(first)
    with pytest.raises(ClientError) as lost:
        storage.schedule.record(other)
    assert is_cancelled(lost.value)
    assert storage.schedule.desired() == first.desired
    assert told(storage) == [("ann", NIGHTLY)]


def test_of_two_later_changes_one_is_kept(storage: Storage) -> None:
    before = planned(DesiredSchedule(), expression=NIGHTLY)
    storage.schedule.record(before)
    first, other = planned(before.desired, expression=OFTEN), planned(before.desired, "bob", paused=True)
    storage.schedule.record(other)
    with pytest.raises(ClientError) as lost:
        storage.schedule.record(first)
    assert is_cancelled(lost.value)
    assert storage.schedule.desired() == other.desired
    assert told(storage) == [("bob", NIGHTLY), ("ann", NIGHTLY)]


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


# ---------------------------------------------------------------- the schedule itself


def test_an_update_changes_when_it_fires_and_nothing_else(storage: Storage) -> None:
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


def test_settling_makes_the_schedule_do_what_is_wanted_once(storage: Storage, reconciler: ScheduleReconciler) -> None:
    storage.schedule.record(planned(DesiredSchedule(), expression=NIGHTLY))
    assert [mended for _, mended in (reconciler.reconcile(), reconciler.reconcile())] == [True, False]
    assert storage.schedule.actual().expression == NIGHTLY


def test_without_a_wish_the_deployed_expression_is_kept(storage: Storage, reconciler: ScheduleReconciler) -> None:
    request = update_request(
        storage.schedule.actual(), DesiredSchedule(1, "rate(1 minute)", paused=True).setting(DEPLOYED)
    )
    assert request
    storage.schedule.update(request)
    assert reconciler.reconcile()[1], "somebody has changed it by hand"
    assert (storage.schedule.actual().expression, storage.schedule.actual().paused) == (DEPLOYED, False)


# ---------------------------------------------------------------- two at once


def meanwhile(storage: Storage, operation: str, act: Callable[[], None]) -> None:
    """Let something else happen once, just before the next such call to the scheduler or the table is made."""
    client: Any = storage.scheduler if operation in {"GetSchedule", "UpdateSchedule"} else storage.dynamodb
    done: list[str] = []

    def interrupt(**_: object) -> None:
        if not done:
            done.append(operation)
            client.meta.events.unregister(event, interrupt)
            act()

    event = f"before-call.{client.meta.service_model.service_id.hyphenize()}.{operation}"
    client.meta.events.register(event, interrupt)


def test_who_loses_the_race_is_told_and_changes_nothing(storage: Storage, reconciler: ScheduleReconciler) -> None:
    other = ScheduleReconciler(storage.schedule, DEPLOYED)
    meanwhile(storage, "TransactWriteItems", lambda: other.change(ScheduleRequest({"expression": OFTEN}, None), "bob"))
    with pytest.raises(ConflictError):
        reconciler.change(ScheduleRequest({"expression": NIGHTLY}, None), "ann")
    assert told(storage) == [("bob", OFTEN)]
    assert storage.schedule.actual().expression == OFTEN


def test_two_who_want_the_same_at_once_both_get_it_and_it_is_one_change(
    storage: Storage, reconciler: ScheduleReconciler
) -> None:
    other = ScheduleReconciler(storage.schedule, DEPLOYED)
    meanwhile(storage, "TransactWriteItems", lambda: other.change(ScheduleRequest({"expression": OFTEN}, None), "bob"))
    reconciler.change(ScheduleRequest({"expression": OFTEN}, None), "ann")
    assert told(storage) == [("bob", OFTEN)]


@pytest.mark.parametrize("operation", ["GetSchedule", "UpdateSchedule"])
def test_whoever_comes_last_the_newest_wish_is_what_the_schedule_does(
    storage: Storage, reconciler: ScheduleReconciler, operation: str
) -> None:
    other = ScheduleReconciler(storage.schedule, DEPLOYED)
    meanwhile(storage, operation, lambda: other.change(ScheduleRequest({"expression": OFTEN}, None), "bob"))
    reconciler.change(ScheduleRequest({"expression": NIGHTLY}, None), "ann")
    assert told(storage) == [("bob", OFTEN), ("ann", NIGHTLY)]
    assert storage.schedule.actual().expression == OFTEN


def test_a_transaction_that_only_met_another_is_tried_again(
    storage: Storage, reconciler: ScheduleReconciler, monkeypatch: pytest.MonkeyPatch
) -> None:
    attempts: list[Change] = []
    record = storage.schedule.record

    def once_in_vain(_: object, made: Change) -> None:
        attempts.append(made)
        if len(attempts) == 1:
            raise ClientError({"Error": {"Code": "TransactionConflictException"}}, "TransactWriteItems")
        record(made)

    monkeypatch.setattr("quarterhour.schedule.store.ScheduleStore.record", once_in_vain)
    reconciler.change(ScheduleRequest({"expression": OFTEN}, None), "ann")
    assert (len(attempts), told(storage)) == (2, [("ann", OFTEN)])
