"""What several benchmarks assume about AWS and Lambda, and defaults of the template that they compute with."""

from typing import Final

CALL_SECONDS: Final = 0.005
"""Seconds of a call to AWS: estimated, not measured."""
CALLS_AT_A_TIME: Final = 8
"""Calls to AWS that one invocation makes at a time."""
PARTS_AT_A_TIME: Final = 8
"""Parts that are sealed at a time: ``MaxConcurrency`` of the state machine."""
BATCH_RECORDS: Final = 1_000
"""Records that a stream delivers at most at once: ``BatchSize`` in the template."""
CORE_MEGABYTES: Final = 1_769
"""Megabytes of a function's memory that bring one processor core."""
