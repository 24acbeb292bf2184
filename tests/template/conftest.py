"""The template, in the shapes in which the rules look at it."""

import pytest

from quarterhour_tools.emulator.template import Template
from tests.support.repository import ROOT
from tests.template.stack import OPTIONS, Properties, Stack, deployed, parsed


@pytest.fixture(scope="session")
def document() -> Properties:
    """The template as written."""
    return parsed()


@pytest.fixture(scope="session")
def stack() -> Stack:
    """The template as CloudFormation gets it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
        return deployed()


@pytest.fixture(scope="session")
def template() -> Template:
    """The template as the emulator reads it."""
    return Template(parsed(), ROOT, OPTIONS)
