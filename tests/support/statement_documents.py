"""Statements as JSON documents, for the page and the browser."""

from typing import Any, Final

LOGO = (
    "data:image/svg+xml;base64,"
    "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHdpZHRoPSIxNjAiIGhlaWdodD0iNDAiPjxyZWN0IHdpZHRoPSI0MCIgaGVp"
    "Z2h0PSI0MCIgcng9IjgiIGZpbGw9IiMxZDViYmYiLz48Y2lyY2xlIGN4PSIyMCIgY3k9IjIwIiByPSI5IiBmaWxsPSIjZmZmIi8+PC9zdmc+"
)
"""A square of 40 pixels."""

TORCH = "Crème brûlée torch, large, with two refills"
SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def sums(lines: int, amount: str, commission: str, name: str = "amount") -> dict[str, Any]:
    """Return the sum of some lines, as a statement shows it."""
    return {"lines": lines, name: amount, "commission": commission}


def tax_row(base: str, tax: str, first: str, last: str, **changed: Any) -> dict[str, Any]:
    """Return a row of tax at the standard rate, as a statement shows it; or at another."""
    tax_points = [{"from": first, "to": last}]
    row = {
        "scheme": "standard",
        "percent": "20",
        **dict.fromkeys(("country", "vat_id", "reason", "reason_code")),
        "note": "VAT 20 %",
        "base": base,
        "tax": tax,
        "tax_points": tax_points,
        "charges": [{"name": "commission", "exact": base, "amount": base}],
    }
    return {**row, **changed}


def order_row(order: str | None, product: str | None, some: dict[str, Any], **changed: Any) -> dict[str, Any]:
    """Return a row of an order's sales, as a statement shows it; or of other lines."""
    return {"order": order, "sale": None, "kind": "sales", "product": product, **changed, **some}


def statement(**changed: Any) -> dict[str, Any]:
    """Return the statement of a registered agency with lines of all kinds, with other fields at the top.

    It is taxed by one profile.
    """
    none = sums(0, "0", "0")
    return {
        "schema": 1,
        "document": "statement",
        "number": "S-000017",
        "issued_on": "2026-12-04",
        "due_on": "2027-01-03",
        "dispute_until": None,
        "payment_days": 30,
        "language": "en",
        "collects": "agency",
        "collected": [],
        "proceeds": "0",
        "rounding": "half-even",
        "tax_in": None,
        "period_charges": [],
        "cancels": None,
        "title": "statement",
        "replaces": None,
        "replaced_on": None,
        "paid_since": "0",
        "period": "2026-11",
        "from": "2026-11-01T00:00:00Z",
        "to": "2026-12-01T00:00:00Z",
        "time_zone": "Europe/London",
        "cut_off": "2026-12-04T00:00:00Z",
        "recorded_until": "2026-12-04T00:15:00Z",
        "agency": "42",
        "currency": "GBP",
        "owner": {
            "legal_name": "Café Marché Ltd",
            "address": "1 Quay Street\nBristol BS1 4DJ",
            "country": "GB",
            "vat_id": "GB123456789",
            "contact": "billing@cafe-marche.example",
            "logo": LOGO,
            "iban": "GB33BUKB20201555555555",
        },
        "customer": {
            "registered": True,
            "legal_name": "株式会社 東京書店",
            "address": "千代田区丸の内 1-1\n東京 100-0005",
            "country": "JP",
            "group": "bookshops",
            "contact": "経理部",
            "iban": None,
            "vat_id": "JP1234567890123",
        },
        "taxes": [tax_row("220.02", "44.00", "2026-10-14", "2026-11-30")],
        "opening": "120.00",
        "brought_forward": "20.00",
        "sales": "2345.675",
        "voids": "-100.00",
        "refunds": "-45.50",
        "adjustments": "0",
        "net": "2200.175",
        "commission_exact": "220.0175",
        "commission": "220.02",
        "tax": "44.00",
        "payable": "264.02",
        "payments": "100.00",
        "closing": "284.02",
        "lines": 14,
        "prior_period_lines": 1,
        "by_kind": {
            "sales": sums(9, "2345.675", "234.5675"),
            "voids": sums(1, "-100.00", "-10.00"),
            "refunds": sums(1, "-45.50", "-4.55"),
            "adjustments": sums(1, "0", "-1.25"),
            "brought_forward": sums(1, "0", "20.00"),
            "payments": sums(1, "100.00", "0"),
            "other": none,
        },
        "prior_period": {
            **dict.fromkeys(("sales", "voids", "adjustments", "brought_forward", "payments", "other"), none),
            "refunds": sums(1, "-45.50", "-4.55"),
        },
        "base": {"currency": "EUR", "net": "2508.20", "commission": "250.82", "payments": "114.00", "missing": []},
        "previous": {
            "period": "2026-10",
            "number": "S-000009",
            "document": "statement",
            "issued_on": "2026-11-04",
            "net": "1800.00",
            "commission": "180.00",
            "tax": "36.00",
            "payments": "116.00",
            "closing": "100.00",
            "lines": 11,
            "remainders": {"taxes": [], "proceeds": "0"},
        },
        "remainders": {
            "taxes": [{"scheme": "standard", "percent": "20", "base": "-0.0025", "tax": "0.004"}],
            "proceeds": "0",
        },
        "earlier_months": [{"month": "2026-10", **sums(1, "-45.50", "-4.55", "net")}],
        "days": [
            {"day": "2026-11-02", **sums(4, "800.00", "80.0000", "net")},
            {"day": "2026-11-14", **sums(5, "1545.675", "154.5675", "net")},
            {"day": "2026-11-30", **sums(1, "-100.00", "-10.00", "net")},
            {"day": None, **sums(2, "-45.50", "-5.80", "net")},
        ],
        "terms": [
            {"terms": "card 3", "commission_rate": "0.10", **sums(8, "2200.675", "220.0675", "net")},
            {"terms": "sale", "commission_rate": "0.10", **sums(2, "-145.50", "-14.55", "net")},
            {"terms": "default", "commission_rate": "0.10", **sums(1, "145.00", "14.50", "net")},
            {"terms": "event", "commission_rate": "0", **sums(1, "0", "-1.25", "net")},
        ],
        "lines_of_further_terms": 0,
        "orders": [
            order_row("o-1001", "العربية للمبتدئين", sums(3, "600.00", "60.0000", "net")),
            order_row("o-1002", TORCH, sums(7, "1745.675", "171.2675", "net")),
            order_row("o-1002", TORCH, sums(1, "-100.00", "-10.00", "net"), kind="voids"),
            order_row(None, None, sums(1, "-45.50", "-4.55", "net"), kind="refunds", sale="sale-77"),
        ],
        "lines_in_orders": 12,
        "lines_file": {"name": "lines.csv.gz", "sha256": SHA256, "size": 1204},
        **changed,
    }


PUBLISHED: Final = {"exchange_rate_source": "ecb", "exchange_rate_as_of": "2026-11-30T15:00:00.000Z"}
"""Who published the exchange rate of ``tax_in``, and since when it holds."""

NOBODY: Final[dict[str, Any]] = {**dict.fromkeys(statement()["customer"]), "registered": False}
"""The customer of a statement whose agency is not registered."""
