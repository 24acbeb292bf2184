"""`quarterhour openapi`: prints the OpenAPI document of the HTTP API."""

import argparse
import sys
from typing import Final

from quarterhour_tools.openapi.document import printed

NAME: Final = "openapi"
DESCRIPTION: Final = "Print the OpenAPI document of the HTTP API, generated from the functions' routes."


def configure(_parser: argparse.ArgumentParser) -> None:
    """Add no arguments."""


def run(_args: argparse.Namespace) -> int:
    """Run the command; return its exit code."""
    sys.stdout.write(printed())
    return 0
