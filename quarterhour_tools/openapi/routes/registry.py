"""The routes of agencies, documents such as rate cards, and exchange rates."""

from typing import Final, Literal

from quarterhour.registry.agencies.api import AgencyContent, AgencyVersion, ListedAgency, Registration
from quarterhour.registry.api import Draft
from quarterhour.registry.documents.api import (
    DocumentContent,
    DocumentMetadata,
    DocumentProposal,
    DocumentVersion,
    ProposalContent,
    ProposalDecisionRequest,
    Readers,
    SentReaders,
)
from quarterhour.registry.exchange_rates.api import (
    ExchangeRate,
    ExchangeRateSnapshot,
    ExchangeRateState,
    ExchangeRateStatement,
    ExchangeRateTrend,
)
from quarterhour.registry.rate_cards.api import RateCardsInForce
from quarterhour.web.api import Page
from quarterhour_tools.openapi.description import BODY_PROBLEMS, Group, Link, RouteDescription, json_body, read
from quarterhour_tools.openapi.parameters import LAYER, PATH, Parameter

SAME_VERSION: Final = "A retry; the version that it created. Nothing is written twice."
PROPOSED: Final = "Where two people must agree: a proposal, which waits for another person of finance."
OTHER_VERSION: Final = (
    "Somebody else's version is on top of the one that was seen: read it, and write on top of the latest."
)

_KIND: Final = Parameter(
    "The kind of documents; `document` is any other, `proposal` those with an open proposal.",
    Literal["document", "rate-card", "agency", "owner", "reconciliation", "settings", "proposal"],
    "rate-card",
    required=True,
)
_OTHER_DECISION: Final = (
    "Somebody else has decided, the document has changed, or the person who proposed it releases it."
)
_NO_DOCUMENT: Final = "There is no such document, or the person may not read it."
_NO_VERSION: Final = "There is no such version, or the person may not read the document."

DOCUMENTS: Final = Group(
    "Documents and rate cards",
    {
        "GET /documents": read("documents_list", Page[DocumentMetadata], parameters={"kind": _KIND}),
        "PUT /documents/{document}": RouteDescription(
            "documents_write",
            {201: DocumentVersion, 200: DocumentVersion, 202: DocumentProposal},
            (409, *BODY_PROBLEMS),
            {200: SAME_VERSION, 202: PROPOSED, 409: OTHER_VERSION},
            bodies=json_body(Draft),
            links={
                "version": Link(
                    "GET /documents/{document}/versions/{version}",
                    {"document": "$response.body#/document", "version": "$response.body#/version"},
                )
            },
        ),
        "GET /documents/{document}": read("documents_get", DocumentContent, missing=_NO_DOCUMENT),
        "GET /documents/{document}/versions": read(
            "documents_list_versions", Page[DocumentVersion], missing=_NO_DOCUMENT
        ),
        "GET /documents/{document}/versions/{version}": read(
            "documents_get_version", DocumentContent, missing=_NO_VERSION
        ),
        "GET /documents/{document}/metadata": read("documents_get_metadata", DocumentMetadata, missing=_NO_DOCUMENT),
        "GET /documents/{document}/proposal": read(
            "documents_get_proposal", ProposalContent, missing="No version of it was proposed."
        ),
        "PUT /documents/{document}/proposal": RouteDescription(
            "documents_decide_proposal",
            {200: DocumentProposal},
            (404, 409, *BODY_PROBLEMS),
            {404: "No version of it was proposed.", 409: _OTHER_DECISION},
            bodies=json_body(ProposalDecisionRequest),
        ),
        "PUT /documents/{document}/permissions": RouteDescription(
            "documents_set_permissions", {200: Readers}, BODY_PROBLEMS, bodies=json_body(SentReaders)
        ),
        "GET /documents/{document}/permissions": read("documents_get_permissions", Readers),
    },
)

AGENCIES: Final = Group(
    "Agencies",
    {
        "PUT /agencies/{agency}": RouteDescription(
            "agencies_register",
            {201: AgencyVersion, 200: AgencyVersion},
            (409, *BODY_PROBLEMS),
            {200: SAME_VERSION, 409: OTHER_VERSION},
            bodies=json_body(Registration),
            links={"agency": Link("GET /agencies/{agency}", {"agency": "$response.body#/agency"})},
        ),
        "GET /agencies": read("agencies_list", Page[ListedAgency]),
        "GET /agencies/{agency}": read(
            "agencies_get", AgencyContent, missing="The agency is not registered, or was not at that instant."
        ),
        "GET /agencies/{agency}/rate-cards": read(
            "agencies_list_rate_cards", RateCardsInForce, missing="No agency can have that name."
        ),
    },
)

_CURRENCY: Final = Parameter("The currency; a former currency is valid, too.", PATH["currency"].shape, "GBP")
_NONE: Final = "No exchange rate of the currency was entered."

EXCHANGE_RATES: Final = Group(
    "Exchange rates",
    {
        "PUT /exchange-rates/{currency}": RouteDescription(
            "exchange_rates_enter",
            {201: ExchangeRate, 200: ExchangeRate},
            (409, *BODY_PROBLEMS),
            {
                200: "The same rate was entered before; nothing is changed.",
                409: "Another rate was entered for that instant, or a report relies on a later one; `detail` names it, "
                "and the earliest instant that is left.",
            },
            bodies=json_body(ExchangeRateStatement),
            parameters={"currency": _CURRENCY},
        ),
        "GET /exchange-rates": read("exchange_rates_list", Page[ExchangeRate]),
        "GET /exchange-rates/{currency}": read(
            "exchange_rates_get", ExchangeRate, missing="None was entered by then.", parameters={"currency": _CURRENCY}
        ),
        "GET /exchange-rates/{currency}/history": read(
            "exchange_rates_list_history", Page[ExchangeRateState], missing=_NONE, parameters={"currency": _CURRENCY}
        ),
        "GET /exchange-rates/{currency}/snapshots": read(
            "exchange_rates_list_snapshots",
            Page[ExchangeRateSnapshot] | ExchangeRateSnapshot,
            missing="No exchange rate of the currency was entered, or none up to `at`.",
            parameters={"layer": LAYER, "currency": _CURRENCY},
        ),
        "GET /exchange-rates/{currency}/trend": read(
            "exchange_rates_get_trend", ExchangeRateTrend, missing=_NONE, parameters={"currency": _CURRENCY}
        ),
    },
)
