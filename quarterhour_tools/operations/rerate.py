"""`quarterhour rerate`: computes commissions under another rate card, and posts the differences as adjustments."""

import argparse
import json
import sys
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cache
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final

from rich.table import Column, Table
from rich.text import Text

from quarterhour.ledger.events.event import Rerating
from quarterhour.ledger.postings.posting import Facts
from quarterhour.ledger.recording.order_fees import order_key
from quarterhour.ledger.rerating.plan import (
    BearersOf,
    Fee,
    PricingOf,
    Rerated,
    ReratingRequest,
    by_account,
    rerated,
    sums_of,
)
from quarterhour.model import exact_json, money
from quarterhour.model.clock import iso_exact, parse_iso
from quarterhour.model.errors import in_words
from quarterhour.model.fields import printable
from quarterhour.model.identifiers import Identity
from quarterhour.model.money import Rounding
from quarterhour.registry.documents.keys import RATE_CARD, agency_document, is_agency
from quarterhour.registry.documents.timeline import Start, Timeline, with_start
from quarterhour.registry.rate_cards.charge import Pricing
from quarterhour.registry.rate_cards.plan import RateCards
from quarterhour.registry.rate_cards.rate_card import RateCard, read_rate_card
from quarterhour_tools.errors import ToolError
from quarterhour_tools.output import counted, plain_console, print_table
from quarterhour_tools.target.deployment import api, configure_span, configure_target, operator
from quarterhour_tools.target.remote import IN_LEDGER, Json, Remote, failure, reasons, segment

NAME: Final = "rerate"
DESCRIPTION: Final = (
    "Compute the commissions of recorded events under another rate card, and post the differences as adjustments "
    "that refer to the events. A second run posts only missing adjustments, and nothing twice. Exit code 1 if "
    "some could not be posted."
)

