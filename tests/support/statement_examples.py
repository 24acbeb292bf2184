"""Statements that differ in what their pages must show, by name."""

from decimal import Decimal
from typing import Any, Final

from tests.support.statement_documents import NOBODY, PUBLISHED, order_row, statement, sums, tax_row

Json = dict[str, Any]
NOTHING: Final = sums(0, "0", "0")
NO_KINDS: Final = dict.fromkeys(
    ("sales", "voids", "refunds", "adjustments", "brought_forward", "payments", "other"), NOTHING
)
LONG_NAME: Final = "Gesellschaft für die Herstellung und den Vertrieb von Wohnaccessoires und Gartenmöbeln mbH & Co. KG"


def balanced(**changed: Any) -> Json:
    """Return a statement whose payable and closing amounts follow from its other figures."""
    document = statement(**changed)
    figure = {name: Decimal(document[name]) for name in ("opening", "commission", "tax", "proceeds", "payments")}
    payable = figure["commission"] + figure["tax"]
    closing = figure["opening"] + payable - figure["proceeds"] - figure["payments"]
    due_on = document["due_on"] if closing > 0 else None
    return {**document, "payable": str(payable), "closing": str(closing), "due_on": due_on}


def kinds(**some: Json) -> Json:
    """Return sums by kind, most of which are empty."""
    return {**NO_KINDS, **some}


def agency(**changed: Any) -> Json:
    """Return a registered agency, as a statement shows it."""
    return {**statement()["customer"], **changed}


BERLIN: Final = agency(
    legal_name="Möbelhaus Größe & Söhne GmbH",
    address="Torstraße 135\n10119 Berlin",
    country="DE",
    vat_id="DE136695976",
    contact="buchhaltung@moebelhaus.example",
)
PARIS: Final = agency(
    legal_name="Librairie de l'Étoile SARL",
    address="12, rue de Rivoli\n75004 Paris",
    country="FR",
    vat_id="FR40303265045",
    contact="compta@etoile.example",
)
MADRID: Final = agency(
    legal_name="Librería Cervantes, S.L.",
    address="Gran Vía 7\n28013 Madrid",
    country="ES",
    vat_id="ESB58378431",
    contact="facturas@cervantes.example",
)
UTRECHT: Final = agency(
    legal_name="Boekhandel De Gouden Ganzenveer B.V.",
    address="Oudegracht 112\n3511 AW Utrecht",
    country="NL",
    vat_id="NL004495445B01",
    contact="administratie@ganzenveer.example",
)
PLAIN: Final[Json] = {
    "prior_period": NO_KINDS,
    "earlier_months": [],
    "base": None,
    "brought_forward": "0",
    "by_kind": kinds(sales=sums(9, "2345.675", "234.5675"), voids=sums(1, "-100.00", "-10.00")),
    "net": "2245.675",
    "commission": "224.57",
    "commission_exact": "224.5675",
    "taxes": [tax_row("224.57", "44.91", "2026-11-02", "2026-11-30")],
    "tax": "44.91",
    "payments": "0",
}
"""A statement without corrections of earlier months, and without figures in another currency."""

_REVERSE: Final = {"scheme": "reverse_charge", "percent": "0", "note": "Reverse charge."}
_EXEMPT: Final = {"scheme": "exempt", "percent": "0", "note": "Exempt from VAT."}
_OUTSIDE: Final = {"scheme": "outside_scope", "percent": "0", "note": "Outside the scope of VAT."}
_EURO: Final = {"currency": "EUR", "exchange_rate": "1.1712", **PUBLISHED, "base": "191.74", "tax": "38.34"}


def in_language(language: str, customer: Json, *, percent: str, **changed: Any) -> Json:
    """Return a statement in euros to an agency, in its language."""
    tax = str((Decimal("22457.01") * Decimal(percent) / 100).quantize(Decimal("0.01")))
    return balanced(
        **{
            **PLAIN,
            "language": language,
            "customer": customer,
            "currency": "EUR",
            "agency": "harbour-7",
            "by_kind": kinds(
                sales=sums(1207, "234567.50", "23456.75"),
                voids=sums(12, "-9000.05", "-900.005"),
                refunds=sums(3, "-997.35", "-99.735"),
            ),
            "net": "224570.10",
            "commission": "22457.01",
            "commission_exact": "22457.010",
            "taxes": [tax_row("22457.01", tax, "2026-11-01", "2026-11-30", percent=percent)],
            "tax": tax,
            "payments": "12000.00",
            "days": many_days("1234.56"),
            "lines": 1222,
            **changed,
        }
    )


