"""The windows of an account, pure: those that its item holds, and how to join them with the items of those that left.

- A window is a quarter-hour, a day, a period, or a number of distinct customers. Its name is its sort key.
- The account item holds what is counted of a window since the window was opened in it. When the window leaves, that is
  added to the window's own item. So what is counted is the sum of both.
- An own item keeps in ``left_at`` the version of the account item with which its window left last. An account item that
  was read before has an older version: what it holds of the window is in the own item already.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from heapq import merge
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, Self

from quarterhour.counters.keys import account_pk, is_customers, latest_key
from quarterhour.model.charge_totals import NO_CHARGE_TOTALS, ChargeTotals
from quarterhour.model.clock import parse_iso
from quarterhour.model.errors import AccountItemError
from quarterhour.model.identifiers import Account
from quarterhour.model.money import plain
from quarterhour.model.periods import Period
from quarterhour.model.schema import SCHEMA, check_schema
from quarterhour.model.totals import PeriodTotals, Totals, add_up

_TALLIES: Final = ("customers", "new_customers", "new_customers_of_day")
_NOTHING: Final = Totals()

Counter = dict[str, Any]
"""A counter item in plain values."""


@dataclass(frozen=True, slots=True)
class Window:
    """What is counted of a window since it was opened in the account item.

    - ``watermarks``: of a quarter-hour, the ``seq`` of the last counted posting of each shard.
    - ``seq``: the watermark of all shards, of a quarter-hour that was repaired.
    - ``periods``: what a quarter-hour added to other periods than its own month in UTC.
    - ``tallies``: numbers of customers by attribute.
    """

    totals: Totals = _NOTHING
    watermarks: Mapping[str, str] = field(default_factory=dict)
    seq: str = ""
    periods: PeriodTotals = field(default_factory=dict)
    tallies: Mapping[str, int] = field(default_factory=dict)

    def __add__(self, other: "Window") -> "Window":
        """Return both together; the watermarks are those of the later one."""
        tallies = {name: self.tallies.get(name, 0) + other.tallies.get(name, 0) for name in _TALLIES}
        return Window(
            self.totals + other.totals,
            {**self.watermarks, **other.watermarks} if other.watermarks else self.watermarks,
            max(self.seq, other.seq),
            add_up(dict(self.periods), other.periods.items()) if other.periods else self.periods,
            {name: number for name, number in tallies.items() if number} if other.tallies else self.tallies,
        )

    def packed(self) -> Counter:
        """Return the map that the account item holds; each of its totals is one text."""
        return {
            **({} if self.totals == _NOTHING else {"totals": _packed(self.totals)}),
            **({"watermarks": dict(self.watermarks)} if self.watermarks else {}),
            **({"seq": self.seq} if self.seq else {}),
            **({"periods": {str(one): _packed(of) for one, of in self.periods.items()}} if self.periods else {}),
            **self.tallies,
        }

    @classmethod
    def unpacked(cls, packed: Mapping[str, Any]) -> Self:
        """Parse the map that ``packed`` returns."""
        return cls(
            _unpacked(packed["totals"]) if "totals" in packed else _NOTHING,
            packed.get("watermarks", {}),
            packed.get("seq", ""),
            {Period.parse(one): _unpacked(text) for one, text in packed.get("periods", {}).items()},
            {name: int(packed[name]) for name in _TALLIES if name in packed},
        )

    def added_to(self, own: Counter) -> Counter:
        """Return the values of a window's own item, with this added; ``own`` may hold the key alone."""
        tallies = {name: int(own.get(name, 0)) + number for name, number in self.tallies.items()}
        if is_customers(own["sk"]):
            return {**own, **tallies}
        totals = (Totals.of(own) if "events" in own else _NOTHING) + self.totals
        watermarks = _later(own.get("watermarks", {}), self.watermarks)
        others = add_up(other_periods(own), self.periods.items())
        split = {str(period): one.as_dict() for period, one in others.items() if one != _NOTHING}
        return {
            **own,
            **totals.as_dict(),
            **({"watermarks": watermarks} if watermarks else {}),
            **({"seq": self.seq} if self.seq else {}),
            **({"periods": split} if split or "periods" in own else {}),
            **tallies,
        }


def _later(some: Mapping[str, str], others: Mapping[str, str]) -> dict[str, str]:
    """Return the later watermark of each shard."""
    return {shard: max(some.get(shard, ""), others.get(shard, "")) for shard in {**some, **others}}


def _packed(totals: Totals) -> str:
    figures = (totals.gross, totals.refunds, totals.commission, totals.payments)
    charges = [json.dumps(totals.charges.as_dict(), ensure_ascii=False)] if totals.charges else []
    return " ".join((str(totals.events), *map(plain, figures), *charges))


