"""Verifies the files of one period: its bounds and manifest, and the lines of each account against the sealed ones."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta, tzinfo
from decimal import Decimal
from hashlib import sha256
from itertools import zip_longest
from tempfile import SpooledTemporaryFile
from typing import Any, Final, NamedTuple

from quarterhour.model import exact_json
from quarterhour.model.clock import parse_iso
from quarterhour.model.identifiers import Account, Identity
from quarterhour.model.money import NO_CURRENCY
from quarterhour.model.periods import Period, time_zone
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.model.schema import check_schema
from quarterhour.proof.arithmetic import bounds_of
from quarterhour.proof.compare import Json, differences
from quarterhour.proof.files import IN_MEMORY, UNREADABLE, CheckedFiles
from quarterhour.proof.line_sums import LineSums, PinnedRate
from quarterhour.proof.reports import OpenObject
from quarterhour.reports.digests import hexdigest
from quarterhour.reports.keys import MANIFEST as RUN_MANIFEST
from quarterhour.reports.keys import part_of_lines, run_bounds, run_prefix
from quarterhour.reports.lines import Line, read_lines
from quarterhour.statements.keys import manifest_key
from quarterhour.statements.listing import SealedObject

EARLIER: Final = timedelta(days=2)
"""A month begins in no time zone earlier than in UTC by more than this."""

_COMPARED: Final = 20
"""The most statements whose lines are compared one by one with the sealed ones, to name the first that differs."""
Rates = tuple[str, Mapping[str, PinnedRate | None]]
"""The base currency of a quarter-hour, and its exchange rate for each currency; ``None`` without one."""


class Chain(NamedTuple):
    """A number of lines, and a hash that their content and their order determine."""

    lines: int = 0
    digest: bytes = b""

    def after(self, line: Line) -> "Chain":
        """Return the chain after one more line."""
        return Chain(self.lines + 1, sha256(self.digest + _content(line).encode()).digest())


NO_LINES: Final = Chain()
Chains = dict[tuple[str, str], Chain]
"""The lines of each agency in each currency."""


def _content(line: Line) -> str:
    """Return a text that differs for different lines; empty cells at the end, as of a newer schema, do not count."""
    text = "\0".join(line.values())
    if text.count("\0") >= len(line):
        raise ValueError("a cell holds a NUL character")
    return text.rstrip("\0")


@dataclass(slots=True)
class Sources:
    """What the periods are verified from.

    ``ledger``: the keys of the sealed lines; ``runs``: the names of the runs of the reports; both in their order.
    """

    open: OpenObject
    files: CheckedFiles
    ledger: list[str]
    runs: list[str]
    rates: dict[QuarterHour, Rates] = field(default_factory=dict)
    compared: int = 0


@dataclass(frozen=True, slots=True)
class SealedPeriod:
    """A sealed period, as its manifest has it."""

    period: Period
    manifest: Json
    sha256: str
    zone: tzinfo
    first_period: str
    bound: QuarterHour
    previous: Period | None
    after: QuarterHour | None
    base: str

    @classmethod
    def of(cls, period: Period, content: bytes) -> "SealedPeriod":
        """Parse a manifest; raise ``ValueError`` for an unknown schema."""
        manifest = exact_json.parse_sealed(content)
        check_schema(manifest["schema"])
        previous, after = manifest["previous"], manifest["previous_bound"]
        return cls(
            period,
            manifest,
            hexdigest(content),
            time_zone(manifest["time_zone"]),
            str(Period.parse(manifest["first_period"])),
            QuarterHour.parse(manifest["bound"]),
            Period.parse(previous["period"]) if previous else None,
            QuarterHour.parse(after) if after else None,
            manifest["base_currency"] or "",
        )

    @property
    def since(self) -> QuarterHour:
        """The first quarter-hour that may hold a line of the period's statements."""
        first = QuarterHour.first_of(self.period.first_day - EARLIER)
        return min(first, self.after) if self.after else first

    def has(self, period: str, quarter_hour: QuarterHour) -> bool:
        """Return whether a line of a period, sealed in a quarter-hour, is on a statement of this period."""
        this = str(self.period)
        if not self.first_period <= period <= this or quarter_hour > self.bound:
            return False
        return period == this or self.after is None or quarter_hour > self.after


class AccountLines(NamedTuple):
    """The file of an account's lines: its key, its sealed hash and size, and the sealed lines that it must hold."""

    account: Account
    key: str
    sealed: SealedObject
    chain: Chain


