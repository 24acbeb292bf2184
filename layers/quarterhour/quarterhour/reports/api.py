"""The responses about report runs, as types."""

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from quarterhour.model.api import (
    Count,
    Currency,
    Decimal,
    From,
    Instant,
    Name,
    QuarterHourName,
    Run,
    Sha256,
    Text,
    TieredSums,
)

Proof = Literal["verified", "pending", "drift"]


class ReportRun(From):
    """A report run."""

    run: Run
    to: Instant
    planned_at: Instant
    quarter_hours: Count
    """The number of quarter-hours that it covers."""
    lines: Count
    default_rate_events: Count
    """How many of its events the default commission rate charged."""
    counters: Proof
    """Whether the live counters agree with the sealed lines."""
    manifest_sha256: Sha256


class File(TypedDict):
    """A file in the S3 bucket of the reports."""

    key: str
    sha256: Sha256
    size: Count
    """The size in bytes."""


class LinkedFile(File):
    """A file with a link to it."""

    url: str
    """A link that needs no authorization while it is valid."""


class PinnedExchangeRate(TypedDict):
    """The exchange rate that converted a quarter-hour's sums."""

    currency: Currency
    units_per_base: Decimal | None
    """Null if none was in force."""
    source: NotRequired[Text]
    as_of: NotRequired[Instant]


class SealedQuarterHour(TypedDict):
    """A quarter-hour that a report run has sealed."""

    quarter_hour: QuarterHourName
    shards: Count
    lines: Count
    files: list[File]
    """The files of its parts that have lines."""
    rates: NotRequired[list[PinnedExchangeRate]]
    """Only if the deployment has a base currency."""


class SealedTotals(TieredSums):
    """Totals of sealed lines."""


class SealedAccount(SealedTotals):
    """An account's totals in a report run."""

    agency: Name
    currency: Currency
    periods: dict[str, SealedTotals]
    """The totals by period, such as `2026-10`."""


class PreviousManifest(TypedDict):
    """The previous run, and the hash of its manifest."""

    run: Run
    sha256: Sha256


class EmptySpan(From):
    """The time between two runs, in which nothing was recorded in any shard."""

    to: Instant


class Manifest(From):
    """The contents of a report run, with the hash of every file."""

    schema: Count
    run: Run
    to: Instant
    planned_at: Instant
    code_version: str
    shards: Count
    parts: Count
    """The number of parts of each quarter-hour."""
    previous: PreviousManifest | None
    empty: EmptySpan | None
    """The empty quarter-hours between the previous run and this one; null if it begins where that one ended."""
    base_currency: NotRequired[Currency]
    quarter_hours: list[SealedQuarterHour]
    lines: Count
    accounts: list[SealedAccount]
    files: list[File]


class Report(ReportRun):
    """A report run with its manifest, and links to its files."""

    proofs: dict[str, Proof]
    """The proof of each quarter-hour."""
    links_valid_seconds: Count
    files: list[LinkedFile]
    manifest: Manifest | None
    """Null if it has more than 2 MiB; `files` still has a link to it."""
