"""Invokes a function of the template in this process, as Lambda does, with no more imports than its own."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any, Final

Handler = Callable[[dict[str, Any], "Context"], Any]

ROOT: Final = Path(__file__).parent.parent
LAYER: Final = Path("layers", "quarterhour")
"""The folder of the layer's packages in a clone."""


@dataclass(frozen=True, slots=True)
class Context:
    """The context object that Lambda passes to a function."""

    function_name: str
    aws_request_id: str = "c6af9ac6-7b61-11e6-9a41-93e8deadbeef"
    memory_limit_in_mb: int = 1024
    invoked_function_arn: str = "arn:aws:lambda:us-east-1:123456789012:function:benchmark"

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds that the invocation may still run: always enough."""
        return 900_000


def load() -> Handler:
    """Load the function that the environment names; return its handler."""
    path = ROOT / "functions" / os.environ["POWERTOOLS_SERVICE_NAME"] / "handler.py"
    spec = spec_from_file_location("handler", path)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(path)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    handler: Handler = module.handler
    return handler
