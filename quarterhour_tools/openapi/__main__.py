"""Writes what is generated from the routes, or checks it: ``python -m quarterhour_tools.openapi [--check]``.

It also lays out the examples that people write.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from quarterhour_tools.emulator.stack import TEMPLATE
from quarterhour_tools.emulator.template import Template
from quarterhour_tools.openapi import document, reference

PAGE: Final = TEMPLATE.parent / "docs" / "api.md"


def main(arguments: list[str]) -> int:
    """Write the published document and the reference; with ``--check``, return 1 if one of them is not current."""
    parser = argparse.ArgumentParser(description="Write the OpenAPI document and the reference of the HTTP API.")
    parser.add_argument("--check", action="store_true", help="write nothing; fail if one of them is not current")
    check = parser.parse_args(arguments).check
    found = stale()
    for path, text in found.items():
        if check:
            print(f"{path.relative_to(TEMPLATE.parent)} is not current: run {document.GENERATED_BY}", file=sys.stderr)
        else:
            path.write_text(text, "utf-8")
    return 1 if check and found else 0


def stale() -> Mapping[Path, str]:
    """Return the files that are not current, with what they should hold."""
    template = Template.load(TEMPLATE)
    described = document.document(template)
    current = {
        document.file(template): document.text(described),
        PAGE: reference.page(PAGE.read_text("utf-8"), described),
        **{file: document.text(json.loads(file.read_text("utf-8"))) for file in document.EXAMPLES.glob("*.json")},
    }
    return {path: text for path, text in current.items() if not path.exists() or path.read_text("utf-8") != text}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