def many_days(net: str) -> list[Json]:
    """Return the sums of every day of November 2026."""
    nets = [Decimal(net) * (1 + n % 7) for n in range(30)]
    return [
        {"day": f"2026-11-{n + 1:02d}", **sums(n % 5 + 1, str(net), str(net / 10), "net")} for n, net in enumerate(nets)
    ]


def many_orders(number: int) -> list[Json]:
    """Return rows of so many orders, some of which have a refund or a void."""
    rows: list[Json] = []
    for n in range(1, number + 1):
        product = f"Lighthouse lamp, model {n % 13 + 1}"
        rows.append(order_row(f"web-{n}", product, sums(1, f"{n}.50", f"{n / 10:.2f}", "net")))
        if n % 7 == 0:
            kind = "voids" if n % 2 else "refunds"
            rows.append(order_row(f"web-{n}", product, sums(1, f"-{n}.50", f"-{n / 10:.2f}", "net"), kind=kind))
    return rows


def _credit_note(**changed: Any) -> Json:
    """Return the credit note of a month with new sales and larger refunds of earlier months."""
    return balanced(
        **{
            **PLAIN,
            "document": "credit_note",
            "number": "C-000003",
            "by_kind": kinds(sales=sums(3, "300.00", "30.00"), refunds=sums(1, "-1000.00", "-100.00")),
            "net": "-700.00",
            "commission": "-70.00",
            "commission_exact": "-70.00",
            "taxes": [
                tax_row("-70.00", "-14.70", "2026-10-05", "2026-11-20", percent="21"),
            ],
            "tax": "-14.70",
            "opening": "121.00",
            "earlier_months": [{"month": "2026-10", **sums(1, "-1000.00", "-100.00", "net")}],
            "previous": {**statement()["previous"], "closing": "121.00"},
            "days": [{"day": "2026-11-05", **sums(4, "-700.00", "-70.00", "net")}],
            "terms": [{"terms": "event", "commission_rate": "0.1", **sums(4, "-700.00", "-70.00", "net")}],
            "orders": [
                order_row("o-9", "Desk", sums(3, "300.00", "30.00", "net")),
                order_row(None, None, sums(1, "-1000.00", "-100.00", "net"), kind="refunds", sale="till-3-8812"),
            ],
            "lines": 4,
            "lines_in_orders": 4,
            **changed,
        }
    )


