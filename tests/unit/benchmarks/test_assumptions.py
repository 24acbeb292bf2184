"""What the benchmarks assume of the template is what it has."""

from benchmarks.assumptions import BATCH_RECORDS, CALLS_AT_A_TIME
from quarterhour.aws import workers
from quarterhour_tools.emulator.template import TEMPLATE, Template

PLAIN = Template.load(TEMPLATE)


def test_a_function_makes_as_many_calls_at_a_time_as_by_default() -> None:
    assert workers.CALLS_AT_A_TIME == CALLS_AT_A_TIME


def test_counters_and_snapshots_get_as_many_records_at_once() -> None:
    resources = PLAIN.resources("AWS::Serverless::Function")
    for function, stream in (("CountersFunction", "LedgerStream"), ("SnapshotsFunction", "EntityStream")):
        assert resources[function]["Events"][stream]["Properties"]["BatchSize"] == BATCH_RECORDS