def _unpacked(text: str) -> Totals:
    events, gross, refunds, commission, payments, *more = text.split(" ", 5)
    charges = ChargeTotals.of(json.loads(more[0])) if more else NO_CHARGE_TOTALS
    return Totals(int(events), *map(Decimal, (gross, refunds, commission, payments)), charges=charges)


def other_periods(own: Mapping[str, Any]) -> PeriodTotals:
    """Return what a quarter-hour's own item has added to other periods than its own month in UTC."""
    return {Period.parse(text): Totals.of(values) for text, values in own.get("periods", {}).items()}


@dataclass(frozen=True, slots=True)
class AccountState:
    """An account item: lifetime totals, and the windows that have not left, by sort key.

    - ``version``: 0 of an account without an item.
    - ``version_floor``: what the first version must exceed, so that no cached copy of a lost item has the same.
    """

    account: Account
    totals: Totals = _NOTHING
    version: int = 0
    last_updated: str = ""
    windows: Mapping[str, Window] = field(default_factory=dict)
    version_floor: int = 0

    @classmethod
    def of(cls, account: Account, values: Mapping[str, Any] | None) -> Self:
        """Parse an account item; raise ``AccountItemError`` if its schema or a value is not known."""
        if not values:
            return cls(account)
        try:
            return cls._parsed(account, values)
        except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
            raise AccountItemError(f"the item of account {account} cannot be read: {error!r}") from error

    @classmethod
    def _parsed(cls, account: Account, values: Mapping[str, Any]) -> Self:
        check_schema(values.get("schema"))
        if values["last_updated"]:  # empty until something newer is counted, if a rebuild has made the item
            parse_iso(values["last_updated"])
        windows = {sk: Window.unpacked(packed) for sk, packed in values["open"].items()}
        return cls(account, Totals.of(values), int(values["version"]), values["last_updated"], windows)

    def plus(self, totals: Totals, windows: Mapping[str, Window], last_updated: str) -> "AccountState":
        """Return the state with a difference added to the lifetime, and others to windows."""
        added = dict(self.windows)
        for sk, window in windows.items():
            added[sk] = added[sk] + window if sk in added else window
        updated = max(self.last_updated, last_updated)
        return replace(self, totals=self.totals + totals, windows=added, last_updated=updated)

    def written(self, leaving: Iterable[str], version: int) -> "AccountState":
        """Return the state after the next write, which has this version, and with which these windows leave."""
        gone = frozenset(leaving)
        windows = {sk: window for sk, window in self.windows.items() if sk not in gone} if gone else self.windows
        return replace(self, version=version, windows=windows)

    def item(self) -> Counter:
        """Return the account item."""
        return {
            **latest_key(self.account),
            **self.totals.as_dict(),
            "version": self.version,
            "last_updated": self.last_updated,
            "schema": SCHEMA,
            "open": {sk: window.packed() for sk, window in self.windows.items()},
        }

    def counter_for_readers(self, sk: str, own: Counter | None) -> Counter | None:
        """Return what is counted of a window, for readers; ``None`` if nothing is.

        ``own``, the window's own item, must have been read after the state: if the window has left since, it holds all.
        """
        has_left = own is not None and own.get("left_at", 0) > self.version
        return own if has_left else self.counter_for_writers(sk, own)

    def counter_for_writers(self, sk: str, own: Counter | None) -> Counter | None:
        """Return what is counted of a window, for those who then write on condition of this state's version."""
        window = self.windows.get(sk)
        return own if window is None else window.added_to(own or {"pk": account_pk(self.account), "sk": sk})

    def counters_for_readers(self, own: Iterable[Counter], low: str, high: str) -> Iterator[Counter]:
        """Yield the counters with sort keys from ``low`` to ``high``, for readers, as if all windows had left.

        ``own``: the own items of that range in the order of their sort keys, which must be read after the state.
        """
        return self._all(self.counter_for_readers, own, low, high)

    def counters_for_writers(self, own: Iterable[Counter], low: str, high: str) -> Iterator[Counter]:
        """Yield the same for those who then write on condition of this state's version."""
        return self._all(self.counter_for_writers, own, low, high)

    def _all(
        self, both: Callable[[str, Counter | None], Counter | None], own: Iterable[Counter], low: str, high: str
    ) -> Iterator[Counter]:
        stored: Iterator[tuple[str, Counter | None]] = ((item["sk"], item) for item in own)
        opened = ((sk, None) for sk in sorted(self.windows) if low <= sk <= high)
        for sk, some in groupby(merge(stored, opened, key=itemgetter(0)), key=itemgetter(0)):
            _, first = next(some)  # the own item, if there is one: the merge is stable
            counter = both(sk, first)
            if counter:
                yield counter
