"""The request that shows what a file of agencies becomes."""

import io
from collections.abc import Mapping
from typing import Any

from quarterhour.model import fields
from quarterhour.model.errors import FieldProblem, InvalidError
from quarterhour.model.fields import Fields, printable
from quarterhour.registry.agencies.rows import AgencyFileError, AgencyRow, BadLine, read_rows
from quarterhour.web.bodies import MAX_FILE, file_content


def read_file(body: Mapping[str, Any]) -> tuple[list[AgencyRow], list[BadLine]]:
    """Return the agencies of the file in a body, and its bad lines; raise ``InvalidError`` for another body or file."""
    read = Fields(body)
    read.report_unknown(frozenset({"file"}))
    content = read.value("file", f"the whole file in Base64, at most {MAX_FILE} bytes", file_content)
    fields.refuse(read.problems, "a file of agencies")
    try:
        return read_rows(io.BytesIO(content).readlines())
    except AgencyFileError as error:
        text = printable(error)
        raise InvalidError(text, FieldProblem("file", text, "what docs/csv.md describes")) from error
