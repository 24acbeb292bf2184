"""Sending a file: whatever fails and whenever it is killed, receipts and ledger agree in the end."""

import errno
import io
import json
import os
import threading
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quarterhour_client import Problem, Result, Verdict, plan
from quarterhour_client.plan import Waiting

from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading import delivery
from quarterhour_tools.loading.delivery import Delivery
from quarterhour_tools.loading.event_send import send
from quarterhour_tools.loading.ndjson import Line, Lines
from quarterhour_tools.loading.receipts import Receipts, Tally, open_receipts
from tests.support.fake_api import FAULTS, FakeApi, Time, in_turn
from tests.support.laws import examples

URL = "http://127.0.0.1:8080"


class Killed(BaseException):
    """The process dies here."""


def run(
    content: bytes, path: Path, api: FakeApi, at_once: int = 2, give_up_after: float = 300
) -> tuple[Tally, str | None]:
    """Send an input once, and return what is known of it then."""
    time = Time()
    sender = Delivery(api.post, give_up_after, seconds=time.seconds, wait=time.wait)
    with open_receipts(path, URL) as kept:
        problem = send(Lines(io.BytesIO(content)), kept, sender, at_once)
        return kept.tally, problem


def input_of(events: list[Any]) -> bytes:
    return b"\n".join(one if isinstance(one, bytes) else json.dumps(one).encode() for one in events)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "events.ndjson.receipts"


def entries(path: Path) -> dict[int, str]:
    """Return the last verdict of each line in a file of receipts."""
    rows = [json.loads(row) for row in path.read_text().splitlines()]
    return {row["line"]: row["verdict"] for row in rows if "line" in row}


# ---------------------------------------------------------------- law


EVENTS = st.one_of(
    st.builds(
        lambda number, more: {"id": f"e{number}", "more": more}, st.integers(0, 9), st.sampled_from([0, 0, 0, 1])
    ),
    st.just({"id": "r", "type": "sale.refunded"}),
    st.sampled_from([b"", b"no json", b"[1]", b'{"id": "e1"}, {"id": "e2"}', b'{"id": 1, "id": 1}']),
)


@examples(200)
@given(st.lists(EVENTS, max_size=12), st.data())
def test_whatever_fails_and_is_killed_receipts_and_ledger_agree_in_the_end(
    events: list[Any], data: st.DataObject
) -> None:
    content = input_of(events)
    faults = data.draw(st.lists(st.sampled_from(["", *FAULTS]), max_size=30), "faults")

    def fault() -> str:
        with suppress(IndexError):  # another thread may take the last one
            return faults.pop()
        return ""

    api = FakeApi(fault)
    at_once = data.draw(st.integers(1, 3), "at once")
    patience = data.draw(st.sampled_from([1, 5, 300]), "give up after")
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        path = Path(folder) / "receipts"
        patch.setattr(delivery, "fitting", partial(plan.batches, most=3))
        for _ in range(data.draw(st.integers(0, 3), "kills")):
            with patch.context() as dying:
                die_at(data.draw(st.integers(0, 4), "write"), data.draw(st.floats(0, 1), "share"), dying)
                with suppress(Killed):
                    run(content, path, api, at_once, patience)
        for _ in range(data.draw(st.integers(0, 3), "runs")):
            run(content, path, api, at_once, patience)
        faults.clear()
        tally, problem = run(content, path, api, at_once)
    lines = [one for one in (line.strip() for line in content.split(b"\n")) if one]
    assert problem is None
    assert tally.as_dict()["sent"] == len(lines)
    assert not tally.unavailable
    valid = [one for one in events if isinstance(one, dict) and one["id"] != "r"]
    assert tally.counts[Verdict.RECORDED] + tally.counts[Verdict.DUPLICATE] + tally.counts[Verdict.CONFLICT] == len(
        valid
    )
    assert tally.counts[Verdict.HELD] == sum(isinstance(one, dict) and one["id"] == "r" for one in events)
    assert {one["id"] for one in valid} == set(api.recorded)
    assert all(one in valid for one in api.recorded.values())
    assert tally.counts[Verdict.CONFLICT] == sum(api.recorded[one["id"]] != one for one in valid)
    assert tally.all_stored == (not tally.counts[Verdict.CONFLICT] and not tally.counts[Verdict.REJECTED])


