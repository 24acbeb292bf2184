"""Regular expressions of the product: ``$`` also matches before a line break at the end, so none may use it."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.repository import ROOT

FILES = [
    file
    for folder in ("functions", "layers/quarterhour/quarterhour", "quarterhour_tools")
    for file in (ROOT / folder).rglob("*.py")
    if "node_modules" not in file.parts
]
NOT_AN_END = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")
"""An escaped character, or a class of characters: there ``$`` is itself."""


def patterns(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the line and the texts of each regular expression that a module passes to ``re``, if it has one line."""
    text = file.read_text("utf-8")
    for node in ast.walk(ast.parse(text if "import re" in text else "")):
        if (
            isinstance(node, ast.Call)
            and ast.unparse(node.func).startswith("re.")
            and "MULTILINE" not in ast.unparse(node)
        ):
            texts = [part.value for part in ast.walk(node.args[0]) if isinstance(part, ast.Constant)]
            yield node.lineno, "".join(text for text in texts if isinstance(text, str))


def test_no_regular_expression_takes_a_line_break_for_the_end() -> None:
    found = [(file, line, text) for file in FILES for line, text in patterns(file)]
    assert len(found) > 40
    ends = [f"{file.name}:{line}: {text}" for file, line, text in found if "$" in NOT_AN_END.sub("", text)]
    assert not ends, "write \\Z, or use fullmatch"
