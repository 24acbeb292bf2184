"""Planning of reports, pure: the bounds of a run, and the proof of each quarter-hour against the counters."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import Enum
from typing import Any, Final, Self

from quarterhour import __version__
from quarterhour.ledger.keys import sealed_through_of
from quarterhour.model.clock import iso_millis
from quarterhour.model.identifiers import Account, Partition
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import GRACE, QuarterHour, span
from quarterhour.model.schema import SCHEMA, check_schema
from quarterhour.model.totals import Totals, add_up
from quarterhour.registry.settings.settings import Settings
from quarterhour.reports.keys import PENDING, Part, last_closed, run_bounds, run_id, run_key
from quarterhour.reports.product_figures import ProductTotals, add_products

AccountTotals = dict[Account, Totals]
SummaryRow = tuple[Account, Period]
"""A row of the summary."""
SummaryTotals = dict[SummaryRow, Totals]
"""Totals by account and period."""
Run = dict[str, Any]
"""The control item of a finished run."""
LocationTotals = dict[tuple[str, str], Totals]
"""Totals by location (``GB#London``) and currency."""

SHARDS_A_PART: Final = 8
"""The most shards of a part: one function seals in time what they can record."""
QUARTER_HOURS_OF_PARTS: Final = 4
"""The most marked quarter-hours of a run in parts, so that one function publishes all their accounts in time."""

STREAM_RETENTION: Final = timedelta(hours=24)
"""The stream delivers nothing older: a counter that still lags after this will never catch up."""


@dataclass(frozen=True, slots=True)
class PartTotals:
    """Totals of lines of one quarter-hour; ``default_rate_events``: those that the default rate charged."""

    periods: SummaryTotals = field(default_factory=dict)
    locations: LocationTotals = field(default_factory=dict)
    default_rate_events: int = 0
    products: ProductTotals = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SealedFile:
    """The sealed file of a part: number of lines, SHA-256, size in bytes. Without lines there is no file."""

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

    ``previous`` is the name of the previous run and the SHA-256 of its manifest; both are empty for the first run.
    ``base`` is the base currency of the summary; empty for none. ``parts`` is the number of parts of each quarter-hour.
    ``recorded`` are those of its quarter-hours in which something may be recorded; the others are empty.
    """

    first: QuarterHour
    last: QuarterHour
    planned_at: str
    code_version: str
    shards: int
    previous: tuple[str, str]
    recorded: tuple[QuarterHour, ...]
    base: str = ""
    parts: int = 1

    @property
    def run(self) -> str:
        """The run's name."""
        return run_id(self.first, self.last)

    @property
    def quarter_hours(self) -> list[QuarterHour]:
        """The quarter-hours that the run covers."""
        return list(span(self.first, self.last))

    @property
    def all_parts(self) -> list[Part]:
        """The parts of all quarter-hours that may hold lines, in order."""
        return [part for quarter_hour in self.recorded for part in parts_of(quarter_hour, self.parts)]

    @property
    def empty_since(self) -> datetime | None:
        """The end of the previous run, if empty quarter-hours lie between it and this run."""
        run, _ = self.previous
        end = run_bounds(run)[1] if run else self.first.start
        return end if end < self.first.start else None

    @property
    def execution_input(self) -> dict[str, Any]:
        """The input of the execution that seals the run's parts and publishes it."""
        return {"run": self.run, "parts": [str(part) for part in self.all_parts]}

    def partitions(self, part: Part) -> list[Partition]:
        """Return the ledger partitions of a part."""
        return [Partition(part.quarter_hour, shard) for shard in shards_of(part, self.parts, self.shards)]

    def as_dict(self) -> dict[str, Any]:
        """Return the plan as plain values, to be stored."""
        return {
            "schema": SCHEMA,
            "first": str(self.first),
            "last": str(self.last),
            "planned_at": self.planned_at,
            "code_version": self.code_version,
            "shards": self.shards,
            "previous": list(self.previous),
            "recorded": [str(quarter_hour) for quarter_hour in self.recorded],
            "base": self.base,
            "parts": self.parts,
        }

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """Parse what ``as_dict`` returned; raise ``UnknownSchemaError`` if this version cannot read it."""
        check_schema(values["schema"])
        return cls(
            QuarterHour.parse(values["first"]),
            QuarterHour.parse(values["last"]),
            values["planned_at"],
            values["code_version"],
            int(values["shards"]),
            (values["previous"][0], values["previous"][1]),
            tuple(map(QuarterHour.parse, values["recorded"])),
            values["base"],
            int(values["parts"]),
        )


def parts_of(quarter_hour: QuarterHour, parts: int) -> list[Part]:
    """Return the parts of a quarter-hour."""
    return [Part(quarter_hour, number) for number in range(parts)] if parts > 1 else [Part(quarter_hour)]


def shards_of(part: Part, parts: int, shards: int) -> range:
    """Return the shards of a part: each shard is in one part, and the parts differ by one shard at most."""
    number = part.number or 0
    return range(-(-number * shards // parts), -(-(number + 1) * shards // parts))


@dataclass(frozen=True, slots=True)
class ReportSettings:
    """The settings for reports: grace, version of the code, base currency (empty for none)."""

    grace: timedelta
    code_version: str
    base: str = ""

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Return the settings of this version of the code."""
        return cls(GRACE, __version__, settings.base_currency)


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
        return cls(sealed_through_of(values), (run, digest), Plan.of(plan) if plan else None)


def empty_through(last: QuarterHour, recorded: Sequence[QuarterHour]) -> QuarterHour:
    """Return the last of the empty quarter-hours that no run covers: ``last``, or the one before the first marked day.

    ``recorded``: the marked quarter-hours up to ``last``.
    """
    return min(last, QuarterHour.first_of(recorded[0].day).previous) if recorded else last


def next_plan(
    at: Checkpoint, recorded: Sequence[QuarterHour], now: datetime, settings: ReportSettings, shards: int
) -> Plan:
    """Plan a run of the final quarter-hours after the checkpoint, at most to the end of their UTC day.

    ``recorded``: the marked ones among the final quarter-hours, of which the first is on that day. A run in parts is
    shorter.
    """
    first = at.sealed_through.next
    last = min(last_closed(now, settings.grace), QuarterHour.last_of(first.day))
    parts = -(-shards // SHARDS_A_PART)
    if parts > 1 and len(recorded) > QUARTER_HOURS_OF_PARTS:
        last = min(last, recorded[QUARTER_HOURS_OF_PARTS - 1])
    return Plan(
        first,
        last,
        iso_millis(now),
        settings.code_version,
        shards,
        at.previous,
        tuple(one for one in recorded if one <= last),
        base=settings.base,
        parts=parts,
    )


class Proof(Enum):
    """The proof of a sealed quarter-hour: whether the counters agree with it."""

    VERIFIED = "verified"
    PENDING = "pending"
    DRIFT = "drift"


def proof(
    quarter_hour: QuarterHour, ledger: Mapping[Any, Totals], counters: Mapping[Any, Totals], now: datetime
) -> Proof:
    """Return the proof of a quarter-hour: compare its ledger totals with the counters.

    A counter with fewer events than the ledger is pending while the stream can still deliver the others.
    """
    differing = [(totals, counters.get(key, Totals())) for key, totals in ledger.items() if counters.get(key) != totals]
    if not differing:
        return Proof.VERIFIED
    lagging = all(counted.events < totals.events for totals, counted in differing)
    return Proof.PENDING if lagging and now < quarter_hour.end + STREAM_RETENTION else Proof.DRIFT


def worst(proofs: Iterable[Proof]) -> Proof:
    """Return the worst of some proofs; verified if there are none."""
    found = set(proofs)
    return next((one for one in (Proof.DRIFT, Proof.PENDING) if one in found), Proof.VERIFIED)


@dataclass(slots=True)
class RunTotals:
    """The totals of a run: of each row of its summary in each quarter-hour, of each location and of each product.

    ``default_rate_events``: how many events the default commission rate charged.
    """

    rows: dict[QuarterHour, SummaryTotals]
    locations: LocationTotals = field(default_factory=dict)
    default_rate_events: int = 0
    products: ProductTotals = field(default_factory=dict)

    @classmethod
    def of(cls, quarter_hours: Iterable[QuarterHour]) -> Self:
        """Return empty totals of a run of these quarter-hours."""
        return cls({quarter_hour: {} for quarter_hour in quarter_hours})

    def add(self, quarter_hour: QuarterHour, totals: PartTotals) -> None:
        """Add totals of lines of a quarter-hour."""
        add_up(self.rows[quarter_hour], totals.periods.items())
        add_up(self.locations, totals.locations.items())
        add_products(self.products, totals.products.items())
        self.default_rate_events += totals.default_rate_events

    def by_row(self) -> SummaryTotals:
        """Return the totals of each row of the summary, ordered by account and period."""
        sums: SummaryTotals = {}
        for rows in self.rows.values():
            add_up(sums, rows.items())
        return dict(sorted(sums.items()))

    def by_account(self) -> AccountTotals:
        """Return the totals of each account in the whole run, ordered by account."""
        return sums_by_account(self.by_row())

    def by_quarter_hour(self) -> Iterator[tuple[tuple[Account, QuarterHour], Totals]]:
        """Yield the totals of each account in each quarter-hour, as the counters keep them."""
        for quarter_hour, rows in self.rows.items():
            for account, totals in sums_by_account(rows).items():
                yield (account, quarter_hour), totals


def sums_by_account(rows: SummaryTotals) -> AccountTotals:
    """Return the totals of each account, in the order of the rows."""
    return add_up({}, ((account, totals) for (account, _), totals in rows.items()))


def run_values(
    plan: Plan, sealed: Sequence[SealedFile], manifest_sha256: str, default_rate_events: int
) -> dict[str, Any]:
    """Return a run's control item: its plan, the sealed files of its parts, and the hash of its manifest.

    ``default_rate_events``: how many of its events the default commission rate charged.
    """
    files = zip(plan.all_parts, sealed, strict=True)
    return {
        **run_key(plan.run),
        "plan": plan.as_dict(),
        "planned_at": plan.planned_at,
        "quarter_hours": len(plan.quarter_hours),
        "lines": sum(file.lines for file in sealed),
        "default_rate_events": default_rate_events,
        "manifest_sha256": manifest_sha256,
        "sealed": {str(part): file.as_list() for part, file in files if file.lines},
        "proofs": {},
    }


def sealed_of(plan: Plan, sealed: Mapping[str, Sequence[Any]]) -> list[SealedFile]:
    """Parse the sealed files of a run's control item, one for each part of its plan."""
    return [SealedFile.of(sealed[str(one)]) if str(one) in sealed else SealedFile(0) for one in plan.all_parts]


def with_proofs(run: Mapping[str, Any], proofs: Mapping[QuarterHour, Proof]) -> dict[str, Any]:
    """Return a run's control item with these proofs added; the item is in the index while any proof is pending."""
    merged = {**run["proofs"], **{str(quarter_hour): proof_.value for quarter_hour, proof_ in proofs.items()}}
    index = {"gsi1pk": PENDING, "gsi1sk": run["sk"]} if Proof.PENDING.value in merged.values() else {}
    values = {name: value for name, value in run.items() if name not in {"gsi1pk", "gsi1sk"}}
    return {**values, "proofs": merged, "counters": worst(map(Proof, merged.values())).value, **index}
