"""Verifies the releases: their chain, numbers and balances, and that each draft is on one statement at most."""

import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from decimal import Decimal
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quarterhour.model import exact_json
from quarterhour.model.clock import iso_seconds, parse_iso
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import day_in
from quarterhour.model.schema import check_schema
from quarterhour.proof.arithmetic import EXACT, text_of
from quarterhour.proof.compare import Json, differences
from quarterhour.proof.documents import MADE, DocumentVerifier, FoundDocument, ReleasedDraft
from quarterhour.proof.files import IN_MEMORY, UNREADABLE
from quarterhour.proof.period import SealedPeriod, Sources
from quarterhour.reports.digests import hexdigest
from quarterhour.statements.keys import LINES, PAGE, STATEMENT, XML, manifest_key
from quarterhour.statements.listing import (
    CREDIT_NOTE,
    FIGURES,
    STATEMENT_DOCUMENT,
    Document,
    SealedObject,
    read_release,
)
from quarterhour.statements.releases.keys import (
    release_list_key,
    release_manifest_key,
    release_of_list,
    release_of_manifest,
)

if TYPE_CHECKING:
    from quarterhour.model.periods import Period

_DIGITS: Final = 6
_UNDER_WAY: Final = ": if a release is under way, verify again when it has ended"
_COUNTS: Final = {STATEMENT_DOCUMENT: "statements", CREDIT_NOTE: "credit_notes"}
_TOTALLED: Final = tuple(name for name in FIGURES if name != "commission_exact")
_PREVIOUS: Final = ("number", "document", "net", "commission", "tax", "payments", "closing")
_MEMBERS: Final = (
    *("schema", "release", "planned_at", "code_version", "previous", "acceptance_days", "prefixes", "numbers"),
    *(*_COUNTS.values(), "lines", "currencies", "files"),
)
"""The members of a manifest."""
_FILES: Final = {STATEMENT, LINES, PAGE}
"""The files that every document has; some have an XML, too."""
_ZONES: Final = timedelta(days=1)
"""No day begins earlier in one time zone than in UTC by more than this."""
_NEVER: Final = parse_iso("0001-01-01T00:00:00Z")


class PeriodDrafts(NamedTuple):
    """The drafts of a period by account, as the files of their lines; and files that releases must name."""

    sealed: SealedPeriod
    found: Mapping[Account, SealedObject]
    unlisted: set[str]


