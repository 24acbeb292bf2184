"""The pure part of held events."""

from datetime import timedelta

import pytest

from quarterhour.ledger.held.plan import age
from quarterhour.model.clock import iso_millis
from tests.support.builders import AT


@pytest.mark.parametrize(
    ("passed", "days"),
    [
        (timedelta(0), 0.0),
        (timedelta(hours=36), 1.5),
        (timedelta(milliseconds=-1), 0.0),
        (timedelta(minutes=-5), 0.0),
    ],
)
def test_the_age_of_a_held_event_is_in_days_and_never_negative(passed: timedelta, days: float) -> None:
    """The clock of the function that held it can run ahead of that of the watch."""
    assert age(iso_millis(AT), AT + passed) == days
