"""The spool: durable, bounded, shared, and never replaced."""

import multiprocessing
import sqlite3
from pathlib import Path

import pytest
from clients.python.tests.support import made

from quarterhour_client import (
    ClosedError,
    EventConflictError,
    Problem,
    Result,
    SpoolCorruptError,
    SpoolError,
    SpoolFullError,
    SpoolWriteError,
    Verdict,
)
from quarterhour_client.spool import SenderLock, Spool

REJECTED = Result("shop", "order-1:1", Verdict.REJECTED, problems=(Problem("data.amount", "is bad", "another"),))


def identities(spool: Spool) -> list[str]:
    return [one.id for one in spool.take(0, 500)]


def test_events_come_back_in_order_after_the_file_is_opened_again(path: Path) -> None:
    first = Spool(path)
    assert first.add([made(1), made(2)]) == 2
    first.close()
    again = Spool(path)
    assert [(one.seq, one.body) for one in again.take(0, 500)] == [(1, made(1).body), (2, made(2).body)]
    assert [one.seq for one in again.take(1, 500)] == [2]
    assert (again.left(), again.left(1), again.last()) == (2, 1, 2)


def test_what_is_recorded_is_on_the_disk_before_the_call_returns(path: Path) -> None:
    spool = Spool(path)
    assert spool._db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    for number in (1, 2):
        statements: list[str] = []
        spool._db.set_trace_callback(statements.append)
        spool.add([made(number)])
        assert statements[0] == "PRAGMA synchronous = FULL"
        assert spool._db.execute("PRAGMA synchronous").fetchone() == (2,)
        spool.finish(spool.take(0, 1), [])


def test_the_same_event_is_stored_once_and_other_content_is_a_conflict(path: Path) -> None:
    spool = Spool(path)
    assert [spool.add([made(1)]), spool.add([made(1), made(1)])] == [1, 0]
    with pytest.raises(EventConflictError, match="waits to be sent"):
        spool.add([made(2), made(1, "9")])
    assert identities(spool) == ["order-1:1"]


def test_a_full_spool_refuses_the_whole_call_and_keeps_what_it_has(path: Path) -> None:
    spool = Spool(path, max_events=3)
    spool.add([made(1), made(2)])
    with pytest.raises(SpoolFullError, match="would hold 4 of at most 3 events") as caught:
        spool.add([made(3), made(4)])
    assert (caught.value.events, identities(spool)) == (4, ["order-1:1", "order-2:1"])
    spool.add([made(3)])
    assert spool.add([made(1)]) == 0  # what it has needs no room
    spool.finish(spool.take(0, 1), [])
    spool.add([made(4)])
    assert identities(spool) == ["order-2:1", "order-3:1", "order-4:1"]


def test_bytes_are_bounded_too_and_a_parked_event_counts(path: Path) -> None:
    size = len(made(1).body)
    spool = Spool(path, max_bytes=2 * size)
    spool.add([made(1), made(2)])
    (first, _) = spool.take(0, 500)
    spool.finish([], [(first, REJECTED)])
    with pytest.raises(SpoolFullError, match="bytes"):
        spool.add([made(3)])
    (parked,) = spool.parked()
    assert spool.discard(parked)
    spool.add([made(3)])


def test_parked_events_are_listed_with_reasons_and_are_not_taken(path: Path) -> None:
    spool = Spool(path)
    spool.add([made(1), made(2)])
    (first, _) = spool.take(0, 500)
    spool.finish([], [(first, REJECTED)])
    (parked,) = spool.parked()
    assert (parked.id, parked.verdict, parked.problems) == ("order-1:1", Verdict.REJECTED, REJECTED.problems)
    assert (identities(spool), spool.left()) == (["order-2:1"], 1)
    assert spool.add([made(1)]) == 0
    with pytest.raises(EventConflictError, match="is parked"):
        spool.add([made(1, "9")])
    assert spool.resend(parked, made(1, "9"))
    assert not spool.resend(parked)
    assert not spool.discard(parked)
    assert [one.body for one in spool.take(2, 500)] == [made(1, "9").body]


