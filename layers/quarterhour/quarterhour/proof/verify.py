"""Verifies drafts, releases and statements next to the reports: each sealed line is on the right one, and no other."""

import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from itertools import groupby
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any, Final

from quarterhour.model import exact_json
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.proof.arithmetic import EXACT, text_of
from quarterhour.proof.compare import Json, differences
from quarterhour.proof.files import IN_MEMORY, UNREADABLE, CheckedFiles
from quarterhour.proof.line_sums import LineSums, PinnedRate
from quarterhour.proof.period import (
    EARLIER,
    NO_LINES,
    AccountLines,
    Chains,
    PeriodVerifier,
    Rates,
    SealedPeriod,
    Sources,
)
from quarterhour.proof.releases import PeriodDrafts, ReleasesVerifier
from quarterhour.proof.reports import Lines, OpenObject, ReportVerification
from quarterhour.proof.reports import verify as verify_reports
from quarterhour.proof.statement import comparable, draft_figures, draft_of
from quarterhour.proof.turnover import TurnoverProof
from quarterhour.reports.keys import part_of_lines, run_of_manifest
from quarterhour.reports.packing import unpacked
from quarterhour.statements.drafts.draft import FIGURES, ListedDraft, read_drafts
from quarterhour.statements.keys import (
    DRAFT,
    LINES,
    STATEMENTS,
    draft_list_key,
    manifest_key,
    period_of_manifest,
    period_of_object,
    period_prefix,
    statement_prefix,
    turnover_key,
)
from quarterhour.statements.releases.keys import RELEASES

if TYPE_CHECKING:
    from quarterhour.statements.listing import SealedObject


_COUNTS: Final = ("lines", "prior_period_lines")


class DraftsVerifier(PeriodVerifier):
    """Verifies the drafts of one period.

    ``drafts``: the files of their lines, by account. ``unlisted``: the other files of the period, which releases must
    name. ``turnover``: of the periods before.
    """

    def __init__(
        self,
        sources: Sources,
        sealed: SealedPeriod,
        previous: SealedPeriod | None,
        chains: Chains,
        turnover: TurnoverProof,
    ) -> None:
        super().__init__(sources, sealed, previous, chains)
        self._turnover = turnover
        self._sums: dict[str, dict[str, Decimal]] = {}
        self.drafts: dict[Account, SealedObject] = {}
        self.unlisted: set[str] = set()
        self.lines = 0

    def _verify_list(self, keys: set[str]) -> dict[str, Any]:
        files, key = self._files, draft_list_key(self._sealed.period)
        self.unlisted = set(keys)
        with SpooledTemporaryFile(IN_MEMORY) as file:
            listed = files.copy(key, file)
            if listed is None:
                self._check_unlisted(keys)
                return {}
            self.unlisted.discard(key)
            last: Account | None = None
            try:
                for number, row in enumerate(_rows(file), 2):
                    if last is not None and row.account <= last:
                        files.problem(f"{key}: line {number}", f"{row.account} is not after {last}")
                    last = row.account
                    self._verify_row(f"{key}: line {number}: {row.account}", row)
            except UNREADABLE as error:
                files.unreadable(key, error)
                return {}
        for place, problem in self._turnover.problems(self._sealed.period):
            files.problem(place or key, problem)
        for (agency, currency), chain in sorted(self._chains.items()):
            files.problem(key, f"has no draft of {Account(agency, currency)}, which has {chain.lines} sealed lines")
        currencies = {
            currency: {name: text_of(value) for name, value in sums.items()} for currency, sums in self._sums.items()
        }
        return {
            "drafts": len(self.drafts),
            "lines": self.lines,
            "currencies": currencies,
            "files": [{"key": key, **listed._asdict()}, *self._passed_on()],
        }

    def _passed_on(self) -> Iterator[Json]:
        """Verify the file of the turnover that the period passes on; yield how the manifest names it, if it must."""
        key = turnover_key(self._sealed.period)
        self.unlisted.discard(key)
        expected = self._turnover.passed_on()
        if not expected:
            return
        with SpooledTemporaryFile(IN_MEMORY) as file:
            found = self._files.copy(key, file)
            if found is None:
                return
            with unpacked(file) as rows:
                self._files.report(key, differences(list(map(exact_json.parse_sealed, rows)), expected))
        yield {"key": key, **found._asdict()}

    def _check_unlisted(self, keys: set[str]) -> None:
        """Name the lost files of the drafts that no row lists, by the sealed lines."""
        for account in sorted(Account(*account) for account in self._chains):
            prefix = statement_prefix(self._sealed.period, account)
            for name in (DRAFT, LINES):
                if prefix + name not in keys:
                    self._files.problem(prefix + name, "is missing")

    def _verify_row(self, place: str, row: ListedDraft) -> None:
        sealed, files = self._sealed, self._files
        prefix, chain = (
            statement_prefix(sealed.period, row.account),
            self._chains.pop((row.account.agency, row.account.currency), NO_LINES),
        )
        self.unlisted -= {prefix + DRAFT, prefix + LINES}
        self.drafts[row.account] = row.files[LINES]
        recomputed = LineSums(str(sealed.period), sealed.zone, self._rate_of if sealed.base else None)
        content = files.content(prefix + DRAFT, row.files[DRAFT])
        if not self._recompute(AccountLines(row.account, prefix + LINES, row.files[LINES], chain), recomputed):
            return
        self.lines += recomputed.lines
        of_period = _of_period(content)
        if not chain.lines and not of_period:
            files.problem(place, "has no sealed lines")
        self._turnover.add(row.account, prefix + DRAFT, recomputed.turnover, of_period)
        figures = draft_figures(recomputed, of_period)
        found = dict(zip((*FIGURES, *_COUNTS), row.as_row()[2:], strict=False))
        files.report(place, differences(found, figures))
        sums = self._sums.setdefault(row.account.currency, dict.fromkeys(FIGURES, Decimal(0)))
        for name in FIGURES:
            sums[name] = EXACT.add(sums[name], Decimal(figures[name]))
        if content is not None:
            self._verify_draft(prefix + DRAFT, content, row, recomputed)

    def _verify_draft(self, key: str, content: bytes, row: ListedDraft, recomputed: LineSums) -> None:
        sealed = self._sealed
        header = {
            "schema": sealed.manifest["schema"],
            "period": str(sealed.period),
            "recorded_until": str(sealed.bound),
            "agency": row.account.agency,
            "currency": row.account.currency,
        }
        try:
            found = comparable(exact_json.parse_sealed(content))
            expected = draft_of(recomputed, header, _of_period(content), {"name": LINES, **row.files[LINES]._asdict()})
            self._files.report(key, differences(found, expected))
        except UNREADABLE as error:
            self._files.unreadable(key, error)


