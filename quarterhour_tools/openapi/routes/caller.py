"""The routes of the caller and of the OpenAPI document."""

from typing import Any, Final

from quarterhour.web.api import Reader
from quarterhour_tools.openapi.description import Group, read

CALLER: Final = Group(
    "Caller and description",
    {
        "GET /me": read(
            "me_get",
            Reader,
            """
            `name` is the subject of a person's token, or the ARN of a machine's IAM principal. `roles` are a person's
            [roles](#who-may-call), sorted, and `agencies` those of a person with the role `agency`, sorted. Both lists
            are empty for a machine, and `agencies` for staff: they see all.

            For a person of two agencies, the response is
            `{"name": "6f1c0f3e", "machine": false, "roles": ["agency"], "agencies": ["42", "43"], "time_zone": "UTC",
            "first_period": null}`.
            """,
        ),
        "GET /openapi.json": read(
            "openapi_get",
            dict[str, Any],
            """
            All routes with the types of bodies and responses, as an [OpenAPI](https://spec.openapis.org/oas/v3.1.1.html)
            3.1 document for programs. `quarterhour openapi` prints it without a stack.
            """,
        ),
    },
)
