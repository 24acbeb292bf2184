"""The profiles of electronic invoices that recipients take, pure: their identifiers, and what each needs of parties."""

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from quarterhour.registry.agencies.e_invoices import (
    EN16931,
    PEPPOL,
    REGISTER_SCHEMES,
    XRECHNUNG,
    is_wrong_routing_id,
    schemed,
)

NORM: Final = "urn:cen.eu:en16931:2017"
"""The identifier of EN 16931."""
_PROCESS: Final = "urn:fdc:peppol.eu:2017:poacc:billing:01:1.0"
_ADDRESS: Final = ("address", "post_code", "town")
_SELLER: Final = "owner"
_BUYER: Final = "agency"
_DUTCH: Final = frozenset({"0106", "0190"})
_NUMBERS: Final[Mapping[str, frozenset[str]]] = {
    "NL": _DUTCH, "DK": frozenset({"0184"}), "IS": frozenset({"0196"})
}  # fmt: skip
"""The schemes of the number of registration that Peppol's rules demand of sellers in a country."""
_NUMBERS_OF_BUYERS: Final = frozenset({"NL", "IS"})
"""The countries whose sellers must also name that of a buyer at home."""
_ADDRESSES: Final = frozenset({"NL", "IS", "IT"})
"""The countries whose sellers must give their address in parts, and but for Italy that of a buyer at home."""


class InvoiceProfile(NamedTuple):
    """A profile: its identifier (BT-24) and that of the business process (BT-23).

    ``is_german``: the rules of XRechnung hold, by which each row of tax has a percentage. ``names_means``: a means of
    payment is always named.
    """

    specification: str = NORM
    process: str | None = None
    is_german: bool = False
    names_means: bool = False


_PLAIN: Final = InvoiceProfile()


def profile_of(name: str, seller: Mapping[str, Any], buyer: Mapping[str, Any]) -> InvoiceProfile:
    """Return the profile of an invoice between two parties: EN 16931 alone if they lack what the profile needs."""
    if name == EN16931 or any(needs(name, seller, buyer)):
        return _PLAIN
    if name == XRECHNUNG:
        return InvoiceProfile(
            f"{NORM}#compliant#urn:xeinkauf.de:kosit:xrechnung_3.0", _PROCESS, is_german=True, names_means=True
        )
    specification = f"{NORM}#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0"
    german = _is_german(name, seller, buyer)
    return InvoiceProfile(specification, _PROCESS, german, german or seller.get("country") == "NL")


def needs(name: str, seller: Mapping[str, Any], buyer: Mapping[str, Any]) -> Iterator[str]:
    """Yield what a profile needs of the parties and what they lack, such as ``owner.phone``."""
    if name == EN16931:
        return
    parties = {_SELLER: seller, _BUYER: buyer}
    needed = [(_SELLER, "iban"), *((party, "electronic_address") for party in parties)]
    home = seller.get("country") or ""
    is_home = home == buyer.get("country")
    german = _is_german(name, seller, buyer)
    if german:
        needed += [(_SELLER, "phone"), (_SELLER, "email"), (_BUYER, "buyer_reference")]
    if german or home in _ADDRESSES:
        needed += [(_SELLER, one) for one in _ADDRESS]
    if german or (is_home and home in _ADDRESSES and home != "IT"):
        needed += [(_BUYER, one) for one in _ADDRESS]
    yield from (f"{party}.{one}" for party, one in needed if not parties[party].get(one))
    if name == PEPPOL and not german and not (buyer.get("buyer_reference") or buyer.get("purchase_order")):
        yield f"{_BUYER}.buyer_reference or {_BUYER}.purchase_order"
    if (reference := buyer.get("buyer_reference")) and german and is_wrong_routing_id(reference):
        yield f"{_BUYER}.buyer_reference with the check digits of a Leitweg-ID"
    if name == PEPPOL and home in _NUMBERS:
        for party in (_SELLER, *([_BUYER] if is_home and home in _NUMBERS_OF_BUYERS else [])):
            found = schemed(parties[party].get("registration_number"), REGISTER_SCHEMES)
            if not found or found[0] not in _NUMBERS[home]:
                yield f"{party}.registration_number with the scheme {' or '.join(sorted(_NUMBERS[home]))}"


def _is_german(name: str, seller: Mapping[str, Any], buyer: Mapping[str, Any]) -> bool:
    """Return whether the rules of XRechnung hold; Peppol has them for a seller and a buyer in Germany."""
    return name == XRECHNUNG or {seller.get("country"), buyer.get("country")} == {"DE"}
