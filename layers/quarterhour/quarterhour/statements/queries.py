"""Reads the statements: sealed and open periods, and a statement with links to its files."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Self

from quarterhour.aws.entity_table import EntityReader
from quarterhour.aws.resources import Resources
from quarterhour.ledger.postings.partitions import read_sealed_through
from quarterhour.model import clock, money
from quarterhour.model.clock import iso_seconds
from quarterhour.model.periods import Calendar, Period
from quarterhour.model.quarter_hours import QuarterHour
from quarterhour.registry.settings.settings import Settings
from quarterhour.registry.settings.store import SettingsReader
from quarterhour.reports.queries import LINKS_VALID, link_request
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.reports.store import began
from quarterhour.statements.keys import PROGRESS_KEY, period_key, sealed_periods
from quarterhour.statements.listing import FILES, Document, documents_of, statement_of
from quarterhour.statements.plan import Progress, StatementPlan
from quarterhour.web.access import Caller
from quarterhour.web.paging import Paging

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mypy_boto3_s3 import S3Client

    from quarterhour.reports.api import LinkedFile
    from quarterhour.statements import api
    from quarterhour.web.paging import Page

_PAGE: Final = 200


class PeriodState(StrEnum):
    """The state of a period."""

    OPEN = "open"
    """Events may still count in it."""
    CLOSED = "closed"
    """Its cut-off has passed, so no further event counts in it."""
    RUNNING = "running"
    """Its drafts are being made."""
    SEALED = "sealed"
    """Its drafts are made, and no line is added to them."""


def shown_statement(values: Mapping[str, Any]) -> "api.StatementFigures":
    """Return a statement as the API shows it: its name, number and figures. ``values``: its item."""
    statement = statement_of(values).as_dict()
    return {
        "period": statement["period"],
        "agency": statement["agency"],
        "currency": statement["currency"],
        "number": statement["number"],
        "document": statement["document"],
        "opening": statement["opening"],
        "brought_forward": statement["brought_forward"],
        "sales": statement["sales"],
        "voids": statement["voids"],
        "refunds": statement["refunds"],
        "adjustments": statement["adjustments"],
        "net": statement["net"],
        "commission_exact": statement["commission_exact"],
        "commission": statement["commission"],
        "tax": statement["tax"],
        "proceeds": statement["proceeds"],
        "payments": statement["payments"],
        "closing": statement["closing"],
        "issued_on": statement["issued_on"],
        "due_on": statement["due_on"],
        "dispute_until": statement["dispute_until"],
        "lines": statement["lines"],
        "prior_period_lines": statement["prior_period_lines"],
        "recorded_until": iso_seconds(QuarterHour.parse(values["bound"]).end),
    }


def shown_documents(values: Mapping[str, Any]) -> "list[api.ListedDocument]":
    """Return the documents of an account and a period from the item of its statement."""
    return [
        {
            "number": one.number,
            "document": one.kind,
            "issued_on": one.reference["issued_on"],
            "due_on": one.due_on.isoformat() if one.due_on else None,
            "cancels": one.cancels or None,
            "amount": money.plain(one.amount),
        }
        for one in documents_of(values)
    ]


def shown_sealed(values: Mapping[str, Any], caller: Caller) -> "api.PeriodOfStatements":
    """Return a sealed period as a caller may see it: the marketplace sees its totals, too."""
    plan = StatementPlan.of(values)
    shown: api.PeriodOfStatements = {
        "period": str(plan.period),
        "state": PeriodState.SEALED,
        "from": iso_seconds(plan.starts),
        "to": iso_seconds(plan.ends),
        "cut_off": iso_seconds(plan.cut_off),
        "recorded_until": iso_seconds(plan.bound.end),
        "time_zone": plan.zone,
    }
    if caller.is_of_marketplace:
        shown["planned_at"] = values["planned_at"]
        shown["code_version"] = values["code_version"]
        shown["manifest_sha256"] = values["manifest_sha256"]
        shown["drafts"] = int(values["drafts"])
        shown["lines"] = int(values["lines"])
        shown["currencies"] = values["currencies"]
        shown["before_first_period"] = {
            currency: {"lines": int(some["lines"]), "net": some["net"], "commission": some["commission"]}
            for currency, some in values["before_first_period"].items()
        }
    return shown


@dataclass(frozen=True, slots=True)
class StatementQueries:
    """Queries of periods and statements. ``began`` returns when the first report begins, ``None`` before it."""

    entities: EntityReader
    s3: "S3Client"
    bucket: str
    settings: Callable[[], Settings]
    began: Callable[[], datetime | None]

    @classmethod
    def of(cls, resources: Resources) -> Self:
        """Return the queries of a function."""
        env, entities = resources.env, resources.entities
        settings = SettingsReader.of(resources).settings
        return cls(entities, resources.s3, env.text("REPORT_BUCKET"), settings, partial(began, entities))

    @property
    def calendar(self) -> Calendar:
        """The calendar of now."""
        return self.settings().calendars.at(clock.now())

    @property
    def files(self) -> SealedFiles:
        """The sealed files."""
        return SealedFiles(self.s3, self.bucket)

    # ------------------------------------------------------------ periods

    def periods(self, paging: Paging, caller: Caller) -> "Page[api.PeriodOfStatements]":
        """Return a page of the periods, the newest first: those that are not sealed yet, then the sealed ones."""
        after = paging.start(Period.parse, None)
        return paging.cut(self._periods(after, caller), lambda one: one, lambda one: str(one["period"]))

    def _periods(self, after: Period | None, caller: Caller) -> "Iterator[api.PeriodOfStatements]":
        progress, now = self.progress(), clock.now()
        first = self.next_period(progress, now)
        period = self.calendar.month_of(now)
        if after:
            period = min(period, after.previous)
        while period >= first:
            yield self._shown_open(period, progress, now)
            period = period.previous
        sealed = sealed_periods()
        behind = str(after) if after and after < first else None
        for values in self.entities.read(replace(sealed, after=behind), _PAGE):
            yield shown_sealed(values, caller)

    def _shown_open(self, period: Period, progress: Progress, now: datetime) -> "api.PeriodOfStatements":
        calendar = self.calendar
        return {
            "period": str(period),
            "state": self.state(period, progress, now),
            "from": iso_seconds(calendar.starts(period)),
            "to": iso_seconds(calendar.starts(period.next)),
            "cut_off": iso_seconds(calendar.cut_off(period)),
            "time_zone": str(calendar.zone),
        }

    def state(self, period: Period, progress: Progress, now: datetime) -> PeriodState:
        """Return the state of a period without drafts."""
        if progress.plan and progress.plan.period == period:
            return PeriodState.RUNNING
        return PeriodState.CLOSED if self.calendar.cut_off(period) <= now else PeriodState.OPEN

    def is_sealed(self, period: Period) -> bool:
        """Return whether the drafts of a period are made."""
        return self.entities.get(period_key(period)) is not None

    def progress(self) -> Progress:
        """Return the progress of the statements."""
        values = self.entities.get(PROGRESS_KEY)
        return Progress.of(values) if values else Progress()

    def first_period(self, progress: Progress) -> Period | None:
        """Return the first period with statements, ``None`` before it is known; what is earlier is on none."""
        return progress.first_period or self.calendar.first_period

    def next_period(self, progress: Progress, now: datetime) -> Period:
        """Return the period whose drafts are made next."""
        return progress.next_period(self.calendar, self.began() or self._first_recorded(now))

    def _first_recorded(self, now: datetime) -> datetime:
        """Return when the first event was recorded, or before it, if nothing is reported yet."""
        sealed_through = read_sealed_through(self.entities)
        return sealed_through.end if sealed_through else now

    # ------------------------------------------------------------ a statement

    def files_of(self, values: Mapping[str, Any]) -> "api.StatementFiles":
        """Return links to the files of a statement, and of each document of the account and the period."""
        documents = documents_of(values)
        last = documents[-1]
        return {
            "links_valid_seconds": int(LINKS_VALID.total_seconds()),
            "files": self._links(statement_of(values)),
            "cancelled": {"number": last.number, "issued_on": last.reference["issued_on"]} if last.cancels else None,
            "documents": [
                {
                    "number": one.number,
                    "document": one.kind,
                    "release": one.release,
                    "issued_on": one.reference["issued_on"],
                    "cancels": one.cancels or None,
                    "closing": money.plain(one.closing),
                    "files": self._links(one),
                }
                for one in documents
            ],
        }

    def _links(self, document: Document) -> "list[LinkedFile]":
        """Return links to the files of a document."""
        keys = {name: document.key_of(name) for name in FILES if name in document.files}
        return [
            {
                "key": key,
                "sha256": document.files[name].sha256,
                "size": document.files[name].size,
                "url": self.s3.generate_presigned_url(**link_request(self.bucket, key)),
            }
            for name, key in keys.items()
        ]
