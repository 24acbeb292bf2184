"""How far the state machine goes, and what all tests of crash points use.

The profiles are registered before Hypothesis looks for the one of the command line.
"""

import pytest
from hypothesis import HealthCheck, settings

from tests.invariants.crashing import Crashes, Numbers, Record

settings.register_profile(
    "bounded", max_examples=25, stateful_step_count=20, deadline=None, suppress_health_check=list(HealthCheck)
)
settings.register_profile("long", settings.get_profile("bounded"), max_examples=1000, stateful_step_count=50)


@pytest.fixture
def number() -> Numbers:
    return Numbers()


@pytest.fixture
def crashes(record_property: Record) -> Crashes:
    return Crashes(record_property)
