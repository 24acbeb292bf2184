"""The console's modules in Node.js, for logic that needs no page."""

import json
import shutil
import subprocess
from base64 import b64encode
from typing import Any, Final

import pytest

from tests.support.repository import ROOT

STATIC: Final = ROOT / "functions" / "console" / "static"
NEEDS_NODE: Final = pytest.mark.skipif(
    not shutil.which("node"), reason="node not found (CONTRIBUTING.md, Tests, says what to install)"
)


def evaluated(module: str, expression: str) -> Any:
    """Return the JSON value of an expression over ``module``, a module of the console that imports no other."""
    source = b64encode((STATIC / module).read_bytes()).decode()
    program = f"""
        const module = await import("data:text/javascript;base64,{source}");
        console.log(JSON.stringify({expression}));
    """
    command = ["node", "--input-type=module", "--eval", program]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)  # noqa: S603 - ours
