"""`quarterhour send`: sends NDJSON of events to a running stack; it continues at the point of an interruption."""

import argparse
import json
import queue
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, wait
from contextlib import ExitStack, contextmanager, suppress
from itertools import groupby
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Final

from quarterhour_client import Result
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn

from quarterhour.model.fields import printable
from quarterhour_tools.csv import maps as csv_maps
from quarterhour_tools.csv.file_events import FileEvents
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading import event_through
from quarterhour_tools.loading.connected_file import ConnectedFile, UnknownAgencyError, connected_file
from quarterhour_tools.loading.delivery import GIVE_UP_AFTER, Batch, Delivery, StoppedError, batches, unanswered
from quarterhour_tools.loading.input_lines import STDIN
from quarterhour_tools.loading.ndjson import NOT_JSON, Line, Lines, open_lines
from quarterhour_tools.loading.receipts import Receipts, ReceiptsError, Tally, open_receipts
from quarterhour_tools.output import counted
from quarterhour_tools.target.deployment import api, configure_target
from quarterhour_tools.target.remote import Remote

NAME: Final = "send"
DESCRIPTION: Final = (
    "Send NDJSON of events, or CSV with a map, to a running stack: 500 in a request, several requests "
    "at a time. A request without an answer is sent again. FILE.receipts keeps the verdict of each line. After an "
    "interruption, run the same command again: it continues where it stopped, and nothing is recorded twice. "
    "Exit code 0 if every line is recorded, a duplicate or held, otherwise 1."
)
AT_ONCE: Final = 8
"""Below the 10 executions at a time that a new AWS account has."""
MOST_AT_ONCE: Final = 64

