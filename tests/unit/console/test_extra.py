"""What senders keep beside an event, as the console reads it: all of it, each number with all its digits."""

import json

from tests.support.console_modules import NEEDS_NODE, evaluated

pytestmark = NEEDS_NODE


def test_all_of_it_is_shown_each_number_with_all_its_digits() -> None:
    extra = r'{"a \"1\"":"12 \\","bank":{"iban":"DE1","tries":[1,{"at":-0.10}]},"big":12345678901234567890.10,"e":1E+2}'
    assert evaluated("lib/extra.js", f"module.extraFacts({json.dumps(extra)})") == [
        ['a "1"', "12 \\"],
        ["bank, iban", "DE1"],
        ["bank, tries, 0", "1"],
        ["bank, tries, 1, at", "-0.10"],
        ["big", "12345678901234567890.10"],
        ["e", "1E+2"],
    ]


def test_what_is_empty_is_shown_as_json() -> None:
    assert evaluated("lib/extra.js", """module.extraFacts('{"a":[],"b":{},"c":null,"d":true,"e":""}')""") == [
        ["a", "[]"],
        ["b", "{}"],
        ["c", "null"],
        ["d", "true"],
        ["e", ""],
    ]
    assert evaluated("lib/extra.js", "module.extraFacts('{}')") == []


def test_a_reference_is_that_of_the_sender_and_not_one_within() -> None:
    call = '[\'{"reference":"ref-8"}\', \'{"bank":{"reference":"no"}}\', undefined].map(module.referenceIn)'
    assert evaluated("lib/extra.js", call) == ["ref-8", None, None]
