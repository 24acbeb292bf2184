"""`quarterhour reconcile --connection`: which orders of a provider's export never arrived, and sends them."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import islice
from typing import Any, Final

from quarterhour.ledger.events.event import SALE, VOID
from quarterhour.model import money
from quarterhour.model.fields import printable
from quarterhour_tools.csv.file_events import FileEvents
from quarterhour_tools.csv.maps import MAPS_OF_PROVIDERS
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.connected_file import ConnectedFile, UnknownAgencyError
from quarterhour_tools.output import as_json, counted
from quarterhour_tools.target.deployment import api
from quarterhour_tools.target.remote import Remote, failure, segment

_AT_ONCE: Final = 8
_MANY: Final = 500
_FOUND, _MISSING = 200, 404
_SENT: Final = frozenset({"recorded", "duplicate", "held"})


@dataclass
class Gaps:
    """What of a file never arrived: events and sums by order, and the verdicts of those that were sent."""

    orders: set[str] = field(default_factory=set)
    missing: dict[str, dict[str, Decimal]] = field(default_factory=dict)
    verdicts: dict[str, int] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    def add(self, event: Mapping[str, Any]) -> None:
        """Add an event that never arrived."""
        data = event["data"]
        sums = self.missing.setdefault(_order_of(event), {})
        amount = Decimal(data.get("amount", 0))
        sums[data["currency"]] = money.add(sums.get(data["currency"], money.ZERO), amount)

    def document(self) -> dict[str, Any]:
        """Return the gaps as JSON."""
        return {
            "orders": len(self.orders),
            "missing": [
                {"order": order, "amounts": {one: money.plain(amount) for one, amount in sums.items()}}
                for order, sums in self.missing.items()
            ],
            "sent": self.verdicts,
            "problems": self.problems,
        }


def run(args: argparse.Namespace) -> int:
    """Run the command; return 0 if all orders have arrived now, else 1."""
    if args.folder or args.period or args.agencies or args.store or args.out:
        raise ToolError("--connection compares orders with a running stack: give only --map, --set, --dry-run, --json")
    remote = api(args, connections=_AT_ONCE)
    connection = remote.get(f"/connections/{segment(args.connection)}", {})
    provider = connection["provider"]
    map_ = args.map or MAPS_OF_PROVIDERS.get(provider)
    if map_ is None:
        raise ToolError(f"--map is missing: {provider} has no export file of its own")
    connected = ConnectedFile.of(remote, connection)
    file = FileEvents(args.file, map_, connected.given(map_, dict(args.set)))
    gaps = Gaps()
    events = (one for one in _events(file, connected, gaps) if one["type"] in {SALE, VOID})
    while some := list(islice(events, _MANY)):
        _compare(remote, some, gaps, send=not args.dry_run)
    print(as_json(gaps.document()) if args.json else "\n".join(_shown(gaps, sent=not args.dry_run)))
    unsent = sum(number for verdict, number in gaps.verdicts.items() if verdict not in _SENT)
    is_done = not (unsent or gaps.problems or (args.dry_run and gaps.missing))
    return 0 if is_done and file.summary.is_good else 1


def _events(file: FileEvents, connected: ConnectedFile, gaps: Gaps) -> Iterator[dict[str, Any]]:
    """Yield the events of a file with the source and the agencies of the connection."""
    for one in file.events():
        try:
            yield connected.event(one.body)
        except UnknownAgencyError as error:
            gaps.problems.append(f"{_order_of(one.body)}: {error}")


def _order_of(event: Mapping[str, Any]) -> str:
    data = event["data"]
    return str(data.get("order_id") or data.get("refers_to") or event["id"])


def _compare(remote: Remote, some: Sequence[dict[str, Any]], gaps: Gaps, *, send: bool) -> None:
    """Look up events, and send those that never arrived."""
    gaps.orders.update(_order_of(one) for one in some if one["type"] == SALE)
    with ThreadPoolExecutor(_AT_ONCE) as threads:
        known = list(threads.map(lambda one: _is_known(remote, one), some))
    missing = [one for one, is_known in zip(some, known, strict=True) if not is_known]
    for one in missing:
        gaps.add(one)
    for result in remote.record(missing) if send and missing else ():
        gaps.verdicts[result.verdict.value] = gaps.verdicts.get(result.verdict.value, 0) + 1
        if result.verdict.value not in _SENT:
            why = "; ".join(f"{one.field} {one.problem}" for one in result.problems)
            gaps.problems.append(f"{result.id}: {result.verdict.value}, {why}")


def _is_known(remote: Remote, event: Mapping[str, Any]) -> bool:
    path = f"/events/{segment(event['source'])}/{segment(event['id'])}/explain"
    status, answer = remote.send("GET", path)
    if status not in {_FOUND, _MISSING}:
        raise ToolError(failure("GET", path, status, answer))
    return status == _FOUND


def _shown(gaps: Gaps, *, sent: bool) -> Iterator[str]:
    for order, sums in gaps.missing.items():
        amounts = " and ".join(f"{money.plain(amount)} {currency}" for currency, amount in sums.items())
        yield printable(f"{order}: never arrived, {amounts}")
    yield from map(printable, gaps.problems)
    verdicts = ", ".join(f"{number:,} {verdict}" for verdict, number in gaps.verdicts.items())
    what = (f"sent: {verdicts}" if sent else "nothing was sent") if gaps.missing else "all have arrived"
    yield f"{counted(len(gaps.orders), 'order')}, {len(gaps.missing):,} of them incomplete; {what}"
