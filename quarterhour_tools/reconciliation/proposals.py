"""Proposes the events after which the ledger agrees with the provider: adjustments and payments. Pure.

An id is made of the provider's line and the number of corrections that its group has in the ledger. So the same
proposal has the same id until it is recorded, and sending it twice adds nothing.
"""

from collections.abc import Callable
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final, NamedTuple

from quarterhour.file_formats.csv.provider_map import EXTRA, ProviderMap
from quarterhour.ledger.events.event import ADJUSTMENT, PAYMENT, SALE, Rejection, read_event
from quarterhour.model import fields, money
from quarterhour.model.errors import in_words
from quarterhour.model.identifiers import Identity
from quarterhour_tools.reconciliation.lines import (
    RECONCILES,
    SOURCE,
    LedgerLine,
    ProviderLine,
)
from quarterhour_tools.reconciliation.plan import AMOUNT, FEE, Finding, Status, net

SaleOf = Callable[[str], LedgerLine | None]
"""Returns the sale of the ledger in a group."""

Changes = dict[tuple[str, str], Decimal]
"""What the ledger lacks by agency and currency."""

_LONGEST: Final = 150
"""The most characters of a line's name in an id."""
_LONGEST_PROVIDER: Final = 20
_PAYOUT: Final = "payout"


class Proposed(NamedTuple):
    """The events that a finding proposes, and why there are none, if so."""

    events: tuple[dict[str, Any], ...] = ()
    why: str = ""


def propose(finding: Finding, provider: ProviderMap, sale_of: SaleOf) -> Proposed:
    """Return what a finding of a provider proposes."""
    if finding.status is Status.MATCHED:
        return Proposed()
    if finding.status is Status.MISSING_THERE:
        return Proposed(why="the provider may report it later: void it, or refund it, if it never does")
    first = finding.provider[0]
    agency = first.agency or (finding.ledger[0].agency if finding.ledger else None)
    if agency is None:
        return Proposed(why="the file names no agency")
    changes = _changes(finding, agency, AMOUNT)
    if not changes:
        return Proposed(why="no amount differs")
    prefix, dot, fee = provider.fee_field.partition(".")
    about = _About(
        finding,
        provider.provider,
        first,
        _sale(finding, first, sale_of),
        fee if dot and prefix == EXTRA else "",
        _changes(finding, agency, FEE),
    )
    events = [_event(about, place, account, changes[account]) for place, account in enumerate(sorted(changes), 1)]
    for event in events:
        read = read_event(event)
        if isinstance(read, Rejection):
            return Proposed(why=f"the ledger would reject it: {in_words(read.problems)}")
    return Proposed(tuple(events))


class _About(NamedTuple):
    """What the events of a finding have in common. ``fee``: the member of ``extra`` for the provider's fee, if any."""

    finding: Finding
    provider: str
    line: ProviderLine
    sale: "_Sale | None"
    fee: str
    fees: Changes

    def id(self, place: int) -> str:
        """Return the id of one of the events: the same until the ledger has another correction of the group."""
        corrections = sum(1 for one in self.finding.ledger if one.corrects)
        name = self.line.name
        if len(name) > _LONGEST or not fields.is_name(name):
            name = sha256(name.encode()).hexdigest()
        return f"{self.provider[:_LONGEST_PROVIDER]}:{self.line.kind}:{name}:{corrections + 1}.{place}"


class _Sale(NamedTuple):
    """The sale that an adjustment refers to, and its account if the ledger's lines show it."""

    identity: Identity
    agency: str
    currency: str


def _sale(finding: Finding, line: ProviderLine, sale_of: SaleOf) -> _Sale | None:
    """Return the sale that the adjustment of a finding refers to; ``None`` if there is none, or several."""
    own = [one for one in finding.ledger if not one.corrects]
    if len(own) == 1:
        (one,) = own
        identity = one.identity if one.type == SALE else one.refers_to
        return _Sale(identity, one.agency, one.currency) if identity else None
    if not own and line.sale and (found := sale_of(line.sale)) and found.type == SALE:
        return _Sale(found.identity, found.agency, found.currency)
    return None


def _changes(finding: Finding, agency: str, measure: str) -> Changes:
    """Return what the ledger lacks of a measure; a period is no change, as the ledger decides it."""
    known = [line._replace(agency=line.agency or agency) for line in finding.provider]
    total: Changes = {}
    for change, lines in ((money.add, known), (_less, finding.ledger)):
        for (currency, whose, _), amount in net(lines, by_agency=True, measure=measure).items():
            total[whose, currency] = change(total.get((whose, currency), money.ZERO), amount)
    return {account: amount for account, amount in total.items() if amount}


def _less(left: Decimal, right: Decimal) -> Decimal:
    return money.add(left, money.negated(right))


def _event(about: _About, place: int, account: tuple[str, str], amount: Decimal) -> dict[str, Any]:
    (agency, currency), line, finding = account, about.line, about.finding
    reason = fields.printable(f"{about.provider} {line.name}: {finding.label}", _LONGEST)
    data: dict[str, Any] = {"amount": money.plain(amount), "currency": currency, "reason": reason}
    sale = about.sale
    if line.kind != _PAYOUT and sale and (sale.agency, sale.currency) == account:
        data |= {"refers_to": sale.identity.id, "refers_to_source": sale.identity.source}
    data["extra"] = {"provider": about.provider, "line": line.name, RECONCILES: line.group}
    if about.fee and account in about.fees:
        data["extra"][about.fee] = money.plain(about.fees[account])
    event: dict[str, Any] = {
        "specversion": "1.0",
        "source": SOURCE,
        "id": about.id(place),
        "type": PAYMENT if line.kind == _PAYOUT else ADJUSTMENT,
        "subject": agency,
    }
    return event | ({"time": line.time} if line.time else {}) | {"data": data}
