"""The page of a statement of schema 1, as 0.2.0 wrote it: it never changes, so that its bytes can be written again."""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final
from urllib.parse import quote

from quarterhour.ledger.recording.pricing import BY_DEFAULT, BY_EVENT, BY_RERATING, BY_SALE, rate_card_in
from quarterhour.model.periods import Period
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

_TITLES: Final = {"statement": "Statement", "credit_note": "Credit note"}
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_SOLD: Final = {"sales": "Sales", "voids": "Voids", "refunds": "Refunds", "adjustments": "Adjustments"}
"""The kinds of lines whose amounts are the net."""
_OTHERS: Final = {"other": "Other lines", "brought_forward": "Brought forward", "payments": "Payments"}
"""The kinds of lines that are shown only if there are any."""
_ORIGINS: Final = {
    BY_DEFAULT: "the default commission rate",
    BY_EVENT: "the rate or commission that the event names",
    BY_RERATING: "the rate card of a re-rating",
    BY_SALE: "the terms of the sale that was refunded or voided",
}
_IN_BASE: Final = {"net": "Net", "commission": "Commission", "payments": "Payments"}
_COMPARED: Final = {**_IN_BASE, "tax": "Tax", "closing": "Closing balance", "lines": "Lines"}
_FIGURES: Final = ("Lines", "Amount", "Commission")
_NET_FIGURES: Final = ("Lines", "Net", "Commission")


def page_of_0_2(document: Mapping[str, Any]) -> bytes:
    """Return a statement of schema 1 as HTML in UTF-8, with the bytes that 0.2.0 gave it.

    ``document``: the content of ``statement.json``. Figures are shown as they are written there.
    """
    title, number, owner = _TITLES[document["document"]], document["number"], document["owner"]
    return page(
        " · ".join(filter(None, [title, number, _month(document), owner["legal_name"]])),
        [
            block("party", image(owner["logo"]), *_party(owner)),
            heading(title, name(number), escaped(_month(document))),
        ],
        [
            _mark(document),
            _parties(document),
            _due(document),
            _balance(document),
            _sales(document),
            _base(document),
            _previous(document),
            _days(document),
            _terms(document),
            _orders(document),
            _dispute(document),
            _files(document),
        ],
    )


def _month(document: Mapping[str, Any]) -> str:
    """Return the period in words: ``November 2026``."""
    period = Period.parse(document["period"])
    return f"{_MONTHS[period.month - 1]} {period.year}"


def _party(party: Mapping[str, Any]) -> Iterator[Html]:
    """Yield what is known of the owner or the agency."""
    yield paragraph(name(party["legal_name"]), "lead")
    yield paragraph(address(party["address"]), "plain")
    yield paragraph(name(party["country"]), "plain")
    yield paragraph(Html(f"VAT {name(party['vat_id'])}") if party["vat_id"] else NOTHING, "plain")
    yield paragraph(name(party["contact"]), "plain")


def _mark(document: Mapping[str, Any]) -> Html:
    """Return the mark of a statement that is not issued."""
    return paragraph(NOTHING if document["issued"] else Html(f"Not issued: {name(document['not_issued'])}"), "mark")


def _parties(document: Mapping[str, Any]) -> Html:
    customer = document["customer"]
    return block(
        "parties",
        block(
            "party",
            Html("<h2>To</h2>"),
            *_party(customer),
            paragraph(escaped("" if customer["registered"] else "Not registered at the cut-off"), "plain"),
        ),
        facts(
            [
                ("Number", name(document["number"])),
                ("Agency", name(document["agency"])),
                ("Group", name(customer["group"])),
                ("Currency", escaped(document["currency"])),
                ("Period", escaped(f"{document['period']}, {document['time_zone']}")),
                ("From", instant(document["from"])),
                ("To", instant(document["to"])),
                ("Cut-off", instant(document["cut_off"])),
                ("Recorded until", instant(document["recorded_until"])),
            ]
        ),
    )


def _due(document: Mapping[str, Any]) -> Html:
    closing, currency = document["closing"], document["currency"]
    side = "owed by the agency" if Decimal(closing) > 0 else "in favour of the agency"
    if Decimal(closing) == 0:
        side = "nothing is owed"
    return block(
        "due",
        Html(f"<p>Closing balance<br><small>{side}</small></p>"),
        Html(f"<p><strong>{escaped(currency)} {escaped(closing)}</strong></p>"),
    )


def _balance(document: Mapping[str, Any]) -> Html:
    profile = document["tax_profile"]
    tax = escaped(profile["note"]) if profile else Html("no tax profile")
    brought_forward = Row([Html("of which brought forward")], [document["brought_forward"]])
    title = f"Balance in {document['currency']}"
    rows = [
        Row([Html("Opening balance")], [document["opening"]]),
        *([brought_forward] if document["by_kind"]["brought_forward"]["lines"] else []),
        Row([Html("+ Commission, rounded once, half to even")], [document["commission"]]),
        Row([Html(f"+ Tax ({tax})")], [document["tax"]]),
        Row([Html("Payable for this period")], [document["payable"]], strong=True),
        Row([Html("− Payments")], [document["payments"]]),  # noqa: RUF001 - a minus
        Row([Html("Closing balance")], [document["closing"]], strong=True),
    ]
    return section(title, table(title, ["Position"], ["Amount"], rows))


