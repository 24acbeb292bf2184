"""The checks of a draft, pure: what keeps it from being released, and what a person should look at first."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from quarterhour.model import money
from quarterhour.model.periods import Period
from quarterhour.registry.agencies.agency import REVERSE_CHARGE, STANDARD, Agency
from quarterhour.registry.owner import Owner
from quarterhour.statements.document.invoice_profiles import needs
from quarterhour.statements.drafts.draft import DraftItem, DraftState
from quarterhour.statements.parties import NO_VERSIONS, PartyVersions
from quarterhour.statements.releases.tax_checks import TAX_PERCENT, TAX_PLACE, doubts

if TYPE_CHECKING:
    from quarterhour.statements.releases import api

SUDDEN: Final = 3
"""A commission that is so many times that of the period before, or less than that part of it, is a sudden change."""
REFUSED: Final = "refused"
"""The check of a draft that an earlier release has refused. It is over with the next decision."""
INVOICE_PROFILE: Final = "invoice_profile"
"""The check of a draft whose parties lack what the agency's profile of electronic invoices needs."""
CONFIRMABLE: Final = frozenset({TAX_PERCENT, TAX_PLACE, INVOICE_PROFILE})
"""The checks that a release with a reason lifts: the law has exceptions, rates change, and paper is an invoice, too."""
_PARTY: Final = ("legal_name", "address", "country")
"""What an invoice must say of both parties: Article 226(5) of Directive 2006/112/EC."""


class Level(StrEnum):
    """Whether a check keeps a draft from being released."""

    FAILED = "failed"
    WARNING = "warning"


class Check(NamedTuple):
    """A check that a draft does not pass: its name, and what is wrong and what to do."""

    name: str
    level: Level
    message: str

    def as_dict(self) -> "api.DraftCheck":
        """Return the check as the API shows it."""
        return {"check": self.name, "level": self.level, "message": self.message}


@dataclass(frozen=True, slots=True)
class DraftContext:
    """What a draft is checked against.

    ``owner`` and ``agency``: those at the end of the period; ``agency`` is ``None`` if it is not registered then.
    ``agency_on``: returns the agency on a day. ``before``: the exact commission of the account's last period,
    ``None`` without one. ``earlier``: the first earlier period of the account that must be released first. ``disputes``
    and ``held``: the numbers of the agency's open disputes and held events. ``versions``: those of the parties.
    """

    owner: Owner
    agency: Agency | None
    agency_on: Callable[[date], Agency | None]
    before: Decimal | None = None
    earlier: Period | None = None
    disputes: int = 0
    held: int = 0
    versions: PartyVersions = NO_VERSIONS


def checks(draft: DraftItem, context: DraftContext) -> list[Check]:
    """Return the checks that a draft does not pass, those that keep it from being released first."""
    found = failed(draft, context)
    if draft.refusal and not found:
        found.append(Check(REFUSED, Level.WARNING, f"it was {draft.refusal}. Now it can be: release it"))
    return [*found, *_warnings(draft, context)]


def failed(draft: DraftItem, context: DraftContext) -> list[Check]:
    """Return the checks that keep a draft from being released."""
    return list(_failed(draft, context))


def unconfirmed(found: Iterable[Check], reason: str) -> list[Check]:
    """Return those failed checks that a release does not lift; ``reason``: why a person releases it, if one does."""
    return [one for one in found if not (reason and one.name in CONFIRMABLE)]


