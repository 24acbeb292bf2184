"""Threads: each message written once, read by time, by user and by period, in both directions, and the costs."""

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest

from quarterhour.messages.api import Messages
from quarterhour.messages.keys import SubjectKind, Thread
from quarterhour.messages.message import Message
from quarterhour.messages.queries import MessageQuery, ThreadQueries
from quarterhour.messages.service import ThreadService
from quarterhour.messages.store import ThreadStore
from quarterhour.model import clock
from quarterhour.model.clock import ManualClock, using
from quarterhour.model.errors import ConflictError, InvalidError
from quarterhour.web.paging import Paging
from tests.contract.storage import Storage

USERS = ("ann", "bob", "cyd", "dan", "eve")
Record = Callable[[str, object], None]


@pytest.fixture
def thread(own: str) -> Thread:
    """A thread of the test's own."""
    return Thread(SubjectKind.ORDERS, own)


@pytest.fixture
def store(storage: Storage) -> ThreadService:
    """The service of the threads function."""
    return ThreadService(ThreadStore(storage.dynamodb, storage.entity_table))


@pytest.fixture
def conversation(store: ThreadService, thread: Thread, at: datetime) -> list[tuple[str, str]]:
    """Twelve messages of five users, one every four hours, as (user, id); and a message of another thread."""
    said = [(USERS[number % len(USERS)], f"m-{number}") for number in range(12)]
    for number, (user, id_) in enumerate(said):
        with using(ManualClock(at + timedelta(hours=4 * number))):
            store.write(Message(thread, user, id_, f"text of {id_}"))
    store.write(Message(Thread(SubjectKind.ORDERS, f"{thread.subject}1"), "ann", "m-0", "elsewhere"))
    return said


def page(storage: Storage, query: MessageQuery, limit: int, token: str | None = None) -> Messages:
    return ThreadQueries(storage.entities).messages(query, Paging.of("request", limit, token))


def through(
    storage: Storage, query: MessageQuery, limit: int, direction: str = "next", token: str | None = None
) -> list[str]:
    """Return the messages of all pages from a token on, or back from it, in the order in which they are shown."""
    pages = []
    while True:
        one = page(storage, query, limit, token)
        pages.append([item["id"] for item in one["items"]])
        token = one["next"] if direction == "next" else one["previous"]
        if token is None:
            return [id_ for ids in (pages if direction == "next" else reversed(pages)) for id_ in ids]


@pytest.mark.parametrize("newest_first", [False, True], ids=["oldest first", "newest first"])
@pytest.mark.parametrize("limit", [1, 2, 5, 100])
def test_all_messages_are_in_the_order_of_time_and_can_be_paged_both_ways(
    storage: Storage, thread: Thread, conversation: list[tuple[str, str]], limit: int, *, newest_first: bool
) -> None:
    query = MessageQuery(thread, None, "", newest_first)
    ids = [id_ for _, id_ in conversation]
    expected = ids[::-1] if newest_first else ids
    assert through(storage, query, limit) == expected
    last = page(storage, query, limit)
    while last["next"]:
        last = page(storage, query, limit, last["next"])
    if last["previous"]:
        shown = [item["id"] for item in last["items"]]
        assert through(storage, query, limit, "previous", last["previous"]) + shown == expected


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_messages_can_be_filtered_by_user(
    storage: Storage, thread: Thread, conversation: list[tuple[str, str]], limit: int
) -> None:
    for user in USERS:
        query = MessageQuery(thread, user, "", newest_first=False)
        assert through(storage, query, limit) == [id_ for one, id_ in conversation if one == user]
    assert through(storage, MessageQuery(thread, "an", "", newest_first=False), limit) == []


def test_a_period_is_the_beginning_of_an_instant(
    storage: Storage, thread: Thread, conversation: list[tuple[str, str]], at: datetime
) -> None:
    for user in (None, "bob"):
        of_user = [(number, id_) for number, (one, id_) in enumerate(conversation) if user in {None, one}]
        for length in (4, 7, 10, 13, 16, 19):
            period = (at + timedelta(hours=24)).strftime("%Y-%m-%dT%H:%M:%S")[:length]
            within = [id_ for n, id_ in of_user if (at + timedelta(hours=4 * n)).isoformat().startswith(period)]
            assert through(storage, MessageQuery(thread, user, period, newest_first=False), 5) == within, (user, period)


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
    assert through(storage, MessageQuery(thread, None, "", newest_first=False), 10) == ["m-1", "m-1"]


def test_a_retry_completes_a_message_that_was_only_claimed(
    storage: Storage, store: ThreadService, thread: Thread, at: datetime
) -> None:
    message = Message(thread, "ann", "m-1", "at last")
    storage.write(message.claim(at))
    assert through(storage, MessageQuery(thread, None, "", newest_first=False), 10) == []
    with using(ManualClock(at + timedelta(hours=1))):
        shown, is_new = store.write(message)
    assert (shown["at"], is_new) == (message.claim(at)["at"], False)
    assert through(storage, MessageQuery(thread, "ann", "", newest_first=False), 10) == ["m-1"]


def test_two_messages_of_one_millisecond_are_both_kept(storage: Storage, store: ThreadService, thread: Thread) -> None:
    for number in range(3):
        store.write(Message(thread, "ann", f"m-{number}", "at once"))
    assert sorted(through(storage, MessageQuery(thread, None, "", newest_first=True), 2)) == ["m-0", "m-1", "m-2"]


def test_a_page_token_of_another_range_is_refused(
    storage: Storage, thread: Thread, conversation: list[tuple[str, str]]
) -> None:
    token = page(storage, MessageQuery(thread, None, "", newest_first=False), 2)["next"]
    with pytest.raises(InvalidError):
        page(storage, MessageQuery(thread, conversation[0][0], "", newest_first=False), 2, token)


@pytest.mark.parametrize(
    ("pattern", "user", "queries"),
    [("messages of all by time", None, 4), ("messages of a user", "ann", 1), ("a user's of a period", "ann", 1)],
)
def test_what_each_reading_costs(  # noqa: PLR0913, PLR0917 - its parameters and fixtures
    storage: Storage,
    thread: Thread,
    conversation: list[tuple[str, str]],
    pattern: str,
    user: str | None,
    queries: int,
    record_property: Record,
) -> None:
    """Each query reads half a unit for every 4 KB; the messages of all users are in four partitions."""
    sent: list[object] = []
    events = storage.dynamodb.meta.events
    events.register("before-call.dynamodb.Query", lambda **_: sent.append(1), unique_id=pattern)
    try:
        period = f"{clock.now():%Y-%m-%d}" if "period" in pattern else ""
        page(storage, MessageQuery(thread, user, period, newest_first=True), 100)
    finally:
        events.unregister("before-call.dynamodb.Query", unique_id=pattern)
    assert len(sent) == queries
    assert len(conversation) == 12
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