_AHEAD: Final = 2
"""Batches for each request at a time that are read before the oldest one is done."""
_MOST_AGAIN: Final = 100_000
"""The most lines that may be unavailable before the deployment counts as out of order."""
_LOOK: Final = 0.25
"""Seconds between two looks at whether it is time to give up."""
_INTERRUPTED: Final = "interrupted: run the same command again to go on"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour send``."""
    parser.add_argument(
        "file", metavar="FILE", help="NDJSON of CloudEvents, or CSV with --map, plain or gzip; - for standard input"
    )
    configure_target(parser)
    parser.add_argument(
        "--receipts",
        type=Path,
        metavar="FILE",
        help="keep the verdicts here (default: FILE.receipts beside the input; for standard input, nowhere)",
    )
    parser.add_argument(
        "--at-once",
        type=_whole(MOST_AT_ONCE),
        default=AT_ONCE,
        metavar="N",
        help=f"the most requests at a time, 1 to {MOST_AT_ONCE} (default {AT_ONCE})",
    )
    parser.add_argument(
        "--give-up-after",
        type=_whole(86_400),
        default=GIVE_UP_AFTER,
        metavar="SECONDS",
        help=f"stop after so many seconds in which no line got a verdict (default {GIVE_UP_AFTER})",
    )
    parser.add_argument("--json", action="store_true", help="print the counts as one JSON object")
    parser.add_argument(
        "--through",
        choices=event_through.WAYS,
        help="send the events as messages of the queue, as events of the bus, or the file to the inbox, and not as "
        "requests; there are no receipts",
    )
    parser.add_argument(
        "--map", metavar="MAP", help="the file is CSV, with this map; through the inbox, the name of a map there"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="with --map, a value that the map asks for; may be repeated",
    )


def _whole(most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.isdecimal() or len(text) > len(str(most)) or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(f"expected a whole number, 1 to {most:,}")
        return int(text)

    return parse


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    if args.through:
        return event_through.run(args)
    if args.set and not args.map:
        raise ToolError("--set needs --map: it gives a value that the map asks for")
    console = Console(stderr=True, highlight=False)
    path = args.receipts or (Path(f"{args.file}.receipts") if args.file != STDIN else None)
    with ExitStack() as context:
        remote = api(args, connections=args.at_once)
        name, is_whole = context.enter_context(_ndjson(args, remote))
        lines = context.enter_context(open_lines(name))
        receipts = context.enter_context(open_receipts(path, remote.url)) if path else Receipts()
        bar = context.enter_context(_bar(console))
        delivery = Delivery(remote.events.post_events, args.give_up_after, lambda text: _print(bar.console, text))
        task = bar.add_task(args.file, total=lines.size)
        problem = None
        try:
            problem = send(
                lines, receipts, delivery, args.at_once, lambda: bar.update(task, completed=lines.position())
            )
        except KeyboardInterrupt:
            bar.stop()
            _show(console, receipts.tally, path, _INTERRUPTED, as_json=args.json)
            raise
        finally:
            delivery.stop(_INTERRUPTED)
            receipts.save()
    shown = _show(console, receipts.tally, path, problem, as_json=args.json)
    return shown if is_whole else 1


@contextmanager
def _ndjson(args: argparse.Namespace, remote: Remote) -> Iterator[tuple[str, bool]]:
    """Yield the name of a file of events: the input, or what its map makes of it, and whether that has all its rows.

    What a map makes is in a file that is deleted then.
    """
    if not args.map:
        yield args.file, True
        return
    try:
        given = dict(csv_maps.setting(one) for one in args.set)
    except argparse.ArgumentTypeError as error:
        raise ToolError(f"--set: {error}") from error
    connected = connected_file(remote, args.map)
    if connected:
        given = {"webhooks": "yes", **connected.given(args.map, given)}
    file, refused = FileEvents(args.file, args.map, given), list[str]()
    with NamedTemporaryFile(suffix=".ndjson") as made:
        made.writelines(_written(file, connected, refused))
        made.flush()
        yield made.name, file.summary.is_good and not refused


def _written(file: FileEvents, connected: ConnectedFile | None, refused: list[str]) -> Iterator[bytes]:
    """Yield the events of a file as lines; add those whose agency nobody knows to ``refused``, and print them."""
    for one in file.events():
        try:
            body = connected.event(one.body) if connected else one.body
        except UnknownAgencyError as error:
            refused.append(f"{one.body['id']}: {error}")
            print(printable(refused[-1]), file=sys.stderr)
            continue
        yield json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def send(
    lines: Lines, receipts: Receipts, delivery: Delivery, at_once: int, advance: Callable[[], None] = lambda: None
) -> str | None:
    """Send the lines that have no final verdict yet, and add their outcomes to the receipts.

    Returns why it ended before the end of the input, or ``None``. Raises ``ToolError`` if the receipts are of another
    input.
    """
    for batch, results in _delivered(delivery, _unsent(lines, receipts.tally), at_once):
        try:
            receipts.add(batch.lines, results)
        except ReceiptsError as error:
            return str(error)
        advance()
        if len(receipts.tally.unavailable) > _MOST_AGAIN:
            return f"more than {_MOST_AGAIN:,} lines are unavailable: nothing more was sent"
    return "; ".join(reason for reason in (delivery.ended, lines.problem) if reason) or None


def _unsent(lines: Lines, tally: Tally) -> Iterator[Batch]:
    """Yield the batches to send: first the lines that were unavailable, then those after the last receipt."""
    coming = iter(lines)
    yield from batches(_again(coming, lines, tally))
    yield from batches(coming)


def _again(coming: Iterator[Line], lines: Lines, tally: Tally) -> Iterator[Line]:
    """Yield the lines to send again, up to the last one with a receipt; raise ``ToolError`` if the input differs."""
    through, expected = tally.through, {**tally.unavailable, tally.through: tally.chain}
    while lines.number < through and (line := next(coming, None)):
        if line.number > through or expected.get(line.number, line.chain.hex()) != line.chain.hex():
            raise ToolError(_OTHER)
        if line.number in tally.unavailable:
            yield line
    if lines.number < through and not lines.problem:
        raise ToolError(_OTHER)


_OTHER: Final = (
    "the receipts are of another input, or of another version of this one: name another file with --receipts, or "
    "delete them to send everything; lines that were sent before are duplicates then"
)


def _delivered(
    delivery: Delivery, unsent: Iterable[Batch], at_once: int
) -> Iterator[tuple[Batch, Mapping[int, Result]]]:
    """Deliver batches side by side; yield each with its outcomes, in their order, until the end of sending.

    Few batches are read ahead, so memory is bounded.
    """
    window: deque[_Task] = deque()
    with _workers(delivery, at_once) as begin, suppress(StoppedError):
        for batch in unsent:
            if all(task.is_done() for task in window):
                delivery.note_progress()  # the time without work does not count
            window.append(begin(batch))
            while window and (window[0].is_done() or len(window) >= _AHEAD * at_once):
                yield window[0].batch, window.popleft().outcomes(delivery)
        for task in window:
            yield task.batch, task.outcomes(delivery)


class _Task:
    """A batch, and its outcomes as soon as a thread has them."""

    def __init__(self, batch: Batch) -> None:
        self.batch = batch
        self.future: Future[dict[int, Result]] = Future()

    def is_done(self) -> bool:
        return self.future.done()

    def work(self, delivery: Delivery) -> None:
        self.future.set_running_or_notify_cancel()
        try:
            self.future.set_result(delivery.deliver(self.batch))
        except BaseException as error:  # noqa: BLE001 - raised when the outcomes are taken
            self.future.set_exception(error)

    def outcomes(self, delivery: Delivery) -> Mapping[int, Result]:
        """Return the outcomes; those of a request that hangs when sending gives up are unavailable.

        Raises ``StoppedError`` if there are none.
        """
        while not wait([self.future], _LOOK).done and not delivery.is_over():
            pass
        if wait([self.future], _LOOK).done:  # a thread that only waited to try again ends now
            return self.future.result()
        if not self.future.running():
            raise StoppedError
        return {**unanswered(self.batch, "hangs"), **self.batch.rejected}


@contextmanager
def _workers(delivery: Delivery, at_once: int) -> Iterator[Callable[[Batch], _Task]]:
    """Yield a function that begins a delivery. The threads do not keep the process alive: a request may hang."""
    tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
    threads: list[threading.Thread] = []

    def work() -> None:
        while task := tasks.get():
            task.work(delivery)

    def begin(batch: Batch) -> _Task:
        if len(threads) < at_once:
            threads.append(threading.Thread(target=work, daemon=True))
            threads[-1].start()
        tasks.put(task := _Task(batch))
        return task

    try:
        yield begin
    finally:
        for _ in threads:
            tasks.put(None)


# ---------------------------------------------------------------- output


def _bar(console: Console) -> Progress:
    columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def _print(console: Console, text: str) -> None:
    console.print(printable(text), markup=False, soft_wrap=True)


def _show(console: Console, tally: Tally, receipts: Path | None, problem: str | None, *, as_json: bool) -> int:
    """Print the counts, the first reasons and where the others are; return the exit code."""
    complete = tally.all_stored and problem is None
    counts = tally.as_dict()
    if as_json:
        before = {"before_first_period": dict(tally.before)} if tally.before else {}
        print(json.dumps({**counts, **before, "complete": complete}))
    else:
        sent, *verdicts = counts.items()
        print(f"{counted(sent[1], 'line')}: {', '.join(f'{number:,} {name}' for name, number in verdicts)}")
        if complete:
            print("complete: every line is recorded, a duplicate or held" if sent[1] else "complete: there is no event")
        for period, events in sorted(tally.before.items()):
            print(f"{counted(events, 'event')} before {period}, the first period with statements: on no statement")
    if complete:
        return 0
    for text, group in groupby(sorted(tally.shown.items()), lambda one: one[1]):
        (first, _), *_, (last, _) = [*group] * 2
        _print(console, f"{f'line {first:,}' if first == last else f'lines {first:,} to {last:,}'}: {text}")
    others = counts["conflict"] + counts["rejected"] + counts["unavailable"] - len(tally.shown)
    if others > 0:
        _print(console, f"... and {counted(others, 'more line')}")
    if problem:
        _print(console, problem)
    _print(console, _advice(counts, receipts))
    if tally.shown and counts["rejected"] == counts["sent"] and all(NOT_JSON in text for text in tally.shown.values()):
        _print(console, "no line is an event: `quarterhour csv` converts CSV files")
    return 1


def _advice(counts: Mapping[str, int], receipts: Path | None) -> str:
    final = counts["conflict"] + counts["rejected"]
    parts = ["NOT complete"]
    parts.append(f"{receipts} has the verdict of each line" if receipts else "--receipts FILE keeps all verdicts")
    parts.append("the same command sends what is missing")
    if final:
        parts.append("send a corrected event in a new file: a line that is rejected or a conflict stays so")
    return "; ".join(parts)
