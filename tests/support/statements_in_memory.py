"""Statements in a dict, made by the product's own run from sealed reports, and ways to tamper with them."""

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from functools import partial
from io import BytesIO
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, cast
from unittest.mock import patch

from botocore.exceptions import ClientError

from quarterhour.aws.entity import IndexRange, Key, Range, Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.items import from_item, to_item
from quarterhour.aws.workers import Workers
from quarterhour.model.clock import ManualClock, iso_millis, using
from quarterhour.model.identifiers import Account
from quarterhour.model.money import ZERO
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.registry.agencies.agency import Agency, TaxProfile
from quarterhour.registry.owner import Owner
from quarterhour.reports.base_currency import Pins, pins_of
from quarterhour.reports.digests import hexdigest
from quarterhour.reports.keys import MANIFEST, REPORTS, part_of_lines, run_bounds
from quarterhour.reports.plan import Checkpoint, Run
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.statements.document.files import rendered
from quarterhour.statements.drafts.draft import COLUMNS as DRAFT_COLUMNS
from quarterhour.statements.drafts.draft import DraftItem
from quarterhour.statements.drafts.service import DraftRunner
from quarterhour.statements.keys import DRAFT, LINES, PAGE, STATEMENT, XML, draft_key, folder_of, period_of_manifest
from quarterhour.statements.listing import COLUMNS
from quarterhour.statements.parties import Parties, PartyVersions
from quarterhour.statements.plan import Progress, StatementPlan, StatementSettings
from quarterhour.statements.releases import context
from quarterhour.statements.releases.checks import Check, failed
from quarterhour.statements.releases.context import DraftContexts
from quarterhour.statements.releases.decisions import Decider, planned_decision
from quarterhour.statements.releases.keys import PROGRESS_KEY, release_of_manifest
from quarterhour.statements.releases.plan import ReleasePlan, ReleaseProgress
from quarterhour.statements.releases.requests import DraftRequest
from quarterhour.statements.releases.run import ReleaseRunner
from quarterhour.statements.releases.store import ReleaseStore
from quarterhour.statements.status.plan import Dispute
from quarterhour.statements.status.store import StatementStatusStore
from quarterhour.statements.store import StatementStores, plan_of_period
from tests.support import sealing
from tests.support.sealing import Objects

OWNER: Final = Owner(legal_name="Market Ltd", address="1 Quay", country="JE", vat_id="GB123456789")