def die_at(number: int, share: float, patch: pytest.MonkeyPatch) -> None:
    """Kill the process in the middle of a write to the receipts."""
    write, left = os.write, [number]

    def dying(file: int, content: bytes) -> int:
        if not left[0]:
            write(file, content[: int(share * len(content))])
            raise Killed
        left[0] -= 1
        return write(file, content)

    patch.setattr(os, "write", dying)


# ---------------------------------------------------------------- resuming


def test_a_second_run_sends_nothing_that_has_a_final_verdict(path: Path) -> None:
    content = input_of([{"id": "a"}, b"no json", {"id": "a", "more": 1}, {"id": "b"}])
    first, _ = run(content, path, api := FakeApi())
    again, problem = run(content, path, api)
    assert api.requests == [3]
    assert first.as_dict() == again.as_dict()
    assert problem is None
    assert again.as_dict() == {
        "sent": 4, "recorded": 2, "duplicate": 0, "held": 0, "conflict": 1, "rejected": 1, "unavailable": 0,
    }  # fmt: skip
    assert sorted(again.shown) == [2, 3]


def test_what_was_unavailable_is_sent_by_the_next_run_and_nothing_else(path: Path) -> None:
    content = input_of([{"id": f"e{number}"} for number in range(5)])
    down, _ = run(content, path, FakeApi(lambda: "half unavailable"))
    assert down.as_dict()["unavailable"] == 1, "line 1 is the first of each request"
    tally, problem = run(content + b'\n{"id": "new"}', path, api := FakeApi())
    assert (api.requests, problem) == ([1, 1], None)
    assert entries(path) == dict.fromkeys(range(1, 7), "recorded")
    again, _ = run(content + b'\n{"id": "new"}', path, api)
    assert api.requests == [1, 1], "the third run finds everything sent"
    assert again.as_dict() == tally.as_dict()
    assert (tally.as_dict()["recorded"], tally.all_stored) == (6, True)


def test_a_file_that_has_grown_is_continued_and_one_that_has_changed_is_refused(path: Path) -> None:
    content = input_of([{"id": "a"}, {"id": "b"}])
    run(content, path, FakeApi())
    tally, _ = run(content + b'\r\n{"id": "c"}\r\n', path, api := FakeApi())
    assert (api.requests, tally.through) == ([1], 3)
    for other in (input_of([{"id": "x"}, {"id": "b"}, {"id": "c"}]), content, b"", b"\n\n\n" + content):
        with pytest.raises(ToolError, match="of another input"):
            run(other, path, api)
    assert api.requests == [1]


def test_no_line_of_another_input_is_sent_even_if_some_were_unavailable(path: Path) -> None:
    run(input_of([{"id": "a"}, {"id": "b"}]), path, FakeApi(lambda: "500"))
    api = FakeApi()
    with pytest.raises(ToolError, match="of another input"):
        run(input_of([{"id": "x"}, {"id": "b"}]), path, api)
    assert api.requests == []


def test_receipts_of_another_deployment_or_version_and_other_files_are_refused(path: Path) -> None:
    run(b"{}", path, FakeApi())
    with pytest.raises(ToolError, match=f"of another deployment, {URL}"), open_receipts(path, "http://elsewhere"):
        pass
    for content, problem in (
        (b'{"receipts": 2, "address": ""}\n', "another version of quarterhour"),
        (b"id,amount\n", "is not a file of receipts"),
        (b"[1]\n", "is not a file of receipts"),
        (b"[" * 100_000, "is not a file of receipts"),
        (b"[" * 100_000 + b"\n", "is not a file of receipts"),
        (b"\xff" * 3_000_000, "is not a file of receipts"),
    ):
        path.write_bytes(content)
        with pytest.raises(ToolError, match=problem), open_receipts(path, URL):
            pass
        assert path.read_bytes() == content, "nothing of it is lost"
    with pytest.raises(ToolError, match="not a regular file"), open_receipts(path.parent, URL):
        pass
    with pytest.raises(ToolError, match="--receipts"), open_receipts(path / "below", URL):
        pass


