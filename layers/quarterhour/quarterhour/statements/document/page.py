"""The statement as a page for people: it reads like an invoice, prints well and loads nothing."""

from typing import Final

from quarterhour.registry.owner import STATEMENT_TITLE
from quarterhour.statements.document.collected import is_paid_out
from quarterhour.statements.document.language import language_of
from quarterhour.statements.document.page_amounts import AmountsPart
from quarterhour.statements.document.page_appendix import AppendixPart
from quarterhour.statements.document.page_charges import ChargesPart
from quarterhour.statements.document.page_lines import LinesPart
from quarterhour.statements.document.page_part import StatementContent, agency_name
from quarterhour.statements.document.page_parties import PartiesPart
from quarterhour.statements.document.page_style import page_style
from quarterhour.statements.listing import STATEMENT_DOCUMENT
from quarterhour.web.html.markup import block, escaped, heading, image, name, page, paragraph

_PARTS: Final = (PartiesPart, AmountsPart, ChargesPart, LinesPart, AppendixPart)


def statement_page(document: StatementContent) -> bytes:
    """Return a statement as HTML in UTF-8; the same document gives the same bytes.

    ``document``: the content of ``statement.json``. Its ``language`` is that of the page.
    """
    words, owner, number = language_of(document["language"]), document["owner"], document["number"]
    title, period = words[_kind_of(document)], words.days(document["period"])
    return page(
        " · ".join(filter(None, [title, number, words.month(document["period"]), owner["legal_name"]])),
        [
            block("party", image(owner["logo"]), paragraph(name(owner["legal_name"]), "lead")),
            heading(title, name(number), escaped(period)),
        ],
        [one for part in _PARTS for one in part(document).sections()],
        language=words.code,
        style=page_style(number, agency_name(document)),
    )


def _kind_of(document: StatementContent) -> str:
    """Return the key of the document's title."""
    if document["cancels"]:
        return "cancellation"
    kind, title = str(document["document"]), str(document["title"])
    if kind != STATEMENT_DOCUMENT:
        return kind
    return "settlement" if title == STATEMENT_TITLE and is_paid_out(document) else title
