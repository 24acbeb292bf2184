"""Messages of events are within the limits of SQS and EventBridge, whatever the sizes of the events."""

import json

from quarterhour_tools.loading.event_messages import LONGEST_DETAIL, LONGEST_MESSAGE, entries, messages

SIZES = (LONGEST_MESSAGE, 20, LONGEST_MESSAGE - 23, 20, 131_070, 131_070, *[300] * 1001)
"""Of events that fit alone, that fit by two, and that are as many as a message takes, and more."""


def text(size: int) -> str:
    return f'{{"id":"{"x" * (size - 9)}"}}'


def test_each_message_of_the_queue_fits_and_all_events_are_in_one_in_their_order() -> None:
    events = [text(size) for size in SIZES]
    bodies = list(messages(events))
    assert max(len(body) for body in bodies) == LONGEST_MESSAGE
    assert max(len(json.loads(body)) for body in bodies if body[0] == "[") == 500
    assert [one for body in bodies for one in as_list(json.loads(body))] == list(map(json.loads, events))


def as_list(body: object) -> list[object]:
    return body if isinstance(body, list) else [body]


def test_each_call_of_the_bus_fits_and_has_at_most_ten_events() -> None:
    events = [text(min(size, LONGEST_DETAIL)) for size in SIZES]
    calls = list(entries(events))
    assert max(len(call) for call in calls) == 10
    assert all(sum(len(one["Detail"]) + 200 for one in call) <= LONGEST_MESSAGE for call in calls)
    assert [one["Detail"] for call in calls for one in call] == events