class PeriodVerifier(ABC):
    """Verifies one period. ``chains``: the sealed lines that are to be in the files of its accounts."""

    def __init__(self, sources: Sources, sealed: SealedPeriod, previous: SealedPeriod | None, chains: Chains) -> None:
        self._sources = sources
        self._files = sources.files
        self._sealed = sealed
        self._previous = previous
        self._chains = chains

    def verify(self, keys: set[str]) -> None:
        """Verify the period, whose files are ``keys``."""
        key = manifest_key(self._sealed.period)
        try:
            self._check_bounds(key)
            of_list = self._verify_list(keys - {key})
            self._files.report(key, differences(self._sealed.manifest, {**self._manifest(), **of_list}))
        except UNREADABLE as error:
            self._files.unreadable(key, error)

    @abstractmethod
    def _verify_list(self, keys: set[str]) -> dict[str, Any]:
        """Verify all that the list names; return the members of the manifest that follow, none if it is unreadable."""

    @property
    def _is_lost(self) -> bool:
        """Whether the previous period's manifest cannot be read, so that nothing can be compared with it."""
        return self._previous is None and self._sealed.previous is not None

    # ------------------------------------------------------------ the manifest

    def _check_bounds(self, key: str) -> None:
        sealed, manifest, files = self._sealed, self._sealed.manifest, self._files
        cut_off = parse_iso(manifest["cut_off"])
        if cut_off < parse_iso(bounds_of(sealed.period, sealed.zone)["to"]):
            files.problem(key, f"cut_off: {manifest['cut_off']} is before the end of the period")
        if sealed.bound.end < cut_off:
            files.problem(key, f"bound: {sealed.bound} ends before the cut-off")
        if sealed.after and sealed.bound < sealed.after:  # they are the same if both periods were sealed at once
            files.problem(key, f"bound: {sealed.bound} is before that of the previous period, {sealed.after}")
        if sealed.previous is None and sealed.first_period != str(sealed.period):
            files.problem(key, f"first_period: expected {sealed.period}, found {sealed.first_period}")
        if sealed.previous and sealed.previous.next != sealed.period:
            files.problem(key, f"previous.period: expected {sealed.period.previous}, found {sealed.previous}")
        run = manifest["report"]["run"]
        later = [one for one in self._sources.runs if one > run and run_bounds(one)[1] <= sealed.bound.end]
        if later or run_bounds(run)[1] > sealed.bound.end:
            files.problem(key, f"report.run: {run} is not the last run up to the bound, {sealed.bound}")

    def _manifest(self) -> dict[str, Any]:
        """Return what the manifest must hold, as far as it does not follow from the list."""
        sealed, manifest, previous = self._sealed, self._sealed.manifest, self._previous
        run = manifest["report"]["run"]
        report = self._files.content(run_prefix(run) + RUN_MANIFEST)
        expected = {
            **manifest,
            "period": str(sealed.period),
            **bounds_of(sealed.period, sealed.zone),
            "report": {"run": run, "sha256": hexdigest(report) if report else manifest["report"]["sha256"]},
        }
        if not self._is_lost:
            expected |= {
                "previous_bound": str(previous.bound) if previous else None,
                "previous": {"period": str(previous.period), "sha256": previous.sha256} if previous else None,
                "first_period": previous.first_period if previous else str(sealed.period),
            }
        return expected

    # ------------------------------------------------------------ the lines of an account

    def _recompute(self, lines: AccountLines, recomputed: LineSums) -> bool:
        """Add up the lines of an account, and compare them with the sealed ones; return whether they can be read."""
        found = NO_LINES
        with SpooledTemporaryFile(IN_MEMORY) as file:
            if self._files.copy(lines.key, file, lines.sealed) is None:
                return False
            try:
                for line in read_lines(file):
                    recomputed.add(line)
                    found = found.after(line)
            except UNREADABLE as error:
                self._files.unreadable(lines.key, error)
                return False
            if found != lines.chain:
                file.seek(0)
                self._files.problem(lines.key, self._difference(lines.account, read_lines(file)))
        return True

    def _rate_of(self, quarter_hour: str, currency: str) -> PinnedRate | None:
        """Return the exchange rate of a currency that the reports pinned; ``None`` without one."""
        if currency in {self._sealed.base, NO_CURRENCY}:
            return PinnedRate(Decimal(1))
        base, rates = self._sources.rates.get(QuarterHour.parse(quarter_hour), ("", {}))
        return rates.get(currency) if base == self._sealed.base else None

    def _difference(self, account: Account, lines: Iterator[Line]) -> str:
        """Return the first place at which the lines of a statement are not the sealed ones."""
        if self._sources.compared < _COMPARED:
            self._sources.compared += 1
            for number, (found, sealed) in enumerate(zip_longest(lines, self._sealed_lines(account)), 2):
                if found is None or sealed is None or _content(found) != _content(sealed):
                    return f"line {number}: {_in_words(found, sealed)}"
        return "the lines are not the sealed ones"

    def _sealed_lines(self, account: Account) -> Iterator[Line]:
        """Yield the sealed lines of an account's statement; it reads the ledger once more."""
        sealed = self._sealed
        for key in self._sources.ledger:
            part = part_of_lines(key)
            if part is None or not sealed.since <= part.quarter_hour <= sealed.bound:
                continue
            with SpooledTemporaryFile(IN_MEMORY) as file:
                CheckedFiles(self._sources.open).copy(key, file)
                for line in read_lines(file):
                    of_account = Account(line["agency"], line["currency"]) == account
                    if of_account and sealed.has(line["period"], part.quarter_hour):
                        yield line


def _in_words(found: Line | None, sealed: Line | None) -> str:
    """Return how a statement's line differs from the sealed one; ``None``: there is none."""
    if found is None or sealed is None:
        return f"{_identity(sealed)} is missing" if sealed else f"{_identity(found)} is not of this statement"
    if _identity(found) != _identity(sealed):
        return f"expected {_identity(sealed)}, found {_identity(found)}"
    names = [name for name in found if found[name] != sealed.get(name, "")]
    return f"{_identity(found)}: {next(differences(found[names[0]], sealed.get(names[0], ''), names[0]))}"


def _identity(line: Line | None) -> str:
    return str(Identity(line["source"], line["id"])) if line else ""
