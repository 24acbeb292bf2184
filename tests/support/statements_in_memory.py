"""Drafts and statements in a dict, made by the product's own runs from sealed reports, and ways to tamper with them."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import partial
from io import BytesIO
from itertools import groupby
from typing import Any, Final, cast

from botocore.exceptions import ClientError

from quarterhour.agencies.agency import Agency, TaxProfile
from quarterhour.aws.workers import Workers
from quarterhour.model.clock import ManualClock, using
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.releases.checks import DraftContext
from quarterhour.releases.keys import RELEASES, release_of_manifest
from quarterhour.releases.listing import COLUMNS
from quarterhour.releases.plan import LastDocument, ReleasePlan, ReleaseProgress
from quarterhour.releases.run import ReleaseRunner
from quarterhour.reports.base_currency import Pins, pins_of
from quarterhour.reports.digests import hexdigest
from quarterhour.reports.keys import MANIFEST, REPORTS, files_of, part_of_lines, run_bounds
from quarterhour.reports.plan import Checkpoint, Run
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.statements.document import Parties
from quarterhour.statements.draft_items import DONE, DUE, DraftDecision, DraftItem, DraftState
from quarterhour.statements.drafts import COLUMNS as DRAFT_COLUMNS
from quarterhour.statements.keys import DRAFT, LINES, PAGE, STATEMENT, folder_of, period_of_manifest, statement_key
from quarterhour.statements.listing import COLUMNS_OF_0_2, Listed
from quarterhour.statements.owner import Owner
from quarterhour.statements.page import statement_page
from quarterhour.statements.page_of_0_2 import page_of_0_2
from quarterhour.statements.plan import AT_ONCE, Progress, StatementPlan, StatementSettings
from quarterhour.statements.service import DraftRunner
from quarterhour.statements.store import Published, StatementStores
from tests.support import sealing
from tests.support.sealing import Objects

OWNER: Final = Owner(legal_name="Market Ltd", address="1 Quay", country="GB", vat_id="GB123456789")


@dataclass(slots=True)
class StatementRuns:
    """Makes drafts from the sealed reports among the objects, and releases them; ``profiles``: tax by agency.

    ``at_once``: the last period whose statements are sealed at once, as 0.2.0 did; ``None`` without any.
    """

    objects: Objects
    settings: StatementSettings
    profiles: Mapping[str, TaxProfile] = field(default_factory=dict)
    at_once: Period | None = None
    progress: Progress = field(default_factory=Progress)
    released: ReleaseProgress = field(default_factory=ReleaseProgress)
    plans: dict[Period, StatementPlan] = field(default_factory=dict)
    drafts: dict[tuple[Period, Account], DraftItem] = field(default_factory=dict)
    items: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)

    def run(self, now: datetime) -> list[str]:
        """Make the drafts of every period that is due, and release all that can be; return the periods."""
        stores = StatementStores(
            **cast(
                "dict[str, Any]",
                dict.fromkeys(("checkpoints", "runs", "pins", "projections", "progress", "drafts"), _Stores(self)),
            ),
            parties=cast("Any", _Parties(self.profiles)),
            files=SealedFiles(cast("Any", _Bucket(self.objects)), "bucket"),
            workers=Workers(1),
            began=lambda: run_bounds(self.runs[0]["sk"])[0],
        )
        with using(ManualClock(now)):
            periods = DraftRunner(stores, self.settings).run(lambda: 900.0).periods
            releases = cast("Any", _Releases(self))
            statuses, contexts = cast("Any", releases), cast("Any", _Contexts(self))
            runner = ReleaseRunner(releases, stores.files, stores.progress, statuses, contexts, self.settings)
            runner.run(lambda: 900.0)
        for key in [key for key in self.objects if key.startswith("work/")]:
            del self.objects[key]
        return periods

    def decide(self, period: str, account: str, state: DraftState) -> None:
        """Let somebody decide about a draft: the next run carries it out."""
        draft = self.drafts[Period.parse(period), Account.parse(account)]
        decided = draft.decided(DraftDecision(state, "ann", "2027-01-06T09:00:00.000Z", "a wrong name"))
        self.drafts[draft.period, draft.account] = decided

    @property
    def manifests(self) -> list[dict[str, Any]]:
        """The manifests of the reports, in the order of time."""
        keys = sorted(key for key in self.objects if key.startswith(REPORTS) and key.endswith(MANIFEST))
        return [{**json.loads(self.objects[key]), "sha256": hexdigest(self.objects[key])} for key in keys]

    @property
    def runs(self) -> list[Run]:
        """The control items of the reports' runs."""
        return [
            {
                "sk": manifest["run"],
                "lines": manifest["lines"],
                "sealed": {
                    str(part_of_lines(file["key"])): [entry["lines"], file["sha256"], file["size"]]
                    for entry in manifest["buckets"]
                    for file in files_of(entry)
                },
            }
            for manifest in self.manifests
        ]


