"""Reporting, the pure part: what a run covers, and what the counters say to it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Final, Self

from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Account, Partition
from quarterhour.model.quarter_hours import QuarterHour, span
from quarterhour.model.totals import Totals
from quarterhour.reports.keys import PENDING, last_closed, run_id, run_key

Tally = dict[tuple[Account, Partition], Totals]
"""What was read from the ledger, as the counters keep it: per account and partition."""
Run = dict[str, Any]
"""The control item of a run that is done."""
Places = dict[tuple[str, str], Totals]
"""What was sold where, per location (``GB#London``) and currency."""

SCHEMA: Final = 2
"""Of the files that a new run seals; one under way keeps its own.

2: the lines tell how a commission came about, and the summary shows a base currency, where the plan names one.
"""

_BEFORE_SCHEMAS: Final = 1
"""Of plans that were fixed before they named one."""

STREAM_LIFE: Final = timedelta(hours=24)
"""After this nothing comes out of the stream any more: a counter that lags still will lag for ever."""


@dataclass(frozen=True, slots=True)
class Content:
    """What the lines of a quarter-hour come to."""

    lines: int = 0
    accounts: Tally = field(default_factory=dict)
    places: Places = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sealed:
    """A quarter-hour's file of lines: how many, its SHA-256 and its size in bytes; no file where no line."""

    lines: int
    sha256: str = ""
    size: int = 0

    def as_list(self) -> list[Any]:
        """Return it in plain values, to be stored."""
        return [self.lines, self.sha256, self.size]

    @classmethod
    def of(cls, values: Sequence[Any]) -> Self:
        """Read what ``as_list`` wrote."""
        lines, sha256, size = values
        return cls(int(lines), sha256, int(size))


@dataclass(frozen=True, slots=True)
class Plan:
    """What one run covers, fixed before it begins and never changed: a crash leaves no report with other bounds.

    ``sealed`` is how far earlier invocations came, in the order of the quarter-hours. ``previous`` is the run
    before, as name and SHA-256 of its manifest; empty for the first. ``base`` is the currency that the summary shows
    every account in, too; empty for none.
    """

    first: QuarterHour
    last: QuarterHour
    planned_at: str
    code_version: str
    shards: int
    previous: tuple[str, str]
    sealed: tuple[Sealed, ...] = ()
    schema: int = SCHEMA
    base: str = ""

    @property
    def run(self) -> str:
        """The run's name."""
        return run_id(self.first, self.last)

    @property
    def quarter_hours(self) -> list[QuarterHour]:
        """The quarter-hours that it covers."""
        return list(span(self.first, self.last))

    def partitions(self, quarter_hour: QuarterHour) -> list[Partition]:
        """Return the ledger partitions of one of its quarter-hours."""
        return [Partition(quarter_hour, shard) for shard in range(self.shards)]

    def as_dict(self) -> dict[str, Any]:
        """Return it in plain values, to be stored."""
        return {
            "first": str(self.first),
            "last": str(self.last),
            "planned_at": self.planned_at,
            "code_version": self.code_version,
            "shards": self.shards,
            "previous": list(self.previous),
            "sealed": [one.as_list() for one in self.sealed],
            "schema": self.schema,
            "base": self.base,
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Read what ``as_dict`` wrote."""
        return cls(
            QuarterHour.parse(values["first"]),
            QuarterHour.parse(values["last"]),
            values["planned_at"],
            values["code_version"],
            int(values["shards"]),
            (values["previous"][0], values["previous"][1]),
            tuple(Sealed.of(one) for one in values["sealed"]),
            int(values.get("schema", _BEFORE_SCHEMAS)),
            values.get("base", ""),
        )


@dataclass(frozen=True, slots=True)
class ReportTerms:
    """What the deployment says of its reports: when a quarter-hour is closed, by which code, in which base currency."""

    grace: timedelta
    code_version: str
    base: str = ""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far the reports have come: the last sealed quarter-hour, the last run, and the plan under way."""

    sealed_through: QuarterHour
    previous: tuple[str, str]
    plan: Plan | None

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Read the checkpoint from its control item."""
        plan = values.get("plan")
        run, digest = values.get("previous", ("", ""))
        return cls(QuarterHour.parse(values["sealed_through"]), (run, digest), Plan.of(plan) if plan else None)


def next_plan(at: Checkpoint, now: datetime, terms: ReportTerms, shards: int) -> Plan | None:
    """Plan the closed quarter-hours after the checkpoint, at most to the end of their UTC day; ``None`` if none is."""
    first = at.sealed_through.next
    last = min(last_closed(now, terms.grace), QuarterHour.last_of(first.day))
    if first > last:
        return None
    return Plan(first, last, iso_millis(now), terms.code_version, shards, at.previous, base=terms.base)


class Proof(Enum):
    """What the counters say to a sealed quarter-hour."""

    VERIFIED = "verified"
    PENDING = "pending"
    DRIFT = "drift"


def proof(
    quarter_hour: QuarterHour, ledger: Mapping[Any, Totals], counters: Mapping[Any, Totals], now: datetime
) -> Proof:
    """Compare what the ledger holds of a quarter-hour with what was counted.

    A counter that has seen fewer events lags behind the stream, as long as that can still deliver them.
    """
    differing = [(totals, counters.get(key, Totals())) for key, totals in ledger.items() if counters.get(key) != totals]
    if not differing:
        return Proof.VERIFIED
    lagging = all(counted.events < totals.events for totals, counted in differing)
    return Proof.PENDING if lagging and now < quarter_hour.end + STREAM_LIFE else Proof.DRIFT


def by_place(contents: Iterable[Content]) -> Places:
    """Add up what was sold at each place."""
    sums: Places = {}
    for content in contents:
        for place, totals in content.places.items():
            sums[place] = sums.get(place, Totals()) + totals
    return sums


def by_account(tallies: Iterable[Tally]) -> dict[Account, Totals]:
    """Add up tallies to totals of each account, in the order of the accounts."""
    sums: dict[Account, Totals] = {}
    for tally in tallies:
        for (account, _), totals in tally.items():
            sums[account] = sums.get(account, Totals()) + totals
    return dict(sorted(sums.items()))


def run_values(plan: Plan, sealed: Sequence[Sealed], manifest_sha256: str) -> dict[str, Any]:
    """Return a run's control item: its plan, what it sealed, and the hash of its manifest."""
    files = zip(plan.quarter_hours, sealed, strict=True)
    return {
        **run_key(plan.run),
        "plan": replace(plan, sealed=()).as_dict(),
        "planned_at": plan.planned_at,
        "buckets": len(sealed),
        "lines": sum(one.lines for one in sealed),
        "manifest_sha256": manifest_sha256,
        "sealed": {str(quarter_hour): one.as_list() for quarter_hour, one in files if one.lines},
        "verdicts": {},
    }


def sealed_of(plan: Plan, sealed: Mapping[str, Sequence[Any]]) -> list[Sealed]:
    """Return what a run's control item says was sealed, one for each quarter-hour of its plan."""
    return [Sealed.of(sealed[str(one)]) if str(one) in sealed else Sealed(0) for one in plan.quarter_hours]


def with_proofs(run: Mapping[str, Any], proofs: Mapping[QuarterHour, Proof]) -> dict[str, Any]:
    """Return a run's control item with what the counters say now; it stands in the index while any is pending."""
    said = {**run["verdicts"], **{str(quarter_hour): one.value for quarter_hour, one in proofs.items()}}
    worst = next((one for one in (Proof.DRIFT, Proof.PENDING) if one.value in said.values()), Proof.VERIFIED)
    index = {"gsi1pk": PENDING, "gsi1sk": run["sk"]} if Proof.PENDING.value in said.values() else {}
    values = {name: value for name, value in run.items() if name not in {"gsi1pk", "gsi1sk"}}
    return {**values, "verdicts": said, "counters": worst.value, **index}
