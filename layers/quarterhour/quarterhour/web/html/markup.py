"""HTML of pages: escaped text, names in any script, facts, tables, and the page around them."""

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from html import escape
from typing import Final, NamedTuple, NewType

STYLE: Final = """
:root{color-scheme:light dark;--ink:#1b2333;--soft:#556074;--line:#d9dee7;--band:#f3f6fb;--accent:#1d5bbf;
--paper:#fff;--mark:#8a2a10;--mark-band:#fdf1ec}
@media screen and (prefers-color-scheme:dark){:root{--ink:#e7ebf3;--soft:#a9b3c4;--line:#38424f;--band:#1c2430;
--accent:#86b4ff;--paper:#12171f;--mark:#ffb59c;--mark-band:#33201a}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:56rem;padding:2.5rem 1.5rem 3rem;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,"Segoe UI",Roboto,"Noto Sans",sans-serif}
header{display:flex;flex-wrap:wrap;gap:1.5rem 3rem;justify-content:space-between;align-items:flex-start;
padding-bottom:1.5rem;border-bottom:2px solid var(--accent)}
header p,.party p{margin:0}
header img{display:block;max-width:14rem;max-height:4.5rem;margin-bottom:.75rem}
.title{text-align:right;margin-left:auto}
h1{margin:0;font-size:1.9rem;line-height:1.2;font-weight:650;letter-spacing:-.01em}
h2{margin:2.25rem 0 .6rem;font-size:1.1rem;line-height:1.3;font-weight:650}
h3{margin:1.4rem 0 .4rem;font-size:.95rem;font-weight:650}
.lead{font-size:1.05rem;font-weight:600}
.note,figcaption,.axis,dt{color:var(--soft)}
.note{margin:.5rem 0;max-width:46rem}
.mark{margin:1.25rem 0 0;padding:.6rem .9rem;border-left:4px solid var(--mark);background:var(--mark-band);
color:var(--mark);font-weight:600}
.parties{display:grid;grid-template-columns:repeat(auto-fit,minmax(17rem,1fr));gap:1.5rem 3rem;margin:1.5rem 0}
.party h2{margin:0 0 .25rem;font-size:.85rem;color:var(--soft)}
.facts{display:grid;align-content:start;gap:.15rem;margin:0}
.facts div{display:grid;grid-template-columns:minmax(6.5rem,max-content) 1fr;gap:1rem}
dd{margin:0;overflow-wrap:anywhere}
.due{display:flex;flex-wrap:wrap;gap:.5rem 3rem;justify-content:space-between;align-items:baseline;
padding:1rem 1.25rem;background:var(--band);border-radius:6px}
.due p{margin:0}
.due strong{font-size:1.5rem;font-weight:650;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
.scroll{overflow-x:auto}
table{width:100%;border-collapse:collapse}
th,td{padding:.4rem .75rem;text-align:left;vertical-align:top;font-weight:400;border-bottom:1px solid var(--line);
min-width:5.5em;overflow-wrap:break-word}
th:first-child,td:first-child{padding-left:0}
th:last-child,td:last-child{padding-right:0}
thead th{vertical-align:bottom;color:var(--soft);font-size:.87em;font-weight:600;border-bottom:1px solid var(--soft)}
.n{min-width:0;text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums lining-nums}
.n.long{min-width:12em;white-space:normal}
.long{overflow-wrap:anywhere}
.sum>*{font-weight:650;border-top:1px solid var(--soft)}
code{font:.87em/1.4 ui-monospace,"Cascadia Mono","Noto Sans Mono",monospace;overflow-wrap:anywhere}
figure{margin:.75rem 0 1.25rem}
svg{display:block;width:100%;height:7.5rem;margin-top:.4rem;fill:var(--accent)}
svg path{stroke:var(--soft);stroke-width:1px;vector-effect:non-scaling-stroke}
.axis{display:flex;justify-content:space-between;font-size:.87em;font-variant-numeric:tabular-nums}
.each span{flex:1;text-align:center}
.short{white-space:nowrap}
@page{margin:16mm 15mm 18mm;@bottom-right{content:counter(page) " / " counter(pages);font:8pt sans-serif;color:#556074}}
@media print{
:root{color-scheme:light}
body{max-width:none;padding:0;font-size:9.5pt;line-height:1.4}
.due,.mark{print-color-adjust:exact;-webkit-print-color-adjust:exact}
.scroll{overflow:visible}
thead{display:table-header-group}
tr,.scroll:not(:has(tr:nth-child(13))),figure,.due,.parties,.mark,.note,.facts div{break-inside:avoid}
h1,h2,h3,figcaption{break-after:avoid}
h2{margin-top:1.6rem}
th,td{padding-top:.25rem;padding-bottom:.25rem}
svg{height:5.5rem}
}
"""
"""CSS of reports and of statements of schema 1.

Figures have digits of one width, a table's head repeats on each sheet, and no row is cut.
"""


def hash_of(style: str) -> str:
    """Return the hash of a style, as a content security policy names it."""
    return f"sha256-{b64encode(sha256(style.encode()).digest()).decode()}"


Html = NewType("Html", str)
"""Markup, in which every text is escaped."""
Figure = str | int | None
"""A number as it is stored, which is shown exactly so; ``None`` for an empty cell."""

