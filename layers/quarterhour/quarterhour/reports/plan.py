"""Planning of reports, pure: the bounds of a run, and the proof of each bucket against the counters."""

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
"""Totals of ledger lines by account and partition."""
BucketTotals = dict[tuple[Account, QuarterHour], Totals]
"""Totals by account and quarter-hour, as the counters keep them."""
Run = dict[str, Any]
"""The control item of a finished run."""
LocationTotals = dict[tuple[str, str], Totals]
"""Totals by location (``GB#London``) and currency."""

SCHEMA: Final = 2
"""The schema of the files of a new run; a run under way keeps the schema of its plan.

2: the lines hold the price terms of each commission, and the summary has a base currency where the plan names one.
"""

_UNNAMED_SCHEMA: Final = 1
"""The schema of stored plans that name none."""

STREAM_RETENTION: Final = timedelta(hours=24)
"""The stream delivers nothing older: a counter that still lags after this will never catch up."""


@dataclass(frozen=True, slots=True)
class LineTotals:
    """Number and totals of the lines of a quarter-hour."""

    lines: int = 0
    accounts: Tally = field(default_factory=dict)
    locations: LocationTotals = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SealedFile:
    """The sealed file of a quarter-hour: number of lines, SHA-256, size in bytes. Without lines there is no file."""

    lines: int
    sha256: str = ""
    size: int = 0

    def as_list(self) -> list[Any]:
        """Return the file as plain values, to be stored."""
        return [self.lines, self.sha256, self.size]

    @classmethod
    def of(cls, values: Sequence[Any]) -> Self:
        """Parse what ``as_list`` returned."""
        lines, sha256, size = values
        return cls(int(lines), sha256, int(size))


@dataclass(frozen=True, slots=True)
class Plan:
    """The bounds and the settings of one run. They are stored before the run begins, so a crash never changes them.

    ``sealed`` holds the files that earlier invocations sealed, in the order of the quarter-hours. ``previous`` is the
    name of the previous run and the SHA-256 of its manifest; both are empty for the first run. ``base`` is the base
    currency of the summary; empty for none.
    """

    first: QuarterHour
    last: QuarterHour
    planned_at: str
    code_version: str
    shards: int
    previous: tuple[str, str]
    sealed: tuple[SealedFile, ...] = ()
    schema: int = SCHEMA
    base: str = ""

    @property
    def run(self) -> str:
        """The run's name."""
        return run_id(self.first, self.last)

    @property
    def quarter_hours(self) -> list[QuarterHour]:
        """The quarter-hours that the run covers."""
        return list(span(self.first, self.last))

    def partitions(self, quarter_hour: QuarterHour) -> list[Partition]:
        """Return the ledger partitions of a quarter-hour."""
        return [Partition(quarter_hour, shard) for shard in range(self.shards)]

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, to be stored."""
        return {
            "first": str(self.first),
            "last": str(self.last),
            "planned_at": self.planned_at,
            "code_version": self.code_version,
            "shards": self.shards,
            "previous": list(self.previous),
            "sealed": [file.as_list() for file in self.sealed],
            "schema": self.schema,
            "base": self.base,
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse what ``as_dict`` returned."""
        return cls(
            QuarterHour.parse(values["first"]),
            QuarterHour.parse(values["last"]),
            values["planned_at"],
            values["code_version"],
            int(values["shards"]),
            (values["previous"][0], values["previous"][1]),
            tuple(SealedFile.of(file) for file in values["sealed"]),
            int(values.get("schema", _UNNAMED_SCHEMA)),
            values.get("base", ""),
        )


@dataclass(frozen=True, slots=True)
class ReportTerms:
    """The deployment's settings for reports: grace period, version of the code, base currency (empty for none)."""

    grace: timedelta
    code_version: str
    base: str = ""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The progress of the reports: the last sealed quarter-hour, the last run, and the plan under way."""

    sealed_through: QuarterHour
    previous: tuple[str, str]
    plan: Plan | None

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse the checkpoint from its control item."""
        plan = values.get("plan")
        run, digest = values.get("previous", ("", ""))
        return cls(QuarterHour.parse(values["sealed_through"]), (run, digest), Plan.of(plan) if plan else None)