def _of_period(content: bytes | None) -> list[Json]:
    """Return what a draft charges of the whole period, as it shows it; nothing if it cannot be read."""
    try:
        sums = exact_json.parse_sealed(content)["sums"] if content else {}
        return list(sums["charges"]["of_period"] if "charges" in sums else [])
    except UNREADABLE:
        return []


def _rows(file: Any) -> Iterator[ListedDraft]:  # noqa: ANN401 - a temporary file
    return read_drafts(io.TextIOWrapper(file, encoding="utf-8", newline=""))


_UNDER_WAY: Final = ": if their run is under way, verify again when it has ended"


@dataclass(slots=True)
class Verification:
    """The counts of what was verified of reports, drafts and statements, and every problem found.

    ``lines``: in drafts. ``documents``: of releases, cancellations too. ``waiting``: drafts without a statement.
    ``statements``: released ones that are not cancelled.
    """

    reports: ReportVerification = field(default_factory=ReportVerification)
    periods: int = 0
    drafts: int = 0
    waiting: int = 0
    releases: int = 0
    documents: int = 0
    statements: int = 0
    lines: int = 0
    problems: list[str] = field(default_factory=list)

    @property
    def proven(self) -> bool:
        """Whether there is a run of the reports, and no problem was found."""
        return self.reports.runs > 0 and not self.problems


def verify(open_object: OpenObject, keys: Iterable[str], retention: timedelta | None = None) -> Verification:
    """Verify the sealed files of reports, drafts and statements among these objects, in the order of time.

    Each ledger file is read once. Beyond what the reports need, memory grows with the accounts, not with their
    lines. ``retention``: how long the deployment remembers identities, ``None`` for ever.
    """
    names = sorted(keys)
    statements = _Verifier(open_object, names)
    return statements.finish(verify_reports(open_object, names, retention, statements.follow))


