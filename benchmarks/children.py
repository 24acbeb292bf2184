"""Runs new processes with a function's environment from the template, so that each measurement is independent."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from benchmarks.functions import LAYER, ROOT
from quarterhour_tools.emulator.engines import environment
from quarterhour_tools.emulator.template import TEMPLATE, Template


def run(function: str, arguments: list[str], variables: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401
    """Run Python with these arguments, and return its output, parsed as JSON.

    ``variables`` are added to the function's environment. Raises ``CalledProcessError`` where the process fails.
    """
    functions = Template.load(TEMPLATE).functions(lambda resource, _: resource)
    with environment({**functions[function].environment, **(variables or {})}):
        variables = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (ROOT, ROOT / LAYER)))}
    ended = subprocess.run(  # noqa: S603 - our own arguments
        [sys.executable, *arguments], env=variables, stdout=subprocess.PIPE, check=True, text=True
    )
    return json.loads(ended.stdout.splitlines()[-1])