def test_receipts_that_are_cut_or_damaged_count_up_to_there(path: Path) -> None:
    content = input_of([{"id": f"e{number}"} for number in range(1200)])
    run(content, path, api := FakeApi())
    whole = path.read_bytes()
    middle = whole.index(b'"through": 1000')
    for damaged in (
        whole[:20],
        whole[:middle],
        whole[:middle] + b"\0" * 99 + whole[middle + 99 :],
        whole[:-1],
        whole[: middle - 1] + b"[" * 100_000 + b"\n",
    ):
        path.write_bytes(damaged)
        tally, problem = run(content, path, api)
        assert (tally.as_dict()["sent"], tally.all_stored, problem) == (1200, True, None)
        assert len(entries(path)) == 1200


RECEIPT = {"recorded_at": "2026-10-23T01:30:02.345Z", "partition": "202610230130#00", "position": "01:30:02.345Z.4Jz"}
WRITTEN = f"""\
{{"receipts": 1, "address": "{URL}"}}
{{"line": 1, "source": "s", "id": "caf\\u00e9 \\"1\\"", "verdict": "recorded", "receipt": {json.dumps(RECEIPT)}}}
{{"line": 2, "source": "s", "id": "b", "verdict": "duplicate", "receipt": {json.dumps(RECEIPT)}}}
{{"line": 3, "verdict": "rejected", "errors": [{{"field": "line", "problem": "is not JSON", "expected": "one event"}}]}}
{{"line": 4, "source": "s", "id": "r", "verdict": "held", "held": {{"reason": "unknown_sale", "problems": []}}}}
{{"line": 5, "source": "s", "id": "c", "verdict": "recorded", "receipt": {{"position": "another shape"}}}}
{{"through": 5, "chain": "0505"}}
"""


def test_receipts_say_the_verdict_of_each_line_and_are_continued(path: Path) -> None:
    problem = Problem("line", "is not JSON", "one event")
    results = {
        1: Result("s", 'café "1"', Verdict.RECORDED, RECEIPT),
        2: Result("s", "b", Verdict.DUPLICATE, RECEIPT),
        3: Result("", "", Verdict.REJECTED, problems=(problem,)),
        4: Result("s", "r", Verdict.HELD, held="unknown_sale"),
        5: Result("s", "c", Verdict.RECORDED, {"position": "another shape"}),
    }
    with open_receipts(path, URL) as kept:
        kept.add([Line(number, b"{}", b"\5\5", 2) for number in results], results)
    assert path.read_text() == WRITTEN
    with open_receipts(path, URL) as kept:
        assert (kept.tally.through, kept.tally.chain) == (5, "0505")
        assert kept.tally.as_dict() == {
            "sent": 5, "recorded": 2, "duplicate": 1, "held": 1, "conflict": 0, "rejected": 1, "unavailable": 0,
        }  # fmt: skip
        assert kept.tally.shown == {3: "rejected: line is not JSON: expected one event"}


@pytest.mark.parametrize("receipt", ["abc", [1, 2, 3], {**RECEIPT, "x": 1}, {**RECEIPT, "position": 7}])
def test_a_receipt_of_another_shape_is_kept_as_it_came(path: Path, receipt: Any) -> None:
    with open_receipts(path, URL) as kept:
        kept.add([Line(1, b"{}", b"", 2)], {1: Result("s", "a", Verdict.RECORDED, receipt)})
    kept_item = json.loads(path.read_text().splitlines()[1])
    assert kept_item == {"line": 1, "source": "s", "id": "a", "verdict": "recorded", "receipt": receipt}


def test_of_two_senders_of_one_input_the_second_must_wait(path: Path) -> None:
    with open_receipts(path, URL), pytest.raises(ToolError, match="another process sends this input"):
        run(b"{}", path, FakeApi())


