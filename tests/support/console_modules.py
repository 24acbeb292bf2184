"""The console's modules in Node.js, for logic that needs no page."""

import json
import re
import shutil
import subprocess
from base64 import b64encode
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support.repository import ROOT

STATIC: Final = ROOT / "functions" / "console" / "static"
MODULES: Final = [path for path in STATIC.rglob("*.js") if path.parent.name != "vendor"]
"""The modules that are ours."""
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
        const module = await import("{_address(STATIC / module)}");
        console.log(JSON.stringify({expression}));
    """
    command = ["node", "--input-type=module", "--eval", program]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)  # noqa: S603 - ours


def _address(module: Path) -> str:
    """Return the address of a module that holds it, and in the same way those that it imports."""
    source = module.read_text("utf-8")
    whole = re.sub(r'from "(\.[^"]+)"', lambda found: f'from "{_address(module.parent / found[1])}"', source)
    return f"data:text/javascript;base64,{b64encode(whole.encode()).decode()}"
