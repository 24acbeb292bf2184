"""The PDF of a statement: its page, with the invoice inside."""

import base64
import shutil
import subprocess
from datetime import date
from pathlib import Path
from typing import Final

import pytest
import typst

from quarterhour.statements.document.page import statement_page
from quarterhour_tools.statements.invoice_cii import statement_cii
from quarterhour_tools.statements.page_tree import page_data
from quarterhour_tools.statements.pdf import MissingLettersError, NoPdfError, statement_pdf
from tests.support.invoices import BUYER, SELLER, invoice_document
from tests.support.statement_examples import EXAMPLES

TOOLS: Final = ("pdftotext", "pdfdetach", "pdfinfo")
ISSUED: Final = date(2026, 12, 4)
HOSTILE: Final = '#panic() $x$ *b* _i_ <label> @ref `r` \\ "q" ]} #read("/etc/passwd") // c /* = h'
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not all(map(shutil.which, TOOLS)), reason="poppler-utils is not installed"),
]


def ran(tool: str, *arguments: str) -> str:
    return subprocess.run([tool, *arguments], capture_output=True, check=True).stdout.decode(errors="replace")  # noqa: S603


def written(folder: Path, page: bytes, xml: bytes | None = None) -> str:
    """Return the path of a page's PDF."""
    file = folder / "statement.pdf"
    file.write_bytes(statement_pdf(page, xml, ISSUED))
    return str(file)


def text_of(file: str) -> str:
    return " ".join(ran("pdftotext", "-layout", file, "-").split())


def page_with(*, recipient: str = "Acme B.V.", logo: str | None = None) -> bytes:
    return statement_page(invoice_document(owner={**SELLER, "logo": logo}, customer={**BUYER, "legal_name": recipient}))


def test_a_pdf_shows_what_the_page_shows_and_has_the_invoice_inside(tmp_path: Path) -> None:
    document = invoice_document()
    xml = statement_cii(document)
    file = written(tmp_path, statement_page(document), xml)
    for shown in ("S-000017", "Acme B.V.", "EUR 264.02", "DE89 3704 0044 0532 0130 00", "3 January 2027"):
        assert shown in text_of(file)
    ran("pdfdetach", "-save", "1", "-o", str(tmp_path / "inside"), file)
    assert (tmp_path / "inside").read_bytes() == xml
    assert "factur-x.xml" in ran("pdfdetach", "-list", file)
    metadata = ran("pdfinfo", "-meta", file)
    for property_ in (
        "DocumentFileName>factur-x.xml<",
        "ConformanceLevel>EN 16931<",
        "pdfaid:part>3<",
        "pdfaid:conformance>A<",
    ):
        assert property_ in metadata


def test_a_pdf_is_tagged_in_the_language_of_its_page(tmp_path: Path) -> None:
    file = written(tmp_path, statement_page(invoice_document(language="de")))
    assert "Tagged: yes" in " ".join(ran("pdfinfo", file).split())
    tags = {line.split()[0].strip(":") for line in ran("pdfinfo", "-struct", file).splitlines()}
    assert tags >= {"H1", "H2", "P", "Table", "THead", "TBody", "TR", "TH", "TD"}
    drawn = written(tmp_path, statement_page(EXAMPLES["German"]))
    assert "Figure" in ran("pdfinfo", "-struct", drawn)
    assert "<rdf:li>de</rdf:li>" in ran("pdfinfo", "-meta", file)


def test_the_same_page_gives_the_same_bytes() -> None:
    document = invoice_document()
    first, second = (statement_pdf(statement_page(document), statement_cii(document), ISSUED) for _ in range(2))
    assert first == second


def test_a_pdf_without_an_invoice_says_nothing_of_one(tmp_path: Path) -> None:
    file = written(tmp_path, statement_page(invoice_document(currency="KWD")))
    assert "0 embedded files" in ran("pdfdetach", "-list", file)
    assert "factur-x" not in ran("pdfinfo", "-meta", file)


def test_names_are_shown_as_they_are_and_are_never_markup(tmp_path: Path) -> None:
    file = written(tmp_path, page_with(recipient=HOSTILE))
    shown = "".join(ran("pdftotext", "-raw", file, "-").split())
    assert HOSTILE.replace(" ", "") in shown
    assert page_data(page_with(recipient=HOSTILE))["agency"] == HOSTILE


def test_nothing_that_a_page_or_its_logo_names_is_loaded(tmp_path: Path) -> None:
    secret = tmp_path / "secret.svg"
    secret.write_text('<svg xmlns="http://www.w3.org/2000/svg"><text y="9">secret</text></svg>', "utf-8")
    page = page_with(logo=data_uri(b"here"))
    named = page.replace(data_uri(b"here").encode(), secret.as_uri().encode())
    assert named != page
    file = written(tmp_path, named)
    assert "secret" not in text_of(file)
    logo = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">'
        f'<image href="{secret}" width="9" height="9"/><rect width="9" height="9"/></svg>'
    )
    try:
        file = written(tmp_path, page_with(logo=data_uri(logo.encode())))
    except NoPdfError:
        return
    assert "secret" not in text_of(file)


def data_uri(svg: bytes) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"


def test_a_broken_logo_is_said() -> None:
    with pytest.raises(NoPdfError, match="the page cannot be laid out as PDF: unknown image format"):
        statement_pdf(page_with(logo=data_uri(b"<svg")), None, ISSUED)


def test_letters_that_no_font_has_are_named_and_never_drawn_as_boxes() -> None:
    with pytest.raises(
        MissingLettersError, match=r"no font here has \U000f1234 \(U\+F1234\), \U000f1235 \(U\+F1235\): inst"
    ):
        statement_pdf(page_with(recipient="a \U000f1234\U000f1235\U000f1234"), None, ISSUED)
    page = page_with(recipient="a\u200db \u00a0\u3000c")
    assert statement_pdf(page, None, ISSUED).startswith(b"%PDF"), "these need no letter"


def test_without_fonts_on_the_machine_latin_has_a_pdf_and_other_letters_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    embedded = typst.Fonts(include_system_fonts=False)
    monkeypatch.setattr("quarterhour_tools.statements.pdf._fonts", lambda: embedded)
    for name in ("Zo\u00eb \u017b\u00f3\u0142w", "\u0391\u03b8\u03ae\u03bd\u03b1", "\u0421\u043e\u0444\u0438\u044f"):
        assert statement_pdf(page_with(recipient=name), None, ISSUED).startswith(b"%PDF")
    with pytest.raises(MissingLettersError, match=r"no font here has \u6771 \(U\+6771\), \u4eac \(U\+4EAC\): install"):
        statement_pdf(page_with(recipient="\u6771\u4eac"), None, ISSUED)
