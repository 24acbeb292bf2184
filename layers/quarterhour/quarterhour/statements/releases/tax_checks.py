"""The checks of tax profiles that cannot be right, pure: each names what is unusual, and a release may confirm it."""

from collections.abc import Iterable, Iterator
from datetime import date
from decimal import Decimal
from typing import Any, Final, NamedTuple

from quarterhour.model import money
from quarterhour.registry.agencies.agency import OUTSIDE_SCOPE, REVERSE_CHARGE, STANDARD, Agency, TaxProfile
from quarterhour.registry.agencies.vat_ids import MEMBER_STATES, state_of
from quarterhour.registry.agencies.vat_rates import vat_rates
from quarterhour.registry.owner import Owner

TAX_PERCENT: Final = "tax_percent"
TAX_PLACE: Final = "tax_place"
TAX_VAT_ID: Final = "tax_vat_id"
_UNITED_KINGDOM: Final = "GB"
_MOST: Final = 3
"""The most problems that one check names."""


class Doubt(NamedTuple):
    """Why a tax profile may be wrong: the check that it belongs to, and what is wrong."""

    check: str
    text: str


def doubts(owner: Owner, agencies: Iterable[tuple[date, Agency]]) -> dict[str, str]:
    """Return what is doubtful by check; ``agencies``: the agency as registered at each tax point."""
    found: dict[str, list[str]] = {}
    before: Any = None
    for day, agency in agencies:
        known = owner.country and vat_rates(owner.country, day)
        if before and before[0] is agency and before[1] == known:
            continue  # as on the day before
        before = agency, known
        for check, text in _doubts(owner, day, agency):
            if text not in found.setdefault(check, []):
                found[check].append(text)
    return {check: "; ".join(texts[:_MOST]) for check, texts in found.items()}


def _doubts(owner: Owner, day: date, agency: Agency) -> Iterator[Doubt]:
    profile, home = agency.tax, state_of(None, owner.country)
    if profile is None or home is None or vat_rates(home, day) is None:
        return
    yield from _percent(profile, home, day)
    abroad = state_of(None, agency.country)
    if abroad is None:
        return
    if REVERSE_CHARGE in profile.schemes:
        if state_of(profile.vat_id, None) == home and abroad != home:
            yield Doubt(TAX_VAT_ID, f"reverse charge in {abroad} with the VAT id {profile.vat_id}, which is of {home}")
        elif abroad == home:
            yield Doubt(TAX_PLACE, f"reverse charge in {home}, where the owner charges VAT itself")
        elif home in MEMBER_STATES and abroad not in MEMBER_STATES:
            yield Doubt(
                TAX_PLACE, f"reverse charge in {abroad}, outside the European Union: it is outside the scope of VAT"
            )
    if profile.scheme == STANDARD and abroad != home and _is_taxable_there(profile, abroad):
        yield Doubt(TAX_PLACE, f"VAT of {home} for a business in {abroad} with the VAT id {profile.vat_id}")
    if profile.scheme == OUTSIDE_SCOPE and home in MEMBER_STATES and abroad in MEMBER_STATES:
        yield Doubt(TAX_PLACE, f"outside the scope of VAT, for an agency in {abroad}")


def _percent(profile: TaxProfile, home: str, day: date) -> Iterator[Doubt]:
    """Yield the percentages that are no rate of the owner's country. 0 is one: many countries have a zero rate."""
    known = vat_rates(home, day) or ()
    rates = (
        profile.rate_of("", ""),
        *profile.by_kind.values(),
        *profile.by_category.values(),
        *profile.by_charge.values(),
    )
    for rate in rates:
        if rate.scheme == STANDARD and not rate.percent.is_zero() and rate.percent not in known:
            shown = ", ".join(map(_plain, known))
            yield Doubt(TAX_PERCENT, f"{_plain(rate.percent)} % on {day} is no VAT rate of {home} (those are {shown})")


def _is_taxable_there(profile: TaxProfile, abroad: str) -> bool:
    """Return whether a business in another country owes the VAT there: it has a VAT id of a country that has one."""
    return profile.vat_id is not None and abroad in {*MEMBER_STATES, _UNITED_KINGDOM}


def _plain(value: Decimal) -> str:
    return money.plain(money.trimmed(value))
