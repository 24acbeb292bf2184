"""What a format makes of journal entries."""

from collections.abc import Mapping
from typing import NamedTuple

from quarterhour.model.errors import FieldProblem


class JournalFiles(NamedTuple):
    """Files by the suffix of their names' stems.

    ``problems``: why the documents of the numbers ``left_out`` are in none.
    """

    files: Mapping[str, bytes]
    problems: list[FieldProblem]
    left_out: frozenset[str]
