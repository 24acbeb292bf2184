"""A statement as PDF: its page, laid out by Typst, with its XML inside."""

import json
import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time
from functools import cache
from importlib.resources import files
from typing import Any, Final, cast

from quarterhour_tools.errors import ToolError
from quarterhour_tools.statements.page_tree import page_data

PDF: Final = "statement.pdf"
"""The name of the file, beside ``statement.html``."""
EMBEDDED: Final = "factur-x.xml"
"""The name that Factur-X and ZUGFeRD give the XML inside a PDF."""

_TEMPLATE: Final = files("quarterhour_tools.statements") / "statement.typ"
_STANDARD: Final = "a-3a"
_MISSING: Final = re.compile(r'the text `"((?:[^"\\]|\\.)+)"` could not be displayed')
"""How Typst says that no font has some letters, which it writes as Rust does."""
_ESCAPED: Final = re.compile(r"\\u\{([0-9a-f]+)\}|\\(.)")
_FONTS: Final = "install a font that has them, such as fonts-noto and fonts-noto-cjk on Debian and Ubuntu"
_MOST_LETTERS: Final = 20
_FACTUR_X: Final = "urn:factur-x:pdfa:CrossIndustryDocument:invoice:1p0#"
_SCHEMAS_END: Final = b"</rdf:Bag></pdfaExtension:schemas>"
"""Where the metadata of Typst's PDF/A end the schemas that they describe."""
_METADATA: Final = re.compile(
    rb"(?P<number>\d+) 0 obj\s<</Length \d+/Type/Metadata/Subtype/XML>>\sstream\n(?P<content>.*?)\nendstream", re.DOTALL
)
_TRAILER: Final = re.compile(rb"trailer\s<<(?P<of>.*)>>\sstartxref\s(?P<table>\d+)\s%%EOF\s*\Z", re.DOTALL)
_PROPERTIES: Final = {
    "DocumentFileName": (EMBEDDED, "The name of the embedded XML document"),
    "DocumentType": ("INVOICE", "The type of the hybrid document"),
    "Version": ("1.0", "The version of the standard of the embedded XML document"),
    "ConformanceLevel": ("EN 16931", "The conformance level of the embedded XML document"),
}


class NoPdfError(ToolError):
    """A page cannot be laid out, such as one with a broken logo."""


class MissingLettersError(NoPdfError):
    """No font of the machine has some letters of a page."""

    def __init__(self, letters: Iterable[str]) -> None:
        names = [f"{one} (U+{ord(one):04X})" for one in letters]
        more = f" and {len(names) - _MOST_LETTERS} more" if len(names) > _MOST_LETTERS else ""
        super().__init__(f"no font here has {', '.join(names[:_MOST_LETTERS])}{more}: {_FONTS}")


def statement_pdf(page: bytes, xml: bytes | None, issued_on: date) -> bytes:
    """Return a page as tagged PDF/A-3a. With its XML inside, it is an invoice of Factur-X and ZUGFeRD.

    ``page``: the content of ``statement.html``. ``xml``: in the syntax CII. The same content and fonts give the same
    bytes. Raises ``NoPdfError``; ``MissingLettersError`` if no font has some letters, as PDF/A forbids boxes in their
    place.
    """
    import typst  # noqa: PLC0415 - 0.1 s, and only this needs it

    inputs = {"page": json.dumps(page_data(page)), **({"xml": xml.decode()} if xml else {})}
    made = datetime.combine(issued_on, time(), UTC)
    compiler = typst.Compiler(_TEMPLATE.read_bytes(), font_paths=_fonts(), sys_inputs=inputs)
    try:
        pdf = cast("bytes", compiler.compile(format="pdf", pdf_standards=_STANDARD, timestamp=made))
    except typst.TypstError as error:
        if letters := dict.fromkeys("".join(map(_unescaped, _MISSING.findall(error.diagnostic)))):
            raise MissingLettersError(letters) from error
        raise NoPdfError(f"the page cannot be laid out as PDF: {error.message}") from error
    return pdf if xml is None else _with_factur_x(pdf)


@cache
def _fonts() -> Any:  # noqa: ANN401 - a module without types
    """Return the fonts of the machine and those of Typst, which have Latin, Greek, Cyrillic and Hebrew letters."""
    import typst  # noqa: PLC0415 - as above

    return typst.Fonts()


def _unescaped(text: str) -> str:
    """Return a text that is written as a string of Rust."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)) if found[1] else found[2], text)


def _with_factur_x(pdf: bytes) -> bytes:
    """Return a PDF with an update of its metadata, which then say what its XML is."""
    found, trailer = _METADATA.search(pdf), _TRAILER.search(pdf)
    if found is None or trailer is None:
        raise NoPdfError("the metadata of the PDF are not where Typst writes them")
    begin, end, rest = found["content"].partition(_SCHEMAS_END)
    values, described = _metadata()
    of_document = f'<rdf:Description rdf:about="" xmlns:fx="{_FACTUR_X}">{values}</rdf:Description></rdf:RDF>'
    content = begin + described.encode() + end + rest.replace(b"</rdf:RDF>", of_document.encode())
    number, separated = int(found["number"]), pdf.rstrip() + b"\n"
    begun = b"%d 0 obj\n<</Length %d/Type/Metadata/Subtype/XML>>\nstream\n" % (number, len(content))
    updated = separated + begun + content + b"\nendstream\nendobj\n"
    table = b"xref\n%d 1\n%010d 00000 n \n" % (number, len(separated))
    last = b"trailer\n<<%s/Prev %s>>\nstartxref\n%d\n%%%%EOF\n" % (trailer["of"], trailer["table"], len(updated))
    return updated + table + last


def _metadata() -> tuple[str, str]:
    """Return what the metadata say of the XML, and the description of that schema that PDF/A demands."""
    values = "".join(f"<fx:{name}>{value}</fx:{name}>" for name, (value, _) in _PROPERTIES.items())
    described = "".join(
        '<rdf:li rdf:parseType="Resource">'
        f"<pdfaProperty:name>{name}</pdfaProperty:name><pdfaProperty:valueType>Text</pdfaProperty:valueType>"
        "<pdfaProperty:category>external</pdfaProperty:category>"
        f"<pdfaProperty:description>{description}</pdfaProperty:description></rdf:li>"
        for name, (_, description) in _PROPERTIES.items()
    )
    return values, (
        '<rdf:li rdf:parseType="Resource"><pdfaSchema:schema>Factur-X PDFA Extension Schema</pdfaSchema:schema>'
        f"<pdfaSchema:namespaceURI>{_FACTUR_X}</pdfaSchema:namespaceURI><pdfaSchema:prefix>fx</pdfaSchema:prefix>"
        f"<pdfaSchema:property><rdf:Seq>{described}</rdf:Seq></pdfaSchema:property></rdf:li>"
    )
