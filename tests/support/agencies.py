"""Builders of agencies for tests."""

from typing import Any

FULL: dict[str, Any] = {
    "legal_name": "Harbour Books Ltd",
    "address": "1 Quay Street\nBristol BS1 4ER",
    "country": "GB",
    "tax": {"scheme": "standard", "percent": "20", "vat_id": "GB980780684"},
    "currency": "GBP",
    "group": "bookshops",
    "contact": "accounts@harbour.example",
    "status": "active",
    "language": "de",
    "collects": "marketplace",
    "iban": "GB82 WEST 1234 5698 7654 32",
    "valid_from": "2026-10-01T00:00:00Z",
}
"""The content of an agency's document with every field."""
STORED: dict[str, Any] = {**FULL, "iban": "GB82WEST12345698765432"}
"""The same as it is stored."""
OWNER: dict[str, Any] = {
    "legal_name": "Market Ltd",
    "address": "1 Quay\nBristol BS1 4ER",
    "country": "GB",
    "vat_id": "GB980780684",
    "iban": "GB82WEST12345698765432",
}
"""The content of the owner's document with all that a statement needs."""
ANYWHERE: dict[str, Any] = {**OWNER, "country": "JE"}
"""The same of an owner in Jersey, whose VAT rates are not known, so any percentage passes the checks."""


def tax(**changed: Any) -> dict[str, Any]:
    """Return the content of an agency that collects, with these changes of its tax profile.

    It is without what is changed to ``None``.
    """
    profile = {name: value for name, value in {**FULL["tax"], **changed}.items() if value is not None}
    return {**FULL, "collects": "agency", "tax": profile}
