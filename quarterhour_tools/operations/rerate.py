"""`quarterhour rerate`: computes commissions under another rate card, and posts the differences as adjustments."""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from decimal import Decimal
from functools import reduce
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from quarterhour.ledger.explanation import Facts
from quarterhour.ledger.http import BATCH, MAX_BATCH
from quarterhour.ledger.rerate import Rerated, rerated
from quarterhour.model import exact_json, money
from quarterhour.model.clock import iso_exact
from quarterhour.model.errors import in_words
from quarterhour.model.identifiers import Account
from quarterhour.rate_cards.rate_card import RateCard, read_rate_card
from quarterhour_tools.errors import ToolError
from quarterhour_tools.operations.deployment import api, configure_span, configure_target
from quarterhour_tools.operations.remote import Remote

_PAGE: Final = "1000"
_NOW: Final = "9998-12-31"
"""Later than every instant of recording."""
_POSTED: Final = ("recorded", "duplicate")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour rerate``."""
    parser.add_argument("--card", type=Path, required=True, metavar="FILE", help="the rate card, as JSON")
    configure_span(parser, "of recording")
    agencies = parser.add_mutually_exclusive_group()
    agencies.add_argument("--agency", metavar="NAME", help="the agency of the rate card")
    agencies.add_argument("--all-agencies", action="store_true", help="every agency; posting needs this or --agency")
    parser.add_argument("--dry-run", action="store_true", help="show what would change, and post nothing")
    parser.add_argument("--json", action="store_true", help="print one JSON object instead of a table")
    configure_target(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    if not (args.agency or args.all_agencies or args.dry_run):
        raise ToolError("name the agency of the rate card (--agency), or give --all-agencies")
    rate_card = _rate_card(args.card)
    remote = api(args)
    found = rerated(_events(remote, args.start, args.agency), rate_card, args.start, args.end)
    try:
        changed = [one for one in found if one.difference]
    except ValueError as error:
        raise ToolError(str(error)) from error
    verdicts = Counter[str]() if args.dry_run else _post(remote, changed)
    if args.json:
        print(json.dumps(_as_dict(found, changed, verdicts), indent=2, ensure_ascii=False))
    else:
        _show(found, changed, verdicts, dry_run=args.dry_run)
    return 0 if verdicts.keys() <= set(_POSTED) else 1


def _rate_card(file: Path) -> RateCard:
    try:
        rate_card = read_rate_card(exact_json.parse(file.read_bytes().decode()))
    except ValueError as error:
        raise ToolError(f"{file} is not JSON: {error}") from error
    if not isinstance(rate_card, RateCard):
        raise ToolError(f"{file} is not a rate card: {in_words(rate_card)}")
    return rate_card


def _events(remote: Remote, start: datetime, agency: str | None) -> Iterator[Facts]:
    """Return the events that were recorded from an instant until now."""
    query = {"from": iso_exact(start), "to": _NOW, "limit": _PAGE, **({"agency": agency} if agency else {})}
    return remote.pages("/events", query)


def _post(remote: Remote, changed: Sequence[Rerated]) -> Counter[str]:
    """Post the adjustments; return the number of each verdict."""
    verdicts: Counter[str] = Counter()
    for first in range(0, len(changed), MAX_BATCH):
        batch = [one.adjustment() for one in changed[first : first + MAX_BATCH]]
        status, answer = remote.post("/events", BATCH, batch)
        if "counts" not in answer:
            raise ToolError(f"POST /events failed with {status}: {answer}; run it again to post the rest")
        verdicts.update(answer["counts"])
    return verdicts


def _sums(events: Sequence[Rerated]) -> dict[str, Any]:
    paid, due = (reduce(money.add, figures, money.ZERO) for figures in _figures(events))
    difference = money.add(due, money.negated(paid))
    return {
        "events": len(events),
        "changed": sum(bool(one.difference) for one in events),
        "commission": money.plain(paid),
        "would_be": money.plain(due),
        "difference": money.plain(difference),
    }


def _figures(events: Sequence[Rerated]) -> tuple[Iterator[Decimal], Iterator[Decimal]]:
    return (one.paid for one in events), (one.due for one in events)


def _by_account(found: Sequence[Rerated]) -> dict[Account, list[Rerated]]:
    accounts: dict[Account, list[Rerated]] = {}
    for one in found:
        accounts.setdefault(one.account, []).append(one)
    return dict(sorted(accounts.items()))


def _as_dict(found: Sequence[Rerated], changed: Sequence[Rerated], verdicts: Counter[str]) -> dict[str, Any]:
    return {
        "accounts": {str(account): _sums(events) for account, events in _by_account(found).items()},
        "adjustments": [one.adjustment() for one in changed],
        "verdicts": dict(verdicts),
    }


def _show(found: Sequence[Rerated], changed: Sequence[Rerated], verdicts: Counter[str], *, dry_run: bool) -> None:
    console = Console(highlight=False)
    names = ("events", "changed", "commission", "would be", "difference")
    table = Table("agency", "currency", *(Column(name, justify="right") for name in names))
    for account, events in _by_account(found).items():
        table.add_row(Text(account.agency), account.currency, *map(str, _sums(events).values()))
    console.print(table)
    if dry_run:
        console.print(f"{len(changed):,} adjustments would be posted")
    else:
        counts = ", ".join(f"{number:,} {verdict}" for verdict, number in verdicts.items())
        console.print(f"{len(changed):,} adjustments posted" + (f": {counts}" if counts else ""))
        if changed:
            console.print("After later refunds of these events, run it again with the same rate card and span.")
    if not verdicts.keys() <= set(_POSTED):
        console.print("Not all of them are posted: run it again.", style="bold red")
