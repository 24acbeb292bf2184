"""The part of a statement's page for those who object to it or check it."""

from collections.abc import Iterator
from urllib.parse import quote

from quarterhour.statements.document.page_part import PagePart, sentences
from quarterhour.web.html.markup import NOTHING, Html, block, code, escaped, facts, instant, name, paragraph, section


class AppendixPart(PagePart):
    """How to object, and what proves the document."""

    def sections(self) -> Iterator[Html]:
        """Yield the sections of the part."""
        yield self._objections()
        yield self._appendix()

    def _objections(self) -> Html:
        contact, words = self._of["owner"]["contact"], self._in
        letter = words.html("write_to", contact=name(contact)) if contact else NOTHING
        until = self._of["dispute_until"]
        last = words.html("dispute_until", date=escaped(words.full_date(until))) if until else NOTHING
        return section(words["objections"], paragraph(sentences(words.html("objections_note"), letter, last)))

    def _appendix(self) -> Html:
        """Return what proves the document, for those who check it."""
        document, words, file = self._of, self._in, self._of["lines_file"]
        path = f"/statements/{quote(document['agency'], safe='')}/{self._currency}/{document['period']}"
        size = words.html("bytes", number=escaped(words.count(file["size"])))
        values = [
            ("number", name(document["number"])),
            ("from", instant(document["from"])),
            ("to", instant(document["to"])),
            ("time_zone", escaped(document["time_zone"])),
            ("cut_off", instant(document["cut_off"])),
            ("recorded_until", instant(document["recorded_until"])),
            ("lines_file", Html(f"{self._lines_file}, {size}")),
            ("SHA-256", code(file["sha256"])),
            ("to_check", code(f"quarterhour verify --statement {words['folder']}")),
            ("to_answer", code(f"PUT {path}/status")),
            ("to_dispute", code(f"POST {path}/disputes")),
        ]
        shown = facts((words.texts.get(key, key), value) for key, value in values)
        return block("appendix", section(words["appendix"], paragraph(words.html("appendix_note")), shown))
