"""The HTTP form of recording: a request with CloudEvents in any mode, a response with an outcome for each."""

import re
from codecs import BOM_UTF8
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from json import JSONDecodeError
from typing import Any, Final
from urllib.parse import unquote_to_bytes

from quarterhour.ledger.events.cloud_event import CONTENT_TYPE, DATA, IN_BASE64, is_json_type
from quarterhour.ledger.events.event import Event, Rejection, read_event, rejection
from quarterhour.model import exact_json, texts
from quarterhour.model.errors import FieldProblem, MalformedError, TooLargeError
from quarterhour.model.fields import named
from quarterhour.web.bodies import check_size, media_type, parse, refusal, unsupported

MAX_BATCH: Final = 500
ONE: Final = "application/cloudevents+json"
BATCH: Final = "application/cloudevents-batch+json"
LINES: Final = "application/x-ndjson"
OF_DATA: Final = "application/json"
MAX_BODY: Final = 4_000_000
"""Bytes of a request: enough for a full batch of large events, and below Lambda's limit (6 MB) even in Base64."""
_ACCEPTED: Final = {
    ONE: "one event",
    BATCH: "a batch of them",
    LINES: "one event a line",
    OF_DATA: "the data of one event with its attributes in ce- headers",
}
_ALSO_LINES: Final = frozenset({LINES, "application/ndjson", "application/jsonl"})
_CLOUD_EVENTS: Final = "application/cloudevents"
"""The beginning of the media types of all formats of CloudEvents."""
_PREFIX: Final = "ce-"
_NOT_IN_HEADERS: Final = {
    DATA: "the data as the body",
    IN_BASE64: "the data as the body",
    CONTENT_TYPE: "the header content-type",
}
_NOT_ENCODED: Final = re.compile(r"[^\x20-\x7e]")
_NO_ENCODING: Final = re.compile("%(?![0-9A-Fa-f]{2})")
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')


@dataclass(frozen=True, slots=True)
class Sent:
    """The events of a request, each read or rejected. ``lines``: the number of each one's line, if they are lines."""

    events: list[Event | Rejection]
    lines: Sequence[int] = ()


def read_request(headers: Mapping[str, str], body: bytes) -> Sent:
    """Return the events of a request, from its headers (names in lower case) and its body.

    The content type tells the mode: one event, a batch, lines, or the data of an event whose attributes are headers.
    Raises ``UnsupportedMediaTypeError``, ``MalformedError`` or ``TooLargeError``.
    """
    content_type = headers.get("content-type", "")
    kind = media_type(content_type)
    if kind == BATCH:
        return Sent([read_event(item) for item in _batch(_parsed(body))])
    if kind == ONE:
        item = _parsed(body)
        if isinstance(item, list):
            raise refusal(MalformedError, "is a list", f"it as {BATCH}")
        return Sent([read_event(item)])
    if kind in _ALSO_LINES:
        return _events_of_lines(body)
    if is_json_type(kind) and not kind.startswith(_CLOUD_EVENTS) and any(name.startswith(_PREFIX) for name in headers):
        return Sent([_event_of_headers(headers, content_type, _parsed(body))])
    raise unsupported(content_type, _ACCEPTED)


def _parsed(body: bytes) -> Any:  # noqa: ANN401 - JSON is any value
    check_size(body, MAX_BODY)
    return parse(body)


def _batch(parsed: object) -> list[object]:
    if not isinstance(parsed, list):
        raise refusal(MalformedError, "is not a list", f"a single event as {ONE}")
    _check_number(len(parsed))
    return parsed


def _check_number(events: int) -> None:
    if not events:
        raise refusal(MalformedError, "is an empty batch", f"1 to {MAX_BATCH} events")
    if events > MAX_BATCH:
        raise refusal(TooLargeError, f"holds {events} events", f"at most {MAX_BATCH} in one request")


def _events_of_lines(body: bytes) -> Sent:
    """Return the events of a body with an event a line; a line that is not JSON is a rejection. Skips blank lines."""
    check_size(body, MAX_BODY)
    lines = enumerate(body.removeprefix(BOM_UTF8).split(b"\n"), 1)
    filled = {number: line for number, line in lines if line and not line.isspace()}
    _check_number(len(filled))
    return Sent([event_of_line(line) for line in filled.values()], tuple(filled))


def event_of_line(line: bytes) -> Event | Rejection:
    """Return the event in a line of NDJSON, or its rejection."""
    try:
        item = exact_json.parse(line.decode())
    except ValueError as error:
        problem = FieldProblem("", f"is not JSON: {_why(error)}", "a CloudEvent as JSON in one line")
        return Rejection(None, None, (problem,))
    return read_event(item)


def _why(error: ValueError) -> str:
    """Return why a line is not JSON, with the place in the line."""
    match error:
        case UnicodeDecodeError():
            return f"byte {error.start + 1} of the line is not UTF-8"
        case JSONDecodeError():
            return f"{error.msg}: character {error.colno} of the line"
        case _:
            return str(error)


def _event_of_headers(headers: Mapping[str, str], content_type: str, data: object) -> Event | Rejection:
    """Return the event in binary mode: its attributes are headers, and its data is the body."""
    item: dict[str, Any] = {CONTENT_TYPE: content_type, DATA: data}
    problems: list[FieldProblem] = []
    for header, value in headers.items():
        name = header.removeprefix(_PREFIX)
        if name == header:
            continue
        if name in _NOT_IN_HEADERS:
            problems.append(FieldProblem(header, "is given", _NOT_IN_HEADERS[name]))
            continue
        try:
            item[name] = _decoded(value)
        except ValueError as error:
            expected = "printable ASCII, with any other character and % as percent-encoded UTF-8"
            problems.append(FieldProblem(named(header), str(error), expected))
    return rejection(item, problems) if problems else read_event(item)


def _decoded(value: str) -> str:
    """Return the text of an attribute in a header; raise ``ValueError`` if its percent-encoding is invalid."""
    if _NOT_ENCODED.search(value):
        raise ValueError("has a character that is not percent-encoded")
    if quoted := _QUOTED.fullmatch(value):
        value = re.sub(r"\\(.)", r"\1", quoted[1])
    if _NO_ENCODING.search(value):
        raise ValueError("has a % without two hexadecimal digits")
    try:
        return texts.one_form(unquote_to_bytes(value).decode())
    except UnicodeDecodeError as error:
        raise ValueError("is not percent-encoded UTF-8") from error