class _Verifier:
    """Assigns the lines of the ledger to the periods, and verifies each period once all its lines are read."""

    def __init__(self, open_object: OpenObject, names: Sequence[str]) -> None:
        self._found = Verification()
        ledger = [key for key in names if part_of_lines(key)]
        runs = [run for key in names if (run := run_of_manifest(key))]
        self._sources = Sources(open_object, CheckedFiles(open_object), ledger, runs)
        self._keys = {
            prefix: set(keys)
            for prefix, keys in groupby(
                (key for key in names if key.startswith(STATEMENTS) and not key.startswith(RELEASES)), _folder
            )
        }
        self._manifests = [period for key in names if (period := period_of_manifest(key))]
        self._periods = [sealed for period in self._manifests if (sealed := self._period(period))]
        self._chains: dict[Period, Chains] = {one.period: {} for one in self._periods}
        self._last: SealedPeriod | None = None
        self._turnover = TurnoverProof()
        self._of_releases = {key for key in names if key.startswith(RELEASES)}
        self._drafts: list[PeriodDrafts] = []

    def _period(self, period: Period) -> SealedPeriod | None:
        """Read a period's manifest; if it cannot be read, leave out the period's files."""
        key, files = manifest_key(period), self._sources.files
        content = files.content(key)
        if content is not None:
            try:
                return SealedPeriod.of(period, content)
            except UNREADABLE as error:
                files.unreadable(key, error)
        del self._keys[period_prefix(period)]
        return None

    def follow(self, manifest: Json, entry: Json, lines: Lines) -> Lines:
        """Assign each line of a sealed part to its statement, and pass it on."""
        quarter_hour = QuarterHour.parse(entry["quarter_hour"])
        while self._periods and self._periods[0].bound < quarter_hour:
            self._verify_next()
        if self._periods and entry.get("rates"):
            self._sources.rates[quarter_hour] = _rates(manifest, entry)
        places: dict[str, Chains | None] = {}
        for line in lines:
            period = line["period"]
            if period not in places:
                places[period] = next(
                    (self._chains[one.period] for one in self._periods if one.has(period, quarter_hour)), None
                )
            chains = places[period]
            if chains is not None:
                account = line["agency"], line["currency"]
                chains[account] = chains.get(account, NO_LINES).after(line)
            yield line

    def finish(self, found: ReportVerification) -> Verification:
        """Verify the last periods, name the files that are in no list, and return what was found."""
        while self._periods:
            self._verify_next()
        files, last = self._sources.files, max(self._manifests, default=None)
        for prefix, keys in self._keys.items():
            period = period_of_object(prefix)
            if period is None:
                files.problem(prefix, "is in no list")
                continue
            # A run publishes the manifest last, but a manifest that somebody deleted leaves the same files.
            hint = _UNDER_WAY if last is None or period > last else ""
            files.problem(manifest_key(period), f"is missing, so {len(keys)} files of {period} are in no list{hint}")
        releases = ReleasesVerifier(self._sources, self._drafts)
        releases.verify(self._of_releases)
        self._found.releases, self._found.waiting = releases.releases, releases.waiting
        self._found.documents = releases.documents
        self._found.statements += self._found.drafts - releases.waiting
        self._found.reports = found
        self._found.problems = [*found.problems, *files.problems]
        return self._found

    def _verify_next(self) -> None:
        sealed = self._periods.pop(0)
        what = self._sources, sealed, self._previous(sealed), self._chains.pop(sealed.period)
        keys = self._keys.pop(period_prefix(sealed.period))
        drafts = DraftsVerifier(*what, self._turnover)
        drafts.verify(keys)
        self._drafts.append(PeriodDrafts(sealed, drafts.drafts, drafts.unlisted))
        self._found.drafts += len(drafts.drafts)
        self._found.lines += drafts.lines
        self._last = sealed
        self._found.periods += 1
        needed = min(sealed.bound.next, QuarterHour.first_of(sealed.period.next.first_day - EARLIER))
        for quarter_hour in [one for one in self._sources.rates if one < needed]:
            del self._sources.rates[quarter_hour]

    def _previous(self, sealed: SealedPeriod) -> SealedPeriod | None:
        """Return the period before a sealed one; ``None`` if it is the first, or if that one cannot be read."""
        before = sealed.previous
        if before is None or (self._last and before <= self._last.period):
            return self._last
        if before not in self._manifests:
            self._sources.files.problem(manifest_key(before), f"is missing: {manifest_key(sealed.period)} names it")
            self._keys.pop(period_prefix(before), None)
        return None


def _folder(key: str) -> str:
    """Return the folder of a period's file; the key itself of any other."""
    period = period_of_object(key)
    return period_prefix(period) if period else key


def _rates(manifest: Json, entry: Json) -> Rates:
    """Return the base currency of a run and its exchange rate for each currency, ``None`` without one."""
    rates = {
        one["currency"]: PinnedRate(Decimal(one["units_per_base"]), one["source"], one["as_of"])
        if one["units_per_base"]
        else None
        for one in entry["rates"]
    }
    return manifest["base_currency"], rates
