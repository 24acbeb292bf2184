"""What a function loads before its first request, and what of its settings it has checked by then."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from itertools import combinations

import pytest

from quarterhour.model.errors import SettingsError
from quarterhour_tools.emulator.loading import load
from quarterhour_tools.emulator.template import Template
from tests.support.repository import ROOT
from tests.template.stack import attribute

LOADED = """
import json, os, sys
from importlib.util import module_from_spec, spec_from_file_location
spec = spec_from_file_location("handler", sys.argv[1])
spec.loader.exec_module(module_from_spec(spec))
json.dump(sorted(sys.modules), sys.stdout)
"""


@pytest.mark.parametrize(("name", "most"), [("read", 45), ("write", 45), ("ingest", 116)])
def test_a_start_loads_no_more_than_the_first_request_needs(template: Template, name: str, most: int) -> None:
    function = template.functions(attribute)[name]
    variables = {"AWS_DEFAULT_REGION": "us-east-1", "PYTHONPATH": str(ROOT / "layers" / "quarterhour")}
    command = [sys.executable, "-c", LOADED, str(function.code / "handler.py")]
    ended = subprocess.run(  # noqa: S603 - our own
        command, env={**os.environ, **variables, **function.environment}, capture_output=True, text=True, check=True
    )
    loaded = json.loads(ended.stdout)
    own = [one for one in loaded if one.partition(".")[0] == "quarterhour"]
    assert len(own) <= most
    assert not [one for one in own if one.startswith("quarterhour.statements")]
    assert not [one for one in loaded if one.startswith(("boto3", "aws_lambda_powertools.event_handler", "s3transfer"))]


@pytest.mark.parametrize("name", ["read", "write"])
def test_what_a_room_refuses_of_the_settings_is_refused_before_any_room_is_needed(
    template: Template, name: str
) -> None:
    function = template.functions(attribute)[name]
    refused = set()
    for variable in (one for one in function.environment if not one.startswith("AWS_")):
        for value in ("", "rate(1 eon)"):
            wrong = {**function.environment, variable: value}
            try:
                load(replace(function, environment=wrong), "kept", kept=True)
            except SettingsError:
                refused.add(variable)
                with pytest.raises(SettingsError, match=variable):
                    load(replace(function, environment=wrong), "started")
    assert refused >= {"ENTITY_TABLE", "LEDGER_TABLE", "REPORT_RATE", "SCHEDULE_NAME"}


@pytest.mark.parametrize("name", ["read", "write"])
def test_no_path_has_two_routes_so_that_their_order_does_not_matter(template: Template, name: str) -> None:
    operations = load(template.functions(attribute)[name], "all", kept=True).routes.operations
    split = [(one.method, one.rule.split("/")) for one in operations]
    for (method, parts), (other, others) in combinations(split, 2):
        both = zip(parts, others, strict=False)
        same = all(one == two or one.startswith("<") or two.startswith("<") for one, two in both)
        assert (method, len(parts)) != (other, len(others)) or not same, (parts, others)
