"""Verifies the releases: numbers, balances, tax and figures of each document, and that no draft is released twice."""

import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from tempfile import SpooledTemporaryFile
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from quarterhour.model import exact_json
from quarterhour.model.clock import iso_seconds, parse_iso
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import day_in
from quarterhour.proof.drafts import FoundDraft
from quarterhour.proof.files import IN_MEMORY, UNREADABLE
from quarterhour.proof.period import SealedPeriod, Sources
from quarterhour.proof.recompute import (
    EXACT,
    Json,
    Recomputation,
    bounds_of,
    differences,
    in_base,
    tax_problems,
    text_of,
)
from quarterhour.releases.keys import release_list_key, release_manifest_key, release_of_list, release_of_manifest
from quarterhour.releases.listing import ReleasedDocument, read_release
from quarterhour.reports.digests import hexdigest
from quarterhour.reports.lines import read_lines
from quarterhour.statements.keys import DRAFT, LINES, PAGE, STATEMENT, statement_prefix
from quarterhour.statements.listing import CREDIT_NOTE, FIGURES, STATEMENT_DOCUMENT, SealedObject
from quarterhour.statements.page import statement_page

if TYPE_CHECKING:
    from quarterhour.model.periods import Period

_DIGITS: Final = 6
_UNDER_WAY: Final = ": if a release is under way, verify again when it has ended"
_COUNTS: Final = {STATEMENT_DOCUMENT: "statements", CREDIT_NOTE: "credit_notes"}
_TOTALLED: Final = tuple(name for name in FIGURES if name != "commission_exact")
_COPIED: Final = ("number", "document", *FIGURES, "lines", "prior_period_lines")
"""The columns of the list that repeat members of a document."""
_PREVIOUS: Final = ("number", "net", "commission", "tax", "payments", "closing", "lines")
_SAME: Final = ("owner", "customer", "language", "collects", "payment_days")
"""What a cancellation has of the document that it cancels."""


class Drafts(NamedTuple):
    """The drafts of a period, and the other files of the period, which releases must name."""

    sealed: SealedPeriod
    found: Mapping[Account, FoundDraft]
    unlisted: set[str]


@dataclass(frozen=True, slots=True)
class Before:
    """What 0.2.0 left: the next numbers by prefix, and the last statements as those that follow show them."""

    series: Mapping[str, int] = field(default_factory=dict)
    previous: Mapping[Account, Json] = field(default_factory=dict)


@dataclass(slots=True)
class _State:
    """What is released of a draft: the last document, ``number`` while it stands, ``cancelled`` once it does not."""

    revision: int = 0
    number: str = ""
    cancelled: str = ""
    document: Json = field(default_factory=dict)


@dataclass(slots=True)
class _Totals:
    """What a manifest counts and adds up of its list."""

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys((*_COUNTS.values(), "lines"), 0))
    currencies: dict[str, dict[str, Decimal]] = field(default_factory=dict)

    def add(self, row: ReleasedDocument) -> None:
        """Add a document."""
        listed = row.listed
        self.counts[_COUNTS[listed.document]] += 1
        self.counts["lines"] += listed.lines
        sums = self.currencies.setdefault(listed.account.currency, dict.fromkeys(_TOTALLED, Decimal(0)))
        for name in _TOTALLED:
            sums[name] = EXACT.add(sums[name], listed.figures[name])

    def as_dict(self) -> dict[str, Any]:
        """Return the counts and sums as the manifest holds them."""
        currencies = {
            currency: {name: text_of(value) for name, value in sums.items()}
            for currency, sums in self.currencies.items()
        }
        return {**self.counts, "currencies": currencies}


