"""The rows of a list: which match, their order, their CSV, their view in the address, and how they are loaded."""

import json
from typing import Any

import pytest

from tests.support.console_modules import NEEDS_NODE, evaluated

pytestmark = NEEDS_NODE

COLUMNS = """[
    {key: "agency", title: "Agency", text: ({agency, name}) => `${name ?? ""} ${agency}`},
    {key: "net", title: "Net sales", type: "money"}, {key: "events", title: "Events", type: "number"},
    {key: "status", title: "Status", type: "status"}, {key: "do", title: "", value: null},
]"""
ROWS = [
    {"agency": "42", "name": "Café Lumière", "currency": "JPY", "net": "-997", "events": 9, "status": "not_issued"},
    {"agency": "7", "name": "Harbour Books", "currency": "EUR", "net": "-195.5", "events": 10, "status": "issued"},
    {"agency": "100", "currency": "EUR", "net": "20", "events": 1, "status": "issued"},
    {"agency": "8", "name": "=cmd", "currency": "EUR", "events": 3, "status": "issued"},
]


def of(function: str, *arguments: Any) -> Any:
    """Return what a function of the module makes of the rows, the columns and more arguments."""
    more = "".join(f", {json.dumps(one)}" for one in arguments)
    return evaluated("lib/rows.js", f"module.{function}({json.dumps(ROWS)}, {COLUMNS}{more})")


def matching(text: str) -> list[str]:
    return [one["agency"] for one in of("matching", text)]


def ordered(by: str, *, down: bool = False) -> list[str]:
    return [one["agency"] for one in of("sorted", {"by": by, "down": down})]


def test_all_words_of_a_filter_are_found_without_accents_in_names_ids_and_statuses() -> None:
    assert matching("lumiere") == ["42"]
    assert matching("ISSUED harb") == ["7"]
    assert matching("not issued") == ["42"]
    assert matching("nobody") == []
    assert matching("  ") == ["42", "7", "100", "8"]


def test_sums_are_ordered_within_their_currency_and_a_missing_one_is_last_in_both_directions() -> None:
    assert ordered("net") == ["7", "100", "8", "42"]
    assert ordered("net", down=True) == ["100", "7", "8", "42"]


def test_numbers_are_ordered_by_value_and_texts_as_people_order_them() -> None:
    assert ordered("events", down=True) == ["7", "42", "8", "100"]
    assert ordered("agency") == ["100", "8", "42", "7"], "an id without a name comes before names"
    assert ordered("do") == ordered("unknown") == ["42", "7", "100", "8"], "as they came"


def test_a_file_has_every_column_with_a_value_and_no_formula() -> None:
    lines = of("csvOf").split("\r\n")
    assert lines[:2] == ["agency,net,events,status", "42,-997,9,not_issued"]
    assert evaluated("lib/rows.js", 'module.csvOf([{a: "=1+1"}], [{key: "a"}])') == "a\r\n'=1+1\r\n"


def test_the_view_of_a_list_is_in_the_address_beside_that_of_another() -> None:
    view = {"text": "a b", "sort": {"by": "net", "down": True}, "columns": ["net", "x"], "size": "25", "pages": 3}
    call = f'"#held.text=x", "events", {json.dumps(view)}, {{size: "100"}}'
    hashed = evaluated("lib/rows.js", f"module.hashOf({call})")
    assert hashed == (
        "#held.text=x&events.text=a+b&events.sort=-net&events.columns=net%2Cx&events.size=25&events.pages=3"
    )
    assert evaluated("lib/rows.js", f'module.viewOf({json.dumps(hashed)}, "events", {{size: "100"}})') == view
    assert evaluated("lib/rows.js", f"module.firstPages({json.dumps(hashed)})").endswith("events.size=25")
    usual = {"text": "", "size": "100", "pages": 1}
    assert evaluated("lib/rows.js", 'module.viewOf("#main", "events", {size: "100"})') == usual
    call = f'"#events.text=x", "events", {json.dumps(usual)}, {{size: "100"}}'
    assert evaluated("lib/rows.js", f"module.hashOf({call})") == ""