@dataclass(frozen=True, slots=True)
class _Stores:
    """The control items that a statement run reads and writes."""

    statements: StatementRuns

    def checkpoint(self) -> Checkpoint:
        *_, last = self.statements.manifests
        return Checkpoint(QuarterHour.parse(last["buckets"][-1]["bucket"]), (last["run"], last["sha256"]), None)

    def days(self, first: date, last: QuarterHour) -> Iterator[tuple[date, list[Run]]]:
        spans = [(run_bounds(run["sk"]), run) for run in self.statements.runs]
        within = [(start.date(), run) for (start, end), run in spans if start.date() >= first and end <= last.end]
        for day, some in groupby(within, lambda entry: entry[0]):
            yield day, [run for _, run in some]

    def pinned(self, quarter_hour: QuarterHour, base: str) -> Pins:
        for manifest in self.statements.manifests:
            for entry in manifest["buckets"]:
                if entry["bucket"] == str(quarter_hour) and manifest.get("base_currency") == base:
                    return pins_of(entry["rates"], base)
        return {}

    def write(self, items: Iterable[dict[str, Any]]) -> None:
        self.statements.items |= {_key(one): one for one in items}

    def insert(self, drafts: Iterable[DraftItem]) -> None:
        self.statements.drafts |= {(one.period, one.account): one for one in drafts}

    def progress(self) -> Progress:
        return self.statements.progress

    def save_plan(self, progress: Progress, plan: StatementPlan) -> None:
        if self.statements.at_once and plan.period <= self.statements.at_once:
            plan = replace(plan, schema=AT_ONCE)
        self.statements.progress = replace(progress, first_period=plan.first_period, plan=plan)

    def finish(self, plan: StatementPlan, published: Published) -> None:
        self.statements.plans[plan.period] = plan
        drafted = self.statements.progress.drafted_from or (None if plan.schema == AT_ONCE else plan.period)
        self.statements.progress = Progress(
            plan.first_period,
            plan.period,
            plan.bound,
            published.manifest_sha256,
            published.numbers,
            drafted_from=drafted,
        )


@dataclass(frozen=True, slots=True)
class _Releases:
    """What the releases keep in the Entity table."""

    of: StatementRuns
    workers: Workers = field(default_factory=lambda: Workers(1))

    def progress(self) -> ReleaseProgress:
        return self.of.released

    def save_plan(self, progress: ReleaseProgress, plan: ReleasePlan) -> None:
        self.of.released = replace(progress, plan=plan)

    def finish(self, plan: ReleasePlan, sha256: str, series: dict[str, int]) -> None:
        self.of.released = ReleaseProgress(plan.number, sha256, series)

    def due(self) -> list[DraftItem]:
        return [one for one in self.of.drafts.values() if one.state in DUE]

    def without_statement(self) -> Iterator[DraftItem]:
        return (one for one in self.of.drafts.values() if one.state not in DONE)

    def drafts(self, keys: Iterable[tuple[Period, Account]]) -> list[DraftItem]:
        return [self.of.drafts[key] for key in keys]

    def decide_all(self, drafts: Sequence[DraftItem]) -> None:
        self.of.drafts |= {(one.period, one.account): one for one in drafts}

    def statements(self, keys: Iterable[tuple[Period, Account]]) -> dict[tuple[Period, Account], dict[str, Any]]:
        found = {key: self.of.items.get(_key(statement_key(*key))) for key in keys}
        return {key: item for key, item in found.items() if item}

    def last_documents(self, accounts: Sequence[Account], of_0_2: Period | None) -> dict[Account, LastDocument]:
        found = {one: self.of.items.get((f"BILLED#{one}", "last")) for one in accounts}
        if of_0_2:
            found = {one: item or self.of.items.get(_key(statement_key(of_0_2, one))) for one, item in found.items()}
        return {
            account: LastDocument(Period.parse(item["period"]), Listed.of_item(item))
            for account, item in found.items()
            if item
        }

    def write_later(self, items: Sequence[dict[str, Any]]) -> None:
        self.of.items |= {_key(one): one for one in items}

    def put(self, item: dict[str, Any]) -> None:
        self.write_later([item])

    def add(self, *_: object) -> None:
        """Add a change of a statement's status; the files have none."""


