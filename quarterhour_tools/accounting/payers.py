"""Lines of a bank's file that a person assigns to agencies, whose registrations learn who paid."""

import sys
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from quarterhour.model.fields import printable
from quarterhour_tools.errors import ToolError
from quarterhour_tools.target.remote import IN_LEDGER, Remote, failure, reasons, segment

_Json = dict[str, Any]
_LONGEST: Final = 300


class Assigned(NamedTuple):
    """A line by its number in the file, and the agency that it is of; ``statement``: empty to pay the oldest."""

    line: int
    agency: str
    statement: str = ""

    @classmethod
    def parse(cls, texts: Sequence[str]) -> "Assigned":
        """Parse the values of an argument; raise ``ToolError`` if they are none."""
        line, *names = texts
        if not (line.isascii() and line.isdecimal() and len(names) in {1, 2}):
            raise ToolError(f"--assign {printable(' '.join(texts))}: expected LINE AGENCY [STATEMENT]")
        return cls(int(line), *names)


def assign(remote: Remote, lines: Sequence[_Json], assigned: Sequence[Assigned]) -> None:
    """Record lines as payments of agencies, whose registrations learn the payers.

    Raises ``ToolError``: before anything is recorded if a line cannot be assigned, otherwise if one is refused.
    """
    chosen = [(one, _line(lines, one)) for one in assigned]
    for one, line in chosen:
        named = {"statement": one.statement} if one.statement else {}
        event = {**line["rest"], "subject": one.agency, "data": {**line["rest"]["data"], **named}}
        (result,) = remote.record([event])
        if result.verdict not in IN_LEDGER:
            raise ToolError(printable(f"line {one.line} is not recorded: {reasons(result)}", _LONGEST))
        learnt = _learn(remote, one.agency, line) if not line["amount"].startswith("-") else ""
        said = f"line {one.line}: {result.verdict.value} for {one.agency}{f'; {learnt}' if learnt else ''}"
        print(printable(said, _LONGEST), file=sys.stderr)


def _line(lines: Sequence[_Json], assigned: Assigned) -> _Json:
    line = next((one for one in lines if one["line"] == assigned.line), None)
    if line is None:
        raise ToolError(f"--assign: the file has no line {assigned.line}")
    if line["rest"] is None:
        raise ToolError(printable(f"--assign: line {assigned.line} needs no agency: {line['reason']}", _LONGEST))
    return line


def _learn(remote: Remote, agency: str, line: Mapping[str, Any]) -> str:
    """Register the other party of a line as a payer of an agency; return what is registered, or why nothing is."""
    path = f"/agencies/{segment(agency)}"
    status, found = remote.send("GET", path)
    if status == HTTPStatus.NOT_FOUND:
        return "the agency is not registered, so its payer is not remembered"
    if status != HTTPStatus.OK:
        raise ToolError(printable(failure("GET", path, status, found)))
    content = with_payer(found["content"], line)
    if content == found["content"]:
        return ""
    status, body = remote.put(path, {"seen": found["version"], "content": content})
    if status not in {HTTPStatus.OK, HTTPStatus.CREATED}:
        return f"its payer is not remembered: {failure('PUT', path, status, body)}"
    return f"{line['name'] or line['iban']} is registered as its payer"


def with_payer(content: Mapping[str, Any], line: Mapping[str, Any]) -> _Json:
    """Return a registration with the name and the IBAN of the other party of a line as those of a payer."""
    made = dict(content)
    for own, field, text in (
        ("legal_name", "payer_names", line["name"].strip()),
        ("iban", "payer_ibans", "".join(line["iban"].split())),
    ):
        known = content.get(field) or []
        if text and text not in {content.get(own), *known}:
            made[field] = [*known, text]
    return made