NOTHING: Final = Html("")

_LONG: Final = 24
"""The most characters of a figure or a word that is never broken across lines."""


class Row(NamedTuple):
    """A row of a table: its texts, then its figures. ``strong`` marks a total, ``below`` a part of the row above."""

    texts: Sequence[Html]
    figures: Sequence[Figure]
    strong: bool = False
    below: bool = False


def escaped(text: str) -> Html:
    """Return text as HTML."""
    return Html(escape(text))


def name(text: str | None) -> Html:
    """Return a name as HTML that keeps its own direction of writing; nothing for no name."""
    if not text:
        return NOTHING
    kind = ' class="long"' if len(text) > _LONG and max(map(len, text.split()), default=0) > _LONG else ""
    return Html(f"<bdi{kind}>{escape(text)}</bdi>")


def address(text: str | None) -> Html:
    """Return the lines of an address as HTML; nothing for no address."""
    return Html("<br>".join(map(name, text.split("\n")))) if text else NOTHING


def short(text: str) -> Html:
    """Return a short text as HTML that is never broken across lines: a date, a period, a time."""
    return Html(f'<span class="short">{escape(text)}</span>')


def code(text: str) -> Html:
    """Return text of programs as HTML: a path, a column, a hash."""
    return Html(f"<code>{escape(text)}</code>")


def instant(text: str) -> Html:
    """Return an ISO 8601 instant in UTC as HTML that people read: ``2026-11-01 00:00:00 UTC``."""
    return escaped(text.replace("T", " ").replace("Z", " UTC"))


def image(uri: str | None) -> Html:
    """Return the image in a data URI, beside a name that says whose it is; nothing for no image."""
    return Html(f'<img src="{escape(uri)}" alt="">') if uri else NOTHING


def joined(parts: Iterable[Html]) -> Html:
    """Return pieces of HTML, each beginning on a new line."""
    return Html("\n".join(filter(None, parts)))


def paragraph(text: Html, kind: str = "note") -> Html:
    """Return a paragraph; ``kind`` is its class in the style. Nothing without text."""
    return Html(f'<p class="{kind}">{text}</p>') if text else NOTHING


def block(kind: str, *parts: Html) -> Html:
    """Return parts that are laid out together; ``kind`` is the class in the style."""
    return Html(f'<div class="{kind}">\n{joined(parts)}\n</div>')


def heading(title: str, *below: Html) -> Html:
    """Return the heading of a page, with lines below it."""
    lines = joined(paragraph(one, "plain") for one in below)
    return Html(f'<div class="title">\n<h1>{escape(title)}</h1>\n{lines}\n</div>')


def section(title: str, *parts: Html) -> Html:
    """Return a section with its heading."""
    return Html(f"<section>\n<h2>{escape(title)}</h2>\n{joined(parts)}\n</section>")


def facts(values: Iterable[tuple[str, Html]]) -> Html:
    """Return labels with their values; a label without a value is left out."""
    shown = "\n".join(f"<div><dt>{escape(label)}</dt><dd>{value}</dd></div>" for label, value in values if value)
    return Html(f'<dl class="facts">\n{shown}\n</dl>')


def table(label: str, texts: Sequence[str], figures: Sequence[str], rows: Iterable[Row]) -> Html:
    """Return a table: columns of texts, then columns of figures, which are aligned to the right.

    ``label`` names the table to those who do not see it; each table of a page needs another name.
    """
    head = "".join(
        [f'<th scope="col">{escape(title)}</th>' for title in texts]
        + [f'<th scope="col" class="n">{escape(title)}</th>' for title in figures]
    )
    body = "\n".join(map(_row, rows))
    return Html(
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(label)}">\n'
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n</div>"
    )


def page(
    title: str, header: Iterable[Html], parts: Iterable[Html], *, language: str = "en", style: str = STYLE
) -> bytes:
    """Return a whole page in UTF-8; the same content gives the same bytes. ``language``: its code of ISO 639-1."""
    return (
        f"{_head(language, style)}<title>{escape(title)}</title>\n</head>\n<body>\n"
        f"<header>\n{joined(header)}\n</header>\n<main>\n{joined(parts)}\n</main>\n</body>\n</html>\n"
    ).encode()


def _head(language: str, style: str) -> str:
    """Return the beginning of a page.

    Nothing is loaded: the policy names the style by its hash, and images are in the page. Browsers would request an
    icon of a page that names none.
    """
    return (
        f'<!DOCTYPE html>\n<html lang="{language}">\n<head>\n<meta charset="utf-8">\n'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
        f"style-src '{hash_of(style)}'; base-uri 'none'; form-action 'none'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
        f"<style>{style}</style>\n"
    )


def _row(row: Row) -> str:
    first, *others = row.texts
    cells = "".join([f"<td>{text}</td>" for text in others] + [_cell(figure) for figure in row.figures])
    kind = ' class="sum"' if row.strong else ' class="below"' if row.below else ""
    return f'<tr{kind}><th scope="row">{first}</th>{cells}</tr>'


def _cell(figure: Figure) -> str:
    text = "" if figure is None else escape(str(figure))
    kind = "n" if len(text) <= _LONG else "n long"
    return f'<td class="{kind}">{text}</td>'
