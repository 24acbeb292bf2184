"""Logs and metrics, set up once; the metrics' names stand here."""

from aws_lambda_powertools.logging import Logger
from aws_lambda_powertools.metrics import Metrics, MetricUnit

logger = Logger()
metrics = Metrics()


def count(name: str, value: float) -> None:
    """Count something in this invocation; zero counts too, so that an alarm has data."""
    metrics.add_metric(name, MetricUnit.Count, value)
