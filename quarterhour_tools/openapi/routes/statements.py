"""The routes of periods, statements and disputes."""

from typing import Final

from quarterhour_tools.openapi import requests as b
from quarterhour_tools.openapi import responses as a
from quarterhour_tools.openapi.description import BODY_PROBLEMS, Group, Link, RouteDescription, json_body, read
from quarterhour_tools.openapi.parameters import DISPUTES, LISTED_STATEMENTS

_LISTED: Final = {name: f"$response.body#/items/0/{name}" for name in ("agency", "currency", "period")}
_NO_STATEMENT: Final = "There is no such statement."

STATEMENTS: Final = Group(
    "Statements",
    {
        "GET /periods": read(
            "periods_list",
            a.Page[a.PeriodOfStatements],
            """
            The periods without sealed statements come first, from the current month back.

            | `state` | meaning |
            |---|---|
            | `open` | before its cut-off: events may still count in it |
            | `closed` | after its cut-off: no further event counts in it, and its run has not begun |
            | `running` | its statements are being written |
            | `sealed` | sealed. `recorded_until`: its statements hold what was recorded before this instant |

            For staff and machines, a sealed period has `planned_at`, `code_version`, `manifest_sha256`, the numbers of
            `statements`, `credit_notes` and `lines`, and the sums by currency in `currencies`. People of agencies do
            not see these.
            """,
        ),
        "GET /statements": RouteDescription(
            "statements_list",
            {200: a.Page[a.ListedStatement]},
            text="""
            People of an agency see those of their agency; staff see all. Each item has the figures of
            [one statement](#get-statementsagencycurrencyperiod). `changes` is the number of changes of its status. With
            `agency`, a list can be behind by a moment. With `status`, a page examines at most 1,000 statements, so it
            can be short though more follow.
            """,
            parameters=LISTED_STATEMENTS,
            links={"statement": Link("GET /statements/{agency}/{currency}/{period}", _LISTED)},
        ),
        "GET /statements/{agency}/{currency}/{period}": read(
            "statements_get",
            a.StatementWithFiles | a.StatementPreview,
            """
            The links to the files are valid for 15 minutes and need no authorization. Each file has its `size` in
            bytes. `statement.xml` is an [electronic invoice](accounting.md#electronic-invoices), if there can be one.
            `document` is `credit_note` if the commission is negative. `may_…` says what you may do now, with
            your role and in this status.

            Of a period without sealed statements, the response is a **preview**: what the statement would be if the
            period ended now. It is computed from the live counters and never stored.

            - Its tax is that of the agency's profile on the last day of the period, or today if that is earlier. The
              statement takes the profile of each tax point.
            - Its `proceeds` are by who collects now, or at the end of the period if that is earlier.
            - `refunds` are all negative amounts. The statement shows refunds, voids and adjustments separately.
            - `commission` includes balances that adjustments of kind `opening` bring forward. The statement shows them
              as part of `opening`, untaxed.
            - If earlier periods have no sealed statements either, `opening` is the closing balance of the previous
              one's preview.
            """,
            missing="The period has not begun or is before the first one with statements, or the account has no "
            "statement of it.",
        ),
        "PUT /statements/{agency}/{currency}/{period}/status": RouteDescription(
            "statements_set_status",
            {200: a.StatementHistory},
            (404, 409, *BODY_PROBLEMS),
            """
            The sealed statement itself never changes.

            | status | meaning | may become | by machines and |
            |---|---|---|---|
            | `not_issued` | sealed without a tax profile | `issued` | finance |
            | `issued` | to be checked by the agency | `accepted`, `disputed` | people of the agency, finance |
            | `accepted` | the agency agrees | | |
            | `disputed` | the agency does not agree | `resolved` | finance |
            | `resolved` | the dispute is over | | |

            - A dispute is about the statement or about
              [single lines](#post-statementsagencycurrencyperioddisputes). If only lines were disputed, the statement
              is resolved with its last disputed line.
            - A status that the caller's role may never set is a 403.
            - A statement with open disputes cannot be set to `resolved`: resolve each dispute.
            - `by` is the subject of a person's token, or the ARN of a machine. `party` is `agency` for people of the
              agency, `marketplace` for staff and machines. People of agencies do not see who of the marketplace it was.
            """,
            {
                404: _NO_STATEMENT,
                409: "The statement has more changes than `seen`, or may not become that; `detail` says what it may "
                "become.",
            },
            bodies=json_body(b.StatementStatusUpdate),
            retries="`seen` is the number of changes before it. The same status and reason after the same changes "
            "returns the current history. If another change follows them, it returns 409.",
        ),
        "POST /statements/{agency}/{currency}/{period}/disputes": RouteDescription(
            "statements_dispute_line",
            {201: a.Dispute, 200: a.Dispute},
            (404, 409, *BODY_PROBLEMS),
            """
            `source` and `id` name the line's event. Staff cannot dispute a line.

            - `thread` is the path of the [messages about the line](#post-threadskindsubjectmessages).
            - A correction resolves the dispute: a refund, a void or an adjustment that refers to the line and is
              recorded later. If the line is itself a correction, one that refers to its sale does. The watch looks for
              corrections every 15 minutes. The dispute then names it as `correction`, and the next statement shows it.
            - The last resolved dispute resolves the statement. If the statement itself was disputed before its lines,
              it stays `disputed` until it is set to `resolved`.
            - After 400 changes of a statement's status, no further line can be disputed.
            """,
            {
                201: "The line is disputed, and the statement with it.",
                200: "A retry; the dispute as it is by now.",
                404: "There is no such statement, or the event is not on it.",
                409: "The statement is neither `issued` nor `disputed`, or the line was disputed for another reason.",
            },
            bodies=json_body(b.SentDispute),
            retries="A line is disputed once. The same reason of the same person again returns 200 with the dispute; "
            "any other returns 409.",
        ),
        "PUT /statements/{agency}/{currency}/{period}/disputes/{source}/{event}": RouteDescription(
            "statements_resolve_dispute",
            {200: a.Dispute},
            (404, 409, *BODY_PROBLEMS),
            statuses={
                404: "There is no such statement, or the line is not disputed.",
                409: "The dispute was resolved before, for another reason or by somebody else.",
            },
            bodies=json_body(b.Resolution),
            retries="A dispute is resolved once. The same reason of the same sender again returns the dispute.",
        ),
        "GET /disputes": read(
            "disputes_list",
            a.Page[a.Dispute],
            "People of an agency see those of their agency; staff see all.",
            parameters=DISPUTES,
        ),
    },
)
