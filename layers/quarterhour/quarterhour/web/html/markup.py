"""HTML of pages: escaped text, names in any script, facts, tables, and the page around them."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Final, NamedTuple, NewType

from quarterhour.web.html.style import STYLE, hash_of

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
