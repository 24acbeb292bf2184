"""The discussions: each message once, read by time, by user and by period, both ways; with what each costs."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest

from quarterhour.model import clock
from quarterhour.model.clock import ManualClock, using
from quarterhour.model.errors import ConflictError, InvalidError
from quarterhour.threads.keys import Kind, Thread
from quarterhour.threads.message import Message
from quarterhour.threads.queries import ThreadQueries, Wanted
from quarterhour.threads.service import ThreadService
from quarterhour.threads.store import ThreadStore
from quarterhour.web.paging import Paging
from tests.contract.storage import Storage

USERS = ("ann", "bob", "cyd", "dan", "eve")
Record = Callable[[str, object], None]


@pytest.fixture
def thread(own: str) -> Thread:
    """A thread of the test's own."""
    return Thread(Kind.ORDERS, own)


@pytest.fixture
def store(storage: Storage) -> ThreadService:
    """The messages, as the function writes them."""
    return ThreadService(ThreadStore(storage.dynamodb, storage.entity_table))


@pytest.fixture
def talk(store: ThreadService, thread: Thread, at: datetime) -> list[tuple[str, str]]:
    """Twelve messages of five users, one every four hours, and one of a thread beside: who said what, in order."""
    said = [(USERS[number % len(USERS)], f"m-{number}") for number in range(12)]
    for number, (user, id_) in enumerate(said):
        with using(ManualClock(at + timedelta(hours=4 * number))):
            store.write(Message(thread, user, id_, f"text of {id_}"))
    store.write(Message(Thread(Kind.ORDERS, f"{thread.subject}1"), "ann", "m-0", "elsewhere"))
    return said


def page(storage: Storage, wanted: Wanted, limit: int, token: str | None = None) -> dict[str, Any]:
    return ThreadQueries(storage.entities).messages(wanted, Paging.of("request", limit, token))


def through(storage: Storage, wanted: Wanted, limit: int, way: str = "next", token: str | None = None) -> list[str]:
    """Return the messages of all pages from a token on, or back from it, in the order in which they are shown."""
    pages = []
    while True:
        one = page(storage, wanted, limit, token)
        pages.append([item["id"] for item in one["items"]])
        token = one[way]
        if token is None:
            return [id_ for ids in (pages if way == "next" else reversed(pages)) for id_ in ids]


@pytest.mark.parametrize("newest_first", [False, True], ids=["oldest first", "newest first"])
@pytest.mark.parametrize("limit", [1, 2, 5, 100])
def test_all_messages_come_by_time_and_can_be_paged_both_ways(
    storage: Storage, thread: Thread, talk: list[tuple[str, str]], limit: int, *, newest_first: bool
) -> None:
    wanted = Wanted(thread, None, "", newest_first)
    ids = [id_ for _, id_ in talk]
    expected = ids[::-1] if newest_first else ids
    assert through(storage, wanted, limit) == expected
    last = page(storage, wanted, limit)
    while last["next"]:
        last = page(storage, wanted, limit, last["next"])
    if last["previous"]:
        shown = [item["id"] for item in last["items"]]
        assert through(storage, wanted, limit, "previous", last["previous"]) + shown == expected


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_a_users_messages_are_theirs_alone(
    storage: Storage, thread: Thread, talk: list[tuple[str, str]], limit: int
) -> None:
    for user in USERS:
        wanted = Wanted(thread, user, "", newest_first=False)
        assert through(storage, wanted, limit) == [id_ for one, id_ in talk if one == user]
    assert through(storage, Wanted(thread, "an", "", newest_first=False), limit) == []


def test_a_period_is_the_beginning_of_an_instant(
    storage: Storage, thread: Thread, talk: list[tuple[str, str]], at: datetime
) -> None:
    for user in (None, "bob"):
        of_user = [(number, id_) for number, (one, id_) in enumerate(talk) if user in {None, one}]
        for length in (4, 7, 10, 13, 16, 19):
            period = (at + timedelta(hours=24)).strftime("%Y-%m-%dT%H:%M:%S")[:length]
            within = [id_ for n, id_ in of_user if (at + timedelta(hours=4 * n)).isoformat().startswith(period)]
            assert through(storage, Wanted(thread, user, period, newest_first=False), 5) == within, (user, period)


