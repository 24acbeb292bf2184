"""What a journal needs of the lines of sealed statements: payments, and adjustments by their kind."""

import zlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from io import BytesIO

from quarterhour.ledger.events.event import ADJUSTMENT, PAYMENT
from quarterhour.model import fields, money
from quarterhour.model.charges import read_charges
from quarterhour.model.clock import parse_iso
from quarterhour.model.periods import day_in, time_zone
from quarterhour.reports.lines import Line, read_lines
from quarterhour.statements.keys import LINES, statement_prefix
from quarterhour_tools.accounting.document import KindPart, PaidAmount, StatementDocument, TaxedBase, TaxPoints
from quarterhour_tools.accounting.documents import statement_documents
from quarterhour_tools.bucket import Objects
from quarterhour_tools.errors import ToolError
from quarterhour_tools.statements.files import read_statements


def with_lines(files: Objects, document: StatementDocument, *, kinds: bool) -> StatementDocument:
    """Return a document with the payments among its lines; with ``kinds``, and the parts of kinds of adjustments.

    A payment is on the first document of its draft alone, whatever becomes of that. Raises ``ToolError`` if the lines
    are missing, differ from their hash in the document, or cannot be read.
    """
    adjusts = kinds and document.adjustments
    if not document.paid_lines and not adjusts:
        return document
    key = statement_prefix(document.period, document.account) + LINES
    content = files.sealed(key, document.lines_sha256, "document")
    try:
        lines = [line for line in read_lines(BytesIO(content)) if line["type"] in {PAYMENT, ADJUSTMENT}]
        paid = tuple(_paid(lines, document.time_zone)) if document.paid_lines else ()
        taxes = tuple(_by_kind(document, lines)) if adjusts else document.taxes
        return replace(document, paid=paid, taxes=taxes)
    except (OSError, EOFError, zlib.error, ValueError, ArithmeticError) as error:
        raise ToolError(f"{key} cannot be read: {error}") from error


def _paid(lines: Sequence[Line], zone: str) -> Iterator[PaidAmount]:
    for line in lines:
        if line["type"] == PAYMENT:
            amount, day = Decimal(line["amount"]), _day(line, zone)
            yield PaidAmount(day, amount, line["kind"], line["statement"], line["reason"], line["id"])


def _by_kind(document: StatementDocument, lines: Sequence[Line]) -> Iterator[TaxedBase]:
    """Yield the rows of tax of a document with the parts of kinds of adjustments; a cancellation gives them back."""
    found: list[dict[tuple[str, str], Decimal]] = [{} for _ in document.taxes]
    for line in lines:
        if line["type"] == ADJUSTMENT and line["kind"] not in {"", fields.OPENING}:
            commission = Decimal(line["commission"])
            for charge, amount in read_charges(line["charges"], commission).amounts.items():
                signed = money.negated(amount) if document.cancels else amount
                of_row, name = found[_row_of(document.taxes, line, charge)], (charge, line["kind"])
                of_row[name] = money.add(of_row.get(name, money.ZERO), signed)
    for row, of_row in zip(document.taxes, found, strict=True):
        yield row._replace(kinds=tuple(KindPart(*name, exact) for name, exact in of_row.items()))


def _row_of(rows: tuple[TaxedBase, ...], line: Line, charge: str) -> int:
    """Return the index of the row that taxes a charge of a line: that whose tax points name the most of it."""
    day = date.fromisoformat(line["tax_point"])
    names = {"kind": line["kind"], "category": line["category"], "charge": charge}
    fitting = [
        (_named(one), number)
        for number, row in enumerate(rows)
        for one in row.points
        if one.first <= day <= one.last and _fits(one, names)
    ]
    if not fitting:
        raise ValueError(f"no row of tax has the tax point {day} of {line['id']}")
    return max(fitting)[1]


def _fits(points: TaxPoints, names: Mapping[str, str]) -> bool:
    return all(getattr(points, name) in {"", value} for name, value in names.items())


def _named(points: TaxPoints) -> int:
    return sum(map(bool, (points.kind, points.category, points.charge)))


def _day(line: Line, zone: str) -> date:
    return day_in(time_zone(zone), parse_iso(line["time"] or line["recorded_at"]))


def documents_by_number(files: Objects, numbers: Collection[str]) -> dict[str, StatementDocument]:
    """Return sealed documents by their numbers, those of them that exist; raises as ``statement_documents`` does."""
    if not numbers:
        return {}
    periods = {one.period for one in read_statements(files) if one.number in numbers}
    return {one.number: one for one in statement_documents(files, periods) if one.number in numbers}
