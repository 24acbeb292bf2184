"""Verifies the sealed files: re-reads every manifest and file, and compares hashes, chain, order and totals."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any, Final

from quarterhour.ledger.postings.posting import PRIOR
from quarterhour.ledger.reading.explanation import commission_matches
from quarterhour.model import exact_json
from quarterhour.model.clock import iso_seconds, parse_iso
from quarterhour.model.identifiers import Account, Identity, Partition, Position, position_suffix
from quarterhour.model.quarter_hours import LENGTH, QuarterHour, span
from quarterhour.model.schema import check_schema
from quarterhour.model.totals import Totals
from quarterhour.reports.base_currency import Conversion, Pins, convert, foreign_currencies, pins_of
from quarterhour.reports.digests import hexdigest, stream_digest
from quarterhour.reports.keys import (
    LEDGER,
    MANIFEST,
    PAGE,
    PRODUCTS,
    REPORTS,
    SUMMARY,
    Part,
    part_of_lines,
    run_id,
    run_prefix,
)
from quarterhour.reports.lines import read_lines, tally_lines
from quarterhour.reports.manifest import accounts_of, periods_of, products, summary
from quarterhour.reports.page import report_page
from quarterhour.reports.plan import (
    PartTotals,
    RunTotals,
    parts_of,
    shards_of,
)

if TYPE_CHECKING:
    from datetime import datetime

OpenObject = Callable[[str], IO[bytes]]
"""Opens an object by its key; raises ``FileNotFoundError`` if it cannot: ``strerror`` may say why."""
Lines = Iterable[dict[str, str]]
Follow = Callable[[Mapping[str, Any], Mapping[str, Any], Lines], Lines]
"""Passes on the lines of a sealed part: its run's manifest, its quarter-hour in it, and the lines in their order."""

_IN_MEMORY: Final = 16 << 20
_SHOWN: Final = 100
_MOST_PARTS: Final = 100
"""A part's number has two digits."""


@dataclass(slots=True)
class ReportVerification:
    """The counts of what was verified, and every problem found."""

    runs: int = 0
    quarter_hours: int = 0
    lines: int = 0
    accounts: dict[Account, Totals] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def proven(self) -> bool:
        """Whether there is a run, and no problem was found."""
        return self.runs > 0 and not self.problems


def verify(
    open_object: OpenObject, keys: Iterable[str], retention: timedelta | None = None, follow: Follow | None = None
) -> ReportVerification:
    """Verify the sealed files of the reports among these objects, from the first run to the last.

    ``retention`` is how long the deployment remembers identities (``None``: for ever); an identity that is sealed
    twice within it is a problem. ``follow`` sees all lines of files with the sealed bytes, in their order. Needs
    memory for one short text per line.
    """
    found = ReportVerification()
    names = sorted(keys)
    verifier = _Verifier(open_object, found, retention, follow or _pass_on)
    manifests = [key for key in names if key.startswith(REPORTS) and key.endswith("/" + MANIFEST)]
    for key in manifests:
        verifier.run(key)
    last = max(manifests, default="")
    covered = verifier.until
    for key in names:
        if key.startswith(LEDGER) and key not in verifier.files:
            part = part_of_lines(key)
            # Lines after the last manifest are of a run under way.
            if part is None or (covered is not None and part.quarter_hour.end <= covered):
                found.problems.append(f"{key}: is in no manifest")
        elif key.startswith(REPORTS) and key < last and not key.endswith("/" + MANIFEST) and key not in verifier.files:
            found.problems.append(f"{key}: is in no manifest")
    return found


def _pass_on(_manifest: Mapping[str, Any], _quarter_hour: Mapping[str, Any], lines: Lines) -> Lines:
    return lines


