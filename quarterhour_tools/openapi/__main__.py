"""Writes what is generated from the routes, or checks it: ``python -m quarterhour_tools.openapi [--check]``.

The OpenAPI document is in the repository; the reference for people is written to the folder ``build``. The examples
that people write are laid out, too.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from quarterhour_tools.emulator.template import TEMPLATE, Template
from quarterhour_tools.openapi import document, reference
from quarterhour_tools.openapi.schemas import Json

REFERENCE: Final = TEMPLATE.parent / "build" / "api.md"


def main(arguments: list[str]) -> int:
    """Write the document and the reference; with ``--check``, only the reference, and return 1 if a file is stale."""
    parser = argparse.ArgumentParser(description="Write the OpenAPI document and the reference of the HTTP API.")
    parser.add_argument("--check", action="store_true", help="write the reference only; fail if a file is not current")
    check = parser.parse_args(arguments).check
    template = Template.load(TEMPLATE)
    described = document.document(template)
    found = stale(template, described)
    for path, text in found.items():
        if check:
            print(f"{path.relative_to(TEMPLATE.parent)} is not current: run {document.GENERATED_BY}", file=sys.stderr)
        else:
            path.write_text(text, "utf-8")
    REFERENCE.parent.mkdir(exist_ok=True)
    REFERENCE.write_text(reference.page(described, "../docs"), "utf-8")
    return 1 if check and found else 0


def stale(template: Template, described: Json) -> Mapping[Path, str]:
    """Return the files of the repository that are not current, with what they should hold."""
    current = {
        document.file(template): document.text(described),
        **{file: document.text(json.loads(file.read_text("utf-8"))) for file in document.EXAMPLES.glob("*.json")},
    }
    return {path: text for path, text in current.items() if not path.exists() or path.read_text("utf-8") != text}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
