"""The files of a statement that follow from its document alone: its page, and its XML."""

from collections.abc import Mapping
from typing import Any

from quarterhour.statements.document.invoice_xml import statement_xml
from quarterhour.statements.document.page import statement_page
from quarterhour.statements.keys import PAGE, XML


def rendered(document: Mapping[str, Any]) -> dict[str, bytes]:
    """Return the files by name: a page, and XML if it has one. ``document``: the content of ``statement.json``."""
    xml = statement_xml(document)
    return {PAGE: statement_page(document), **({XML: xml} if xml else {})}
