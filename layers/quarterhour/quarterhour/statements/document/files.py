"""What makes the files of a statement that follow from its document alone: its page, and its XML."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from quarterhour.statements.document.invoice_xml import statement_xml
from quarterhour.statements.document.page import statement_page
from quarterhour.statements.keys import PAGE, XML
from quarterhour.statements.page_of_0_2 import page_of_0_2

PAGES: Final[Mapping[int, Callable[[Mapping[str, Any]], bytes]]] = {1: page_of_0_2, 2: statement_page}
"""Each returns the page of a document. A page that changes after its release needs a new schema."""


def rendered(document: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files of a statement that follow from its document alone, by name: a page, and XML if it has one."""
    xml = statement_xml(document)
    return {PAGE: PAGES[document["schema"]](document), **({XML: xml} if xml else {})}
