"""Records the files of the inbox, part by part, and writes a result beside each."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote_plus

from quarterhour.aws.retries import with_retries
from quarterhour.aws.telemetry import Metric, count, logger
from quarterhour.file_formats.csv.errors import FileError, MapError
from quarterhour.file_formats.csv.map import load_map, shipped_map
from quarterhour.file_formats.csv.parts import FileConversion
from quarterhour.file_formats.csv.seen import SeenRows, seen_rows
from quarterhour.file_formats.csv.summary import FileSummary
from quarterhour.intake.chunks import Chunk, Content, CsvPlace, chunks_of_csv, chunks_of_lines
from quarterhour.intake.file_result import FileResult, FileStatus, FileVersion, problems_of
from quarterhour.intake.keys import INBOX, InboxForm, UnreadableError, form_of
from quarterhour.intake.service import Seconds, record_all
from quarterhour.intake.store import InboxStore, ReplacedError
from quarterhour.ledger.recording.metrics import count_outcomes
from quarterhour.ledger.recording.outcomes import Outcome, Verdict
from quarterhour.ledger.recording.service import Recorder
from quarterhour.model import clock
from quarterhour.model.clock import iso_millis
from quarterhour.model.errors import UnavailableError
from quarterhour.model.fields import printable

if TYPE_CHECKING:
    from mypy_boto3_sqs import SQSClient

ENOUGH_SECONDS: Final = 10
"""With less time left than this, a part begins no further chunk."""
_LATER_SECONDS: Final = 60
"""How long a part waits after one that ended because the ledger was not available."""
_CONTINUE: Final = "continue"
_CREATED: Final = "ObjectCreated:"


class InboxIntake:
    """Records files. The result of a file is also its checkpoint; a message says that its next part is due."""

    def __init__(self, recorder: Recorder, store: InboxStore, sqs: "SQSClient", queue_url: str) -> None:
        self._recorder = recorder
        self._store = store
        self._sqs = sqs
        self._queue_url = queue_url

    def take(self, body: str, request_id: str, seconds: Seconds) -> None:
        """Record the part of a file that a message names: the first one of a new file, or the next one.

        A message that comes twice records nothing twice. Raises ``UnavailableError`` if nothing could be recorded now,
        and ``ValueError`` for a message that names no file.
        """
        message = json.loads(body)
        if _CONTINUE in message:
            due = dict(message[_CONTINUE])
            self._part(FileVersion(due["key"], due["etag"], due["upload"]), due["part"], request_id, seconds)
            return
        for file in _created(message, self._store.bucket):
            self._part(file, 0, request_id, seconds)

    def _part(self, file: FileVersion, part: int, request_id: str, seconds: Seconds) -> None:
        known = self._store.result(file)
        if known and known.file.upload != file.upload:
            known = None
        if part and known is None:
            return  # The file was uploaded again, and is read from its beginning.
        before = known or FileResult(file, FileStatus.READING, iso_millis(clock.now()))
        if before.status is not FileStatus.READING:
            return
        if before.part > part:  # The message has come again: the one that it was to send may not have been sent.
            self._go_on(before)
            return
        after = self._read(before, request_id, seconds)
        self._store.put(after)
        if after.status is FileStatus.READING:
            self._go_on(after, _LATER_SECONDS if seconds() > ENOUGH_SECONDS else 0)
            return
        count(Metric.INBOX_FILES_FAILED, int(not after.is_complete))
        logger.info("file read", status=after.status.value, parts=after.part, counts=after.counts)

    def _read(self, before: FileResult, request_id: str, seconds: Seconds) -> FileResult:
        """Return the result after one more part; raise ``UnavailableError`` if there is none."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "seen.sqlite"
            self._store.fetch_seen(before, path)
            with seen_rows(str(path)) as seen:
                after = self._recorded(before, seen, request_id, seconds)
            if after.status is FileStatus.READING:
                self._store.put_seen(after, path)
            return after

    def _recorded(self, before: FileResult, seen: SeenRows, request_id: str, seconds: Seconds) -> FileResult:
        """Return the result after one more part, and keep in ``seen`` the rows that it has, no others."""
        result = before
        try:
            form = form_of(before.file.key)
            with self._store.opened(before.file, before.offset, is_gzip=form.is_gzip) as content:
                for number, chunk in enumerate(self._chunks(content, form, before, seen)):
                    if number and seconds() < ENOUGH_SECONDS:
                        return replace(result, part=before.part + 1)
                    outcomes = record_all(self._recorder, chunk.events, f"{request_id}.{number}", seconds)
                    _check_written(outcomes)
                    result = _with(result, chunk, outcomes)
                    seen.commit()
                    count_outcomes(outcomes)
        except UnavailableError:
            if result is before:
                raise
            return replace(result, part=before.part + 1)
        except ReplacedError:
            return _ended(result, FileStatus.REPLACED, "the file was replaced or deleted before it was read to its end")
        except (MapError, FileError, UnreadableError) as error:
            return _ended(result, FileStatus.FAILED, printable(error))
        return _ended(result, FileStatus.DONE)

    def _chunks(self, content: Content, form: InboxForm, place: FileResult, seen: SeenRows) -> Iterator[Chunk]:
        if not form.map:
            return chunks_of_lines(content, place.offset, place.line)
        text = self._store.map(form.map) or shipped_map(form.map)
        if text is None:
            raise UnreadableError(f"there is no map {form.map}: upload it as maps/{form.map}.toml, then the file again")
        csv_map = load_map(text)
        if csv_map.must_not_change:
            raise UnreadableError(f"the map {form.map} is not used here: {csv_map.must_not_change}")
        if missing := csv_map.settings.keys() - form.settings.keys():
            names = ", ".join(sorted(missing))
            raise UnreadableError(f"the map {form.map} asks for {names}: write inbox/{form.map}/NAME=VALUE/FILE")
        return chunks_of_csv(content, FileConversion(csv_map, form.settings, seen), CsvPlace(place.offset, place.place))

    def _go_on(self, result: FileResult, delay: int = 0) -> None:
        file = result.file
        due = {"key": file.key, "etag": file.etag, "upload": file.upload, "part": result.part}
        body = json.dumps({_CONTINUE: due})
        with_retries(
            lambda: self._sqs.send_message(QueueUrl=self._queue_url, MessageBody=body, DelaySeconds=delay), "SQS"
        )


