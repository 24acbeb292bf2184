"""moto's queues and buses for many messages: the same responses, faster.

- moto: the age of each message that is received, and each message that is sent, counts all messages of the queue, and
  reads the clock for each of them. Here the age needs the retention period alone, and a count reads the clock once.
- moto: each event of a bus is written into a template as text, with a parser of paths that is made for it. Here its
  message is made of its values, unless the target has a template. Text such as ``<id>`` in an event stays as it is.
"""

import copy
from typing import Any, Final

from moto.core.utils import unix_time, unix_time_millis
from moto.events.utils import EventTemplateParser
from moto.sqs.models import Message, Queue, SQSBackend

_MEMBERS: Final = ("id", "time", "version", "detail-type", "source", "region", "resources", "detail")
"""The members of a message to a target, in moto's order."""
_plain_parse: Final = EventTemplateParser.parse


def _is_kept(backend: SQSBackend, queue_name: str, message: Message) -> bool:
    """Return whether a message is within the retention period of its queue."""
    queue: Any = backend.get_queue(queue_name)
    sent: Any = message.sent_timestamp
    return bool(queue.message_retention_period + sent / 1000 > unix_time())


def _receivable(queue: Queue) -> list[Message]:
    now = unix_time_millis()
    return [one for one in _all(queue) if now > one.visible_at and now >= one.delayed_until]


def _number_hidden(queue: Queue) -> int:
    now = unix_time_millis()
    return sum(now <= one.visible_at for one in _all(queue))


def _number_delayed(queue: Queue) -> int:
    now = unix_time_millis()
    return sum(now < one.delayed_until for one in _all(queue))


def _all(queue: Queue) -> list[Message]:
    return queue._messages  # noqa: SLF001 - moto has no other way to them


def _message_of(input_template: str, input_paths_map: dict[str, Any], event: Any) -> dict[str, Any]:  # noqa: ANN401 - moto's own type is a dict
    """Return the message of an event to a target."""
    if input_template or input_paths_map:
        return _plain_parse(input_template, input_paths_map, event)
    return {name: copy.deepcopy(event[name]) for name in _MEMBERS if name in event} | {"version": "0"}


REPLACED: Final[tuple[tuple[Any, str, Any], ...]] = (
    (SQSBackend, "is_message_valid_based_on_retention_period", _is_kept),
    (Queue, "messages", property(_receivable)),
    (Queue, "approximate_number_of_messages_not_visible", property(_number_hidden)),
    (Queue, "approximate_number_of_messages_delayed", property(_number_delayed)),
    (EventTemplateParser, "parse", staticmethod(_message_of)),
)
"""What takes the place of moto's functions: owner, name and value."""