def test_a_corrected_event_that_cannot_be_stored_leaves_the_parked_one(path: Path) -> None:
    spool = Spool(path)
    spool.add([made(1), made(2)])
    spool.finish([], [(spool.take(0, 1)[0], REJECTED)])
    (parked,) = spool.parked()
    with pytest.raises(EventConflictError):
        spool.resend(parked, made(2, "9"))
    assert list(spool.parked()) == [parked]


def test_more_than_500_parked_events_are_all_listed(path: Path) -> None:
    spool = Spool(path)
    spool.add([made(number) for number in range(1100)])
    while batch := spool.take(0, 500):
        spool.finish([], [(one, REJECTED) for one in batch])
    assert len(list(spool.parked())) == 1100


def test_a_full_disk_is_an_error_and_nothing_is_half_stored(path: Path) -> None:
    spool = Spool(path)
    spool.add([made(0)])
    pages = spool._db.execute("PRAGMA page_count").fetchone()[0]
    spool._db.execute(f"PRAGMA max_page_count = {pages + 1}")
    with pytest.raises(SpoolWriteError, match=r"disk is full\. Nothing of this call was stored"):
        spool.add([made(number) for number in range(1, 500)])
    assert identities(spool) == ["order-0:1"]
    spool._db.execute("PRAGMA max_page_count = 1000000")
    assert spool.add([made(number) for number in range(1, 500)]) == 499


@pytest.mark.parametrize("content", [b"", b"not a database, but long enough to be read as the header of one. " * 9])
def test_a_file_that_is_no_spool_is_named_and_left_as_it_is(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(SpoolCorruptError, match=r"sales\.spool: .*\.recover") as caught:
        Spool(path)
    assert (caught.value.path, path.read_bytes()) == (path, content)


def test_a_damaged_spool_is_named_and_left_as_it_is(path: Path) -> None:
    spool = Spool(path)
    spool.add([made(number) for number in range(500)])
    spool.close()
    content = bytearray(path.read_bytes())
    content[3 * 4096 : 9 * 4096] = b"\xa5" * (6 * 4096)
    path.write_bytes(content)
    with pytest.raises(SpoolCorruptError, match="is damaged"):
        Spool(path)
    assert path.read_bytes() == content


def test_a_file_of_another_program_or_format_is_not_used(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE events (id)")
    db.close()
    with pytest.raises(SpoolCorruptError, match="is no spool"):
        Spool(path)
    path.unlink()
    Spool(path).close()
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 2")
    db.close()
    with pytest.raises(SpoolError, match="format 2"):
        Spool(path)


def test_a_spool_whose_file_was_removed_beside_its_log_is_not_made_again(path: Path) -> None:
    path.with_name(f"{path.name}-wal").write_bytes(b"events that were not sent")
    with pytest.raises(SpoolCorruptError, match=r"is missing, though sales\.spool-wal is there"):
        Spool(path)
    assert not path.exists()


def test_a_folder_that_is_missing_is_named(path: Path) -> None:
    with pytest.raises(SpoolError, match="missing/sales"):
        Spool(path.parent / "missing" / path.name)


def test_nothing_is_left_of_the_making_of_a_spool(path: Path) -> None:
    Spool(path).close()
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_one_client_at_a_time_sends_and_its_end_lets_the_next(path: Path) -> None:
    first, second = SenderLock(path), SenderLock(path)
    assert [first.acquire(), first.acquire(), second.acquire()] == [True, True, False]
    first.release()
    assert second.acquire()
    second.release()


def test_the_spool_of_a_forked_process_is_refused_in_it(path: Path) -> None:
    spool = Spool(path)
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()

    def use() -> None:
        try:
            spool.add([made(1)])
        except ClosedError as error:
            queue.put(str(error))

    child = context.Process(target=use)
    child.start()
    child.join()
    assert "make one after the fork" in queue.get()
    assert spool.add([made(1)]) == 1


def test_a_closed_spool_says_so(path: Path) -> None:
    spool = Spool(path)
    spool.close()
    with pytest.raises(ClosedError):
        spool.add([made(1)])
