"""The routes of periods, drafts, releases, statements and disputes."""

from typing import Final

from quarterhour.file_formats.bank.line import FILE
from quarterhour.statements.api import PeriodOfStatements, StartedRun, StatementPreview
from quarterhour.statements.receivables.api import BankFile, MatchedFile, Receivables
from quarterhour.statements.releases.api import (
    DraftDecisions,
    DraftPage,
    DraftUpdate,
    DraftWithStatement,
    ReleasedDocuments,
)
from quarterhour.statements.status.api import (
    Dispute,
    ListedStatement,
    Resolution,
    SentDispute,
    StatementHistory,
    StatementStatusUpdate,
    StatementWithFiles,
)
from quarterhour.web.api import Page
from quarterhour_tools.openapi.description import BODY_PROBLEMS, Body, Group, Link, RouteDescription, json_body, read
from quarterhour_tools.openapi.parameters import BANK_FILES, DISPUTES, DRAFTS, LISTED_STATEMENTS, RECEIVABLES

_LISTED: Final = {name: f"$response.body#/items/0/{name}" for name in ("agency", "currency", "period")}
_NO_STATEMENT: Final = "There is no such statement."

STATEMENTS: Final = Group(
    "Statements",
    {
        "POST /statement-runs": RouteDescription("statement_runs_start", {200: StartedRun}, ()),
        "GET /periods": read("periods_list", Page[PeriodOfStatements]),
        "GET /drafts": read("drafts_list", DraftPage, parameters=DRAFTS),
        "GET /drafts/{agency}/{currency}/{period}": read(
            "drafts_get",
            DraftWithStatement,
            missing="There is no such draft: the period has none yet, or the account has no lines of it.",
        ),
        "PUT /drafts/{agency}/{currency}/{period}": RouteDescription(
            "drafts_decide",
            {200: DraftDecisions},
            (404, 409, *BODY_PROBLEMS),
            {
                404: "There is no such draft.",
                409: "The draft has more decisions than `seen`, its state does not allow the decision, or a check has "
                "failed; `errors` names each.",
            },
            bodies=json_body(DraftUpdate),
        ),
        "GET /releases": read("releases_list", Page[ReleasedDocuments]),
        "GET /statements": RouteDescription(
            "statements_list",
            {200: Page[ListedStatement]},
            parameters=LISTED_STATEMENTS,
            links={"statement": Link("GET /statements/{agency}/{currency}/{period}", _LISTED)},
        ),
        "GET /statements/{agency}/{currency}/{period}": read(
            "statements_get",
            StatementWithFiles | StatementPreview,
            missing="The period has not begun or is before the first one with statements, or the account has no "
            "statement of it.",
        ),
        "PUT /statements/{agency}/{currency}/{period}/status": RouteDescription(
            "statements_set_status",
            {200: StatementHistory},
            (404, 409, *BODY_PROBLEMS),
            {
                404: _NO_STATEMENT,
                409: "The statement has more changes than `seen`, or may not become that; `detail` says what it may "
                "become.",
            },
            bodies=json_body(StatementStatusUpdate),
        ),
        "POST /statements/{agency}/{currency}/{period}/disputes": RouteDescription(
            "statements_dispute_line",
            {201: Dispute, 200: Dispute},
            (404, 409, *BODY_PROBLEMS),
            {
                201: "The line is disputed, and the statement with it.",
                200: "A retry; the dispute as it is by now.",
                404: "There is no such statement, or the event is not on it.",
                409: "The statement is neither `issued` nor `disputed`, or the line was disputed for another reason.",
            },
            bodies=json_body(SentDispute),
        ),
        "PUT /statements/{agency}/{currency}/{period}/disputes/{source}/{event}": RouteDescription(
            "statements_resolve_dispute",
            {200: Dispute},
            (404, 409, *BODY_PROBLEMS),
            statuses={
                404: "There is no such statement, or the line is not disputed.",
                409: "The dispute was resolved before, for another reason or by somebody else.",
            },
            bodies=json_body(Resolution),
        ),
        "GET /receivables": read("receivables_list", Receivables, parameters=RECEIVABLES),
        "POST /bank-files": RouteDescription(
            "bank_files_match",
            {200: MatchedFile},
            (*BODY_PROBLEMS, 503),
            statuses={400: "It is no file of a bank that can be read, or the format is not known."},
            bodies={FILE: Body(BankFile)},
            parameters=BANK_FILES,
        ),
        "GET /disputes": read("disputes_list", Page[Dispute], parameters=DISPUTES),
    },
)