def test_a_full_disk_ends_sending_and_the_next_run_continues(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = input_of([{"id": f"e{number}"} for number in range(1200)])
    write, room = os.write, [40_000]

    def full(file: int, block: bytes) -> int:
        taken = min(room[0], len(block), 4096)
        if not taken:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        room[0] -= taken
        return write(file, block[:taken])

    api = FakeApi()
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        tally, problem = run(content, path, api)
    assert problem == "the receipts cannot be written: No space left on device"
    assert tally.through in {500, 1000}
    assert len(entries(path)) == tally.through, "half a block is taken back"
    tally, problem = run(content, path, api)
    assert (tally.as_dict()["sent"], tally.all_stored, problem) == (1200, True, None)


# ---------------------------------------------------------------- before the first period


def test_events_before_the_first_period_are_counted_by_the_run_and_by_the_next_one_from_its_receipts(
    path: Path,
) -> None:
    lines = [Line(number, b"{}", bytes(32), 2) for number in (1, 2, 3)]
    receipt = {"recorded_at": "2026-11-05T12:00:00.000Z", "partition": "p", "position": "q"}
    before = Result("s", "a", Verdict.RECORDED, receipt, before_first_period="2026-11")
    results = {1: before, 2: Result("s", "b", Verdict.RECORDED, receipt), 3: before._replace(id="c")}
    for _ in range(2):
        with open_receipts(path, URL) as receipts:
            if not receipts.tally.through:
                receipts.add(lines, results)
            assert receipts.tally.before == {"2026-11": 2}


# ---------------------------------------------------------------- bounds


def test_a_million_bad_lines_are_counted_and_the_first_hundred_kept() -> None:
    tally = Tally()
    for number in range(1, 100_001):
        tally.add(number, Result("s", "a", Verdict.REJECTED), b"")
    assert (tally.counts[Verdict.REJECTED], sorted(tally.shown)) == (100_000, list(range(1, 101)))


def test_few_batches_are_read_ahead_of_the_oldest_one() -> None:
    """The first request hangs until it is time to give up; memory is bounded meanwhile."""
    lines = Lines(io.BytesIO(b"{}\n" * 500 * 100))
    kept, time = Receipts(), Time()
    sender = Delivery(lambda *_: hang(), 300, seconds=time.seconds, wait=time.wait)

    def hang() -> Any:
        time.now += 0.5 if sender.is_over() else 10
        return FakeApi(lambda: "500").post([Waiting(1, "", "", b"{}")])

    assert send(lines, kept, sender, 2) == "no line got a verdict for 300 seconds: nothing more was sent"
    assert lines.number < 500 * 12
    assert kept.tally.as_dict()["unavailable"] < 500 * 12


def test_the_time_in_which_an_input_is_silent_is_no_time_without_progress() -> None:
    time = Time()

    class Slow(io.BytesIO):
        def readline(self, size: int | None = -1) -> bytes:
            time.now += 1
            return super().readline(size)

    api = FakeApi(in_turn("500", "429"))
    sender = Delivery(api.post, 300, seconds=time.seconds, wait=time.wait)
    assert send(Lines(Slow(input_of([{"id": f"e{number}"} for number in range(400)]))), Receipts(), sender, 1) is None
    assert len(api.recorded) == 400


def test_a_request_that_hangs_does_not_hang_the_sender() -> None:
    released = threading.Event()
    sender = Delivery(lambda *_: released.wait(60), 0.3)  # type: ignore[arg-type]
    kept = Receipts()
    try:
        problem = send(Lines(io.BytesIO(b"{}\n" * 3)), kept, sender, 1)
    finally:
        released.set()
    assert problem
    assert "no line got a verdict" in problem
    assert kept.tally.as_dict()["unavailable"] == 3


def test_an_interrupt_leaves_receipts_that_the_next_run_continues(path: Path) -> None:
    content = input_of([{"id": f"e{number}"} for number in range(2500)])
    sender = Delivery((api := FakeApi()).post, 300)
    calls = [0]

    def interrupt() -> None:
        calls[0] += 1
        if calls[0] == 2:
            raise KeyboardInterrupt

    with open_receipts(path, URL) as kept, pytest.raises(KeyboardInterrupt):
        send(Lines(io.BytesIO(content)), kept, sender, 1, interrupt)
    sender.stop("interrupted")
    tally, problem = run(content, path, api)
    assert (tally.as_dict()["sent"], tally.all_stored, problem) == (2500, True, None)
    assert tally.counts[Verdict.RECORDED] >= 1000
    assert len(api.recorded) == 2500