LOADED = """(async () => {
    const asked = [];
    const load = async (next = 0, limit) => {
        asked.push(limit);
        if (next === %(fails)d) throw new Error("gone");
        return {items: [next], next: next < 5 ? next + 1 : null};
    };
    const loader = module.loaderOf(load, () => { %(changed)s });
    await loader.reach(%(many)s);
    return {...loader, asked, problem: loader.problem?.message};
})()"""


def loaded(many: str, fails: int = -1, changed: str = "") -> dict[str, Any]:
    found: dict[str, Any] = evaluated(
        "lib/rows.js", f"await {LOADED % {'many': many, 'fails': fails, 'changed': changed}}"
    )
    return found


def test_rows_are_loaded_until_there_are_enough_or_no_more() -> None:
    assert (loaded("3")["items"], loaded("3")["isDone"]) == ([0, 1, 2], False)
    whole = loaded("Infinity")
    assert (whole["items"], whole["isDone"], whole["asked"][0]) == ([0, 1, 2, 3, 4, 5], True, 1000)


def test_loading_stops_on_demand_and_keeps_what_it_has_when_it_fails() -> None:
    assert loaded("Infinity", changed="if (loader.items.length === 2) loader.stop();")["items"] == [0, 1]
    failed = loaded("Infinity", fails=2)
    assert (failed["items"], failed["problem"], failed["isBusy"], failed["isDone"]) == ([0, 1], "gone", False, False)


NEWEST = """(async () => {
    // 2,500 events in one hour, and one on each of the four days before, in a span that begins decades earlier.
    const at = (text) => Date.parse(text);
    const events = [1, 2, 3, 4].map((day) => at(`2026-11-0${day}T12:00:00Z`));
    for (let n = 0; n < 2500; n += 1) events.push(at("2026-11-05T10:00:00Z") + n * 1440);
    const asked = [];
    const read = async ({from, to, limit, next = 0}) => {
        asked.push([from, to]);
        const found = events.filter((one) => one >= at(from) && one < at(to));
        const end = next + Math.min(limit, PAGELIMIT);
        const items = found.slice(next, end).map((one) => ({recorded_at: new Date(one).toISOString()}));
        return {items, next: end < found.length ? end : null};
    };
    const load = module.newestFirst(read, "FROM", "2026-11-06", RARE);
    const [items, parts] = [[], []];
    for (let next; next !== null;) {
        const page = await load(next);
        items.push(...page.items.map((one) => one.recorded_at));
        parts.push(page.items.length);
        next = page.next;
    }
    const isNewestFirst = items.every((one, index) => !index || one <= items[index - 1]);
    return {many: items.length, unique: new Set(items).size, isNewestFirst, asked, parts};
})()"""


def newest(begin: str, rare: str, most: int = 1000) -> Any:
    program = NEWEST.replace("FROM", begin).replace("RARE", rare).replace("PAGELIMIT", str(most))
    return evaluated("events/newest.js", f"await {program}")


@pytest.mark.parametrize(("begin", "requests"), [("2026-11-01", 25), ("1970-01-01", 30)])
@pytest.mark.parametrize("rare", ["true", "false"])
def test_the_newest_events_come_first_each_once_in_few_requests(begin: str, requests: int, rare: str) -> None:
    found = newest(begin, rare)
    assert (found["many"], found["unique"], found["isNewestFirst"]) == (2504, 2504, True)
    assert len(found["asked"]) < requests


def test_a_span_of_decades_is_requested_whole_only_if_its_events_are_few() -> None:
    assert newest("1970-01-01", "true")["asked"][0] == ["1970-01-01", "2026-11-06"]
    assert newest("1970-01-01", "false")["asked"][0] == ["2026-10-30T00:00:00.000Z", "2026-11-06"]


def test_after_a_short_page_parts_are_smaller_so_that_rows_come_sooner() -> None:
    found = newest("2026-11-01", "false", most=700)
    assert (found["many"], found["unique"], found["isNewestFirst"]) == (2504, 2504, True)
