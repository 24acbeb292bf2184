"""Loading the code of a function as Lambda does: a new copy of its module, in its environment."""

from importlib.util import module_from_spec, spec_from_file_location
from types import ModuleType
from typing import Final

from quarterhour_tools.emulator.engines import environment
from quarterhour_tools.emulator.template import Function
from quarterhour_tools.errors import ToolError

_KEPT: Final = {"AWS_LAMBDA_INITIALIZATION_TYPE": "snap-start"}


def load(function: Function, name: str, *, kept: bool = False) -> ModuleType:
    """Load a new copy of a function's module under ``name``, in the function's environment.

    ``kept``: with all of its rooms, as Lambda loads a function for SnapStart.
    """
    path = function.code / f"{function.handler.rpartition('.')[0]}.py"
    spec = spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise ToolError(f"the function {function.name} has no {path}")
    module = module_from_spec(spec)
    with environment({**function.environment, **(_KEPT if kept else {})}, shared=True):
        # The functions of a process share the metrics, which may have been imported before there was an environment.
        from quarterhour.aws.telemetry import metrics  # noqa: PLC0415 - what it logs to is that of this environment

        metrics.namespace = function.environment.get("POWERTOOLS_METRICS_NAMESPACE", metrics.namespace)
        spec.loader.exec_module(module)
    return module
