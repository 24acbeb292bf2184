"""What a check has found: the outcome of each step, and the calls that it made."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final, NamedTuple

from quarterhour_tools.errors import ToolError

_IDS: Final = ("x-request-id", "apigw-requestid", "x-amzn-requestid", "x-amz-request-id")
"""The headers with the request id, those that logs use first."""


class Outcome(StrEnum):
    """How a step ended."""

    PASSED = "passed"
    FAILED = "failed"
    WAITING = "waiting"
    """A person or a date must come first; the note says which."""
    SKIPPED = "skipped"
    INTERRUPTED = "interrupted"


class StepFailedError(ToolError):
    """A step has not found what it expects; the message says what it found."""


class NotDoneError(Exception):
    """A step was not done; the message says why."""

    def __init__(self, outcome: Outcome, reason: str) -> None:
        super().__init__(reason)
        self.outcome = outcome


class AnsweredCall(NamedTuple):
    """A call to AWS, as a page may show it: without host, query and content."""

    at: datetime
    what: str
    status: int
    request_id: str


class StepResult(NamedTuple):
    """The outcome of a step. ``only_aws``: what no other engine shows of it."""

    step: str
    title: str
    outcome: Outcome
    at: datetime
    seconds: float
    note: str
    only_aws: str
    calls: tuple[AnsweredCall, ...] = ()


def request_id(headers: Mapping[str, str]) -> str:
    """Return the request id in the headers of a response; nothing if it has none."""
    lower = {name.lower(): value for name, value in headers.items()}
    return next((lower[name] for name in _IDS if name in lower), "")
