"""`quarterhour rate-cards`: shows what a table of rates changes, rule by rule, and writes the new versions."""

import argparse
import sys
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final, NamedTuple

from quarterhour.model import exact_json
from quarterhour.model.clock import iso_exact
from quarterhour.model.fields import printable
from quarterhour.registry.rate_cards.rate_card import RateCard, Rule, read_rate_card
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.rate_card_table import COLUMNS, TableRateCard, read
from quarterhour_tools.output import counted
from quarterhour_tools.target.deployment import api, configure_target, moment
from quarterhour_tools.target.remote import Remote, failure, segment

NAME: Final = "rate-cards"
DESCRIPTION: Final = (
    "Compare a table of rates with the latest version of each of its rate cards, print what changes rule by rule, ask, "
    "and write the new versions. A rate card gets the rules of the table alone. If a line is invalid, nothing is sent. "
    "Running it again changes nothing. Exit code 1 if lines were invalid or refused, or nothing was to be written."
)
FILE_HELP: Final = (
    f"CSV with a line for each charge, separated by , or ;: the columns are any of {', '.join(COLUMNS)}. Lines of the "
    "same conditions are one rule; without agency and group they are of the rate card of all. Several values of a "
    "condition are separated by |, tiers are such as 0=12 10000=10; plain or .gz, - for standard input"
)
_CONDITIONS: Final = ("product", "category", "location", "currency")
_YES: Final = frozenset({"y", "yes"})


class RateCardChange(NamedTuple):
    """A rate card of the table, the number of the version that is the latest, and the lines that say what changes."""

    rate_card: TableRateCard
    seen: int
    lines: tuple[str, ...]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of ``quarterhour rate-cards``."""
    parser.add_argument("file", metavar="FILE", help=FILE_HELP)
    parser.add_argument(
        "--from",
        dest="start",
        type=moment,
        metavar="INSTANT",
        help="from when on rate cards without valid_from are in force: an instant, or a date for its midnight UTC",
    )
    parser.add_argument("--yes", action="store_true", help="write without asking")
    configure_target(parser)


def run(args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    table = read(args.file, None if args.start is None else iso_exact(args.start))
    for bad in table.bad:
        print(printable(f"line {bad.number}: {bad.problem}"))
    if table.bad:
        print(f"{counted(len(table.bad), 'problem')}; nothing was sent")
        return 1
    remote = api(args)
    changes = [change for one in table.rate_cards if (change := _change(one, remote))]
    for change in changes:
        print("\n".join(map(printable, change.lines)))
    print(f"{len(changes):,} of {counted(len(table.rate_cards), 'rate card')} changed")
    if not changes:
        return 0
    if not (args.yes or _confirmed()):
        print("nothing was written")
        return 1
    written = [_write(change, remote) for change in changes]
    return 0 if all(written) else 1


def _confirmed() -> bool:
    if not sys.stdin.isatty():
        raise ToolError("nobody can be asked: give --yes to write what is shown")
    return input("Write them? [y/N] ").strip().lower() in _YES


def _change(one: TableRateCard, remote: Remote) -> RateCardChange | None:
    """Return what a rate card of the table changes; ``None`` if its latest version says the same."""
    path = f"/documents/{segment(one.document)}"
    status, latest = remote.send("GET", path)
    if status not in {HTTPStatus.OK, HTTPStatus.NOT_FOUND}:
        raise ToolError(failure("GET", path, status, latest))
    seen, before = (latest["version"], _rate_card(latest["content"])) if status == HTTPStatus.OK else (0, None)
    after = _rate_card(one.content)
    if before == after:
        return None
    version = "new" if before is None else f"version {seen + 1}"
    title = f"{one.document}: {version}, in force from {iso_exact(after.valid_from)}"
    return RateCardChange(one, seen, (title, *_differences(before.rules if before else (), after.rules)))


def _rate_card(content: Mapping[str, Any]) -> RateCard:
    rate_card = read_rate_card(exact_json.parse(exact_json.canonical(content)))
    if not isinstance(rate_card, RateCard):
        raise ToolError(f"a stored rate card cannot be read: {rate_card}")
    return rate_card


def _differences(before: tuple[Rule, ...], after: tuple[Rule, ...]) -> Iterator[str]:
    """Yield a line for each rule that is added or removed, and two for one that changes."""
    old, new = ({conditions_of(rule): rule for rule in rules} for rules in (before, after))
    same = 0
    for conditions, rule in new.items():
        if conditions not in old:
            yield f"  + {conditions}: {charges_of(rule)}"
        elif charges_of(old[conditions]) != charges_of(rule):
            yield f"  - {conditions}: {charges_of(old[conditions])}"
            yield f"  + {conditions}: {charges_of(rule)}"
        else:
            same += 1
    for conditions, rule in old.items():
        if conditions not in new:
            yield f"  - {conditions}: {charges_of(rule)}"
    if same:
        yield f"    {counted(same, 'rule')} unchanged"


def conditions_of(rule: Rule) -> str:
    """Return the conditions of a rule in words."""
    shown: Mapping[str, Any] = rule.as_dict()
    found = (shown.get(name) for name in _CONDITIONS)
    return ", ".join(" or ".join([one] if isinstance(one, str) else one) for one in found if one) or "all events"


def charges_of(rule: Rule) -> str:
    """Return the charges of a rule in words."""
    shown: Mapping[str, Any] = rule.as_dict()
    charges = shown.get("charges") or [{"name": "commission", "percent": shown["percent"]}]
    return "; ".join(map(_charge, charges))


def _charge(charge: Mapping[str, Any]) -> str:
    words = [charge["name"]]
    if tiers := charge.get("tiers"):
        steps = ", ".join(f"{one['percent']} % from {one['from']}" for one in tiers["steps"])
        words.append(f"{steps} ({tiers['mode']}, per {tiers['per']} and {tiers['of']})")
    if "percent" in charge:
        words.append(f"{charge['percent']} %")
    if "amount" in charge:
        words.append(charge["amount"])
    more = [
        f"{name.replace('_', ' ')} {charge[name]}"
        for name in ("of", "fixed", "fixed_per", "minimum", "maximum", "decimals", "refund", "per", "part_months")
        if name in charge
    ]
    return ", ".join([" ".join(words), *more])


def _write(change: RateCardChange, remote: Remote) -> bool:
    """Write a rate card; return whether it is written, and print it."""
    document = change.rate_card.document
    body = {"seen": change.seen, "content": change.rate_card.content}
    status, answer = remote.put(f"/documents/{segment(document)}", body)
    written = status in {HTTPStatus.OK, HTTPStatus.CREATED}
    result = f"version {answer['version']} written" if written else f"refused: {answer.get('detail', answer)}"
    print(printable(f"{document}: {result}"))
    return written
