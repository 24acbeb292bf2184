"""The payments among the lines of sealed statements, each with its own date, kind and text."""

import zlib
from collections.abc import Collection, Iterator
from dataclasses import replace
from datetime import date
from decimal import Decimal
from io import BytesIO

from quarterhour.ledger.events.event import PAYMENT
from quarterhour.model.clock import parse_iso
from quarterhour.model.periods import day_in, time_zone
from quarterhour.reports.lines import Line, read_lines
from quarterhour.statements.keys import LINES, statement_prefix
from quarterhour_tools.accounting.document import PaidAmount, StatementDocument
from quarterhour_tools.accounting.documents import statement_documents
from quarterhour_tools.bucket import Objects
from quarterhour_tools.errors import ToolError
from quarterhour_tools.statements.files import read_statements


def with_payments(files: Objects, document: StatementDocument) -> StatementDocument:
    """Return a document with the payments among its lines.

    A payment is on the first document of its draft alone, whatever becomes of that. Raises ``ToolError`` if the lines
    are missing, differ from their hash in the document, or cannot be read.
    """
    if not document.paid_lines:
        return document
    key = statement_prefix(document.period, document.account) + LINES
    content = files.sealed(key, document.lines_sha256, "document")
    try:
        return replace(document, paid=tuple(_paid(content, document.time_zone)))
    except (OSError, EOFError, zlib.error, ValueError, ArithmeticError) as error:
        raise ToolError(f"{key} cannot be read: {error}") from error


def _paid(content: bytes, zone: str) -> Iterator[PaidAmount]:
    for line in read_lines(BytesIO(content)):
        if line["type"] == PAYMENT:
            amount, day = Decimal(line["amount"]), _day(line, zone)
            yield PaidAmount(day, amount, line["kind"], line["statement"], line["reason"], line["id"])


def _day(line: Line, zone: str) -> date:
    return day_in(time_zone(zone), parse_iso(line["time"] or line["recorded_at"]))


def documents_by_number(files: Objects, numbers: Collection[str]) -> dict[str, StatementDocument]:
    """Return sealed documents by their numbers, those of them that exist; raises as ``statement_documents`` does."""
    periods = {one.period for one in read_statements(files) if one.number in numbers}
    return {one.number: one for one in statement_documents(files, periods) if one.number in numbers}
