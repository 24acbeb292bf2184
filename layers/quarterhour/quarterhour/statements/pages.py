"""What makes the page of a statement, by the schema of its files."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from quarterhour.statements.page import statement_page
from quarterhour.statements.page_of_0_2 import page_of_0_2

PAGES: Final[Mapping[int, Callable[[Mapping[str, Any]], bytes]]] = {1: page_of_0_2, 2: statement_page}
"""Each returns the page of a document. A page that changes after its release needs a new schema."""