class ReleasesVerifier:
    """Verifies all releases in their order. Memory grows with the drafts, not with their lines."""

    def __init__(self, sources: Sources, drafts: Iterable[Drafts], before: Before) -> None:
        self._files = sources.files
        self._drafts = {one.sealed.period: one for one in drafts}
        self._series = dict(before.series)
        self._previous: dict[Account, Json] = dict(before.previous)
        self._states: dict[tuple[Period, Account], _State] = {}
        self._sha256 = ""
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
                is_document = key.endswith((STATEMENT, PAGE))
                self._files.problem(key, f"is in no list{_UNDER_WAY if is_document else ''}")

    @property
    def waiting(self) -> int:
        """The number of drafts without a statement."""
        drafts = sum(len(one.found) for one in self._drafts.values())
        return drafts - sum(1 for one in self._states.values() if one.number)

    # ------------------------------------------------------------ a release

    def _verify_release(self, number: int) -> None:
        files, key = self._files, release_manifest_key(number)
        content = files.content(key)
        if content is None:
            return
        self.releases += 1
        try:
            manifest = exact_json.parse_sealed(content)
            series, totals = dict(self._series), _Totals()
            listed = self._verify_list(number, manifest, totals)
            expected = {**manifest, "release": number, "previous": self._before(number)}
            if listed:
                expected |= {
                    **totals.as_dict(),
                    "numbers": {
                        prefix: {"first": series.get(prefix, 1), "next": self._series.get(prefix, 1)}
                        for prefix in manifest["numbers"]
                    },
                    "files": [{"key": release_list_key(number), **listed._asdict()}],
                }
            files.report(key, differences(manifest, expected))
            if missing := set(self._series) - set(manifest["numbers"]):
                files.problem(key, f"numbers: lacks {', '.join(sorted(missing))}")
        except UNREADABLE as error:
            files.unreadable(key, error)
        self._sha256 = hexdigest(content)

    def _verify_list(self, number: int, manifest: Json, totals: _Totals) -> SealedObject | None:
        """Verify every document in the list; return the list's hash and size, ``None`` if it cannot be read."""
        key, prefixes = release_list_key(number), _Prefixes(manifest["numbers"], self._series)
        with SpooledTemporaryFile(IN_MEMORY) as file:
            listed = self._files.copy(key, file)
            if listed is None:
                return None
            try:
                for line, row in enumerate(_rows(file), 2):
                    self._verify_row(f"{key}: line {line}: {row.listed.account}", row, manifest, prefixes)
                    totals.add(row)
            except UNREADABLE as error:
                self._files.unreadable(key, error)
                return None
        return listed

    def _before(self, number: int) -> Json | None:
        return {"release": number - 1, "sha256": self._sha256} if self._sha256 else None

    def _verify_row(self, place: str, row: ReleasedDocument, manifest: Json, prefixes: "_Prefixes") -> None:
        files, account = self._files, row.listed.account
        self.documents += 1
        drafts = self._drafts.get(row.period)
        draft = drafts.found.get(account) if drafts else None
        if drafts is None or draft is None:
            files.problem(place, f"{row.period} has no draft of it")
            return
        drafts.unlisted.difference_update(row.prefix + name for name in row.listed.files if name != LINES)
        state = self._states.setdefault((row.period, account), _State())
        files.report(place, self._out_of_order(row, state))
        number = prefixes.expected(row.listed.document, row.listed.number)
        found = _Document(row, draft, drafts.sealed, state, manifest["planned_at"], number)
        expected = self._verify_document(found)
        if expected is not None:
            listed = row.listed
            cells = {name: text_of(value) for name, value in listed.figures.items()}
            cells |= {name: str(getattr(listed, name)) for name in _COPIED if name not in FIGURES}
            files.report(place, differences(cells, {name: str(expected[name]) for name in cells}))
            shown = {name: expected[name] for name in _PREVIOUS}
            self._previous[account] = {"period": str(row.period), **shown}
        state.revision = row.revision
        state.number, state.cancelled = ("", row.cancels) if row.cancels else (row.listed.number, "")
        state.document = expected or {}

    def _out_of_order(self, row: ReleasedDocument, state: _State) -> Iterator[str]:
        """Yield what is wrong with a document at its place among those of its draft and of its account."""
        if row.revision != state.revision + 1:
            yield f"revision: expected {state.revision + 1}, found {row.revision}"
        if row.cancels:
            if row.cancels != state.number:
                yield f"cancels: expected {state.number or 'nothing'}, found {row.cancels}"
            return
        if state.number:
            yield f"{state.number} states the same lines, and is not cancelled"
        for period, one in sorted(self._drafts.items()):
            account = row.listed.account
            if (
                period < row.period
                and account in one.found
                and not self._states.get((period, account), _State()).number
            ):
                yield f"the draft of {period} comes first"
                return

    # ------------------------------------------------------------ a document

    def _verify_document(self, found: "_Document") -> Json | None:
        """Verify the files of a document; return what its JSON must hold, ``None`` if a file cannot be read."""
        files, row = self._files, found.row
        content = files.content(row.prefix + STATEMENT, row.listed.files[STATEMENT])
        page = files.content(row.prefix + PAGE, row.listed.files[PAGE])
        if row.listed.files[LINES] != found.draft.lines:
            files.problem(found.lines_key, f"is not the file that {row.listed.number} names")
        if content is None:
            return None
        key = row.prefix + STATEMENT
        try:
            document = exact_json.parse_sealed(content)
            recomputed = self._recompute(found, document)
            sums = self._sums(found)
            if recomputed is None or sums is None:
                return None
            header = {**document, **found.header(), "previous": self._previous.get(row.listed.account)}
            base, rate = in_base(sums, header, found.sealed.base, reverses=bool(row.cancels))
            header["base"] = base
            header["tax_in"] = {"currency": found.sealed.base, "exchange_rate": rate} if rate else None
            lines_file = {"name": LINES, **found.draft.lines._asdict()}
            expected = recomputed.document(header, "", lines_file)
            files.report(key, differences(document, expected))
            files.report(key, tax_problems(document))
            files.report(key, found.problems(document))
            if page is not None and page != statement_page(document):
                files.problem(row.prefix + PAGE, f"is not the page of {STATEMENT}")
        except UNREADABLE as error:
            files.unreadable(key, error)
            return None
        # What the next document carries on is what this one shows; the list is compared with what is right.
        return {**document, **{name: expected[name] for name in _COPIED}}

    def _recompute(self, found: "_Document", document: Json) -> Recomputation | None:
        """Add up the lines of the draft, whose hash is verified; return ``None`` if they cannot be read."""
        sealed, row = found.sealed, found.row
        recomputed = Recomputation(str(sealed.period), sealed.zone, taxes=document["taxes"], reverses=bool(row.cancels))
        with SpooledTemporaryFile(IN_MEMORY) as file:
            if self._files.copy(found.lines_key, file) is None:
                return None
            for line in read_lines(file):
                recomputed.add(line)
        return recomputed

    def _sums(self, found: "_Document") -> Json | None:
        content = self._files.content(statement_prefix(found.row.period, found.row.listed.account) + DRAFT)
        sums: Json | None = exact_json.parse_sealed(content)["sums"] if content else None
        return sums