def _sales(document: Mapping[str, Any]) -> Html:
    by_kind, currency = document["by_kind"], document["currency"]
    net = Row([Html("Net")], [None, document["net"], document["commission_exact"]], strong=True)
    rows = [*_kinds(_SOLD, by_kind), net, *_kinds(_OTHERS, by_kind, only_with_lines=True)]
    prior = list(_kinds({**_SOLD, **_OTHERS}, document["prior_period"], only_with_lines=True))
    title = f"Sales and commission in {currency}"
    if not prior:
        return section(title, table(title, ["Kind"], _FIGURES, rows))
    return section(
        title,
        table(title, ["Kind"], _FIGURES, rows),
        Html("<h3>Of these, from prior periods</h3>"),
        table("Lines of prior periods", ["Kind"], _FIGURES, prior),
        paragraph(Html("These lines were recorded after the cut-off of their own month.")),
    )


def _kinds(titles: Mapping[str, str], sums: Mapping[str, Any], *, only_with_lines: bool = False) -> Iterator[Row]:
    """Yield a row for each kind of lines."""
    for kind, title in titles.items():
        some = sums[kind]
        if some["lines"] or not only_with_lines:
            yield Row([escaped(title)], [some["lines"], some["amount"], some["commission"]])


def _base(document: Mapping[str, Any]) -> Html:
    base = document["base"]
    if base is None:
        return NOTHING
    title = f"In {base['currency']}"
    if base["missing"]:
        missing = f"No exchange rate at the end of {len(base['missing'])} quarter-hours: {', '.join(base['missing'])}."
        return section(title, paragraph(escaped(missing)))
    rows = [Row([escaped(title)], [base[name]]) for name, title in _IN_BASE.items()]
    note = Html("At the exchange rates pinned for each quarter-hour, rounded once, half to even.")
    return section(title, table(title, ["Position"], ["Amount"], rows), paragraph(note))


def _previous(document: Mapping[str, Any]) -> Html:
    before = document["previous"]
    title = "Since the previous statement"
    if before is None:
        return section(title, paragraph(Html("The account has no statement of the previous period.")))
    rows = [Row([escaped(label)], [before[name], document[name]]) for name, label in _COMPARED.items()]
    columns = [f"{one['period']} ({one['number']})" for one in (before, document)]
    return section(title, table(title, [f"Figure, in {document['currency']}"], columns, rows))


def _days(document: Mapping[str, Any]) -> Html:
    """Return the sums by day; the chart has every day of the period."""
    days = document["days"]
    if not days:
        return NOTHING
    nets = {day["day"]: day["net"] for day in days}
    title = f"Net by day in {document['currency']}"
    rows = [
        Row([short(day["day"]) if day["day"] else Html("Other days")], [day["lines"], day["net"], day["commission"]])
        for day in days
    ]
    period = Period.parse(document["period"])
    of_period = [f"{period}-{day:02d}" for day in range(1, period.last_day.day + 1)]
    bars = [Bar(day, nets.get(day, "0")) for day in of_period]
    return section(title, bar_chart(title, bars), table(title, ["Day"], _NET_FIGURES, rows))


def _terms(document: Mapping[str, Any]) -> Html:
    rows = [
        Row(
            [_origin(one["terms"], document["agency"])],
            [one["commission_rate"], one["lines"], one["net"], one["commission"]],
        )
        for one in document["terms"]
    ]
    further = document["lines_of_further_terms"]
    title = "How the commission was computed"
    return section(
        title,
        paragraph(
            Html(
                "Each line's commission was fixed when the line was recorded, by the terms in its columns "
                f"{code('terms')} and {code('arithmetic')}. Without arithmetic, it is amount × commission rate. "  # noqa: RUF001 - a multiplication sign
                f"The exact sum is {escaped(document['commission_exact'])}; it is rounded once, half to even, to "
                f"{escaped(document['commission'])} {escaped(document['currency'])}."
            )
        ),
        table(title, ["Terms"], ["Commission rate", *_NET_FIGURES], rows) if rows else NOTHING,
        paragraph(Html(f"Lines of further terms: {further}.") if further else NOTHING),
    )


def _origin(terms: str, agency: str) -> Html:
    """Return whose commission terms these are."""
    if version := rate_card_in(terms, agency):
        rate_card, number = version
        return Html(f"{name(rate_card)}, version {number}")
    return escaped(_ORIGINS.get(terms, terms or "unknown"))


def _orders(document: Mapping[str, Any]) -> Html:
    orders = document["orders"]
    if not orders:
        return NOTHING
    rows = [
        Row(
            [name(one["order"]) or Html("no order"), name(one["product"]) or Html("no product")],
            [one["lines"], one["net"], one["commission"]],
        )
        for one in orders
    ]
    title = f"Orders and products in {document['currency']}"
    note = f"This table sums up {document['lines_in_orders']} of {document['lines']} lines. The file of lines has all."
    return section(title, paragraph(escaped(note)), table(title, ["Order", "Product"], _NET_FIGURES, rows))


def _dispute(document: Mapping[str, Any]) -> Html:
    path = f"/statements/{quote(document['agency'], safe='')}/{document['currency']}/{document['period']}"
    contact = name(document["owner"]["contact"])
    letter = Html(f" Or write to {contact}." if contact else "")
    return section(
        "To accept or to dispute",
        paragraph(
            Html(
                "Each line has a source and an id, in the file of lines. Dispute a line by them with "
                f"{code(f'POST {path}/disputes')}. Accept or dispute the whole statement with "
                f"{code(f'PUT {path}/status')}.{letter} This statement never changes: a correction is on the next one, "
                "as a line of a prior period."
            )
        ),
    )


def _files(document: Mapping[str, Any]) -> Html:
    file = document["lines_file"]
    return section(
        "Files",
        facts(
            [
                ("Lines", Html(f"{code(file['name'])}, {file['size']} bytes")),
                ("SHA-256", code(file["sha256"])),
                ("To check", Html(f"{code('quarterhour verify --statement FOLDER')}, the folder of these files")),
            ]
        ),
    )
