"""The routes that people use: messages, the search, and who they are."""

from typing import Any, Final

from quarterhour.counters.api import FoundAccounts
from quarterhour.ledger.reading.api import FoundEvents
from quarterhour.messages.api import Message, Messages, SentMessage
from quarterhour.orders.api import FoundOrders
from quarterhour.statements.api import FoundStatements
from quarterhour.web.api import Reader
from quarterhour_tools.openapi.description import BODY_PROBLEMS, Group, Link, RouteDescription, json_body, read
from quarterhour_tools.openapi.parameters import SEARCHED

_ITS_THREAD: Final = {"kind": "$request.path.kind", "subject": "$request.path.subject"}
_NO_SUBJECT: Final = "The subject does not exist."

MESSAGES: Final = Group(
    "Messages",
    {
        "POST /threads/{kind}/{subject}/messages": RouteDescription(
            "threads_post_message",
            {201: Message, 200: Message},
            (404, 409, *BODY_PROBLEMS),
            {
                201: "The stored message.",
                200: "A retry; the stored message. Nothing is written twice.",
                404: _NO_SUBJECT,
                409: "There is another text with the same user and id.",
            },
            bodies=json_body(SentMessage),
            links={"messages": Link("GET /threads/{kind}/{subject}/messages", _ITS_THREAD)},
        ),
        "GET /threads/{kind}/{subject}/messages": read("threads_list_messages", Messages, missing=_NO_SUBJECT),
    },
)


class Found(FoundAccounts, FoundStatements, FoundEvents, FoundOrders):
    """What a text names, by kind."""


SEARCH: Final = Group("Search", {"GET /search": read("search_find", Found, parameters=SEARCHED)})

CALLER: Final = Group(
    "Caller and description",
    {"GET /me": read("me_get", Reader), "GET /openapi.json": read("openapi_get", dict[str, Any])},
)
