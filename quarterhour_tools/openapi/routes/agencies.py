"""The routes of agencies."""

from typing import Final

from quarterhour.registry.agencies.api import AgencyContent, AgencyVersion, ListedAgency, Registration
from quarterhour.registry.rate_cards.api import RateCardsInForce
from quarterhour.web.api import Page
from quarterhour_tools.openapi.description import BODY_PROBLEMS, Group, Link, RouteDescription, json_body, read
from quarterhour_tools.openapi.routes.documents import OTHER_VERSION, RETRIES, SAME_VERSION

AGENCIES: Final = Group(
    "Agencies",
    {
        "PUT /agencies/{agency}": RouteDescription(
            "agencies_register",
            {201: AgencyVersion, 200: AgencyVersion},
            (409, *BODY_PROBLEMS),
            """
            Every field of `content` may be left out. The newest version that is valid at an instant is in force then.

            An agency cannot be registered as `default`, as `*`, or with a name that begins with `group/`. Its rate card
            would have the name of a [rate card of others](#put-documentsdocument). A registration is the document
            `agency:<agency>`, so its versions and permissions are read and written as those of any document.
            """,
            {200: SAME_VERSION, 409: OTHER_VERSION},
            bodies=json_body(Registration),
            retries=RETRIES,
            links={"agency": Link("GET /agencies/{agency}", {"agency": "$response.body#/agency"})},
        ),
        "GET /agencies": read(
            "agencies_list",
            Page[ListedAgency],
            """
            Each has `agency`, `version`, `valid_from`, and what is registered of `legal_name`, `country`, `currency`,
            `group` and `status`, by the latest version.
            """,
        ),
        "GET /agencies/{agency}": read(
            "agencies_get",
            AgencyContent,
            "The response has the `content` of the version.",
            missing="The agency is not registered, or was not at that instant.",
        ),
        "GET /agencies/{agency}/rate-cards": read(
            "agencies_list_rate_cards",
            RateCardsInForce,
            """
            They are those in force now, or `at` an instant, in the order in which they are tried: the agency's, its
            group's and the default one. `items` holds the version of each with its `rules`. An event without a
            commission rate that no rule covers is charged at `commission_rate`.
            """,
            missing="No agency can have that name.",
        ),
    },
)