def _key(item: Mapping[str, Any]) -> tuple[str, str]:
    return item["pk"], item["sk"]


@dataclass(frozen=True, slots=True)
class _Contexts:
    """What drafts are checked against."""

    statements: StatementRuns

    def plan_of(self, period: Period) -> StatementPlan:
        return self.statements.plans[period]

    @property
    def parties(self) -> "_Parties":
        return _Parties(self.statements.profiles)

    def gather(self, drafts: Sequence[DraftItem], known: datetime, *, counted: bool) -> list[DraftContext]:
        assert not counted
        found = self.parties.parties(OWNER, [one.account for one in drafts], known, known)
        return [
            DraftContext(OWNER, one.agency, partial(_constant_on, one.agency.tax if one.agency else None))
            for one in found
        ]


def _constant_on(profile: TaxProfile | None, _: date) -> TaxProfile | None:
    return profile


@dataclass(frozen=True, slots=True)
class _Parties:
    profiles: Mapping[str, TaxProfile]

    def owner(self, at: datetime, known: datetime) -> Owner:
        assert at <= known
        return OWNER

    def parties(self, owner: Owner, accounts: Sequence[Account], at: datetime, known: datetime) -> list[Parties]:
        assert at <= known
        agencies = [
            Agency(at, f"Agency {one.agency}", "2 Quay", "GB", tax=self.profiles.get(one.agency)) for one in accounts
        ]
        return [Parties(owner, one if one.tax else None, partial(_constant, one.tax)) for one in agencies]


def _constant(profile: TaxProfile | None, _: datetime) -> TaxProfile | None:
    return profile


@dataclass(frozen=True, slots=True)
class _Bucket:
    """What the runs need of an S3 client."""

    objects: Objects

    def put_object(self, *, Key: str, Body: Any, **_: str) -> None:  # noqa: N803 - S3's names
        if Key in self.objects:
            raise _error("PreconditionFailed")
        self.objects[Key] = Body if isinstance(Body, bytes) else Body.read()

    def get_object(self, *, Key: str, **_: str) -> dict[str, Any]:  # noqa: N803
        if Key not in self.objects:
            raise _error("NoSuchKey")
        return {"Body": BytesIO(self.objects[Key])}

    def head_object(self, *, Key: str, **_: str) -> dict[str, Any]:  # noqa: N803
        if Key not in self.objects:
            raise _error("404")
        return {"ContentLength": len(self.objects[Key])}


def _error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code}}, "S3")


# ---------------------------------------------------------------- tampering


def read_rows(objects: Objects, key: str) -> list[dict[str, str]]:
    """Return the rows of a list."""
    return list(csv.DictReader(io.StringIO(objects[key].decode(), newline="")))


