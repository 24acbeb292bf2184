"""Statements in a dict, made by the product's own run from sealed reports, and ways to tamper with them."""

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
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.reports.base_currency import Pins, pins_of
from quarterhour.reports.digests import hexdigest
from quarterhour.reports.keys import MANIFEST, REPORTS, files_of, part_of_lines, run_bounds
from quarterhour.reports.plan import Checkpoint, Run
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.statements.document import Parties
from quarterhour.statements.keys import LINES, PAGE, STATEMENT, XML, folder_of, period_of_manifest
from quarterhour.statements.owner import Owner
from quarterhour.statements.pages import rendered
from quarterhour.statements.plan import Progress, StatementPlan, StatementSettings
from quarterhour.statements.service import StatementRunner
from quarterhour.statements.store import Published, StatementStores
from tests.support import sealing
from tests.support.sealing import Objects

OWNER: Final = Owner(legal_name="Market Ltd", country="GB", vat_id="GB123456789")


@dataclass(slots=True)
class StatementRuns:
    """Seals periods from the sealed reports among the objects; ``profiles``: tax by agency."""

    objects: Objects
    settings: StatementSettings
    profiles: Mapping[str, TaxProfile] = field(default_factory=dict)
    progress: Progress = field(default_factory=Progress)

    def run(self, now: datetime) -> list[str]:
        """Seal the statements of every period that is due; return the periods."""
        stores = StatementStores(
            **cast(
                "dict[str, Any]",
                dict.fromkeys(("checkpoints", "runs", "pins", "projections", "progress"), _Stores(self)),
            ),
            parties=cast("Any", _Parties(self.profiles)),
            files=SealedFiles(cast("Any", _Bucket(self.objects)), "bucket"),
            workers=Workers(1),
            began=lambda: run_bounds(self.runs[0]["sk"])[0],
        )
        with using(ManualClock(now)):
            periods = StatementRunner(stores, self.settings).run(lambda: 900.0).periods
        for key in [key for key in self.objects if key.startswith("work/")]:
            del self.objects[key]
        return periods

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

    def write(self, items: Iterable[Mapping[str, Any]]) -> None:
        list(items)

    def progress(self) -> Progress:
        return self.statements.progress

    def save_plan(self, progress: Progress, plan: StatementPlan) -> None:
        self.statements.progress = replace(progress, first_period=plan.first_period, plan=plan)

    def finish(self, plan: StatementPlan, published: Published) -> None:
        self.statements.progress = Progress(
            plan.first_period, plan.period, plan.bound, published.manifest_sha256, published.numbers
        )


@dataclass(frozen=True, slots=True)
class _Parties:
    profiles: Mapping[str, TaxProfile]

    def owner(self, at: datetime, known: datetime) -> Owner:
        assert at <= known
        return OWNER

    def parties(self, owner: Owner, accounts: Sequence[Account], at: datetime, known: datetime) -> list[Parties]:
        assert at <= known
        agencies = [
            Agency(at, f"Agency {one.agency}", country="DE", tax=self.profiles.get(one.agency)) for one in accounts
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
    columns = next(csv.reader([objects[key].decode().partition("\n")[0]]))
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    objects[key] = text.getvalue().encode()


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
        listed = key.replace(MANIFEST, "statements.csv")
        if listed in objects:
            _cover_up_list(objects, listed, pages=pages)
            document["files"] = [{"key": listed, **_sealed(objects[listed])}]
        document |= {"previous": previous, "report": {**document["report"], "sha256": runs[document["report"]["run"]]}}
        objects[key] = json.dumps(document).encode()
        previous = {"period": document["period"], "sha256": hexdigest(objects[key])}


def _cover_up_list(objects: Objects, key: str, *, pages: bool) -> None:
    rows = read_rows(objects, key)
    for row in rows:
        folder = key.replace("statements.csv", f"{folder_of(row['agency'])}/{row['currency']}/")
        document = json.loads(objects[folder + STATEMENT])
        document["lines_file"] |= _sealed(objects[folder + LINES])
        objects[folder + STATEMENT] = json.dumps(document).encode()
        if pages:
            objects.pop(folder + XML, None)
            objects |= {folder + name: content for name, content in rendered(document).items()}
        for name, column in ((STATEMENT, "json"), (PAGE, "html"), (LINES, "csv"), (XML, "xml")):
            if f"{column}_size" in row:
                sealed = _sealed(objects[folder + name]) if folder + name in objects else {"sha256": "", "size": ""}
                row |= {f"{column}_{what}": str(value) for what, value in sealed.items()}
    write_rows(objects, key, rows)


def _sealed(content: bytes) -> dict[str, Any]:
    return {"sha256": hexdigest(content), "size": len(content)}