@dataclass(slots=True)
class StatementRuns:
    """Makes drafts from the sealed reports among the objects, and releases them; ``profiles``: tax by agency.

    ``items``: those of drafts, statements and releases, by their keys. ``known``: the profiles at each run.
    """

    objects: Objects
    settings: StatementSettings
    profiles: Mapping[str, TaxProfile] = field(default_factory=dict)
    progress: Progress = field(default_factory=Progress)
    items: dict[tuple[str, str], Values] = field(default_factory=dict)
    known: dict[datetime, Mapping[str, TaxProfile]] = field(default_factory=dict)

    def run(self, now: datetime) -> list[str]:
        """Make the drafts of every period that is due, and release all that can be; return the periods."""
        self.known[now] = self.profiles
        control = cast(
            "dict[str, Any]",
            dict.fromkeys(("checkpoints", "runs", "pins", "projections", "progress", "drafts"), _Stores(self)),
        )
        stores = StatementStores(
            **control,
            entities=self._entities,
            files=SealedFiles(cast("Any", _Bucket(self.objects)), "bucket"),
            workers=Workers(1),
            began=lambda: run_bounds(self.runs[0]["sk"])[0],
        )
        releaser = ReleaseRunner(
            self.store, stores.files, self._statuses, self._contexts, self.settings, paid_since=lambda _: ZERO
        )
        with using(ManualClock(now)), self._with_parties():
            periods = DraftRunner(stores, self.settings).run(lambda: 900.0).periods
            releaser.run(lambda: 900.0)
        for key in [key for key in self.objects if key.startswith("work/")]:
            del self.objects[key]
        return periods

    def decide(self, draft: DraftItem, request: DraftRequest, now: datetime) -> None:
        """Decide about a draft as the API does; raise ``ConflictError`` if it does not allow the decision."""

        def failures() -> list[Check]:
            return failed(draft, self._contexts.gather([draft], now, counted=False)[0])

        self.known[now] = self.profiles
        with using(ManualClock(now)), self._with_parties():
            decided = planned_decision(draft, request, Decider("ann", iso_millis(now), needs_two=False), failures)
        if decided:
            assert self.store.decide(decided, len(draft.decisions))

    @property
    def store(self) -> ReleaseStore:
        """The store of the releases."""
        return _ReleaseStore(cast("Any", None), "memory", Workers(1), self.items)

    @property
    def drafts(self) -> list[DraftItem]:
        """All drafts, by period and account."""
        return [DraftItem.of(self.items[key]) for key in sorted(self.items) if key[0].startswith("DRAFTS#")]

    @property
    def _entities(self) -> EntityReader:
        return _Entities(cast("Any", None), "memory", self.items)

    @property
    def _contexts(self) -> DraftContexts:
        return DraftContexts(self._entities, partial(plan_of_period, self._entities))

    @property
    def _statuses(self) -> StatementStatusStore:
        return _Statuses(cast("Any", None), self._entities)

    @contextmanager
    def _with_parties(self) -> Iterator[None]:
        """Let the releases read these parties, not documents."""
        with ExitStack() as patched:
            patched.enter_context(patch.object(context, "PartyReader", lambda _: _Parties(self.known)))
            yield

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
                    for entry in manifest["quarter_hours"]
                    for file in entry["files"]
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
        return Checkpoint(
            QuarterHour.parse(last["quarter_hours"][-1]["quarter_hour"]), (last["run"], last["sha256"]), None
        )

    def days(self, first: date, last: QuarterHour) -> Iterator[tuple[date, list[Run]]]:
        spans = [(run_bounds(run["sk"]), run) for run in self.statements.runs]
        within = [(start.date(), run) for (start, end), run in spans if start.date() >= first and end <= last.end]
        for day, some in groupby(within, lambda entry: entry[0]):
            yield day, [run for _, run in some]

    def pinned(self, quarter_hour: QuarterHour, base: str) -> Pins:
        for manifest in self.statements.manifests:
            for entry in manifest["quarter_hours"]:
                if entry["quarter_hour"] == str(quarter_hour) and manifest.get("base_currency") == base:
                    return pins_of(entry["rates"], base)
        return {}

    def write(self, items: Iterable[Mapping[str, Any]]) -> None:
        for one in items:
            _put(self.statements.items, one)

    def insert(self, drafts: Iterable[DraftItem]) -> None:
        for one in drafts:
            values = one.as_item()
            if (values["pk"], values["sk"]) not in self.statements.items:
                _put(self.statements.items, values)

    def progress(self) -> Progress:
        return self.statements.progress

    def save_plan(self, progress: Progress, plan: StatementPlan) -> None:
        self.statements.progress = replace(progress, first_period=plan.first_period, plan=plan)

    def finish(self, plan: StatementPlan, manifest_sha256: str) -> None:
        self.statements.progress = Progress(plan.first_period, plan.period, plan.bound, manifest_sha256)


@dataclass(frozen=True, slots=True)
class _Parties:
    """The owner, and the agencies with a tax profile, as they were known at a run; each instant is a version."""

    known: Mapping[datetime, Mapping[str, TaxProfile]]

    def owner(self, at: datetime, known: datetime) -> Owner:
        assert at <= known
        return OWNER

    def parties(self, accounts: Sequence[Account], at: datetime, known: datetime | PartyVersions) -> list[Parties]:
        if isinstance(known, datetime):
            assert at <= known
            version = sum(one <= known for one in self.known)
        else:
            version = known.agency
        profiles = self.known[sorted(self.known)[version - 1]]

        def agency(name: str) -> Agency | None:
            tax = profiles.get(name)
            return Agency(at, f"Agency {name}", "2 Quay", "GB", tax) if tax else None

        return [
            Parties(
                OWNER,
                agency(one.agency),
                partial(_constant, agency(one.agency)),
                PartyVersions(version, version),
            )
            for one in accounts
        ]


def _constant(agency: Agency | None, _: datetime) -> Agency | None:
    return agency