@dataclass(slots=True)
class _Totals:
    """What a manifest counts and adds up of its list."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys((*_COUNTS.values(), "lines"), 0))
    currencies: dict[str, dict[str, Decimal]] = field(default_factory=dict)

    def add(self, row: Document) -> None:
        """Add a document."""
        self.counts[_COUNTS[row.kind]] += 1
        self.counts["lines"] += row.lines
        sums = self.currencies.setdefault(row.account.currency, dict.fromkeys(_TOTALLED, Decimal(0)))
        for name in _TOTALLED:
            sums[name] = EXACT.add(sums[name], row.figures[name])

    def as_dict(self) -> dict[str, Any]:
        """Return the counts and sums as the manifest holds them."""
        currencies = {
            currency: {name: text_of(value) for name, value in sums.items()}
            for currency, sums in self.currencies.items()
        }
        return {**self.counts, "currencies": currencies}


class _Release:
    """A release whose list is read: its manifest, the numbers that its documents must have, and its totals.

    ``series``: the next number of each series before it, by prefix.
    """

    def __init__(self, manifest: Json, series: Mapping[str, int]) -> None:
        check_schema(manifest["schema"])
        self.manifest = manifest
        self.planned_at = parse_iso(manifest["planned_at"])
        self.totals = _Totals()
        self.series = dict(series)
        self._first = series
        self._prefixes = {document: str(manifest["prefixes"][name]) for document, name in _COUNTS.items()}
        self._last: tuple[Account, bool, Period] | None = None

    def expected_number(self, row: Document) -> str:
        """Return the number that a document must have; the next one follows its own number, if that is of the series.

        So a gap is one problem, not one of every later document.
        """
        prefix = self._prefixes[row.kind]
        number = self.series.get(prefix, 1)
        digits = row.number.removeprefix(prefix)
        resumed = row.number.startswith(prefix) and digits.isascii() and digits.isdecimal()
        self.series[prefix] = (int(digits) if resumed else number) + 1
        return f"{prefix}{number:0{_DIGITS}d}"

    def out_of_order(self, row: Document) -> Iterator[str]:
        """Yield what is wrong with the place of a document: by account, its cancellations first, then by period."""
        place = row.account, not row.cancels, row.period
        if self._last is not None and place <= self._last:
            yield f"{row.number} is not after the documents before"
        self._last = place

    def expected(self, listed: SealedObject) -> dict[str, Any]:
        """Return the members of the manifest that follow from the list."""
        return {
            **self.totals.as_dict(),
            "numbers": {
                prefix: {"first": self._first.get(prefix, 1), "next": following}
                for prefix, following in self.series.items()
            },
            "files": [{"key": release_list_key(self.manifest["release"]), **listed._asdict()}],
        }


class ReleasesVerifier:
    """Verifies all releases in their order. Memory grows with the drafts, not with their lines."""

    def __init__(self, sources: Sources, drafts: Iterable[PeriodDrafts]) -> None:
        self._files = sources.files
        self._documents = DocumentVerifier(sources)
        self._drafts = {one.sealed.period: one for one in drafts}
        self._series: dict[str, int] = {}
        self._previous: dict[Account, Json] = {}
        self._released: dict[tuple[Period, Account], ReleasedDraft] = {}
        self._lost: set[Period] = set()
        self._sha256 = ""
        self._planned_at = _NEVER
        self.releases = 0
        self.documents = 0

    def verify(self, keys: set[str]) -> None:
        """Verify the releases, whose files are ``keys``, and name the files that are in no list."""
        numbers = sorted(number for key in keys if (number := release_of_manifest(key)) is not None)
        for expected, number in enumerate(numbers, 1):
            if number != expected and expected not in numbers:
                self._files.problem(release_manifest_key(expected), "is missing")
            self._verify_release(number)
            keys -= {release_manifest_key(number), release_list_key(number)}
        for key in sorted(keys):
            lost = release_of_list(key)
            if lost is None:
                self._files.problem(key, "is in no list")
            else:
                self._files.problem(
                    release_manifest_key(lost), f"is missing{_UNDER_WAY if lost > self.releases else ''}"
                )
        for one in self._drafts.values():
            for key in sorted(one.unlisted):
                is_document = key.rpartition("/")[2] in {STATEMENT, *MADE}
                self._files.problem(key, f"is in no list{_UNDER_WAY if is_document else ''}")

    @property
    def waiting(self) -> int:
        """The number of drafts without a statement."""
        drafts = sum(len(one.found) for one in self._drafts.values())
        return drafts - sum(1 for one in self._released.values() if one.number)

    # ------------------------------------------------------------ a release

    def _verify_release(self, number: int) -> None:
        files, key = self._files, release_manifest_key(number)
        content = files.content(key)
        if content is None:
            return
        self.releases += 1
        try:
            manifest = exact_json.parse_sealed(content)
            release = _Release(manifest, self._series)
            listed = self._verify_list(number, release)
            self._series = release.series
            previous = {"release": number - 1, "sha256": self._sha256} if self._sha256 else None
            expected = {name: manifest.get(name) for name in _MEMBERS}
            expected["prefixes"] = {name: manifest["prefixes"][name] for name in _COUNTS.values()}
            expected |= {"release": number, "previous": previous}
            if listed:
                expected |= release.expected(listed)
            files.report(key, differences(manifest, expected))
            self._check_time(key, release)
        except UNREADABLE as error:
            files.unreadable(key, error)
        self._sha256 = hexdigest(content)

    def _check_time(self, key: str, release: _Release) -> None:
        """Check that a release is not planned before the one before it."""
        if release.planned_at < self._planned_at:
            self._files.problem(key, f"planned_at: {release.manifest['planned_at']} is before the previous release")
        self._planned_at = max(self._planned_at, release.planned_at)

    # ------------------------------------------------------------ its list

    def _verify_list(self, number: int, release: _Release) -> SealedObject | None:
        """Verify every document in the list; return the list's hash and size, ``None`` if it cannot be read."""
        key = release_list_key(number)
        with SpooledTemporaryFile(IN_MEMORY) as file:
            listed = self._files.copy(key, file)
            if listed is None:
                return None
            try:
                for line, row in enumerate(_rows(file, number), 2):
                    self._verify_row(key, line, row, release)
                    release.totals.add(row)
            except UNREADABLE as error:
                self._files.unreadable(key, error)
                return None
        return listed

    def _verify_row(self, key: str, line: int, row: Document, release: _Release) -> None:
        files, account, place = self._files, row.account, f"{key}: line {line}: {row.account}"
        self.documents += 1
        number = release.expected_number(row)
        files.report(place, release.out_of_order(row))
        cells = {name: text_of(value) for name, value in row.figures.items()}
        cells |= {"number": row.number, "document": row.kind}
        cells |= {"lines": str(row.lines), "prior_period_lines": str(row.prior_period_lines)}
        drafts = self._drafts.get(row.period)
        if drafts is None:
            if row.period not in self._lost:
                self._lost.add(row.period)
                files.problem(manifest_key(row.period), f"cannot be read, and {key} names the period")
            self._go_on(row, cells, {})
            return
        issued_on = day_in(drafts.sealed.zone, release.planned_at).isoformat()
        lines = drafts.found.get(account)
        if lines is None:
            files.problem(place, f"{row.period} has no draft of it")
            self._go_on(row, cells, {"issued_on": issued_on})
            return
        drafts.unlisted.difference_update(row.prefix + name for name in {*_FILES, *row.files} - {LINES})
        released = self._released.get((row.period, account), ReleasedDraft())
        files.report(place, self._problems(row, released, drafts.sealed, release))
        expected: Json | None = None
        if row.files.keys() - {XML} == _FILES:
            previous = self._previous.get(account)
            days = int(release.manifest["acceptance_days"])
            found = FoundDocument(row, lines, drafts.sealed, released, number, issued_on, days, previous)
            expected = self._documents.verify(found)
        self._released[row.period, account] = released.after(row, issued_on, expected)
        right = {**cells, "number": number} if expected is None else {name: str(expected[name]) for name in cells}
        files.report(place, differences(cells, right))
        remainders = {"remainders": expected["remainders"]} if expected else {}
        self._go_on(row, right, {"issued_on": issued_on, **remainders})

    def _go_on(self, row: Document, right: Mapping[str, str], known: Json) -> None:
        """Keep a document as the next one of its account must show it: with the number that it has.

        ``known``: its date of issue and its remainders, as far as they are known.
        """
        shown = {**{name: right[name] for name in _PREVIOUS}, "number": row.number, **known}
        self._previous[row.account] = {"period": str(row.period), **shown, "lines": int(right["lines"])}

    def _problems(
        self, row: Document, released: ReleasedDraft, sealed: SealedPeriod, release: _Release
    ) -> Iterator[str]:
        """Yield what is wrong with a document at its place among those of its draft and of its account."""
        if row.files.keys() - {XML} != _FILES:
            yield f"files: expected {', '.join(sorted(_FILES))}, found {', '.join(sorted(row.files))}"
        if release.planned_at < sealed.bound.end:
            planned_at = release.manifest["planned_at"]
            yield f"was released at {planned_at}, while lines were recorded until {iso_seconds(sealed.bound.end)}"
        if row.revision != released.revision + 1:
            yield f"revision: expected {released.revision + 1}, found {row.revision}"
        if row.cancels:
            if row.cancels != released.number:
                yield f"cancels: expected {released.number or 'nothing'}, found {row.cancels}"
        elif released.number:
            yield f"{released.number} states the same lines, and is not cancelled"
        elif earlier := self._unreleased_before(row):
            yield f"the draft of {earlier} comes first"

    def _unreleased_before(self, row: Document) -> "Period | None":
        """Return the first earlier period of the account whose draft was never released; ``None`` without one.

        A draft whose statement is cancelled may wait while later ones are released.
        """
        account = row.account
        earlier = (period for period, one in self._drafts.items() if period < row.period and account in one.found)
        return min((period for period in earlier if (period, account) not in self._released), default=None)


def _rows(file: Any, number: int) -> Iterator[Document]:  # noqa: ANN401 - a temporary file
    return read_release(io.TextIOWrapper(file, encoding="utf-8", newline=""), number)
