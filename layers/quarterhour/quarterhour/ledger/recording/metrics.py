"""The metrics of recording."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from quarterhour.aws.telemetry import Metric, count
from quarterhour.ledger.recording.outcomes import Outcome, Verdict

METRICS: Final[Mapping[Verdict, Metric]] = {
    Verdict.RECORDED: Metric.EVENTS_RECORDED,
    Verdict.DUPLICATE: Metric.EVENTS_DUPLICATE,
    Verdict.CONFLICT: Metric.EVENTS_CONFLICT,
    Verdict.REJECTED: Metric.EVENTS_REJECTED,
    Verdict.UNAVAILABLE: Metric.EVENTS_UNAVAILABLE,
    Verdict.HELD: Metric.EVENTS_HELD,
}


def count_outcomes(outcomes: Iterable[Outcome]) -> None:
    """Count the outcomes of a request in the metric of each verdict, zero included."""
    counts = Counter(outcome.verdict for outcome in outcomes)
    for verdict in Verdict:
        count(METRICS[verdict], counts[verdict])
