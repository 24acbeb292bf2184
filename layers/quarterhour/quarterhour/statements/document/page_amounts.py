"""The part of a statement's page with its summary and its taxes."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from quarterhour.model import money
from quarterhour.model.clock import parse_iso
from quarterhour.model.periods import day_in, time_zone
from quarterhour.statements.document.page_part import PagePart, StatementContent
from quarterhour.web.html.markup import NOTHING, Html, Row, escaped, name, paragraph, section, short, table

_WITH_A_NOTE: Final = ("reverse_charge", "exempt", "outside_scope")
"""The schemes whose legal note a statement must show."""


class AmountsPart(PagePart):
    """The summary, and the tax by scheme and percentage."""

    def sections(self) -> Iterator[Html]:
        """Yield the sections of the part."""
        yield self._summary()
        yield self._taxes()
        yield self._remainders()

    def _summary(self) -> Html:
        document, words = self._of, self._in
        rows = [*self._charged(), *self._balances()]
        grounds = dict.fromkeys((row["scheme"], row["reason"]) for row in document["taxes"] if self._is_shown(row))
        notes = [self._ground(scheme, reason) for scheme, reason in grounds if scheme in _WITH_A_NOTE]
        if self._open < 0:
            notes.append(words.html("in_your_favour"))
        if self._has_charge:
            notes.append(Html(f"¹ {words.html('rounding', file=self._lines_file)}"))
        title = words["summary"]
        head = [f"{words['amount']} ({self._currency})"]
        summary = table(title, [words["position"]], head, [*rows, *self._due()])
        return section(title, summary, *(paragraph(one) for one in notes))

    def _ground(self, scheme: str, reason: str | None) -> Html:
        """Return the legal note of a scheme, and the ground that the tax profile has."""
        note = self._in.html(f"note_{scheme}")
        return Html(f"{note} {name(reason)}") if reason else note

    def _charged(self) -> Iterator[Row]:
        """Yield the commission, each tax, and their total."""
        document, words = self._of, self._in
        if not self._has_charge:
            return
        yield Row([Html(f"{words.html('commission_base')} ¹")], [self._exact(document["commission"])])
        taxes = document["taxes"]
        for tax in taxes:
            base = words.exact(tax["base"], self._currency) if len(taxes) > 1 else ""
            yield Row([escaped(self._tax_name(tax, base))], [self._exact(tax["tax"])])
        yield Row([words.html("total")], [self._exact(document["payable"])], strong=True)

    def _balances(self) -> Iterator[Row]:
        """Yield the opening balance and what was paid, without zeros."""
        document, words, before = self._of, self._in, self._of["previous"]
        opening, brought_forward = document["opening"], document["brought_forward"]
        if Decimal(opening):
            key = "opening_of" if before and Decimal(before["closing"]) else "opening"
            number = name(before["number"]) if before else NOTHING
            yield Row([words.html(key, number=number)], [self._exact(opening)])
        if Decimal(brought_forward):
            yield Row([words.html("brought_forward")], [self._exact(brought_forward)], below=True)
        for key in ("proceeds", "payments"):
            if paid := Decimal(document[key]):
                yield Row([words.html(key)], [self._exact(money.plain(-paid))])

    def _due(self) -> Iterator[Row]:
        """Yield what is due, after what has been paid since the last line, if anything has."""
        document, words = self._of, self._in
        if paid := Decimal(document["paid_since"]):
            yield Row([words.html("closing")], [self._exact(document["closing"])])
            yield Row([words.html("paid_since")], [self._exact(money.plain(-paid))])
        yield Row([escaped(words[self._balance_name])], [self._exact(money.plain(self._open))], strong=True)

    def _tax_name(self, tax: StatementContent, base: str = "") -> str:
        """Return the name of a tax: ``VAT 20 %``, ``VAT 0 %, reverse charge``; ``base``: what it is on."""
        words, scheme = self._in, tax["scheme"]
        if scheme is None:
            return words["tax_none"]
        key = "tax_standard_of" if base else "tax_standard"
        text = words[key].format(percent=words.percent(Decimal(tax["percent"])), base=base)
        return f"{text}, {words[f'short_{scheme}']}" if scheme in _WITH_A_NOTE else text

    def _taxes(self) -> Html:
        """Return the tax by scheme and percentage."""
        document, words = self._of, self._in
        rows = [
            Row(
                [self._taxed_as(tax), self._spans(tax["tax_points"])],
                [self._exact(tax["base"]), self._exact(tax["tax"])],
            )
            for tax in document["taxes"]
            if self._is_shown(tax)
        ]
        if not rows:
            return NOTHING
        if len(rows) > 1:
            total = [self._exact(document[figure]) for figure in ("commission", "tax")]
            rows.append(Row([words.html("all"), NOTHING], total, strong=True))
        if issued := document["tax_in"]:
            figures = [words.money(issued[figure], issued["currency"]) for figure in ("base", "tax")]
            rows.append(Row([self._exchange_rate(issued), NOTHING], figures, strong=True))
        title = words["taxes"]
        texts, figures = [words["tax"], words["tax_points"]], self._heads("tax_base", "tax_amount")
        return section(title, table(title, texts, figures, rows), paragraph(words.html("tax_note")))

    def _taxed_as(self, tax: StatementContent) -> Html:
        """Return the name of a tax, with country and VAT id of its tax points if they are not the recipient's."""
        words, customer, text = self._in, self._of["customer"], escaped(self._tax_name(tax))
        if all(tax[fact] in {None, customer[fact]} for fact in ("country", "vat_id")):
            return text
        facts = [words.country(tax["country"])] if tax["country"] else []
        facts += [f"{words['vat_id']} {tax['vat_id']}"] if tax["vat_id"] else []
        return Html(f"{text}<br>{escaped(', '.join(facts))}")

    def _remainders(self) -> Html:
        """Return what rounding left before the document, and what it leaves to the next one."""
        document, words, before = self._of, self._in, self._of["previous"]
        both = [_by_figure(one["remainders"]) if one else {} for one in (before, document)]
        rows = [
            Row([escaped(self._remainder_name(figure))], [self._exact(some.get(figure, "0")) for some in both])
            for figure in dict.fromkeys(figure for some in both for figure in some)
        ]
        if not rows:
            return NOTHING
        title = words["remainders"]
        heads = self._heads("remainder_from", "remainder_to")
        return section(title, table(title, [words["figure"]], heads, rows), paragraph(words.html("remainders_note")))

    def _remainder_name(self, figure: tuple[str, str | None, str]) -> str:
        """Return the name of a figure that was rounded."""
        name_, scheme, percent = figure
        if name_ == "proceeds":
            return self._in["proceeds"]
        of_tax = self._tax_name({"scheme": scheme, "percent": percent})
        return f"{of_tax}: {self._in['tax_base' if name_ == 'base' else 'tax_amount']}"

    def _exchange_rate(self, issued: StatementContent) -> Html:
        """Return the issuer's currency with the exchange rate to it, who published that, and since which day it holds.

        ``issued``: the totals in that currency.
        """
        words, since = self._in, day_in(time_zone(self._of["time_zone"]), parse_iso(issued["exchange_rate_as_of"]))
        return words.html(
            "tax_in",
            currency=escaped(issued["currency"]),
            rate=escaped(words.number(Decimal(issued["exchange_rate"]))),
            foreign=escaped(self._currency),
            source=name(issued["exchange_rate_source"]),
            date=escaped(words.full_date(since.isoformat())),
        )

    def _spans(self, tax_points: Sequence[StatementContent]) -> Html:
        """Return the tax points of a row, with the kind or the category by which they are taxed."""
        return Html("<br>".join(self._span(one) for one in tax_points))

    def _span(self, one: StatementContent) -> Html:
        named = (name(one[key]) for key in ("kind", "category") if key in one)
        return Html(", ".join([short(self._in.span(one["from"], one["to"])), *named]))


def _by_figure(remainders: StatementContent) -> dict[tuple[str, str | None, str], str]:
    """Return the remainders that are not 0 by what they are of: the name of a figure, a scheme and a percentage."""
    found = {
        (name, row["scheme"], row["percent"]): row[name] for row in remainders["taxes"] for name in ("base", "tax")
    }
    found["proceeds", None, ""] = remainders["proceeds"]
    return {figure: amount for figure, amount in found.items() if Decimal(amount)}
