"""Reads the reports: the runs with their proofs, a run's manifest, and links to its files."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final

from quarterhour.aws.entity import Range, Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.items import Request
from quarterhour.aws.retries import with_retries
from quarterhour.model.clock import iso_seconds
from quarterhour.model.errors import NotFoundError
from quarterhour.model.fields import shown
from quarterhour.registry.documents.keys import report
from quarterhour.reports.keys import (
    ALL_RUNS,
    MANIFEST,
    RUNS,
    is_run_id,
    run_bounds,
    run_key,
    run_prefix,
    runs_between,
)
from quarterhour.web.access import Caller
from quarterhour.web.paging import Paging, within

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

    from quarterhour.reports import api
    from quarterhour.web.paging import Page

LINKS_VALID: Final = timedelta(minutes=15)
LARGEST_MANIFEST: Final = 2 << 20
"""The most bytes of a manifest in a response: a Lambda response has at most 6 MB, and escaping adds to it."""


def manifest_request(bucket: str, run: str) -> Request:
    """Build the GetObject of a run's manifest."""
    return {"Bucket": bucket, "Key": run_prefix(run) + MANIFEST}


def link_request(bucket: str, key: str) -> Request:
    """Build the request that is signed for a link to an object."""
    return {
        "ClientMethod": "get_object",
        "Params": {"Bucket": bucket, "Key": key},
        "ExpiresIn": int(LINKS_VALID.total_seconds()),
    }


def shown_run(values: Mapping[str, Any]) -> "api.ReportRun":
    """Return a run as the API shows it: bounds, counts, its worst proof, and the hash of its manifest."""
    first, end = run_bounds(values["sk"])
    return {
        "run": values["sk"],
        "from": iso_seconds(first),
        "to": iso_seconds(end),
        "planned_at": values["planned_at"],
        "quarter_hours": int(values["quarter_hours"]),
        "lines": int(values["lines"]),
        "default_rate_events": int(values["default_rate_events"]),
        "counters": values["counters"],
        "manifest_sha256": values["manifest_sha256"],
    }


def all_files(run: Values, manifest: Mapping[str, Any], size: int) -> "list[api.File]":
    """Return the files of a run: its manifest, its summary, and the lines of its quarter-hours."""
    manifest_file: api.File = {"key": run_prefix(run["sk"]) + MANIFEST, "sha256": run["manifest_sha256"], "size": size}
    return [
        manifest_file,
        *manifest["files"],
        *(file for entry in manifest["quarter_hours"] for file in entry["files"]),
    ]


def is_visible(entities: EntityReader, may_read: Callable[[str, Caller], bool], run: str, caller: Caller) -> bool:
    """Return whether a report run exists, and whether its document may be read by the caller (``may_read``)."""
    return is_run_id(run) and may_read(report(run), caller) and entities.get(run_key(run)) is not None


def no_run(run: str) -> NotFoundError:
    """Return the error for a run that does not exist, or that the caller may not read: both look the same."""
    return NotFoundError(f"there is no run {shown(run)}")


@dataclass(frozen=True, slots=True)
class ReportQueries:
    """Queries of the reports."""

    entities: EntityReader
    s3: "S3Client"
    bucket: str

    def runs(self, day: date | None, paging: Paging) -> "Page[api.ReportRun]":
        """Return the runs, the newest first: all, or those of a day of UTC."""
        listed = ALL_RUNS if day is None else Range(RUNS, *runs_between(day, day))
        after = paging.start(lambda run: within(listed.low, _known_run(run), listed.high), None)
        entries = self.entities.read(replace(listed, descending=True, after=after), paging.limit + 1)
        return paging.cut(entries, shown_run, lambda values: values["sk"])

    def run(self, run: str) -> "api.Report":
        """Return a run with its manifest and links to its files; raise ``NotFoundError`` if there is none."""
        values = self.entities.get(run_key(run)) if is_run_id(run) else None
        if values is None:
            raise no_run(run)
        content = self._manifest(run)
        manifest = json.loads(content)
        return {
            **shown_run(values),
            "proofs": values["proofs"],
            "links_valid_seconds": int(LINKS_VALID.total_seconds()),
            "files": [{**file, "url": self._link(file["key"])} for file in all_files(values, manifest, len(content))],
            "manifest": manifest if len(content) <= LARGEST_MANIFEST else None,
        }

    def _manifest(self, run: str) -> bytes:
        def read() -> bytes:
            return self.s3.get_object(**manifest_request(self.bucket, run))["Body"].read()

        return with_retries(read, "S3")

    def _link(self, key: str) -> str:
        return self.s3.generate_presigned_url(**link_request(self.bucket, key))


def _known_run(run: str) -> str:
    if not is_run_id(run):
        raise ValueError(run)
    return run
