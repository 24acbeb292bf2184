"""`quarterhour unpark`: applies parked records, lists and takes parked events; and the queues of the intake."""

import argparse
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from botocore.config import Config
from botocore.exceptions import ClientError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from quarterhour.model import exact_json
from quarterhour.model.fields import printable
from quarterhour_tools.errors import ToolError
from quarterhour_tools.output import as_json, counted, print_table
from quarterhour_tools.target.deployment import client, configure_target, invoke, outputs_of

NAME: Final = "unpark"
DESCRIPTION: Final = (
    "Apply the records and events that were parked after failures, once the cause is fixed. With --list, only "
    "list the parked events of the queue and the bus; with --take, move them into a file to correct them. Exit "
    "code 1 if some stay parked."
)

_OFF: Final = "takes nothing in by queue, bus or inbox: deploy it with the parameter Intake=queue"
_HIDDEN_SECONDS: Final = 120
"""How long a listed event is hidden from others."""
_MOST_MESSAGES: Final = 10
_TITLES: Final = ("verdict", "source", "id", "queue", "reason")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour unpark``."""
    configure_target(parser)
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--list",
        action="store_true",
        help="only list the events of the queue and the bus that are parked, with reasons",
    )
    what.add_argument(
        "--take",
        type=Path,
        metavar="FILE",
        help="move these events into a new file of NDJSON, to correct them and to send it",
    )
    parser.add_argument("--json", action="store_true", help="with --list, print JSON")


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    if args.list:
        return show_parked(args)
    if args.take:
        return take_parked(args, args.take)
    # Billing and the intake unpark their own records: appends to the ledger need the ingest's short timeout.
    answer = {**invoke(args, "Repair", {"action": "unpark"}), **invoke(args, "Billing", {})}
    if is_on(args):
        answer |= invoke(args, "Intake", {})
    for queue, result in answer.items():
        print(f"{queue}: {result['applied']} applied, {result['kept']} kept")
    return 0 if not any(result["kept"] for result in answer.values()) else 1


def queue_url(args: argparse.Namespace, logical: str, output: str) -> str | None:
    """Return the URL of a queue; ``None`` if the deployment does not have it."""
    if not args.url:
        return outputs_of(args.stack).get(output)
    try:
        return str(client("sqs", args.url, Config()).get_queue_url(QueueName=logical)["QueueUrl"])
    except ClientError:
        return None


def is_on(args: argparse.Namespace) -> bool:
    """Return whether the deployment has an intake."""
    return queue_url(args, "IntakeParkedQueue", "IntakeParkedQueueUrl") is not None


def needed(found: str | None, args: argparse.Namespace) -> str:
    """Return what was found; raise ``ToolError`` if the deployment does not have it."""
    if found is None:
        raise ToolError(f"{args.stack or args.url} {_OFF}")
    return found


@dataclass(frozen=True, slots=True)
class ParkedEvent:
    """A parked event: its message, and the reason."""

    receipt: str
    reason: str
    record: dict[str, Any]

    @property
    def place(self) -> tuple[str, int]:
        """The message that brought it and its place there: an event that was parked twice has one."""
        return self.record["message"], int(self.record["index"])

    @property
    def text(self) -> str:
        """The event as one line of JSON; what was not JSON is a text."""
        return exact_json.canonical(self.record["event"])

    def as_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        known = {name: self.record[name] for name in ("verdict", "queue", "message")}
        return {**known, "index": self.place[1], "reason": self.reason, "event": json.loads(self.text)}


@contextmanager
def received(args: argparse.Namespace) -> Iterator[tuple[list[ParkedEvent], Any]]:
    """Receive all parked events, hidden from others until the block ends; yield them, and what deletes one."""
    url = needed(queue_url(args, "IntakeParkedQueue", "IntakeParkedQueueUrl"), args)
    sqs = client("sqs", args.url, Config())
    events: dict[str, ParkedEvent] = {}
    try:
        while found := sqs.receive_message(
            QueueUrl=url, MaxNumberOfMessages=_MOST_MESSAGES, VisibilityTimeout=_HIDDEN_SECONDS
        ).get("Messages", []):
            for one in found:
                body = exact_json.parse(one["Body"])
                events[one["ReceiptHandle"]] = ParkedEvent(one["ReceiptHandle"], body["reason"], body["record"])

        def delete(event: ParkedEvent) -> None:
            sqs.delete_message(QueueUrl=url, ReceiptHandle=event.receipt)
            del events[event.receipt]

        yield sorted(events.values(), key=lambda one: one.place), delete
    finally:
        for receipt in events:
            sqs.change_message_visibility(QueueUrl=url, ReceiptHandle=receipt, VisibilityTimeout=0)


def show_parked(args: argparse.Namespace) -> int:
    """Print the parked events with their reasons."""
    with received(args) as (events, _):
        if args.json:
            print(as_json([one.as_dict() for one in events]))
            return 0
        table = Table(*_TITLES)
        for one in events:
            event = one.record["event"] if isinstance(one.record["event"], dict) else {}
            names = (one.record["verdict"], event.get("source"), event.get("id"), one.record["queue"], one.reason)
            table.add_row(*(Text(printable(str(name or ""))) for name in names))
        print_table(Console(), table)
        print(f"{counted(len(events), 'event')} parked")
    return 0


def take_parked(args: argparse.Namespace, path: Path) -> int:
    """Move the parked events into a new file of NDJSON, each once; they leave the queue when the file is on disk."""
    with received(args) as (events, delete):
        if events:
            lines = {one.place: one.text for one in events}
            with path.open("x", encoding="utf-8") as file:
                file.writelines(f"{text}\n" for text in lines.values())
                file.flush()
                os.fsync(file.fileno())
            for one in list(events):
                delete(one)
            print(f"{path} has {counted(len(lines), 'event')}: correct it, and send it with `quarterhour send`")
        else:
            print("no event is parked")
    return 0
