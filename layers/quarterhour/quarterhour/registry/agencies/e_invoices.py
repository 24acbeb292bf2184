"""What parties register for electronic invoices, pure: how they are reached, and the profile that a recipient takes.

The code lists are those that EN 16931 refers to: EAS 15 for electronic addresses, ISO/IEC 6523 (ICD) for numbers of
registration, and VATEX for legal grounds, as the official rules of version 1.3.16 have them.
"""

import re
from typing import Any, Final

from quarterhour.model import fields, texts
from quarterhour.model.fields import Fields
from quarterhour.registry.agencies.addresses import POST_CODE, read_post_code

EN16931: Final = "en16931"
XRECHNUNG: Final = "xrechnung"
PEPPOL: Final = "peppol"
PROFILES: Final = (EN16931, XRECHNUNG, PEPPOL)
"""The norm itself, the German standard XRechnung 3.0, and Peppol BIS Billing 3.0."""
REACH_FIELDS: Final = ("post_code", "town", "email", "phone", "electronic_address", "registration_number")
"""What owner and agencies register."""
RECIPIENT_FIELDS: Final = ("invoice_profile", "buyer_reference", "purchase_order")
"""What agencies alone register."""

_EMAIL: Final = re.compile(r"[^\s@]{1,64}@[^\s@]+\.[^\s@.]{2,}")
_PHONE: Final = re.compile(r"\+?[0-9][0-9 ()/.-]{1,38}", re.ASCII)
_LEAST_DIGITS: Final = 3
_EAS: Final = """
    0002 0007 0009 0037 0060 0088 0096 0097 0106 0130 0135 0142 0147 0151 0154 0158 0170 0177 0183 0184 0188 0190 0191
    0192 0193 0194 0195 0196 0198 0199 0200 0201 0202 0203 0204 0205 0208 0209 0210 0211 0212 0213 0215 0216 0217 0218
    0219 0220 0221 0225 0230 0235 0240 0242 0244 0245 0246 0248 9910 9913 9914 9915 9918 9919 9920 9922 9923 9924 9925
    9926 9927 9928 9929 9930 9931 9932 9933 9934 9935 9936 9937 9938 9939 9940 9941 9942 9943 9944 9945 9946 9947 9948
    9949 9950 9951 9952 9953 9957 9959 AN AQ AS AU EM
"""
_VATEX: Final = """
    EU-79-C EU-132 EU-132-1A EU-132-1B EU-132-1C EU-132-1D EU-132-1E EU-132-1F EU-132-1G EU-132-1H EU-132-1I
    EU-132-1J EU-132-1K EU-132-1L EU-132-1M EU-132-1N EU-132-1O EU-132-1P EU-132-1Q EU-135-1 EU-143 EU-143-1A
    EU-143-1B EU-143-1C EU-143-1D EU-143-1E EU-143-1F EU-143-1FA EU-143-1G EU-143-1H EU-143-1I EU-143-1J EU-143-1K
    EU-143-1L EU-144 EU-146-1E EU-148 EU-148-A EU-148-B EU-148-C EU-148-D EU-148-E EU-148-F EU-148-G EU-151
    EU-151-1A EU-151-1AA EU-151-1B EU-151-1C EU-151-1D EU-151-1E EU-153 EU-159 EU-309 EU-AE EU-D EU-F EU-G EU-I
    EU-IC EU-J EU-O FR-298SEXDECIESA FR-AE FR-CGI261-1 FR-CGI261-2 FR-CGI261-3 FR-CGI261-4 FR-CGI261-5 FR-CGI261-7
    FR-CGI261-8 FR-CGI261A FR-CGI261B FR-CGI261C-1 FR-CGI261C-2 FR-CGI261C-3 FR-CGI261D-1 FR-CGI261D-1BIS
    FR-CGI261D-2 FR-CGI261D-3 FR-CGI261D-4 FR-CGI261E-1 FR-CGI261E-2 FR-CGI275 FR-CGI277A FR-CGI295 FR-CNWVAT
    FR-FRANCHISE
"""
_SCHEMED: Final = re.compile(r"([A-Z0-9]{2,4}):([!-~]{1,100})", re.ASCII)
ADDRESS_SCHEMES: Final = frozenset(_EAS.split())
"""The schemes of electronic addresses: the list EAS."""
REGISTER_SCHEMES: Final = frozenset(f"{one:04}" for one in range(2, 249)) - {"0092", "0103", "0181", "0182"}
"""The schemes of numbers of registration: the list ICD."""
ELECTRONIC_ADDRESS: Final = "a scheme of the list EAS and an address in it, such as 0088:4000001000005"
REGISTRATION_NUMBER: Final = f"{fields.TEXT}, after a scheme of the list ICD if it has one, such as 0106:12345678"
_PHONE_FORM: Final = "a telephone number of at least 3 digits, such as +49 40 123456"