def _failed(draft: DraftItem, context: DraftContext) -> Iterator[Check]:
    owner, agency = context.owner, context.agency
    if draft.state is DraftState.HELD:
        yield Check("held", Level.FAILED, f"it is held: {draft.decisions[-1].reason}")
    if context.earlier:
        yield Check("order", Level.FAILED, f"the draft of {context.earlier} comes first: release it")
    untaxed, schemes = _taxes(draft, context)
    needs_vat_id = bool(schemes & {STANDARD, REVERSE_CHARGE})
    missing = [name for name in _PARTY if not (getattr(owner, name) or "").strip()]
    if needs_vat_id and owner.vat_id is None:
        missing.append("vat_id")
    if missing:
        yield Check("owner", Level.FAILED, f"the owner lacks {', '.join(missing)}: write them with `quarterhour owner`")
    if agency is None:
        yield Check("agency", Level.FAILED, f"the agency is not registered at the end of {draft.period}: register it")
    else:
        missing = [name for name in _PARTY if not (getattr(agency, name) or "").strip()]
        if REVERSE_CHARGE in schemes and (agency.tax is None or agency.tax.vat_id is None):
            missing.append("tax.vat_id, which the reverse charge needs")
        if missing:
            yield Check("agency", Level.FAILED, f"the agency lacks {', '.join(missing)}: register them")
        yield from _lacking(owner, agency)
    if untaxed:
        yield Check("tax", Level.FAILED, f"the agency has no tax profile on {untaxed}: register one valid from then on")
    for name, text in doubts(owner, _agencies(draft, context)).items():
        unless = ", or release it with a reason" if name in CONFIRMABLE else ""
        yield Check(name, Level.FAILED, f"{text}: correct the tax profile{unless}")


def _lacking(owner: Owner, agency: Agency) -> Iterator[Check]:
    if lacking := list(needs(agency.invoice_profile, owner._asdict(), agency._asdict())):
        lacks = f"the profile {agency.invoice_profile} of its electronic invoice lacks {', '.join(lacking)}"
        yield Check(INVOICE_PROFILE, Level.FAILED, f"{lacks}: write them, or release it with a reason")


def _taxes(draft: DraftItem, context: DraftContext) -> tuple[date | None, set[str]]:
    """Return the first tax point without a tax profile, and the schemes of the profiles of all others.

    The item of a draft holds no kinds and no categories, so a scheme counts if a profile names it for any of them.
    """
    untaxed: date | None = None
    schemes: set[str] = set()
    for day in _days(draft):
        agency = context.agency_on(day)
        profile = agency.tax if agency else None
        if profile:
            schemes |= profile.schemes
        untaxed = untaxed or (None if profile else day)
    return untaxed, schemes


def _agencies(draft: DraftItem, context: DraftContext) -> Iterator[tuple[date, Agency]]:
    """Yield the agency at each tax point at which it is registered."""
    for day in _days(draft):
        if agency := context.agency_on(day):
            yield day, agency


def _days(draft: DraftItem) -> Iterator[date]:
    """Yield the tax points of a draft; of one without any, the last day of its period."""
    last_day = draft.period.last_day
    for first, last in draft.tax_points or [(last_day, last_day)]:
        yield from (first + timedelta(days=number) for number in range((last - first).days + 1))


def _warnings(draft: DraftItem, context: DraftContext) -> Iterator[Check]:
    lines, commission = draft.default_rate_lines, draft.listed.figures["commission_exact"]
    if lines:
        message = f"the draft has {_counted(lines, 'line')} at the default commission rate, as no rate card applies"
        yield Check("default_rate", Level.WARNING, message)
    if lacking := draft.lacking_lines:
        message = f"{_counted(lacking, 'line')} without the tax or shipping that a charge leaves out: charged on more"
        yield Check("amount_parts", Level.WARNING, message)
    if context.before is not None and _is_sudden(context.before, commission):
        before, now = money.plain(context.before), money.plain(commission)
        yield Check("change", Level.WARNING, f"the commission is {now}, and was {before} in the period before")
    if context.disputes:
        yield Check("disputes", Level.WARNING, f"the agency has {_counted(context.disputes, 'disputed line')}")
    if early := draft.before_first_period:
        left_out = f"net {money.plain(early.amount)}, commission {money.plain(early.commission)}"
        message = f"{_counted(early.lines, 'line')} before the first period, on no statement: {left_out}"
        yield Check("before_first_period", Level.WARNING, message)
    if context.held:
        yield Check("held_events", Level.WARNING, f"the agency has {_counted(context.held, 'held event')}")


def _counted(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number} {what}s"


def _is_sudden(before: Decimal, now: Decimal) -> bool:
    if before.is_zero() or now.is_zero():
        return before != now
    if before.is_signed() != now.is_signed():
        return True
    low, high = sorted((abs(before), abs(now)))
    return high > money.multiply(low, Decimal(SUDDEN))
