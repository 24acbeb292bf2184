"""The routes of connections."""

from typing import Final

from quarterhour.intake.connections.api import (
    ApplyingParked,
    Connection,
    ConnectionContent,
    DeletedConnection,
    DiscardedDelivery,
    ParkedContent,
    ParkedDelivery,
)
from quarterhour.web.api import Page
from quarterhour_tools.openapi.description import BODY_PROBLEMS, Group, RouteDescription, json_body, read

_NONE: Final = "There is no such connection."
_OFF: Final = "The deployment takes no deliveries."

CONNECTIONS: Final = Group(
    "Connections",
    {
        "PUT /connections/{name}": RouteDescription(
            "connections_put",
            {201: Connection, 200: Connection},
            (409, *BODY_PROBLEMS),
            {
                201: "It is new.",
                200: "It was changed, or is as it was.",
                409: f"{_OFF} Or the connection has another provider, there are 100 connections, or it has "
                "another version than the one that was seen.",
            },
            bodies=json_body(ConnectionContent),
        ),
        "GET /connections": read("connections_list", Page[Connection]),
        "GET /connections/{name}": read("connections_get", Connection, missing=_NONE),
        "DELETE /connections/{name}": RouteDescription(
            "connections_delete", {200: DeletedConnection}, (409,), {409: "A delivery of it is parked."}
        ),
        "GET /connections/{name}/parked": read("connections_list_parked", Page[ParkedDelivery]),
        "GET /connections/{name}/parked/{delivery}": read(
            "connections_get_parked", ParkedContent, missing="It is not parked."
        ),
        "POST /connections/{name}/parked": RouteDescription(
            "connections_apply_parked",
            {202: ApplyingParked},
            (409,),
            {202: "They are being applied; so many are parked.", 409: _OFF},
        ),
        "DELETE /connections/{name}/parked/{delivery}": RouteDescription(
            "connections_discard_parked", {200: DiscardedDelivery}, ()
        ),
    },
)