class _Verifier:
    """Verifies the runs in the order of time, and remembers what the next run must agree with."""

    def __init__(
        self, open_object: OpenObject, found: ReportVerification, retention: timedelta | None, follow: Follow
    ) -> None:
        self._open = open_object
        self._found = found
        self._retention = retention
        self._follow = follow
        self._recorded: dict[str, datetime] = {}
        self._previous: dict[str, str] | None = None
        self.until: datetime | None = None
        self.files: set[str] = set()

    def run(self, key: str) -> None:
        try:
            with self._open(key) as file:
                content = file.read()
        except FileNotFoundError as error:
            self._problem(key, _reason(error))
            return
        try:
            document = exact_json.parse_sealed(content)
            previous, self._previous = self._previous, {"run": document["run"], "sha256": hexdigest(content)}
            self._expect(key, "previous", document["previous"], previous)
            self._check_header(key, document)
            quarter_hours = [QuarterHour.parse(entry["quarter_hour"]) for entry in document["quarter_hours"]]
            totals = RunTotals.of(quarter_hours)
            for entry in document["quarter_hours"]:
                self._verify_quarter_hour(key, document, entry, totals)
            sums = totals.by_account()
            self._check_totals(key, document, totals, self._converted(key, document, totals))
        except (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
            self._problem(key, f"cannot be read: {error!r}")
            return
        self._found.runs += 1
        self._found.lines += sum(total.events for total in sums.values())
        for account, total in sums.items():
            self._found.accounts[account] = self._found.accounts.get(account, Totals()) + total

    def _check_header(self, key: str, document: Mapping[str, Any]) -> None:
        """Check schema, bounds, names and quarter-hours."""
        check_schema(document["schema"])
        start, end = parse_iso(document["from"]), parse_iso(document["to"])
        self._check_empty(key, document, start)
        self.until = end
        first, last = QuarterHour.at(start), QuarterHour.at(end).previous
        run = run_id(first, last)
        self._expect(key, "run", document["run"], run)
        self._expect(key, "place", key, run_prefix(run) + MANIFEST)
        names = [run_prefix(run) + one for one in (SUMMARY, PRODUCTS, PAGE)]
        self._expect(key, "files", [file["key"] for file in document["files"]], names)
        covered = [str(quarter_hour) for quarter_hour in span(first, last)]
        self._expect(key, "quarter_hours", [entry["quarter_hour"] for entry in document["quarter_hours"]], covered)

    def _check_empty(self, key: str, document: Mapping[str, Any], start: "datetime") -> None:
        """Check that a run, with the empty time that it names, begins where the previous one ended."""
        empty = document["empty"]
        if self.until is None:
            self._expect(key, "empty", empty, None)
            return
        self._expect(key, "from", (empty or document)["from"], iso_seconds(self.until))
        if empty:
            self._expect(key, "empty.to", empty["to"], document["from"])
            if self.until >= start:
                self._problem(key, f"empty: {_short(empty)} is no time before the run")
            self._found.quarter_hours += max(0, (start - self.until) // LENGTH)

    def _verify_quarter_hour(
        self, key: str, document: Mapping[str, Any], entry: Mapping[str, Any], totals: RunTotals
    ) -> None:
        """Verify the files of a quarter-hour's parts, and add the totals of those that have the sealed bytes."""
        self._found.quarter_hours += 1
        quarter_hour, shards, parts = (
            QuarterHour.parse(entry["quarter_hour"]),
            entry["shards"],
            document["parts"],
        )
        if not 1 <= parts <= _MOST_PARTS:
            raise ValueError(f"{parts} parts")
        self._expect(key, f"shards of {quarter_hour}", shards, document["shards"])
        names = [file["key"] for file in entry["files"]]
        files = dict(zip(names, entry["files"], strict=True))
        known = [part for part in parts_of(quarter_hour, parts) if part.lines_key in files]
        self._expect(key, f"files of {quarter_hour}", names, [part.lines_key for part in known])
        self.files |= files.keys()
        follow = partial(self._follow, document, entry)
        found = [
            self._verify_part(part, files[part.lines_key], shards_of(part, parts, shards), follow) for part in known
        ]
        known_totals = [one for one in found if one]
        if len(known_totals) == len(found):
            lines = sum(one.events for part in known_totals for one in part.periods.values())
            self._expect(key, f"lines of {quarter_hour}", entry["lines"], lines)
        for one in known_totals:
            totals.add(quarter_hour, one)

    def _verify_part(
        self, part: Part, sealed: Mapping[str, Any], shards: range, follow: Callable[[Lines], Lines]
    ) -> PartTotals | None:
        """Verify a part's file and return its totals; ``None`` if the file cannot be read or has other bytes."""
        name = part.lines_key
        with SpooledTemporaryFile(_IN_MEMORY) as file:
            if not self._check_bytes(name, sealed, file):
                return None
            try:
                return tally_lines(follow(self._checked_lines(name, part.quarter_hour, shards, file)))
            except (ValueError, ArithmeticError) as error:
                self._problem(name, f"cannot be read: {error!r}")
                return None

    def _check_bytes(self, name: str, expected: Mapping[str, Any], copy: Any) -> bool:  # noqa: ANN401
        try:
            with self._open(name) as body:
                digest = stream_digest(body, copy=copy)
        except FileNotFoundError as error:
            self._problem(name, _reason(error))
            return False
        size = copy.tell()
        copy.seek(0)
        self._expect(name, "size", size, expected["size"])
        self._expect(name, "SHA-256", digest, expected["sha256"])
        return bool(digest == expected["sha256"])

    def _checked_lines(self, name: str, quarter_hour: QuarterHour, shards: range, file: Any) -> Lines:  # noqa: ANN401
        """Yield a file's lines; check quarter-hour, order, identity and commission of each, and then the shards."""
        last, partitions = "", set[str]()
        for line in read_lines(file):
            position = Position.parse(line["position"])
            if (
                not line["quarter_hour"].startswith(f"{quarter_hour}#")
                or QuarterHour.at(position.recorded_at) != quarter_hour
            ):
                self._problem(name, f"{line['position']} is of another quarter-hour")
            if line["position"] <= last:
                self._problem(name, f"{line['position']} is not after {last}")
            last = line["position"]
            partitions.add(line["quarter_hour"])
            identity = Identity(line["source"], line["id"])
            suffix = position_suffix(identity.hash)  # short, as there is one for each line of the ledger
            before = self._recorded.get(suffix)
            if before is not None and (self._retention is None or position.recorded_at < before + self._retention):
                self._problem(name, f"{identity} was sealed before")
            self._recorded[suffix] = position.recorded_at
            if line["prior_period"] not in {"", PRIOR}:
                self._problem(name, f"{identity} has the flag of a prior period {line['prior_period']!r}")
            if not commission_matches(line):
                self._problem(name, f"{identity} pays another commission than its terms give")
            yield line
        beyond = {Partition.parse(one).shard for one in partitions} - set(shards)
        self._expect(name, "shards beyond those covered", sorted(beyond), [])

    def _converted(self, key: str, document: Mapping[str, Any], totals: RunTotals) -> Conversion | None:
        """Check the pinned exchange rates; return the run converted at them, ``None`` if it has no base currency."""
        rates = {entry["quarter_hour"]: entry.get("rates") for entry in document["quarter_hours"]}

        def pinned(quarter_hour: QuarterHour, base: str, _: Sequence[str]) -> Pins:
            return pins_of(rates[str(quarter_hour)], base)

        conversion = convert(document.get("base_currency", ""), totals.rows, pinned)
        if conversion:
            for quarter_hour, rows in totals.rows.items():
                currencies = foreign_currencies(rows, conversion.base)
                self._check_rates(key, quarter_hour, currencies, rates[str(quarter_hour)], conversion)
        return conversion

    def _check_rates(
        self,
        key: str,
        quarter_hour: QuarterHour,
        currencies: Sequence[str],
        rates: Sequence[Mapping[str, Any]],
        conversion: Conversion,
    ) -> None:
        """Check that each foreign currency of a quarter-hour has an exchange rate in force at its end."""
        named = [rate["currency"] for rate in rates]
        self._expect(key, f"currencies of the rates of {quarter_hour}", named, currencies)
        for currency, rate in pins_of(rates, conversion.base).items():
            if rate and not (rate.units_per_base > 0 and rate.as_of < quarter_hour.end):
                self._problem(key, f"the rate of {currency} in {quarter_hour} was not in force at its end")

    def _check_totals(
        self,
        key: str,
        document: Mapping[str, Any],
        totals: RunTotals,
        conversion: Conversion | None,
    ) -> None:
        """Check the run's counts and totals, and its other files."""
        sums = totals.by_account()
        self._expect(key, "accounts", accounts_of(document), sums)
        named = {
            (account, period): one for account, some in periods_of(document).items() for period, one in some.items()
        }
        self._expect(key, "periods", named, totals.by_row())
        self._expect(key, "lines", document["lines"], sum(one.events for one in sums.values()))
        beside = {**document, "files": document["files"][:-1]}
        contents = [
            ("sums", summary(totals, conversion)),
            ("products", products(totals.products)),
            ("page", report_page(beside)),
        ]
        for file, (what, expected) in zip(document["files"], contents, strict=False):
            self.files.add(file["key"])
            with SpooledTemporaryFile(_IN_MEMORY) as copy:
                self._check_bytes(file["key"], file, copy)
                self._expect(file["key"], what, copy.read(), expected)

    def _expect(self, key: str, what: str, found: object, expected: object) -> None:
        if found != expected:
            self._problem(key, f"{what}: expected {_short(expected)}, found {_short(found)}")

    def _problem(self, key: str, problem: str) -> None:
        self._found.problems.append(f"{key}: {problem}")


def _reason(error: FileNotFoundError) -> str:
    return error.strerror or "is missing"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."