def write_rows(objects: Objects, key: str, rows: Iterable[Mapping[str, str]]) -> None:
    """Write the rows of a list."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, _columns_of(key), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    objects[key] = text.getvalue().encode()


def _columns_of(key: str) -> Sequence[str]:
    """Return the columns of a list."""
    if key.endswith("drafts.csv"):
        return DRAFT_COLUMNS
    return COLUMNS if key.startswith(RELEASES) else COLUMNS_OF_0_2


def edit_row(objects: Objects, key: str, agency: str, currency: str, **changed: str) -> None:
    """Change the row of an account in a list."""
    rows = read_rows(objects, key)
    (row,) = (row for row in rows if (row["agency"], row["currency"]) == (agency, currency))
    row |= changed
    write_rows(objects, key, rows)


def cover_up(objects: Objects, *, pages: bool = True) -> None:
    """Make all hashes right again, as somebody with access to everything could; and all pages, if ``pages``."""
    sealing.cover_up(objects)
    runs = {run["run"]: run["sha256"] for run in StatementRuns(objects, cast("Any", None)).manifests}
    previous = None
    for key in sorted(key for key in objects if period_of_manifest(key)):
        document = json.loads(objects[key])
        is_of_0_2 = document["schema"] == AT_ONCE
        listed = key.replace(MANIFEST, "statements.csv" if is_of_0_2 else "drafts.csv")
        if listed in objects:
            if is_of_0_2:
                _cover_up_statements_of_0_2(objects, listed, pages=pages)
            else:
                _cover_up_drafts(objects, listed)
            document["files"] = [{"key": listed, **_sealed(objects[listed])}]
        document |= {"previous": previous, "report": {**document["report"], "sha256": runs[document["report"]["run"]]}}
        objects[key] = json.dumps(document).encode()
        previous = {"period": document["period"], "sha256": hexdigest(objects[key])}
    before = None
    for key in sorted(key for key in objects if release_of_manifest(key)):
        document = json.loads(objects[key])
        listed = key.replace(MANIFEST, "statements.csv")
        if listed in objects:
            _cover_up_documents(objects, listed, pages=pages)
            document["files"] = [{"key": listed, **_sealed(objects[listed])}]
        document |= {"previous": before}
        objects[key] = json.dumps(document).encode()
        before = {"release": document["release"], "sha256": hexdigest(objects[key])}


def _cover_up_statements_of_0_2(objects: Objects, key: str, *, pages: bool) -> None:
    rows = read_rows(objects, key)
    for row in rows:
        folder = key.replace("statements.csv", f"{folder_of(row['agency'])}/{row['currency']}/")
        document = json.loads(objects[folder + STATEMENT])
        document["lines_file"] |= _sealed(objects[folder + LINES])
        objects[folder + STATEMENT] = json.dumps(document).encode()
        if pages:
            objects[folder + PAGE] = page_of_0_2(document)
        _cover_up_row(objects, folder, row, {STATEMENT: "json", PAGE: "html", LINES: "csv"})
    write_rows(objects, key, rows)


def _cover_up_drafts(objects: Objects, key: str) -> None:
    rows = read_rows(objects, key)
    for row in rows:
        folder = key.replace("drafts.csv", f"{folder_of(row['agency'])}/{row['currency']}/")
        document = json.loads(objects[folder + DRAFT])
        document["lines_file"] |= _sealed(objects[folder + LINES])
        objects[folder + DRAFT] = json.dumps(document).encode()
        _cover_up_row(objects, folder, row, {DRAFT: "draft", LINES: "csv"})
    write_rows(objects, key, rows)


def _cover_up_documents(objects: Objects, key: str, *, pages: bool) -> None:
    rows = read_rows(objects, key)
    for row in rows:
        lines = f"statements/{row['period']}/{folder_of(row['agency'])}/{row['currency']}/"
        folder = lines if row["revision"] == "1" else f"{lines}{row['revision']}/"
        document = json.loads(objects[folder + STATEMENT])
        document["lines_file"] |= _sealed(objects[lines + LINES])
        objects[folder + STATEMENT] = json.dumps(document).encode()
        if pages:
            objects[folder + PAGE] = statement_page(document)
        _cover_up_row(objects, folder, row, {STATEMENT: "json", PAGE: "html"})
        _cover_up_row(objects, lines, row, {LINES: "csv"})
    write_rows(objects, key, rows)


def _cover_up_row(objects: Objects, folder: str, row: dict[str, str], files: Mapping[str, str]) -> None:
    for name, column in files.items():
        row |= {f"{column}_{what}": str(value) for what, value in _sealed(objects[folder + name]).items()}


def _sealed(content: bytes) -> dict[str, Any]:
    return {"sha256": hexdigest(content), "size": len(content)}