def _created(message: dict[str, Any], bucket: str) -> Iterator[FileVersion]:
    """Yield the new files of the inbox that a notification of S3 names; raise ``ValueError`` if it is none."""
    if message.get("Event") == "s3:TestEvent":
        return
    if "Records" not in message:
        raise ValueError("the message is no notification of S3")
    for record in message["Records"]:
        if record["s3"]["bucket"]["name"] != bucket:
            raise ValueError("the message is a notification of another bucket")
        thing = record["s3"]["object"]
        key = unquote_plus(thing["key"])
        if record["eventName"].startswith(_CREATED) and key.startswith(INBOX) and not key.endswith("/"):
            yield FileVersion(key, thing["eTag"], thing.get("sequencer") or record["eventTime"])


def _with(result: FileResult, chunk: Chunk, outcomes: list[Outcome]) -> FileResult:
    """Return the result behind a chunk."""
    problems = sorted([*chunk.problems, *problems_of(chunk.lines, outcomes)], key=lambda one: one.line)
    rows = result.rows
    if chunk.summary:
        before = FileSummary.parse(rows) if rows else FileSummary()
        rows = before.plus(chunk.summary).as_dict()
    after = result.plus(outcomes, problems)
    return replace(after, offset=chunk.offset, line=chunk.line, place=chunk.place, rows=rows)


def _check_written(outcomes: list[Outcome]) -> None:
    """Raise ``UnavailableError`` if an event is unavailable: then its chunk is read again."""
    if any(one.verdict is Verdict.UNAVAILABLE for one in outcomes):
        raise UnavailableError("events of a file could not be written in time")


def _ended(result: FileResult, status: FileStatus, reason: str | None = None) -> FileResult:
    return replace(
        result, status=status, reason=reason, part=result.part + 1, place=None, ended_at=iso_millis(clock.now())
    )
