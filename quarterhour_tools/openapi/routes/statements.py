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
        "POST /statement-runs": RouteDescription(
            "statement_runs_start",
            {200: StartedRun},
            (),
            """
            The watch does the same every 15 minutes. A run takes seconds to minutes: [`GET /periods`](#get-periods) and
            [`GET /drafts`](#get-drafts) show how far it is.
            """,
            retries="What is running is not started again.",
        ),
        "GET /periods": read(
            "periods_list",
            Page[PeriodOfStatements],
            """
            The periods without drafts come first, from the current month back.

            | `state` | meaning |
            |---|---|
            | `open` | before its cut-off: events may still count in it |
            | `closed` | after its cut-off: no further event counts in it, and its run has not begun |
            | `running` | its drafts are being made |
            | `sealed` | its drafts are made. `recorded_until`: they hold what was recorded before this instant |

            For staff and machines, a sealed period has `planned_at`, `code_version`, `manifest_sha256`, the numbers of
            `drafts` and `lines`, and the sums by currency in `currencies`. People of agencies do not see these.
            """,
        ),
        "GET /drafts": read(
            "drafts_list",
            DraftPage,
            """
            The drafts that have no statement, or whose statement is cancelled, by period and account. `checks` are
            those that a draft does not pass. The list can be behind by a moment. With `period` or `agency`, a page
            examines at most 1,000 drafts, so it can be short though more follow. With `preview=true`, each draft has
            `commission`, `tax` and `closing` of its [preview](#get-statementsagencycurrencyperiod), and a page has
            at most 200.

            | `state` | meaning |
            |---|---|
            | `new` | just made; the next release decides about it, where `release` is `automatic` |
            | `open` | a person must decide |
            | `held` | kept back, or its statement was cancelled |
            | `proposed` | a first person wants to release it; where `approvals` is 2, a second one must agree |
            | `releasing` | the next release makes its statement |
            | `released` | it has a statement |
            | `cancel_proposed` | a first person wants to cancel its statement |
            | `cancelling` | the next release cancels its statement |
            """,
            parameters=DRAFTS,
        ),
        "GET /drafts/{agency}/{currency}/{period}": read(
            "drafts_get",
            DraftWithStatement,
            """
            `statement` is what `statement.json` would be if the draft were released now: with the parties as they are
            registered now, and the opening balance after the last document. A draft that has a statement is shown, too.
            """,
            missing="There is no such draft: the period has none yet, or the account has no lines of it.",
        ),
        "PUT /drafts/{agency}/{currency}/{period}": RouteDescription(
            "drafts_decide",
            {200: DraftDecisions},
            (404, 409, *BODY_PROBLEMS),
            """
            | `decision` | from | effect |
            |---|---|---|
            | `release` | a draft without a statement, if no check has failed | the next release makes its statement |
            | `hold` | a draft without a statement | it is kept back until it is released |
            | `cancel` | a draft with a statement | a document reverses the statement whole, and the draft is held |

            - The watch starts the next release within 15 minutes.
            - Machines and finance may decide. Where `approvals` is 2, a second person must send the same
              `release` or `cancel`.
            - An account's periods are released in order the first time. A month whose statement is cancelled keeps no
              later one back, as each opening balance follows the document before.
            - A statement that is paid can be cancelled, too: see how [its payment is allocated](#get-receivables).
            - A cancelled draft can be released again, once what was wrong is right: parties and tax are those that are
              registered then.
            """,
            {
                404: "There is no such draft.",
                409: "The draft has more decisions than `seen`, its state does not allow the decision, or a check has "
                "failed; `errors` names each.",
            },
            bodies=json_body(DraftUpdate),
            retries="`seen` is the number of decisions before it. The same decision and reason of the same person "
            "after the same decisions changes nothing. If another decision follows them, it returns 409.",
        ),
        "GET /releases": read(
            "releases_list",
            Page[ReleasedDocuments],
            """
            The newest comes first. `statements`, `credit_notes` and `lines` count its documents, and `currencies` has
            their sums. The manifest of each release has the hash of the one before.
            """,
        ),
        "GET /statements": RouteDescription(
            "statements_list",
            {200: Page[ListedStatement]},
            text="""
            People of an agency see those of their agency; staff see all. Each item has the figures of
            [one statement](#get-statementsagencycurrencyperiod). `changes` is the number of changes of its status.
            `documents` has the statement, what cancels it, and what replaces it, each with the `amount` that it adds to
            the balance. With `agency`, a list can be behind by a moment. With `status`, a page examines at most 1,000
            statements, so it can be short though more follow. What is open of the statements of an agency is in
            [the receivables](#get-receivables).
            """,
            parameters=LISTED_STATEMENTS,
            links={"statement": Link("GET /statements/{agency}/{currency}/{period}", _LISTED)},
        ),
        "GET /statements/{agency}/{currency}/{period}": read(
            "statements_get",
            StatementWithFiles | StatementPreview,
            """
            The links to the files are valid for 15 minutes and need no authorization. Each file has its `size` in
            bytes. `statement.xml` is an [electronic invoice](accounting.md#electronic-invoices), if there can be one.
            `document` is `credit_note` if the commission is negative. `may_…` says what you may do now, with your role
            and in this status. `payment` says what is paid of it, as [the receivables](#get-receivables) do.
            `documents` has the statement, what cancels it, and what replaces it.

            Of a period without a statement, the response is a **preview**: what the statement would be now. It is never
            stored. With a draft, it has the figures and the tax points of the draft. Without one, it is computed from
            the live counters:

            - Its tax is that of the agency's profile on the last day of the period, or today if that is earlier. The
              statement takes the profile of each tax point.
            - Its `proceeds` are by who collects now, or at the end of the period if that is earlier.
            - `refunds` are all negative amounts. The statement shows refunds, voids and adjustments separately.
            - `commission` includes balances that adjustments of kind `opening` bring forward. The statement shows them
              as part of `opening`, untaxed.
            - `opening` is the closing balance of the last document, or of the preview before, if drafts or earlier
              periods have no statements either.
            """,
            missing="The period has not begun or is before the first one with statements, or the account has no "
            "statement of it.",
        ),
        "PUT /statements/{agency}/{currency}/{period}/status": RouteDescription(
            "statements_set_status",
            {200: StatementHistory},
            (404, 409, *BODY_PROBLEMS),
            """
            The statement itself never changes.

            | status | meaning | may become | by machines and |
            |---|---|---|---|
            | `issued` | to be checked by the agency | `accepted`, `disputed` | people of the agency, finance |
            | `accepted` | the agency agrees | | |
            | `disputed` | the agency does not agree | `resolved` | finance |
            | `resolved` | the dispute is over | | |
            | `cancelled` | a document reverses it whole | | |

            - A statement is cancelled by [a decision about its draft](#put-draftsagencycurrencyperiod). It is `issued`
              again once a new statement replaces it.
            - A dispute is about the statement or about
              [single lines](#post-statementsagencycurrencyperioddisputes). If only lines were disputed, the statement
              is resolved with its last disputed line.
            - With `acceptance_days`, a statement that is `issued` and not answered becomes `accepted` `by` `silence`,
              at the end of the last of so many days after its date of issue. The statement shows that day. A later
              answer is a 409. The days are fixed when the statement is made.
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
            bodies=json_body(StatementStatusUpdate),
            retries="`seen` is the number of changes before it. The same status and reason after the same changes "
            "returns the current history. If another change follows them, it returns 409.",
        ),
        "POST /statements/{agency}/{currency}/{period}/disputes": RouteDescription(
            "statements_dispute_line",
            {201: Dispute, 200: Dispute},
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
            bodies=json_body(SentDispute),
            retries="A line is disputed once. The same reason of the same person again returns 200 with the dispute; "
            "any other returns 409.",
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
            retries="A dispute is resolved once. The same reason of the same sender again returns the dispute.",
        ),
        "GET /receivables": read(
            "receivables_list",
            Receivables,
            """
            Each account of which something is open, with its open statements and credit notes. People of an agency see
            those of their agency; staff see all. A page can be short though another follows.

            Payments are allocated in this order:

            1. A document that cancels another one offsets exactly that one.
            2. Payments that name a statement (`data.statement`) clear that one, at most what is open of it. Those of
               one statement are added up, so a payment of the opposite sign takes one back. A payment before
               `first_period` counts nowhere.
            3. All other payments, and the rest of those, clear the oldest first: money of the agency its statements,
               money of the marketplace the credits.
            4. What is still open of credits reduces the oldest open statements.

            The payment of a statement that is cancelled afterwards stays on the account: it clears the oldest open
            statements, or is `unallocated` until there is one. The lines of the cancelled statement are unbilled until
            its draft is released again.

            | `status` | meaning |
            |---|---|
            | `open` | nothing of it is cleared |
            | `partly_paid` | a part of it is paid, or offset by a credit |
            | `overdue` | something of it is open after `due_on` |

            `unknown` are payments that name a statement that the account does not have. `on` decides age and status;
            payments are those of now. Events that are on no statement yet are left out, except payments.
            """,
            parameters=RECEIVABLES,
        ),
        "POST /bank-files": RouteDescription(
            "bank_files_match",
            {200: MatchedFile},
            (*BODY_PROBLEMS, 503),
            """
            Reads a file of a bank and matches its lines to what is open of statements. It records nothing: send the
            `events` of those lines that you accept to [`POST /events`](#post-events). A line with `certain` needs no
            review. [Accounting](accounting.md#a-banks-file) has the rules, the formats and the command.

            | `match` | the line |
            |---|---|
            | `number`, `numbers` | names a statement or several, and pays exactly what is open of them |
            | `part` | pays less than is open of what it names, or of its agency |
            | `payer`, `all` | comes from an agency, and is what is open of one of its statements, or of all |
            | `amount` | has the amount of one statement, and nothing else tells whose it is |
            | `ambiguous` | can pay more than one statement |
            | `excess` | is more than what is open |
            | `contradiction` | names a statement that it cannot pay, such as one that is paid |
            | `reversal` | takes back an earlier line |
            | `recorded` | is recorded already |
            | `none` | matches nothing |
            """,
            statuses={400: "It is no file of a bank that can be read, or the format is not known."},
            bodies={FILE: Body(BankFile)},
            retries="It changes nothing.",
            parameters=BANK_FILES,
        ),
        "GET /disputes": read(
            "disputes_list",
            Page[Dispute],
            "People of an agency see those of their agency; staff see all.",
            parameters=DISPUTES,
        ),
    },
)
