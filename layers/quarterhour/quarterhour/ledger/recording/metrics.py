"""The metrics of recording."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from quarterhour.aws.telemetry import Metric, count, logger
from quarterhour.ledger.recording.outcomes import Outcome, Verdict

METRICS: Final[Mapping[Verdict, Metric]] = {
    Verdict.RECORDED: Metric.EVENTS_RECORDED,
    Verdict.UNAVAILABLE: Metric.EVENTS_UNAVAILABLE,
}


def count_outcomes(outcomes: Iterable[Outcome]) -> None:
    """Count the outcomes of a request: what was recorded and unavailable as metrics, the other verdicts in a line."""
    counts = Counter(outcome.verdict for outcome in outcomes)
    for verdict, metric in METRICS.items():
        count(metric, counts.pop(verdict, 0))
    if counts:
        logger.info("not all recorded", verdicts={verdict.value: number for verdict, number in counts.items()})
