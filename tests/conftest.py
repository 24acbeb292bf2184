"""What holds for all tests."""

import os

# As in Lambda: Powertools reads it once, at import, whichever test imports it first.
os.environ["POWERTOOLS_METRICS_NAMESPACE"] = "Quarterhour"


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Name bytes by their argument: compressed ones differ from process to process, a test's name must not."""
    return argname if isinstance(val, bytes) else None
