"""The PDF of a statement: its page, with the invoice inside."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from quarterhour.statements.document.page import statement_page
from quarterhour_tools.errors import ToolError
from quarterhour_tools.statements.invoice_cii import statement_cii
from quarterhour_tools.statements.pdf import MissingLettersError, statement_pdf
from tests.support.invoices import invoice_document

TOOLS: Final = ("pdftotext", "pdfdetach", "pdfinfo")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not all(map(shutil.which, TOOLS)), reason="poppler-utils is not installed"),
]


def ran(tool: str, *arguments: str) -> str:
    return subprocess.run([tool, *arguments], capture_output=True, text=True, check=True).stdout  # noqa: S603 - ours


def test_a_pdf_shows_what_the_page_shows_and_has_the_invoice_inside(tmp_path: Path) -> None:
    document = invoice_document()
    xml = statement_cii(document)
    file = tmp_path / "statement.pdf"
    file.write_bytes(statement_pdf(statement_page(document), xml))
    text = " ".join(ran("pdftotext", "-layout", str(file), "-").split())
    for shown in ("S-000017", "Acme B.V.", "EUR 264.02", "DE89 3704 0044 0532 0130 00", "3 January 2027"):
        assert shown in text
    ran("pdfdetach", "-save", "1", "-o", str(tmp_path / "inside"), str(file))
    assert (tmp_path / "inside").read_bytes() == xml
    assert "factur-x.xml" in ran("pdfdetach", "-list", str(file))
    metadata = ran("pdfinfo", "-meta", str(file))
    for property_ in (
        "DocumentFileName>factur-x.xml<",
        "ConformanceLevel>EN 16931<",
        'pdfaid:part="3"',
        'pdfaid:conformance="B"',
    ):
        assert property_ in metadata


def test_a_pdf_without_an_invoice_says_nothing_of_one(tmp_path: Path) -> None:
    file = tmp_path / "statement.pdf"
    file.write_bytes(statement_pdf(statement_page(invoice_document(currency="KWD")), None))
    assert "0 embedded files" in ran("pdfdetach", "-list", str(file))
    assert "factur-x" not in ran("pdfinfo", "-meta", str(file))


def test_nothing_that_a_page_names_is_loaded(tmp_path: Path) -> None:
    secret = tmp_path / "secret.svg"
    secret.write_text('<svg xmlns="http://www.w3.org/2000/svg"><text y="9">secret</text></svg>', "utf-8")
    file = tmp_path / "statement.pdf"
    file.write_bytes(statement_pdf(f'<p>shown<img src="{secret.as_uri()}">'.encode(), None))
    assert ran("pdftotext", str(file), "-").strip() == "shown"


def test_letters_that_no_font_has_are_named_and_never_drawn_as_boxes() -> None:
    with pytest.raises(
        MissingLettersError, match=r"no font here has \U000f1234 \(U\+F1234\), \U000f1235 \(U\+F1235\): inst"
    ):
        statement_pdf("<p>a \U000f1234\U000f1235\U000f1234</p>".encode(), None)
    assert statement_pdf("<p>a\u200db \u00a0\u3000</p>".encode(), None).startswith(b"%PDF"), "these need no letter"


def test_on_a_machine_with_latin_fonts_alone_a_statement_of_others_has_no_pdf(tmp_path: Path) -> None:
    latin = Path("/usr/share/fonts/truetype/dejavu")
    if not latin.is_dir():
        pytest.skip("the fonts DejaVu are not installed")
    (tmp_path / "fonts.conf").write_text(
        f'<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>{latin}</dir>'
        f"<cachedir>{tmp_path}</cachedir></fontconfig>"
    )
    code = (
        "from quarterhour_tools.statements.pdf import *\n"
        "statement_pdf('<p>Zo\u00eb \u017b\u00f3\u0142w</p>'.encode(), None)\n"
        "try: statement_pdf('<p>\u6771\u4eac</p>'.encode(), None)\n"
        "except MissingLettersError as error: print(ascii(str(error)))"
    )
    environment = {**os.environ, "FONTCONFIG_FILE": str(tmp_path / "fonts.conf")}
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)  # noqa: S603 - ours
    assert "no font here has \\u6771 (U+6771), \\u4eac (U+4EAC): install" in found.stdout


def test_without_pango_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    class Lacking:
        @staticmethod
        def find_spec(name: str, *_: object) -> None:
            if name == "weasyprint":
                raise OSError("cannot load library 'libpango-1.0-0'")

    monkeypatch.delitem(sys.modules, "weasyprint", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Lacking, *sys.meta_path])
    with pytest.raises(ToolError, match="apt-get install libpango"):
        statement_pdf(b"<p>", None)