_PAGE: Final = "1000"
_NOW: Final = "9998-12-31"
"""Later than every instant of recording."""
_SHOWN: Final = 20
"""The most adjustments that are not posted and shown with the reasons."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour rerate``."""
    parser.add_argument(
        "--rate-card",
        required=True,
        metavar="NAME",
        help="the document of the rate card, such as rate-card:42; with --dry-run also a file with a rate card as JSON",
    )
    parser.add_argument("--version", type=int, metavar="NUMBER", help="the version of the document (default: latest)")
    configure_span(parser, "of recording")
    agencies = parser.add_mutually_exclusive_group()
    agencies.add_argument("--agency", metavar="NAME", help="the agency whose events are rerated")
    agencies.add_argument("--all-agencies", action="store_true", help="every agency")
    parser.add_argument("--reason", metavar="TEXT", help="why; each adjustment keeps it. Posting needs it")
    parser.add_argument("--by", metavar="NAME", help="the operator; each adjustment keeps the name (default: you)")
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and post nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    configure_target(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    remote = api(args)
    document, version, rate_card = _rate_card(args, remote)
    agency = _agency(args, document)
    request = ReratingRequest(Rerating(document, version, args.by or operator(args)), args.reason or "")
    if not (request.reason.strip() or args.dry_run):
        raise ToolError("say why the events are rerated (--reason)")
    events = _events(remote, args.start, agency)
    found = rerated(events, rate_card, (args.start, args.end), _pricing(remote, rate_card), _bearers(remote))
    try:
        adjustments = [(one.adjustment(request), one.difference) for one in found if one.is_changed]
    except ValueError as error:
        raise ToolError(str(error)) from error
    verdicts = Counter[str]() if args.dry_run else _post(remote, [event for event, _ in adjustments])
    if args.json:
        print(json.dumps(_as_dict(found, adjustments, verdicts), indent=2, ensure_ascii=False))
    else:
        _show(found, len(adjustments), verdicts, dry_run=args.dry_run)
    return 0 if verdicts.keys() <= IN_LEDGER else 1


def _rate_card(args: argparse.Namespace, remote: Remote) -> tuple[str, int, RateCard]:
    """Return the document of the rate card, its version and its content; a file has no version."""
    if args.rate_card.startswith(RATE_CARD):
        answer = _document(remote, args.rate_card, args.version)
        content = exact_json.parse(exact_json.canonical(answer["content"]))
        return args.rate_card, answer["version"], _read(content, args.rate_card)
    if not args.dry_run:
        raise ToolError(f"name the document of the rate card, such as {RATE_CARD}42: a file is for a --dry-run alone")
    try:
        return args.rate_card, 0, _read(exact_json.parse(Path(args.rate_card).read_bytes().decode()), args.rate_card)
    except OSError as error:
        raise ToolError(f"{args.rate_card} cannot be read: {error}") from error
    except ValueError as error:
        raise ToolError(f"{args.rate_card} is not JSON: {error}") from error


def _document(remote: Remote, name: str, version: int | None) -> Json:
    """Return a version of a document, the latest by default; raise ``ToolError`` if there is none."""
    path = f"/documents/{segment(name)}" + ("" if version is None else f"/versions/{version}")
    status, answer = remote.send("GET", path)
    if status == HTTPStatus.NOT_FOUND:
        missing = "no rate card" if version is None else f"no version {version} of the rate card"
        raise ToolError(f"there is {missing} {name}: write it first, or name another one with --rate-card")
    if status != HTTPStatus.OK:
        raise ToolError(failure("GET", path, status, answer))
    return answer


def _read(content: object, name: str) -> RateCard:
    rate_card = read_rate_card(content)
    if not isinstance(rate_card, RateCard):
        raise ToolError(f"{name} is not a rate card: {in_words(rate_card)}")
    return rate_card


def _agency(args: argparse.Namespace, document: str) -> str | None:
    """Return the agency whose events are rerated; ``None`` for all."""
    own = document.removeprefix(RATE_CARD)
    if own != document and is_agency(own):
        if args.all_agencies or args.agency not in {None, own}:
            raise ToolError(f"{document} is the rate card of the agency {own} alone")
        return own
    if not (args.agency or args.all_agencies or args.dry_run):
        raise ToolError("name the agency whose events are rerated (--agency), or give --all-agencies")
    agency: str | None = args.agency
    return agency


def _pricing(remote: Remote, rate_card: RateCard) -> PricingOf:
    """Return what charges depend on beside their event: the settings' rounding, and the agency's group at its time."""
    rounding = Rounding.HALF_EVEN
    if rate_card.is_rounded:
        status, answer = remote.send("GET", "/documents/settings")
        rounding = Rounding(answer["content"].get("rounding") or rounding) if status == HTTPStatus.OK else rounding

    @cache
    def registered(agency: str) -> RateCards:
        return RateCards({agency_document(agency): _registrations(remote, agency)}, {})

    def pricing(facts: Facts) -> Pricing:
        if not rate_card.is_of_group:
            return Pricing(rounding)
        agency, at = facts["agency"], parse_iso(facts.get("time") or facts["recorded_at"])
        return Pricing(rounding, registered(agency).group(agency, at))

    return pricing


def _registrations(remote: Remote, agency: str) -> Timeline:
    """Return the versions of an agency's registration, each with the group; none if it is not registered."""
    path = f"/documents/{segment(agency_document(agency))}"
    if remote.send("GET", path)[0] == HTTPStatus.NOT_FOUND:
        return ()
    found: Timeline = ()
    for one in reversed(list(remote.pages(f"{path}/versions", {}))):
        content = remote.get(f"{path}/versions/{one['version']}", {})["content"]
        found = with_start(found, Start(one["version"], parse_iso(one["valid_from"]), content.get("group") or ""))
    return found


def _bearers(remote: Remote) -> BearersOf:
    """Return the function that asks which lines bear the fees of the orders of some lines."""

    def bearers(lines: Collection[Facts]) -> dict[Fee, Identity]:
        return {
            (order_key(line), name): Identity(line["source"], id_)
            for line in lines
            for name, id_ in remote.get(_explanation(line), {}).get("order_fees", {}).items()
        }

    return bearers


def _explanation(facts: Facts) -> str:
    return f"/events/{segment(facts['source'])}/{segment(facts['id'])}/explain"


def _events(remote: Remote, start: datetime, agency: str | None) -> Iterator[Facts]:
    """Return the events that were recorded from an instant until now."""
    query = {"from": iso_exact(start), "to": _NOW, "limit": _PAGE, **({"agency": agency} if agency else {})}
    return remote.pages("/events", query)


def _post(remote: Remote, events: Sequence[dict[str, Any]]) -> Counter[str]:
    """Post the adjustments, and show why some are not posted; return the number of each verdict."""
    results = remote.record(events)
    for one in [one for one in results if one.verdict not in IN_LEDGER][:_SHOWN]:
        print(printable(f"{one.source} {one.id}: {one.verdict.value}: {reasons(one)}"), file=sys.stderr)
    return Counter(one.verdict.value for one in results)


def _as_dict(
    found: Sequence[Rerated], adjustments: Sequence[tuple[dict[str, Any], Decimal]], verdicts: Counter[str]
) -> dict[str, Any]:
    return {
        "accounts": {str(account): sums_of(events) for account, events in by_account(found).items()},
        "adjustments": [{"event": event, "commission": money.plain(commission)} for event, commission in adjustments],
        "verdicts": dict(verdicts),
    }


def _show(found: Sequence[Rerated], adjustments: int, verdicts: Counter[str], *, dry_run: bool) -> None:
    console = plain_console()
    names = ("events", "changed", "commission", "would be", "difference")
    table = Table("agency", "currency", *(Column(name, justify="right") for name in names))
    for account, events in by_account(found).items():
        table.add_row(Text(account.agency), account.currency, *map(str, sums_of(events).values()))
    print_table(console, table)
    if dry_run:
        console.print(f"{counted(adjustments, 'adjustment')} would be posted")
    else:
        counts = ", ".join(f"{number:,} {verdict}" for verdict, number in verdicts.items())
        console.print(f"{counted(adjustments, 'adjustment')} posted" + (f": {counts}" if counts else ""))
    if not verdicts.keys() <= IN_LEDGER:
        console.print("Not all of them are posted: run it again, with the same reason.", style="bold red")