def next_plan(at: Checkpoint, now: datetime, terms: ReportTerms, shards: int) -> Plan | None:
    """Plan a run of the closed quarter-hours after the checkpoint, at most to the end of their UTC day.

    Returns ``None`` if none is closed.
    """
    first = at.sealed_through.next
    last = min(last_closed(now, terms.grace), QuarterHour.last_of(first.day))
    if first > last:
        return None
    return Plan(first, last, iso_millis(now), terms.code_version, shards, at.previous, base=terms.base)


class Proof(Enum):
    """The proof of a sealed bucket: whether the counters agree with it."""

    VERIFIED = "verified"
    PENDING = "pending"
    DRIFT = "drift"


def proof(
    quarter_hour: QuarterHour, ledger: Mapping[Any, Totals], counters: Mapping[Any, Totals], now: datetime
) -> Proof:
    """Return the proof of a bucket: compare its ledger totals with the counters.

    A counter with fewer events than the ledger is pending while the stream can still deliver the others.
    """
    differing = [(totals, counters.get(key, Totals())) for key, totals in ledger.items() if counters.get(key) != totals]
    if not differing:
        return Proof.VERIFIED
    lagging = all(counted.events < totals.events for totals, counted in differing)
    return Proof.PENDING if lagging and now < quarter_hour.end + STREAM_RETENTION else Proof.DRIFT


def by_bucket(tally: Tally) -> BucketTotals:
    """Add up the partitions of each account and quarter-hour."""
    sums: BucketTotals = {}
    for (account, partition), totals in tally.items():
        bucket = account, partition.quarter_hour
        sums[bucket] = sums.get(bucket, Totals()) + totals
    return sums


def by_location(quarter_hours: Iterable[LineTotals]) -> LocationTotals:
    """Add up the totals of each location."""
    sums: LocationTotals = {}
    for line_totals in quarter_hours:
        for sold, totals in line_totals.locations.items():
            sums[sold] = sums.get(sold, Totals()) + totals
    return sums


def by_account(tallies: Iterable[Tally]) -> dict[Account, Totals]:
    """Add up tallies by account, ordered by account."""
    sums: dict[Account, Totals] = {}
    for tally in tallies:
        for (account, _), totals in tally.items():
            sums[account] = sums.get(account, Totals()) + totals
    return dict(sorted(sums.items()))


def run_values(plan: Plan, sealed: Sequence[SealedFile], manifest_sha256: str) -> dict[str, Any]:
    """Return a run's control item: its plan, its sealed files, and the hash of its manifest."""
    files = zip(plan.quarter_hours, sealed, strict=True)
    return {
        **run_key(plan.run),
        "plan": replace(plan, sealed=()).as_dict(),
        "planned_at": plan.planned_at,
        "buckets": len(sealed),
        "lines": sum(file.lines for file in sealed),
        "manifest_sha256": manifest_sha256,
        "sealed": {str(quarter_hour): file.as_list() for quarter_hour, file in files if file.lines},
        "verdicts": {},
    }


def sealed_of(plan: Plan, sealed: Mapping[str, Sequence[Any]]) -> list[SealedFile]:
    """Parse the sealed files of a run's control item, one for each quarter-hour of its plan."""
    return [SealedFile.of(sealed[str(one)]) if str(one) in sealed else SealedFile(0) for one in plan.quarter_hours]


def with_proofs(run: Mapping[str, Any], proofs: Mapping[QuarterHour, Proof]) -> dict[str, Any]:
    """Return a run's control item with these proofs added; the item is in the index while any proof is pending."""
    merged = {**run["verdicts"], **{str(quarter_hour): proof_.value for quarter_hour, proof_ in proofs.items()}}
    worst = next((one for one in (Proof.DRIFT, Proof.PENDING) if one.value in merged.values()), Proof.VERIFIED)
    index = {"gsi1pk": PENDING, "gsi1sk": run["sk"]} if Proof.PENDING.value in merged.values() else {}
    values = {name: value for name, value in run.items() if name not in {"gsi1pk", "gsi1sk"}}
    return {**values, "verdicts": merged, "counters": worst.value, **index}
