"""The console's modules in Node.js, for logic that needs no page."""

import json
import re
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

GROUP_BY: Final = """Map.groupBy ??= (items, keyOf) => {
  const groups = new Map();
  for (const one of items) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  return groups;
};"""
"""What browsers have and Node.js 20 lacks."""


def evaluated(module: str, expression: str) -> Any:
    """Return the JSON value of an expression over ``module``, a module that needs no page; it may await."""
    program = f"""
        {GROUP_BY}
        const module = await import("{_address(module)}");
        console.log(JSON.stringify({expression}));
    """
    command = ["node", "--input-type=module", "--eval", program]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)  # noqa: S603 - ours


def _address(module: str) -> str:
    """Return the address of a module that holds it, and in the same way those that it imports."""
    source = (STATIC / module).read_text("utf-8")
    whole = re.sub(r'from "\./([^"]+)"', lambda found: f'from "{_address(found[1])}"', source)
    return f"data:text/javascript;base64,{b64encode(whole.encode()).decode()}"
