"""The ways by which a replay sends events beside HTTP: messages of the queue, events of the bus, files of the inbox."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

from quarterhour.intake.file_result import BAD_ROW, FileResult
from quarterhour.intake.keys import INBOX, RESULTS
from quarterhour.model import exact_json
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour_tools.emulator.direct import EmbeddedBucket
from quarterhour_tools.emulator.stack import Stack
from quarterhour_tools.loading.event_messages import entries, is_object, messages, put_on_bus

_REJECTED: Final = "rejected"
_CONFLICT: Final = "conflict"


class WayIn(ABC):
    """A way by which a stack takes events in."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack

    @abstractmethod
    def send(self, texts: Sequence[str], instant: datetime) -> None:
        """Send events, the texts of JSON objects, at an instant."""

    def flush(self) -> None:  # noqa: B027 - most ways keep nothing
        """Send what is kept to be sent together with later events."""

    @abstractmethod
    def _refused(self) -> Counter[str]:
        """Return how many events were rejected or a conflict."""

    def verdicts(self, sent: int, recorded: int, held: int) -> Mapping[str, int]:
        """Return the verdicts of all events: what is neither in the ledger, held nor refused is a duplicate."""
        refused = self._refused()
        duplicate = sent - recorded - held - refused.total()
        return {"recorded": recorded, "held": held, "duplicate": duplicate, **refused}


class _Parked(WayIn):
    """A way whose refused events are parked. They are counted as they are received, and stay hidden."""

    def __init__(self, stack: Stack) -> None:
        super().__init__(stack)
        self._found: Counter[str] = Counter()

    def _refused(self) -> Counter[str]:
        sqs, url = self._stack.engine.sqs(), self._stack.ref("IntakeParkedQueue")
        while found := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages", []):
            self._found.update(exact_json.parse(one["Body"])["record"]["verdict"] for one in found)
        return self._found


class _Queue(_Parked):
    def send(self, texts: Sequence[str], instant: datetime) -> None:  # noqa: ARG002 - at once
        """Send messages of lists of events."""
        for body in messages(texts):
            self._stack.engine.sqs().send_message(QueueUrl=self._stack.ref("IntakeQueue"), MessageBody=body)


class _Bus(_Parked):
    def send(self, texts: Sequence[str], instant: datetime) -> None:  # noqa: ARG002 - at once
        """Put each event on the bus; what is no object cannot be one, and is sent to the queue."""
        for some in entries(filter(is_object, texts)):
            put_on_bus(self._stack.engine.events(), some)
        for text in texts:
            if not is_object(text):
                self._stack.engine.sqs().send_message(QueueUrl=self._stack.ref("IntakeQueue"), MessageBody=text)


class _Inbox(WayIn):
    """One file a quarter-hour."""

    def __init__(self, stack: Stack) -> None:
        super().__init__(stack)
        self._quarter_hour: QuarterHour | None = None
        self._texts: list[str] = []
        self._files = 0

    def send(self, texts: Sequence[str], instant: datetime) -> None:
        """Keep events until those of their quarter-hour are known."""
        if self._quarter_hour != QuarterHour.at(instant):
            self.flush()
            self._quarter_hour = QuarterHour.at(instant)
        self._texts += texts

    def flush(self) -> None:
        """Upload the file of the quarter-hour."""
        if self._texts:
            self._files += 1
            key, content = f"{INBOX}replay/{self._files:06}.ndjson", "\n".join(self._texts).encode()
            self._stack.engine.s3().put_object(Bucket=self._stack.ref("InboxBucket"), Key=key, Body=content)
            self._texts = []

    def _refused(self) -> Counter[str]:
        bucket = EmbeddedBucket(self._stack.ref("InboxBucket"))
        refused: Counter[str] = Counter()
        for key in bucket.keys():  # noqa: SIM118 - no dict
            if key.startswith(RESULTS):
                with bucket.open(key) as file:
                    counts = FileResult.parse(file.read()).counts or {}
                refused[_CONFLICT] += counts.get(_CONFLICT, 0)
                refused[_REJECTED] += counts.get(_REJECTED, 0) + counts.get(BAD_ROW, 0)
        return refused


_WAYS: Final[Mapping[str, type[WayIn]]] = {"queue": _Queue, "bus": _Bus, "inbox": _Inbox}


def way_of(stack: Stack, name: str) -> WayIn:
    """Return a way into a stack by its name."""
    return _WAYS[name](stack)
