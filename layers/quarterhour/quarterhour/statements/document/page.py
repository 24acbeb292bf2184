"""The statement as a page for people: it reads like an invoice, prints well and loads nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final
from urllib.parse import quote

from quarterhour.ledger.recording.pricing import BY_DEFAULT, BY_EVENT, BY_RERATING, BY_SALE, rate_card_in
from quarterhour.model import money
from quarterhour.model.clock import parse_iso
from quarterhour.model.periods import Period, day_in, time_zone
from quarterhour.statements.document.language import Language, language_of
from quarterhour.statements.document.page_style import page_style
from quarterhour.web.html.chart import Bar, bar_chart
from quarterhour.web.html.markup import (
    NOTHING,
    Html,
    Row,
    address,
    block,
    code,
    escaped,
    facts,
    heading,
    image,
    instant,
    name,
    page,
    paragraph,
    section,
    short,
    table,
)

StatementContent = Mapping[str, Any]

_SOLD: Final = ("sales", "voids", "refunds", "adjustments")
"""The kinds of lines whose amounts are the net sales."""
_CHARGED: Final = (*_SOLD, "other")
_ORIGINS: Final = {
    BY_DEFAULT: "terms_default",
    BY_EVENT: "terms_event",
    BY_RERATING: "terms_rerating",
    BY_SALE: "terms_sale",
}
_WITH_A_NOTE: Final = ("reverse_charge", "exempt", "outside_scope")
"""The schemes whose legal note a statement must show."""
_IN_BASE: Final = {"net": "net_sales", "commission": "commission", "payments": "payments"}
_COMPARED: Final = {"net": "net_sales", "commission": "commission", "tax": "tax", "payments": "payments"}
_CHART_FROM: Final = 5
"""The fewest days with sales that are drawn; of fewer, the table says more."""
_IBAN_GROUP: Final = 4
_NONE: Final = "\N{EN DASH}"


def statement_page(document: StatementContent) -> bytes:
    """Return a statement as HTML in UTF-8; the same document gives the same bytes.

    ``document``: the content of ``statement.json``, of schema 2. Its ``language`` is that of the page.
    """
    return _Page(document).content()


class _Page:
    """The page of a document."""

    def __init__(self, document: StatementContent) -> None:
        self._of = document
        self._in: Language = language_of(document["language"])
        self._currency: str = document["currency"]
        self._closing = Decimal(document["closing"])
        self._lines_file = code(document["lines_file"]["name"])

    def content(self) -> bytes:
        """Return the page in UTF-8."""
        document, words = self._of, self._in
        owner, number = document["owner"], document["number"]
        title, period = words[self._kind_of_document], words.days(document["period"])
        return page(
            " · ".join(filter(None, [title, number, words.month(document["period"]), owner["legal_name"]])),
            [
                block("party", image(owner["logo"]), paragraph(name(owner["legal_name"]), "lead")),
                heading(title, name(number), escaped(period)),
            ],
            [
                self._due(),
                self._corrected(),
                self._parties(),
                self._summary(),
                self._taxes(),
                self._sales(),
                self._base(),
                self._previous(),
                self._days(),
                self._terms(),
                self._orders(),
                self._objections(),
                self._appendix(),
            ],
            language=words.code,
            style=page_style(number, self._agency_name),
        )

    # ------------------------------------------------------------ what is owed, and by whom

    @property
    def _kind_of_document(self) -> str:
        """The key of the document's title."""
        document = self._of
        if document["cancels"]:
            return "cancellation"
        has_payout = document["document"] == "statement" and document["collects"] == "marketplace"
        return "settlement" if has_payout else str(document["document"])

    @property
    def _agency_name(self) -> str:
        return str(self._of["customer"]["legal_name"] or self._of["agency"])

    @property
    def _is_payout(self) -> bool:
        """Whether the marketplace pays the closing balance to the agency."""
        return self._closing < 0 and self._of["collects"] == "marketplace"

    @property
    def _balance_name(self) -> str:
        """The key of what the closing balance is to the agency."""
        if self._closing > 0:
            return "amount_due"
        return "payout" if self._is_payout else "credit_balance" if self._closing else "nothing_to_pay"

    def _due(self) -> Html:
        """Return what is owed, to whom, and until when."""
        document, words, owner = self._of, self._in, self._of["owner"]
        said: list[Html] = []
        if self._closing > 0:
            payable = [
                ("due_date", escaped(words.full_date(document["due_on"]))),
                ("payable_to", name(owner["legal_name"])),
                ("IBAN", escaped(_grouped(owner["iban"])) if owner["iban"] else NOTHING),
                ("reference", name(document["number"])),
            ]
            said = [facts((words.texts.get(key, key), value) for key, value in payable)]
        elif self._is_payout:
            iban = document["customer"]["iban"]
            to = facts([("IBAN", escaped(_grouped(iban)))]) if iban else NOTHING
            owed_by = paragraph(words.html("payout_of", owner=name(owner["legal_name"])), "plain")
            said = [Html(f"<div>{owed_by}{to}</div>")]
        elif self._closing:
            said = [paragraph(words.html("carried_forward"), "plain")]
        owed = money.plain(abs(self._closing))
        amount = Html(f"<strong>{escaped(words.money(owed, self._currency))}</strong>")
        return block("due", Html(f"<div>{paragraph(words.html(self._balance_name), 'label')}{amount}</div>"), *said)

    def _corrected(self) -> Html:
        """Return what the document cancels, replaces or corrects, and what it leaves to be paid."""
        said = list(self._corrections())
        return block("say", *(paragraph(one, "plain") for one in said)) if said else NOTHING

    def _corrections(self) -> Iterator[Html]:
        document, words = self._of, self._in
        if cancelled := document["cancels"]:
            yield words.html(
                f"cancels_{cancelled['document']}",
                number=name(cancelled["number"]),
                date=escaped(words.full_date(cancelled["issued_on"])),
                period=escaped(words.days(document["period"])),
            )
        if document["replaces"]:
            yield words.html("replaces", number=name(document["replaces"]))
        if document["document"] != "credit_note":
            return
        if (credit := -Decimal(document["payable"])) > 0:
            yield _sentences(words.html("credits", amount=self._money(money.plain(credit))), self._left())
        months = [self._month_of_statement(one["month"]) for one in document["earlier_months"]]
        if months and not document["cancels"]:
            yield words.html("corrects", months=Html(", ".join(months)))

    def _left(self) -> Html:
        """Return what a credit note leaves to be paid."""
        kind = "due" if self._closing > 0 else "credit" if self._closing else "nothing"
        return self._in.html(f"credits_and_{kind}", amount=self._money(money.plain(abs(self._closing))))

    def _month_of_statement(self, month: str) -> Html:
        """Return a month, and the number and the date of its statement if the document names them."""
        before, words = self._of["previous"], self._in
        shown = escaped(words.month(month))
        if not before or before["period"] != month:
            return shown
        issued_on = escaped(words.full_date(before["issued_on"]))
        return words.html(f"of_{before['document']}", month=shown, number=name(before["number"]), date=issued_on)

    def _parties(self) -> Html:
        document, words, customer = self._of, self._in, self._of["customer"]
        unknown = NOTHING if customer["registered"] else words.html("not_registered")
        return block(
            "parties",
            block("party", *_titled(words["issuer"], self._party(document["owner"]))),
            block(
                "party",
                *_titled(words["recipient"], self._party({**customer, "legal_name": self._agency_name})),
                paragraph(unknown, "plain"),
            ),
            facts(
                [
                    (words["number"], name(document["number"])),
                    (words["issued_on"], escaped(words.full_date(document["issued_on"]))),
                    (words["period"], escaped(words.days(document["period"]))),
                    (words["agency"], name(document["agency"])),
                ]
            ),
        )

    def _party(self, party: StatementContent) -> Iterator[Html]:
        """Yield what is known of the owner or the agency."""
        vat_id, country = party["vat_id"], party["country"]
        yield paragraph(name(party["legal_name"]), "lead")
        yield paragraph(address(party["address"]), "plain")
        yield paragraph(escaped(self._in.country(country)) if country else NOTHING, "plain")
        yield paragraph(Html(f"{escaped(self._in['vat_id'])} {name(vat_id)}") if vat_id else NOTHING, "plain")
        yield paragraph(name(party["contact"]), "plain")

    # ------------------------------------------------------------ the summary and the taxes

    def _summary(self) -> Html:
        document, words = self._of, self._in
        rows = [*self._charged(), *self._balances()]
        closing = Row([escaped(words[self._balance_name])], [self._exact(document["closing"])], strong=True)
        schemes = dict.fromkeys(row["scheme"] for row in document["taxes"] if self._is_shown(row))
        notes = [words.html(f"note_{scheme}") for scheme in schemes if scheme in _WITH_A_NOTE]
        if self._closing < 0:
            notes.append(words.html("in_your_favour"))
        if self._has_charge:
            notes.append(Html(f"¹ {words.html('rounding', file=self._lines_file)}"))
        title = words["summary"]
        head = [f"{words['amount']} ({self._currency})"]
        summary = table(title, [words["position"]], head, [*rows, closing])
        return section(title, summary, *(paragraph(one) for one in notes))

    @property
    def _has_charge(self) -> bool:
        """Whether the document has a commission or a tax, or lines that come to none."""
        return any(self._of["by_kind"][kind]["lines"] for kind in _CHARGED)

    def _is_shown(self, tax: StatementContent) -> bool:
        return self._has_charge or bool(Decimal(tax["base"]))

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
                [escaped(self._tax_name(tax)), self._spans(tax["tax_points"])],
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

    # ------------------------------------------------------------ what was sold

    def _sales(self) -> Html:
        document, words = self._of, self._in
        if not self._has_charge:
            return NOTHING
        by_kind = document["by_kind"]
        lines = sum(by_kind[kind]["lines"] for kind in _CHARGED)
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
        for kind in _CHARGED:
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
        note = paragraph(_sentences(words.html("rates_note"), gap))
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
        return sum(int(some["lines"]) for kind, some in self._of["by_kind"].items() if kind not in _CHARGED)

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

    # ------------------------------------------------------------ objections and verification

    def _objections(self) -> Html:
        contact, words = self._of["owner"]["contact"], self._in
        letter = words.html("write_to", contact=name(contact)) if contact else NOTHING
        until = self._of["dispute_until"]
        last = words.html("dispute_until", date=escaped(words.full_date(until))) if until else NOTHING
        return section(words["objections"], paragraph(_sentences(words.html("objections_note"), letter, last)))

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

    # ------------------------------------------------------------ figures

    def _exact(self, amount: str) -> str:
        return self._in.exact(amount, self._currency)

    def _rounded(self, amount: str) -> str:
        return self._in.rounded(amount, self._currency)

    def _money(self, amount: str) -> Html:
        return short(self._in.money(amount, self._currency))

    def _sums(self, some: StatementContent) -> list[str]:
        """Return the figures of some lines: their number, net sales and commission."""
        return [self._in.count(some["lines"]), self._rounded(some["net"]), self._rounded(some["commission"])]

    def _figure_heads(self, amount: str) -> list[str]:
        """Return the heads of ``_sums``."""
        return [self._in["transactions"], *self._heads(amount, "commission")]

    def _heads(self, *keys: str) -> list[str]:
        return [f"{self._in[key]} ({self._currency})" for key in keys]


def _sentences(*sentences: Html) -> Html:
    """Return sentences with a blank between them."""
    return Html(" ".join(filter(None, sentences)))


def _titled(title: str, parts: Iterable[Html]) -> Iterator[Html]:
    """Yield a heading and the parts below it; nothing without parts."""
    if known := [part for part in parts if part]:
        yield Html(f"<h2>{escaped(title)}</h2>")
        yield from known


def _rate(words: Language, terms: StatementContent) -> str:
    """Return a commission rate as a percentage; a dash if the terms name a commission and no rate."""
    rate = Decimal(terms["commission_rate"])
    return words.percent(rate.scaleb(2)) if rate or not Decimal(terms["commission"]) else _NONE


def _grouped(iban: str) -> str:
    """Return an IBAN as it is printed: in groups of four."""
    plain = "".join(iban.split())
    return " ".join(plain[at : at + _IBAN_GROUP] for at in range(0, len(plain), _IBAN_GROUP))