def _put(items: dict[tuple[str, str], Values], values: Mapping[str, Any]) -> None:
    """Put an item as the table gives it back."""
    items[values["pk"], values["sk"]] = from_item(to_item(values))


@dataclass(frozen=True, slots=True)
class _Entities(EntityReader):
    """Reads of the items; an index has no lag."""

    items: dict[tuple[str, str], Values]

    def get(self, key: Key) -> Values | None:
        return self.items.get((key["pk"], key["sk"]))

    def get_many(self, keys: Sequence[Key]) -> list[Values]:
        return [found for key in keys if (found := self.get(key))]

    def read(self, key_range: Range, page_size: int) -> Iterator[Values]:  # noqa: ARG002
        found = [one for (pk, sk), one in self.items.items() if pk == key_range.pk and key_range.holds(sk)]
        return iter(sorted(found, key=itemgetter("sk"), reverse=key_range.descending))

    def read_index(self, key_range: IndexRange, page_size: int) -> Iterator[Values]:  # noqa: ARG002
        pk, sk = f"{key_range.index}pk", f"{key_range.index}sk"
        of_index = [one for one in self.items.values() if one.get(pk) == key_range.pk]
        found = [one for one in of_index if key_range.low <= one[sk] <= key_range.high]
        return iter(sorted(found, key=itemgetter(sk), reverse=key_range.descending))


@dataclass(frozen=True, slots=True)
class _ReleaseStore(ReleaseStore):
    """Writes items as ``ReleaseStore`` does, on the same conditions."""

    items: dict[tuple[str, str], Values]

    @property
    def entities(self) -> EntityReader:
        return _Entities(self.client, self.table, self.items)

    def progress(self) -> ReleaseProgress:
        return ReleaseProgress.of(self._control)

    @property
    def _control(self) -> Values:
        return self.items.get((PROGRESS_KEY["pk"], PROGRESS_KEY["sk"]), {})

    def save_plan(self, progress: ReleaseProgress, plan: ReleasePlan) -> None:
        assert self.progress() == progress
        _put(self.items, {**PROGRESS_KEY, **self._control, "plan": plan.as_dict()})

    def finish(self, plan: ReleasePlan, sha256: str, series: dict[str, int]) -> None:
        assert self.progress().plan == plan
        _put(self.items, {**PROGRESS_KEY, "last": plan.number, "manifest_sha256": sha256, "series": series})

    def decide(self, draft: DraftItem, seen: int) -> bool:
        key = draft_key(draft.period, draft.account)
        if self.items[key["pk"], key["sk"]]["changes"] != seen:
            return False
        _put(self.items, draft.as_item())
        return True

    def write_later(self, items: Sequence[dict[str, Any]]) -> None:
        for one in items:
            if self.items.get((one["pk"], one["sk"]), {}).get("release", 0) < one["release"]:
                _put(self.items, one)

    def put(self, item: dict[str, Any]) -> None:
        _put(self.items, item)


@dataclass(frozen=True, slots=True)
class _Statuses(StatementStatusStore):
    """Writes the changes of statuses as items."""

    def record(self, change: Values, dispute: Dispute | None = None) -> None:  # noqa: ARG002
        assert isinstance(self.entities, _Entities)
        _put(self.entities.items, change)


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
    return DRAFT_COLUMNS if key.endswith("drafts.csv") else COLUMNS


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
        listed = key.replace(MANIFEST, "drafts.csv")
        if listed in objects:
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
            objects.pop(folder + XML, None)
            objects |= {folder + name: content for name, content in rendered(document).items()}
        _cover_up_row(objects, folder, row, {STATEMENT: "json", PAGE: "html"})
        if folder + XML in objects:
            _cover_up_row(objects, folder, row, {XML: "xml"})
        else:
            row |= {"xml_sha256": "", "xml_size": ""}
        _cover_up_row(objects, lines, row, {LINES: "csv"})
    write_rows(objects, key, rows)


def _cover_up_row(objects: Objects, folder: str, row: dict[str, str], files: Mapping[str, str]) -> None:
    for name, column in files.items():
        row |= {f"{column}_{what}": str(value) for what, value in _sealed(objects[folder + name]).items()}


def _sealed(content: bytes) -> dict[str, Any]:
    return {"sha256": hexdigest(content), "size": len(content)}