EXAMPLES: Final[dict[str, Json]] = {
    "statement": statement(),
    "credit note, still owed": _credit_note(),
    "credit note, credit": _credit_note(opening="0", previous=None),
    "cancellation": _credit_note(
        cancels={"number": "S-000012", "issued_on": "2026-11-04", "document": "statement"}, opening="84.70"
    ),
    "replacement": balanced(**PLAIN, replaces="S-000012"),
    "several taxes": balanced(
        **{
            **PLAIN,
            "commission": "324.57",
            "taxes": [
                tax_row("124.57", "26.16", "2026-11-01", "2026-11-14", percent="21"),
                tax_row("100.00", "9.00", "2026-11-15", "2026-11-20", percent="9"),
                tax_row("50.00", "0.00", "2026-11-21", "2026-11-25", **_REVERSE),
                {
                    **tax_row("50.00", "0.00", "", "", **_EXEMPT),
                    "tax_points": [
                        {"from": "2026-11-26", "to": "2026-11-26"},
                        {"from": "2026-11-30", "to": "2026-11-30"},
                    ],
                },
            ],
            "tax": "35.16",
        }
    ),
    "reverse charge": balanced(
        **{
            **PLAIN,
            "customer": BERLIN,
            "taxes": [tax_row("224.57", "0.00", "2026-11-02", "2026-11-30", **_REVERSE)],
            "tax": "0.00",
        }
    ),
    "exempt": balanced(
        **{**PLAIN, "taxes": [tax_row("224.57", "0.00", "2026-11-02", "2026-11-30", **_EXEMPT)], "tax": "0.00"}
    ),
    "outside the scope": balanced(
        **{**PLAIN, "taxes": [tax_row("224.57", "0.00", "2026-11-02", "2026-11-30", **_OUTSIDE)], "tax": "0.00"}
    ),
    "in yen": balanced(
        **{
            **PLAIN,
            "currency": "JPY",
            "opening": "0",
            "previous": None,
            "by_kind": kinds(sales=sums(9, "1234567", "123456.7"), refunds=sums(2, "-10000", "-1000.0")),
            "net": "1224567",
            "commission": "122457",
            "taxes": [tax_row("122457", "12246", "2026-11-02", "2026-11-30", percent="10")],
            "tax": "12246",
            "tax_in": {**_EURO, "exchange_rate": "170.23", "base": "719.36", "tax": "71.94"},
            "base": {
                "currency": "EUR",
                "net": "7193.60",
                "commission": "719.36",
                "payments": "0.00",
                "missing": ["202611010130"],
            },
        }
    ),
    "in Kuwaiti dinars": balanced(
        **{
            **PLAIN,
            "currency": "KWD",
            "opening": "1.5",
            "net": "2245.675",
            "commission": "224.568",
            "taxes": [tax_row("224.568", "11.228", "2026-11-02", "2026-11-30", percent="5")],
            "tax": "11.228",
            "tax_in": _EURO,
        }
    ),
    "German": in_language("de", BERLIN, percent="19"),
    "French": in_language("fr", PARIS, percent="20", collects="marketplace", proceeds="224570.10"),
    "Spanish": in_language("es", MADRID, percent="21"),
    "Dutch": in_language("nl", UTRECHT, percent="21"),
    "German reverse charge": in_language(
        "de", BERLIN, percent="0", taxes=[tax_row("22457.01", "0.00", "2026-11-01", "2026-11-30", **_REVERSE)]
    ),
    "Dutch credit note": _credit_note(language="nl", customer=UTRECHT, currency="EUR"),
    "the marketplace pays": balanced(**{**PLAIN, "collects": "marketplace", "proceeds": "2245.68", "opening": "0"}),
    "zero": balanced(**{**PLAIN, "opening": "0", "previous": None, "payments": "269.48"}),
    "only a payment": balanced(
        **{
            **PLAIN,
            "by_kind": kinds(payments=sums(1, "320.00", "0")),
            "net": "0",
            "commission": "0.00",
            "commission_exact": "0",
            "taxes": [tax_row("0.00", "0.00", "2026-11-30", "2026-11-30")],
            "tax": "0.00",
            "payments": "320.00",
            "opening": "284.02",
            "days": [],
            "terms": [],
            "orders": [],
            "lines": 1,
            "lines_in_orders": 0,
        }
    ),
    "300 orders": balanced(
        **{**PLAIN, "orders": many_orders(300), "days": many_days("84.25"), "lines": 5012, "lines_in_orders": 342}
    ),
    "long names": balanced(
        **{
            **PLAIN,
            "agency": "w" * 200,
            "number": "2026/EMEA-STATEMENT-0000000017",
            "customer": {**BERLIN, "legal_name": LONG_NAME * 2},
            "owner": {**statement()["owner"], "legal_name": LONG_NAME, "logo": None},
            "orders": [order_row("w" * 200, "株" * 200, sums(1, f"-{'9' * 38}", "-0.999", "net"))],
        }
    ),
    "right to left": balanced(
        **{
            **PLAIN,
            "customer": agency(
                legal_name="دار الكتب العربية (ش.م.م) 2026",
                address="شارع الحمراء 12\nبيروت 1103",
                country="LB",
                vat_id="LB601234",
                contact="مكتب الحسابات",
            ),
        }
    ),
    "nobody": balanced(**{**PLAIN, "customer": NOBODY, "owner": dict.fromkeys(statement()["owner"])}),
}
"""Their figures are plausible; they do not all follow from lines."""
