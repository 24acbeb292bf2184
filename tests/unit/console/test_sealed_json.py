"""The JSON of sealed files, as the console reads it for a proof."""

import json
from typing import Any

import pytest

from tests.support.console_modules import NEEDS_NODE, evaluated

pytestmark = NEEDS_NODE
TRIED = """
    ((text) => { try { return module.parseSealed(text); } catch (error) { return error.name; } })(%s)
"""


def read(text: str) -> Any:
    return evaluated("proof/sealed-json.js", TRIED % json.dumps(text))


@pytest.mark.parametrize(
    "text",
    [
        '{"a": {"a": [{"a": 1}, {"a": 2}]}, "b": null, "c": "", "": true}',
        r'{"a\": \"b": "\"c\": 1", "d:" : ":", "e\\": "\\", "__proto__": {"f": 1}}',
        '[1, "a", {}, [], "b: c"]',
    ],
)
def test_json_without_a_doubled_key_is_read(text: str) -> None:
    assert read(text) == json.loads(text)


@pytest.mark.parametrize(
    "text",
    [
        '{"run": "a", "run": "a"}',
        '{"run": "a", "run" : "b"}',
        '{"quarter_hours": [{"lines": 1}, {"lines": 1, "files": [], "lines": 2}]}',
        r'{"run": 1, "r\u0075n": 2}',
        '{"__proto__": 1, "__proto__": 2}',
        '{"a": {"b": 1}, "a": {"b": 1, "c": 2}}',
        '{"a": "1"',
        "",
    ],
)
def test_a_doubled_key_and_what_is_no_json_are_refused(text: str) -> None:
    assert read(text) == "SyntaxError"
