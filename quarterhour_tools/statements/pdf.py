"""A statement as PDF: its page, with its XML inside."""

import io
import logging
from collections.abc import Iterable
from typing import Any, Final

from quarterhour_tools.errors import ToolError

PDF: Final = "statement.pdf"
"""The name of the file, beside ``statement.html``."""
EMBEDDED: Final = "factur-x.xml"
"""The name that Factur-X and ZUGFeRD give the XML inside a PDF."""

_PANGO: Final = (
    "PDF files need the library Pango. On Debian and Ubuntu: "
    "apt-get install libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0; on macOS: brew install pango"
)
_MISSING: Final = ".notdef glyph"
"""How the library's warning of a letter begins that no font has."""
_FONTS: Final = "install a font that has them, such as fonts-noto and fonts-noto-cjk on Debian and Ubuntu"
_MOST_LETTERS: Final = 20
_FACTUR_X: Final = "urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#"
_ACCENT: Final = "#1d5bbf"
_STYLE: Final = """
.due{display:table!important;width:100%!important}
.due>*{display:table-cell!important;vertical-align:middle!important}
.facts{display:table!important}
.facts div{display:table-row!important}
.facts dt,.facts dd{display:table-cell!important;padding:.07rem 1.25rem .07rem 0!important}
.parties .facts,.parties .facts div,.parties .facts dt,.parties .facts dd{display:block!important}
"""
"""Tables in place of the page's grids within grids, which WeasyPrint does not lay out."""
_PROPERTIES: Final = {
    "DocumentFileName": (EMBEDDED, "The name of the embedded XML document"),
    "DocumentType": ("INVOICE", "The type of the hybrid document"),
    "Version": ("1.0", "The version of the standard of the embedded XML document"),
    "ConformanceLevel": ("EN 16931", "The conformance level of the embedded XML document"),
}


class MissingLettersError(ToolError):
    """No font of the machine has some letters of a page."""

    def __init__(self, letters: Iterable[str]) -> None:
        names = [f"{one} (U+{ord(one):04X})" for one in letters]
        more = f" and {len(names) - _MOST_LETTERS} more" if len(names) > _MOST_LETTERS else ""
        super().__init__(f"no font here has {', '.join(names[:_MOST_LETTERS])}{more}: {_FONTS}")


class _Letters(logging.Filter):
    """Collects the letters that no font has from the library's warnings; drops all warnings."""

    def __init__(self) -> None:
        super().__init__()
        self.missing: dict[str, None] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if str(record.msg).startswith(_MISSING) and isinstance(record.args, tuple):
            self.missing[str(record.args[0])] = None
        return record.levelno >= logging.ERROR


def statement_pdf(page: bytes, xml: bytes | None) -> bytes:
    """Return a page as PDF/A-3b. With its XML inside, it is an invoice of Factur-X and ZUGFeRD.

    ``page``: the content of ``statement.html``, which loads nothing. ``xml``: in the syntax CII. Raises ``ToolError``
    if a library is missing, and ``MissingLettersError`` if letters are, as PDF/A forbids boxes in their place.
    """
    weasyprint = _weasyprint()
    embedded = {}
    if xml is not None:
        attachment = weasyprint.Attachment(
            file_obj=io.BytesIO(xml), name=EMBEDDED, description="The invoice as XML", relationship="Alternative"
        )
        embedded = {"attachments": [attachment], "xmp_metadata": [io.BytesIO(_metadata())]}
    # Only what is in the page itself is read, such as a logo, whatever the file may name.
    fetcher = weasyprint.urls.URLFetcher(allowed_protocols=["data"])
    # The style of the page does not reach into its charts here.
    text = page.decode().replace("<svg ", f'<svg fill="{_ACCENT}" ')
    html = weasyprint.HTML(string=text, url_fetcher=fetcher)
    letters = _Letters()
    logger = logging.getLogger("weasyprint")
    logger.addFilter(letters)
    try:
        pdf: bytes = html.write_pdf(pdf_variant="pdf/a-3b", stylesheets=[weasyprint.CSS(string=_STYLE)], **embedded)
    finally:
        logger.removeFilter(letters)
    if letters.missing:
        raise MissingLettersError(letters.missing)
    return pdf


def _weasyprint() -> Any:  # noqa: ANN401 - a module without types
    # Loading it takes a second, and fails without Pango; only this command needs it.
    try:
        import weasyprint  # noqa: PLC0415
    except OSError as error:
        raise ToolError(_PANGO) from error
    return weasyprint


def _metadata() -> bytes:
    """Return what the metadata of the PDF say of its XML, with the description of that schema that PDF/A demands."""
    values = "".join(f"<fx:{name}>{value}</fx:{name}>" for name, (value, _) in _PROPERTIES.items())
    described = "".join(
        '<rdf:li rdf:parseType="Resource">'
        f"<pdfaProperty:name>{name}</pdfaProperty:name><pdfaProperty:valueType>Text</pdfaProperty:valueType>"
        "<pdfaProperty:category>external</pdfaProperty:category>"
        f"<pdfaProperty:description>{description}</pdfaProperty:description></rdf:li>"
        for name, (_, description) in _PROPERTIES.items()
    )
    return (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        f'<rdf:Description rdf:about="" xmlns:fx="{_FACTUR_X}">{values}</rdf:Description>'
        '<rdf:Description rdf:about="" xmlns:pdfaExtension="http://www.aiim.org/pdfa/ns/extension/" '
        'xmlns:pdfaSchema="http://www.aiim.org/pdfa/ns/schema#" '
        'xmlns:pdfaProperty="http://www.aiim.org/pdfa/ns/property#">'
        '<pdfaExtension:schemas><rdf:Bag><rdf:li rdf:parseType="Resource">'
        "<pdfaSchema:schema>Factur-X PDFA Extension Schema</pdfaSchema:schema>"
        f"<pdfaSchema:namespaceURI>{_FACTUR_X}</pdfaSchema:namespaceURI><pdfaSchema:prefix>fx</pdfaSchema:prefix>"
        f"<pdfaSchema:property><rdf:Seq>{described}</rdf:Seq></pdfaSchema:property>"
        "</rdf:li></rdf:Bag></pdfaExtension:schemas></rdf:Description></rdf:RDF>"
    ).encode()