def test_a_retry_is_the_same_message_and_another_text_a_conflict(
    storage: Storage, store: ThreadService, thread: Thread, at: datetime
) -> None:
    message = Message(thread, "ann", "m-1", "once")
    first, is_new = store.write(message)
    assert is_new
    with using(ManualClock(at + timedelta(days=3))):
        assert store.write(message) == (first, False)
        with pytest.raises(ConflictError, match="another text under the id m-1"):
            store.write(Message(thread, "ann", "m-1", "twice"))
        store.write(Message(thread, "bob", "m-1", "another's"))
    assert through(storage, Wanted(thread, None, "", newest_first=False), 10) == ["m-1", "m-1"]


def test_a_message_that_died_between_claim_and_writing_is_mended_by_its_retry(
    storage: Storage, store: ThreadService, thread: Thread, at: datetime
) -> None:
    message = Message(thread, "ann", "m-1", "at last")
    storage.write(message.claim(at))
    assert through(storage, Wanted(thread, None, "", newest_first=False), 10) == []
    with using(ManualClock(at + timedelta(hours=1))):
        shown, is_new = store.write(message)
    assert (shown["at"], is_new) == (message.claim(at)["at"], False)
    assert through(storage, Wanted(thread, "ann", "", newest_first=False), 10) == ["m-1"]


def test_two_messages_of_one_millisecond_both_stand(storage: Storage, store: ThreadService, thread: Thread) -> None:
    for number in range(3):
        store.write(Message(thread, "ann", f"m-{number}", "at once"))
    assert sorted(through(storage, Wanted(thread, None, "", newest_first=True), 2)) == ["m-0", "m-1", "m-2"]


def test_a_token_of_a_place_outside_is_refused(storage: Storage, thread: Thread, talk: list[tuple[str, str]]) -> None:
    token = page(storage, Wanted(thread, None, "", newest_first=False), 2)["next"]
    with pytest.raises(InvalidError):
        page(storage, Wanted(thread, talk[0][0], "", newest_first=False), 2, token)


@pytest.mark.parametrize(
    ("pattern", "user", "queries"),
    [("messages of all by time", None, 4), ("messages of a user", "ann", 1), ("a user's of a period", "ann", 1)],
)
def test_what_each_reading_costs(  # noqa: PLR0913, PLR0917 - what it is about, and where it is told
    storage: Storage,
    thread: Thread,
    talk: list[tuple[str, str]],
    pattern: str,
    user: str | None,
    queries: int,
    record_property: Record,
) -> None:
    """Each query reads half a unit for every 4 KB; a thread of all is spread over four partitions."""
    asked: list[object] = []
    storage.dynamodb.meta.events.register("before-call.dynamodb.Query", lambda **_: asked.append(1), unique_id=pattern)
    try:
        period = f"{clock.now():%Y-%m-%d}" if "period" in pattern else ""
        page(storage, Wanted(thread, user, period, newest_first=True), 100)
    finally:
        storage.dynamodb.meta.events.unregister("before-call.dynamodb.Query", unique_id=pattern)
    assert len(asked) == queries
    assert len(talk) == 12
    record_property(f"{pattern}", f"{queries} queries, 0.5 read units each 4 KB")


def test_what_writing_a_message_costs(
    storage: Storage, store: ThreadService, thread: Thread, record_property: Record
) -> None:
    """The claim, the message, its index entry: a unit each, up to 1 KB."""
    calls: list[str] = []
    storage.dynamodb.meta.events.register(
        "before-call.dynamodb", lambda model, **_: calls.append(model.name), unique_id="cost"
    )
    try:
        store.write(Message(thread, "ann", "m-1", "x" * 600))
    finally:
        storage.dynamodb.meta.events.unregister("before-call.dynamodb", unique_id="cost")
    assert calls == ["PutItem", "PutItem"]
    record_property("a message written", "3 write units (claim, message, index entry), 2 calls")
