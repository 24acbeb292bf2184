"""The part of a statement's page about its lines: what was sold."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Final

from quarterhour.ledger.recording.pricing import BY_DEFAULT, BY_EVENT, BY_REFUND, BY_RERATING, BY_SALE, rate_card_in
from quarterhour.model.periods import Period
from quarterhour.statements.document.language import Language
from quarterhour.statements.document.page_part import CHARGED, PagePart, StatementContent, sentences
from quarterhour.web.html.chart import Bar, bar_chart
from quarterhour.web.html.markup import NOTHING, Html, Row, escaped, name, paragraph, section, short, table

_ORIGINS: Final = {
    BY_DEFAULT: "terms_default",
    BY_EVENT: "terms_event",
    BY_RERATING: "terms_rerating",
    BY_SALE: "terms_sale",
    BY_REFUND: "terms_sale",
}
_IN_BASE: Final = {"net": "net_sales", "commission": "commission", "payments": "payments"}
_COMPARED: Final = {"net": "net_sales", "commission": "commission", "tax": "tax", "payments": "payments"}
_CHART_FROM: Final = 5
"""The fewest days with sales that are drawn; of fewer, the table says more."""
_NONE: Final = "\N{EN DASH}"


class LinesPart(PagePart):
    """The sums of the lines by kind, month, day, terms and order."""

    def sections(self) -> Iterator[Html]:
        """Yield the sections of the part."""
        yield self._sales()
        yield self._base()
        yield self._previous()
        yield self._days()
        yield self._terms()
        yield self._orders()

    def _sales(self) -> Html:
        document, words = self._of, self._in
        if not self._has_charge:
            return NOTHING
        by_kind = document["by_kind"]
        lines = sum(by_kind[kind]["lines"] for kind in CHARGED)
        net = [words.count(lines), self._rounded(document["net"]), self._exact(document["commission"])]
        rows = [*self._kinds(by_kind), Row([words.html("net_sales")], net, strong=True)]
        title = words["sales_and_commission"]
        return section(
            title,
            table(title, [words["kind"]], self._figure_heads("amount"), rows),
            paragraph(words.html("rounded", currency=escaped(self._currency))),
            *self._prior(),
            *self._earlier_months(),
        )

    def _kinds(self, sums: StatementContent) -> Iterator[Row]:
        """Yield a row for each kind that has lines."""
        for kind in CHARGED:
            some = sums[kind]
            if some["lines"]:
                amount = None if kind == "other" else self._rounded(some["amount"])
                figures = [self._in.count(some["lines"]), amount, self._rounded(some["commission"])]
                yield Row([self._in.html(kind)], figures)

    def _prior(self) -> Iterator[Html]:
        """Yield the sums of the lines of prior periods, if there are any."""
        words, title = self._in, self._in["prior_periods"]
        if rows := list(self._kinds(self._of["prior_period"])):
            yield Html(f"<h3>{escaped(title)}</h3>")
            yield table(title, [words["kind"]], self._figure_heads("amount"), rows)
            yield paragraph(words.html("prior_periods_note"))

    def _earlier_months(self) -> Iterator[Html]:
        """Yield the sums of the lines with tax points of earlier months, if there are any."""
        words, title = self._in, self._in["earlier_months"]
        if months := self._of["earlier_months"]:
            rows = [Row([escaped(words.month(one["month"]))], self._sums(one)) for one in months]
            yield Html(f"<h3>{escaped(title)}</h3>")
            yield table(title, [words["month_of_sale"]], self._figure_heads("net_sales"), rows)

    def _base(self) -> Html:
        """Return the figures in the base currency, if it is another one."""
        base, words = self._of["base"], self._in
        if base is None or base["currency"] == self._currency or not self._has_charge:
            return NOTHING
        currency = base["currency"]
        rows = [
            Row([words.html(title)], [words.exact(base[figure], currency)])
            for figure, title in _IN_BASE.items()
            if Decimal(base[figure])
        ]
        missing = escaped(words.count(len(base["missing"])))
        gap = words.html("rates_missing", number=missing) if base["missing"] else NOTHING
        title = words["in_currency"].format(currency=currency)
        head = [f"{words['amount']} ({currency})"]
        note = paragraph(sentences(words.html("rates_note"), gap))
        return section(title, table(title, [words["position"]], head, rows), note)

    def _previous(self) -> Html:
        """Return the figures beside those of the last statement of an earlier period, if there is one."""
        document, words, before = self._of, self._in, self._of["previous"]
        if before is None or document["cancels"] or before["period"] >= document["period"]:
            return NOTHING
        both = (before, document)
        rows = [
            Row([words.html(title)], [self._rounded(one[figure]) for one in both])
            for figure, title in _COMPARED.items()
            if any(Decimal(one[figure]) for one in both)
        ]
        rows.append(Row([words.html("closing")], [self._exact(one["closing"]) for one in both], strong=True))
        columns = [f"{words.month(one['period'])} ({one['number']})" for one in both]
        title = words["compared"]
        return section(title, table(title, [f"{words['figure']} ({self._currency})"], columns, rows))

    def _days(self) -> Html:
        """Return the sums by day; the chart has every day of the period."""
        days, words = self._of["days"], self._in
        if not days:
            return NOTHING
        rows = [
            Row([short(words.short_date(day["day"])) if day["day"] else words.html("other_days")], self._sums(day))
            for day in days
        ]
        title = words["by_day"]
        return section(title, self._chart(title), table(title, [words["day"]], self._figure_heads("net_sales"), rows))

    def _chart(self, title: str) -> Html:
        words = self._in
        nets = {day["day"]: day["net"] for day in self._of["days"] if day["day"]}
        if len(nets) < _CHART_FROM:
            return NOTHING
        period = Period.parse(self._of["period"])
        days = [f"{period}-{day:02d}" for day in range(1, period.last_day.day + 1)]
        bars = [Bar(words.short_date(day), nets.get(day, "0"), self._rounded(nets.get(day, "0"))) for day in days]
        return bar_chart(f"{title} ({self._currency})", bars, (words["highest"], f" {words['lowest']}"))

    def _terms(self) -> Html:
        document, words = self._of, self._in
        if not document["terms"]:
            return NOTHING
        rows = [Row([self._origin(one["terms"])], [_rate(words, one), *self._sums(one)]) for one in document["terms"]]
        further = document["lines_of_further_terms"]
        title = words["by_terms"]
        return section(
            title,
            table(title, [words["terms"]], [words["rate"], *self._figure_heads("net_sales")], rows),
            paragraph(words.html("further_terms", number=escaped(words.count(further))) if further else NOTHING),
            paragraph(words.html("terms_note", file=self._lines_file)),
        )

    def _origin(self, terms: str) -> Html:
        """Return whose commission terms these are."""
        words, agency = self._in, self._of["agency"]
        version = rate_card_in(terms, agency)
        if version is None:
            return words.html(_ORIGINS.get(terms, "terms_unknown"))
        rate_card, number = version
        owner = rate_card.removeprefix("rate-card:")
        kind = "agency" if owner == agency else "group" if owner.startswith("group/") else "default"
        return words.html(f"card_{kind}", group=name(owner.removeprefix("group/")), version=escaped(str(number)))

    def _orders(self) -> Html:
        document, words = self._of, self._in
        orders = document["orders"]
        if not orders:
            return NOTHING
        rows = [self._order_row(*pair) for pair in zip([None, *orders], orders, strict=False)]
        title = f"{words['by_order']} ({self._currency})"
        texts = [words[key] for key in ("order", "kind", "product")]
        shown = table(title, texts, [words[key] for key in ("transactions", "net_sales", "commission")], rows)
        if document["lines"] <= document["lines_in_orders"] + self._uncharged:
            return section(title, shown)
        counts = {"shown": document["lines_in_orders"], "number": document["lines"]}
        numbers = {key: escaped(words.count(value)) for key, value in counts.items()}
        return section(title, paragraph(words.html("by_order_note", **numbers, file=self._lines_file)), shown)

    @property
    def _uncharged(self) -> int:
        """The number of lines that are no part of an order: payments, and balances brought forward."""
        return sum(int(some["lines"]) for kind, some in self._of["by_kind"].items() if kind not in CHARGED)

    def _order_row(self, above: StatementContent | None, one: StatementContent) -> Row:
        words, kind = self._in, one["kind"]
        texts = [self._order(one), short(words[f"row_{kind}"]), name(one["product"]) or Html(_NONE)]
        is_below = above is not None and one["order"] is not None and above["order"] == one["order"] and kind != "sales"
        return Row(texts, self._sums(one), below=is_below)

    def _order(self, row: StatementContent) -> Html:
        words = self._in
        if row["sale"]:
            return words.html("of_sale", sale=name(row["sale"]))
        return name(row["order"]) or words.html("no_order")


def _rate(words: Language, terms: StatementContent) -> str:
    """Return a commission rate as a percentage; a dash if the terms name a commission and no rate."""
    rate = Decimal(terms["commission_rate"])
    return words.percent(rate.scaleb(2)) if rate or not Decimal(terms["commission"]) else _NONE
