"""The routes of documents, such as rate cards."""

from typing import Final, Literal

from quarterhour.registry.api import Draft
from quarterhour.registry.documents.api import DocumentContent, DocumentMetadata, DocumentVersion, Readers, SentReaders
from quarterhour.web.api import Page
from quarterhour_tools.openapi.description import BODY_PROBLEMS, Group, Link, RouteDescription, json_body, read
from quarterhour_tools.openapi.parameters import Parameter

RETRIES: Final = (
    "`seen` names the base version. The same content on the same base again returns the version that it created, "
    "whatever was written since. If another version follows the base, it returns 409."
)
"""Why a new version may be sent again."""
SAME_VERSION: Final = "A retry; the version that it created. Nothing is written twice."
OTHER_VERSION: Final = (
    "Somebody else's version is on top of the one that was seen: read it, and write on top of the latest."
)

_KIND: Final = Parameter(
    "The kind of documents; `document` is any other.",
    Literal["document", "rate-card", "agency", "owner", "reconciliation"],
    "rate-card",
    required=True,
)
_NO_DOCUMENT: Final = "There is no such document, or the person may not read it."
_NO_VERSION: Final = "There is no such version, or the person may not read the document."

DOCUMENTS: Final = Group(
    "Documents and rate cards",
    {
        "GET /documents": read(
            "documents_list",
            Page[DocumentMetadata],
            """
            The items are the [metadata](#get-documentsdocumentmetadata) of the documents.
            """,
            parameters={"kind": _KIND},
        ),
        "PUT /documents/{document}": RouteDescription(
            "documents_write",
            {201: DocumentVersion, 200: DocumentVersion},
            (409, *BODY_PROBLEMS),
            """
            `content` is any JSON of up to 200,000 bytes. A document's name has up to 216 characters, without `#` and
            without a blank at either end. People of finance write rate cards only.

            **Rate cards** are the documents whose names begin with `rate-card:`. Any other name of theirs, such as
            `rate-card:*`, would match no agency and is refused:

            | document | applies to |
            |---|---|
            | `rate-card:<agency>` | an agency |
            | `rate-card:group/<group>` | the agencies of a group, by their [registration](#put-agenciesagency) |
            | `rate-card:default` | every agency |

            *Which rule.* One rule counts, the most specific that covers the event: first by its category, then by the
            depth of its location, then by its currency. Two rules for the same category, location and currency are
            rejected. If the event names `commission_rate` itself, it pays that. A rate card has 1 to 200 rules.

            *Which rate card.* The agency's own, then its group's, then `rate-card:default`: the first one that is in
            force and has a rule for the event. If there is none, the event pays `commission_rate`. The group is
            that of the agency's registration in force at the event's `time` (or its recording). An agency that is
            called `default`, `*`, or begins with `group/` has no rate card.

            *Which version.* The newest version whose `valid_from` is not after the event's `time` (or its recording, if
            it has no `time`). So a version that is written later counts from its `valid_from` on, and replaces older
            ones that would begin at that instant or later. It counts for events that are recorded from then on.
            Recorded events keep their terms for ever.

            *Which events.* A linked refund takes back its share of its sale's commission. A refund without a sale
            mirrors a sale of its amount and quantity. With `refund_fixed` false, neither gives back the fixed fee; a
            void does. An adjustment, and an event of amount 0, pay the percentage alone: no item is sold, so neither
            `fixed` nor `minimum` counts, and `…/explain` says so in `terms.note`.

            **The owner** of the marketplace is the document `owner`. It is what statements show of who issues them, as
            of the cut-off. A complete statement needs `legal_name`, `address`, `country`, `vat_id`, `iban` and
            `payment_days`.

            **The result of a reconciliation** is the document `reconciliation:<period>:<provider>`. It is written by
            `quarterhour reconcile --store`, and staff see it in the console.
            """,
            {200: SAME_VERSION, 409: OTHER_VERSION},
            bodies=json_body(Draft),
            retries=RETRIES,
            links={
                "version": Link(
                    "GET /documents/{document}/versions/{version}",
                    {"document": "$response.body#/document", "version": "$response.body#/version"},
                )
            },
        ),
        "GET /documents/{document}": read(
            "documents_get",
            DocumentContent,
            """
            Numbers keep their value; an exponent may be written in another way. For people of agencies, a document
            exists only if its permissions name their agency or themselves. Staff read all.
            """,
            missing=_NO_DOCUMENT,
        ),
        "GET /documents/{document}/versions": read(
            "documents_list_versions", Page[DocumentVersion], missing=_NO_DOCUMENT
        ),
        "GET /documents/{document}/versions/{version}": read(
            "documents_get_version", DocumentContent, missing=_NO_VERSION
        ),
        "GET /documents/{document}/metadata": read(
            "documents_get_metadata",
            DocumentMetadata,
            """
            What belongs to the document as a whole: its `kind` (`document`, `rate-card`, `agency`, `owner` or
            `reconciliation`), when it was created, and by whom.
            """,
            missing=_NO_DOCUMENT,
        ),
        "PUT /documents/{document}/permissions": RouteDescription(
            "documents_set_permissions",
            {200: Readers},
            BODY_PROBLEMS,
            """
            The permissions replace the earlier ones. Staff and machines read every document. The permissions of
            `report:<run>` are those of the report `<run>`. People in them may use `GET /reports/{run}`, which shows the
            whole run, other agencies' sums included.
            """,
            bodies=json_body(SentReaders),
            retries="It replaces the permissions, so the same request again changes nothing.",
        ),
        "GET /documents/{document}/permissions": read(
            "documents_get_permissions", Readers, "Both lists are empty if no permissions were set."
        ),
    },
)
