"""The routes of messages."""

from typing import Final

from quarterhour.messages.api import Message, Messages, SentMessage
from quarterhour_tools.openapi.description import BODY_PROBLEMS, Group, Link, RouteDescription, json_body, read

_ITS_THREAD: Final = {"kind": "$request.path.kind", "subject": "$request.path.subject"}
_NO_SUBJECT: Final = "The subject does not exist."

MESSAGES: Final = Group(
    "Messages",
    {
        "POST /threads/{kind}/{subject}/messages": RouteDescription(
            "threads_post_message",
            {201: Message, 200: Message},
            (404, 409, *BODY_PROBLEMS),
            """
            A message is about one thing, the subject of the thread:

            | subject | path | exists once |
            |---|---|---|
            | an order | `orders/1001` | it is created |
            | a line of a report | `lines/<source>%23<id>`, the event's identity | the event is recorded |
            | a report | `reports/<run>` | it is sealed |
            | an agency | `agencies/42` | the agency is registered, or an event of it is counted |
            | a statement | `statements/<agency>%23<currency>%23<period>` | it is sealed |

            People of an agency take part in the threads on the agency, its statements and its lines, and on the reports
            that they may read. Finance and support take part in all. Auditors only read them. A message that a person
            wrote shows the `role` in which they wrote it: `agency`, `support`, or `finance` for those who are not
            support, too.
            """,
            {
                201: "The stored message.",
                200: "A retry; the stored message. Nothing is written twice.",
                404: _NO_SUBJECT,
                409: "There is another text with the same user and id.",
            },
            bodies=json_body(SentMessage),
            retries="`id` identifies the message among the user's messages in the thread. The same message again "
            "returns 200 with the recorded one. Another text under the id returns 409.",
            links={"messages": Link("GET /threads/{kind}/{subject}/messages", _ITS_THREAD)},
        ),
        "GET /threads/{kind}/{subject}/messages": read(
            "threads_list_messages",
            Messages,
            """
            The messages are in the order of time. Pages go both ways: `next` and `previous` are tokens for the
            following page and the one before. Send either as `next`.
            """,
            missing=_NO_SUBJECT,
        ),
    },
)