@dataclass(frozen=True, slots=True)
class _Document:
    """A document of a release: its row, its draft, and what must be right. ``number``: the one that it must have."""

    row: ReleasedDocument
    draft: FoundDraft
    sealed: SealedPeriod
    state: _State
    planned_at: str
    number: str

    @property
    def lines_key(self) -> str:
        """The key of the file of its lines."""
        return statement_prefix(self.row.period, self.row.listed.account) + LINES

    def header(self) -> dict[str, Any]:
        """Return the members that follow from the manifests, the list, and the documents before."""
        sealed, row, cancelled = self.sealed, self.row, self.state.document
        return {
            "schema": sealed.manifest["schema"],
            "number": self.number,
            "issued_on": day_in(sealed.zone, parse_iso(self.planned_at)).isoformat(),
            "period": str(sealed.period),
            **bounds_of(sealed.period, sealed.zone),
            "time_zone": sealed.manifest["time_zone"],
            "cut_off": sealed.manifest["cut_off"],
            "recorded_until": iso_seconds(sealed.bound.end),
            "agency": row.listed.account.agency,
            "currency": row.listed.account.currency,
            "rounding": sealed.manifest["rounding"],
            "cancels": {name: cancelled.get(name) for name in ("number", "document", "issued_on")}
            if row.cancels
            else None,
            "replaces": None if row.cancels else self.state.cancelled or None,
        }

    def problems(self, document: Json) -> Iterator[str]:
        """Yield what is wrong with its tax profiles, and, if it cancels another one, with what both have in common."""
        if any(row["scheme"] is None for row in document["taxes"]):
            yield "taxes: a tax point has no tax profile"
        if self.row.cancels and self.state.document:
            cancelled = self.state.document
            names = ("scheme", "percent", "tax_points")
            right, found = (
                {
                    **{name: one[name] for name in _SAME},
                    "taxes": [{name: row[name] for name in names} for row in one["taxes"]],
                }
                for one in (cancelled, document)
            )
            yield from differences(found, right)


class _Prefixes:
    """The series of a release. ``series``: the next number of each, which is moved on."""

    def __init__(self, numbers: Iterable[str], series: dict[str, int]) -> None:
        self._prefixes = sorted(numbers, key=len, reverse=True)
        self._series = series
        self._of: dict[str, str] = {}
        for prefix in self._prefixes:
            series.setdefault(prefix, 1)

    def expected(self, document: str, number: str) -> str:
        """Return the number that a document must have; the next one follows the number that it has, if that is one.

        So a gap is one problem, not one of every later document.
        """
        found = next((one for one in self._prefixes if self._is_of(one, number)), None)
        prefix = self._of.setdefault(document, found or "")
        if any(other != document and one == prefix for other, one in self._of.items()):
            return f"a number of another series than {prefix}"
        expected = f"{prefix}{self._series.get(prefix, 1):0{_DIGITS}d}"
        if found == prefix and found is not None:
            self._series[prefix] = int(number.removeprefix(prefix)) + 1
        return expected

    @staticmethod
    def _is_of(prefix: str, number: str) -> bool:
        digits = number.removeprefix(prefix)
        return number.startswith(prefix) and digits.isascii() and digits.isdecimal()


def _rows(file: Any) -> Iterator[ReleasedDocument]:  # noqa: ANN401 - a temporary file
    return read_release(io.TextIOWrapper(file, encoding="utf-8", newline=""))
