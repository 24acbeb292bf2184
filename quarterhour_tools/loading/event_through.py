"""`quarterhour send --through`: sends a file to the queue, the bus or the inbox of a running stack."""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from botocore.config import Config
from botocore.exceptions import ClientError

from quarterhour.intake.file_result import FileResult, FileStatus
from quarterhour.intake.keys import INBOX, UnreadableError, form_of, result_key
from quarterhour.model import clock
from quarterhour.model.fields import printable
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.event_messages import (
    LONGEST_DETAIL,
    LONGEST_MESSAGE,
    entries,
    is_object,
    messages,
    put_on_bus,
)
from quarterhour_tools.loading.ndjson import Lines, open_lines
from quarterhour_tools.operations.intake import needed, queue_url
from quarterhour_tools.output import counted
from quarterhour_tools.target.deployment import client, outputs_of

WAYS: Final = ("queue", "bus", "inbox")
_POLL_SECONDS: Final = 1.0
_PATH_STYLE: Final = Config(s3={"addressing_style": "path"})


def run(args: argparse.Namespace) -> int:
    """Send the file through the way that the arguments name; return the exit code."""
    if args.through == "inbox":
        return _upload(args)
    if args.map or args.set:
        raise ToolError("--map and --set are for --through inbox: convert the file with `quarterhour csv` first")
    with open_lines(args.file) as lines:
        send = _send_to_queue if args.through == "queue" else _send_to_bus
        events, sent, refused = send(args, lines)
        if lines.problem:
            refused.append(lines.problem)
    for one in refused:
        print(printable(one))
    print(f"{counted(events, 'event')} sent in {counted(sent, 'message')}")
    print("what cannot be recorded is parked: `quarterhour unpark --list` shows it")
    return 1 if refused else 0


def _texts(lines: Lines, refused: list[str], longest: int) -> Iterator[str]:
    """Yield the lines that can be an event of at most so many bytes; name the others."""
    for line in lines:
        text = line.body.decode(errors="replace")
        if text and line.size <= longest and is_object(text):
            yield text
        else:
            refused.append(f"line {line.number:,}: not sent, as it is no JSON object of at most {longest:,} bytes")


def _send_to_queue(args: argparse.Namespace, lines: Lines) -> tuple[int, int, list[str]]:
    url = needed(queue_url(args, "IntakeQueue", "IntakeQueueUrl"), args)
    sqs = client("sqs", args.url, Config())
    refused: list[str] = []
    events = sent = 0

    def counting() -> Iterator[str]:
        nonlocal events
        for text in _texts(lines, refused, LONGEST_MESSAGE):
            events += 1
            yield text

    for body in messages(counting()):
        sqs.send_message(QueueUrl=url, MessageBody=body)
        sent += 1
    return events, sent, refused


def _send_to_bus(args: argparse.Namespace, lines: Lines) -> tuple[int, int, list[str]]:
    if not args.url:
        needed(outputs_of(args.stack).get("IntakeBus"), args)
    events = client("events", args.url, Config())
    refused: list[str] = []
    sent = 0
    for some in entries(_texts(lines, refused, LONGEST_DETAIL)):
        put_on_bus(events, some)
        sent += len(some)
    return sent, sent, refused


# ---------------------------------------------------------------- inbox


def _upload(args: argparse.Namespace) -> int:
    """Upload a file as it is, wait for its result, and print it."""
    key = key_of(Path(args.file), args.map, args.set)
    bucket = "InboxBucket" if args.url else needed(outputs_of(args.stack).get("InboxBucketName"), args)
    s3 = client("s3", args.url, _PATH_STYLE)
    try:
        s3.head_bucket(Bucket=bucket)
    except ClientError as error:
        raise ToolError(f"the bucket {bucket} cannot be used: {error}") from error
    # boto3's upload sends a large file in parts, and repeats a part that fails.
    s3.upload_file(args.file, bucket, key)
    etag = s3.head_object(Bucket=bucket, Key=key)["ETag"].strip('"')
    print(f"{key} uploaded", flush=True)
    result = _awaited(s3, bucket, result_key(key, etag), args.give_up_after)
    return _show(result, result_key(key, etag), as_json=args.json)


def key_of(path: Path, map_: str | None, settings: Sequence[str]) -> str:
    """Return the key of a file in the inbox; raise ``ToolError`` if it does not tell the file's form."""
    if any("=" not in one or "/" in one for one in settings) or "/" in (map_ or "") or map_ in {".", ".."}:
        raise ToolError("--set needs NAME=VALUE, and no / in it or in --map, which is no . or .. either")
    key = INBOX + "/".join([*([map_] if map_ else ()), *settings, path.name])
    try:
        form = form_of(key)
    except UnreadableError as error:
        raise ToolError(
            f"{path}: {error}" if map_ else f"{path}: {error}; --map names the map of a CSV file"
        ) from error
    if map_ and not form.map:
        raise ToolError(f"{path}: --map is for CSV files")
    return key


def _awaited(s3: Any, bucket: str, key: str, give_up_after: int) -> FileResult:  # noqa: ANN401 - the stubs are no dependency
    """Return the result of a file when it has ended; raise ``ToolError`` after so many seconds without progress."""
    seen, waited = b"", 0.0
    while waited < give_up_after:
        try:
            content = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        except ClientError:
            content = b""
        if content != seen:
            seen, waited = content, 0.0
        if content and (result := FileResult.parse(content)).status is not FileStatus.READING:
            return result
        clock.sleep(_POLL_SECONDS)
        waited += _POLL_SECONDS
    raise ToolError(f"there is no result for {give_up_after:,} seconds: look at {key} in the bucket later")


def _show(result: FileResult, key: str, *, as_json: bool) -> int:
    if as_json:
        print(json.dumps(json.loads(result.as_json())))
        return 0 if result.is_complete else 1
    counts = result.counts or {}
    named = ", ".join(f"{number:,} {name}" for name, number in counts.items())
    print(f"{result.status.value}: {counted(result.line, 'line')}: {named or 'no event'}")
    for one in result.problems:
        print(printable(f"line {one.line:,}: {one.verdict}: {one.reason}"))
    if result.left_out:
        print(f"... and {counted(result.left_out, 'more problem')}")
    if before := result.before_first_period:
        print(f"{counted(before, 'event')} before the first period with statements: on no statement")
    if result.reason:
        print(printable(result.reason))
    print(f"the result is {printable(key)}")
    return 0 if result.is_complete else 1