VATEX: Final = frozenset(f"VATEX-{one}" for one in _VATEX.split())
"""The codes of legal grounds for no tax: the list VATEX."""


def read_reach(read: Fields, country: str | None) -> dict[str, Any]:
    """Return how a party of a country is reached, by the names of ``REACH_FIELDS``."""
    return {
        "post_code": read.value("post_code", POST_CODE, lambda value: _post_code(value, country), optional=True),
        "town": read.value("town", fields.TEXT, fields.text, optional=True),
        "email": read.value("email", "an email address", _email, optional=True),
        "phone": read.value("phone", _PHONE_FORM, _phone, optional=True),
        "electronic_address": read.value("electronic_address", ELECTRONIC_ADDRESS, _electronic_address, optional=True),
        "registration_number": read.value("registration_number", REGISTRATION_NUMBER, _number, optional=True),
    }


def read_recipient(read: Fields) -> dict[str, Any]:
    """Return what an agency wants of its invoices, by the names of ``RECIPIENT_FIELDS``."""
    profile = read.value("invoice_profile", f"one of {', '.join(PROFILES)}", _profile, optional=True)
    return {
        "invoice_profile": profile or EN16931,
        "buyer_reference": read.value("buyer_reference", fields.TEXT, fields.text, optional=True),
        "purchase_order": read.value("purchase_order", fields.TEXT, fields.text, optional=True),
    }


def schemed(identifier: str | None, schemes: frozenset[str]) -> tuple[str | None, str] | None:
    """Return scheme and identifier of a text such as ``0088:4000001000005``; without a known scheme, the text alone."""
    if not identifier:
        return None
    match = _SCHEMED.fullmatch(identifier)
    return (match[1], match[2]) if match and match[1] in schemes else (None, identifier)


def is_wrong_routing_id(reference: str) -> bool:
    """Return whether a buyer reference has the form of a German Leitweg-ID, and wrong check digits."""
    from stdnum.de import leitweg  # noqa: PLC0415 - loading the library takes long
    from stdnum.exceptions import InvalidChecksum, ValidationError  # noqa: PLC0415

    try:
        leitweg.validate(reference)
    except InvalidChecksum:
        return True
    except ValidationError:
        return False
    return False


def _profile(value: object) -> str | None:
    return value if isinstance(value, str) and value in PROFILES else None


def _post_code(value: object, country: str | None) -> str | None:
    return read_post_code(value, country) if isinstance(value, str) else None


def _email(value: object) -> str | None:
    line = fields.text(value)
    return line if line and _EMAIL.fullmatch(line) else None


def _phone(value: object) -> str | None:
    line = fields.text(value)
    is_number = line and _PHONE.fullmatch(line) and sum(map(str.isdigit, line)) >= _LEAST_DIGITS
    return line if is_number else None


def _electronic_address(value: object) -> str | None:
    found = schemed(texts.one_form(value), ADDRESS_SCHEMES) if isinstance(value, str) else None
    return ":".join((found[0], found[1])) if found and found[0] else None


def _number(value: object) -> str | None:
    return fields.text(value)
