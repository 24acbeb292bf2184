"""Files of others: the API gives what the commands have, and records nothing; finance records what it gives."""

import argparse
import base64
import json
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest

from quarterhour.file_formats.csv.summary import FileSummary
from quarterhour_tools.csv import command
from quarterhour_tools.csv.sums import lines_of
from quarterhour_tools.loading import agencies
from tests.handlers.desk import send
from tests.handlers.test_approvals import TWO, decide
from tests.handlers.test_held import in_ledger, watch
from tests.handlers.test_releases import EVENTS, as_person
from tests.support.events import Cloud, sale
from tests.support.requests import post, verdicts
from tests.support.system import World, opened
from tests.support.tables import items, ledger

MAP = """
[settings]
till = "the name of the till"
[numbers]
decimal = ","
[[event]]
id = "{receipt}"
source = "{till}"
type = [{ amount = "< 0", is = "sale.refunded" }, { is = "sale.recorded" }]
subject = "{shop}"
time = "{sold}"
[event.data]
amount = "{price}"
currency = "GBP"
"""
SALES = (
    "receipt;shop;sold;price\nR-1;42;2026-10-22T10:00:00Z;12,50\nR-2;42;2026-10-22T11:00:00Z;9.90\n"
    "R-3;42;2026-10-22\nR-4;43;2026-10-22T12:00:00Z;1,00\n"
)


def encoded(content: bytes) -> str:
    return base64.b64encode(content).decode()


def converted(world: World, content: bytes, size: int = 10_000, **changed: Any) -> list[dict[str, Any]]:
    """Return the answers about a file that is sent in parts of a size."""
    body: dict[str, Any] = {"map": MAP, "settings": {"till": "till"}} | changed
    answers: list[dict[str, Any]] = []
    while content or not answers:
        part = {"part": encoded(content[:size]), "last": len(content) <= size}
        response = send(world, "POST", "/csv/events", body | part)
        assert response.status == 200, response.body
        answers.append(response.json())
        content, body["next"] = content[answers[-1]["read"] :], answers[-1]["next"]
    assert answers[-1]["next"] is None
    return answers


@pytest.mark.parametrize("size", [60, 10_000])
def test_events_and_messages_are_those_of_the_command(
    world: World, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], size: int
) -> None:
    file, toml = tmp_path / "sales.csv", tmp_path / "map.toml"
    file.write_text(SALES, "utf-8")
    toml.write_text(MAP, "utf-8")
    parser = argparse.ArgumentParser()
    command.configure(parser)
    assert command.run(parser.parse_args([str(file), "--map", str(toml), "--set", "till=till"])) == 1
    out, err = capfdbinary.readouterr()
    before = items(world, "LedgerTable")
    answers = converted(world, SALES.encode(), size)
    found = [one for answer in answers for one in answer["items"]]
    assert found == [json.loads(line) for line in out.splitlines()]
    bad = [f"line {one['line']}: {one['reason']}" for answer in answers for one in answer["bad"]]
    lines = err.decode().splitlines()
    assert [*bad, "4 rows, 2 events, 2 bad rows"] == [*lines[:2], lines[-1]]
    summaries = [FileSummary.parse(answer["summary"]) for answer in answers]
    whole = reduce(FileSummary.plus, summaries)
    assert (whole.file.rows, [*lines_of(whole)]) == (4, lines[2:])
    assert [number for answer in answers for number in answer["lines"]] == [2, 5]
    texts = [one["text"] for answer in answers for one in answer["bad"]]
    assert texts == SALES.splitlines(keepends=True)[2:4], "the rows themselves, to be mended"
    assert "".join(answer["head"] or "" for answer in answers) == SALES.splitlines(keepends=True)[0]
    assert items(world, "LedgerTable") == before, "nothing is recorded"
    assert verdicts(post(world, found)) == ["recorded"] * 2
    again = [one for answer in converted(world, SALES.encode(), size) for one in answer["items"]]
    assert verdicts(post(world, again)) == ["duplicate"] * 2


def test_each_part_says_why_its_file_must_never_change(world: World) -> None:
    by_row = MAP.replace("{receipt}", "{receipt}:{row}")
    reasons = {answer["must_not_change"] for answer in converted(world, SALES.encode(), 60, map=by_row)}
    assert len(reasons) == 1
    assert reasons.pop().startswith("the ids hold the number of the row")
    for toml in (MAP, "[file]\nnever_changes = true\n" + by_row):
        assert {answer["must_not_change"] for answer in converted(world, SALES.encode(), map=toml)} == {""}


@pytest.mark.parametrize(
    ("changed", "problems"),
    [
        ({"map": "[numbers]"}, [("map", "event: at least one [[event]] is needed")]),
        ({"settings": {}}, [("settings.till", "is missing")]),
        ({"settings": {"till": "t", "shop": "x"}}, [("settings.shop", "is not known")]),
        ({"settings": {"till": 1}}, [("settings.till", "is 1")]),
        ({"part": "?"}, [("part", "is not Base64")]),
        ({"part": encoded(b"x" * 700_001)}, [("part", "has 700001 bytes")]),
        ({"last": "yes"}, [("last", "is 'yes'")]),
        ({"next": "e30"}, [("next", "is of no answer about a part")]),
        (
            {"part": encoded(b"receipt;shop;sold\n")},
            [("map", "event[1].data.amount: the file has no column 'price'; it has receipt, shop, sold")],
        ),
        (
            {"part": encoded(b"PK\x03\x04")},
            [("part", "is not a CSV file but a spreadsheet or another ZIP file: save it as CSV, or unpack it")],
        ),
    ],
)
def test_a_request_that_cannot_be_converted_is_refused_with_the_words_of_the_command(
    world: World, changed: dict[str, Any], problems: list[tuple[str, str]]
) -> None:
    body = {"map": MAP, "settings": {"till": "till"}, "part": encoded(SALES.encode()), "last": True} | changed
    response = send(world, "POST", "/csv/events", body)
    assert response.status == 400
    assert [(one["field"], one["problem"]) for one in response.json()["errors"]] == problems


def test_a_map_that_comes_with_the_tools_is_named(world: World) -> None:
    body = {"map": "stripe", "settings": {"agency": "42"}, "part": encoded(b"id\n"), "last": True}
    (problem,) = send(world, "POST", "/csv/events", body).json()["errors"]
    assert "the file has no column" in problem["problem"]


def test_a_map_is_proposed_as_by_the_command_with_its_questions(
    world: World, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    file = tmp_path / "till.csv"
    file.write_text(SALES.replace("9.90", "9,90"), "utf-8")
    parser = argparse.ArgumentParser()
    command.configure(parser)
    assert command.run(parser.parse_args([str(file), "--guess"])) == 1
    by_command = capfdbinary.readouterr().out.decode().replace(str(file), "till.csv")
    body = {"part": encoded(file.read_bytes()), "name": "till.csv", "last": True}
    found = send(world, "POST", "/csv/maps", body).json()
    assert (found["map"], found["shipped"]) == (by_command, [])
    lines = found["map"].split("\n")
    for one in found["questions"]:
        lines[one["line"] - 1] = f"{one['name']} = {one['answers'][-1]}"
    (answer,) = converted(world, file.read_bytes(), map="\n".join(lines), settings={})
    currencies = {one["data"]["currency"] for one in answer["items"]}
    assert (len(answer["items"]), currencies) == (3, {"GBP"})


def test_a_map_is_proposed_for_bytes_that_are_not_utf_8_and_for_columns_of_a_shipped_map(world: World) -> None:
    latin = {"part": encoded("receipt;shop;price\nR-1;Café;1,50\n".encode("cp1252")), "last": True}
    (question,) = (
        one for one in send(world, "POST", "/csv/maps", latin).json()["questions"] if one["name"] == "encoding"
    )
    assert question["answers"] == ['"cp1252"']
    header = "balance_transaction_id,created_utc,reporting_category,gross,currency,fee,source_id"
    stripe = {"part": encoded(f"{header}\nt1,2026-10-22 10:00:00,charge,1.00,eur,0.50,ch_1\n".encode())}
    assert send(world, "POST", "/csv/maps", stripe | {"last": True}).json()["shipped"] == ["stripe"]
    refused = send(world, "POST", "/csv/maps", {"part": encoded(b"PK\x03\x04"), "last": True})
    assert (refused.status, refused.json()["errors"][0]["field"]) == (400, "part")


FAULTY = (
    "order,sold,shop,price,cur\nR-1,2026-10-01,42,10.00,EUR\nR-2,27/10/2026,42,11.00,EUR\nR-3,2026-10-03,42,abc,EUR\n"
    "R-4,2026-10-04,42,12.00,XXY\nR-5,2026-10-05,,13.00,EUR\nR-6,2026-10-06,42,14.00,EUR\n"
)
COLUMNS = {"id": "order", "time": "sold", "subject": "shop", "amount": "price", "currency": "cur"}
"""Those of its columns that a person chooses."""


@pytest.mark.parametrize(
    ("head", "columns"),
    [("order,sold,shop,price,cur", COLUMNS), ("order,date,shop,amount,currency", {})],
    ids=["columns that a person has chosen", "columns whose names say what they are"],
)
def test_faulty_cells_make_bad_rows_and_no_other_map(world: World, head: str, columns: dict[str, str]) -> None:
    content = FAULTY.replace(FAULTY.partition("\n")[0], head).encode()
    body = {"part": encoded(content), "source": "till 7", "columns": columns, "last": True}
    found = send(world, "POST", "/csv/maps", body).json()
    assert found["questions"] == []
    assert found["parts"].items() >= dict(zip(COLUMNS, head.split(","), strict=True)).items()
    (names, values) = ([one[key] for one in found["columns"]] for key in ("name", "values"))
    assert (names, values[0]) == (head.split(","), ["R-1", "R-2", "R-3"])
    assert f"1 cell of {names[3]!r} cannot be read, such as 'abc': the row is bad" in found["checks"]
    (answer,) = converted(world, content, map=found["map"], settings={})
    sold = [(one["source"], one["id"], one["data"]["amount"]) for one in answer["items"]]
    assert sold == [("till 7", "R-1", "10.00"), ("till 7", "R-6", "14.00")]
    assert [one["line"] for one in answer["bad"]] == [3, 4, 5, 6]
    assert [one["text"] for one in answer["bad"]] == content.decode().splitlines(keepends=True)[2:6]


@pytest.mark.parametrize(
    ("changed", "field", "problem"),
    [
        ({"columns": {"amount": "shop name"}}, "part", "has no column 'shop name'"),
        ({"columns": {"amount": "order"}}, "part", "has no cell of 'order' that is a number"),
        ({"columns": {"price": "order"}}, "columns", "is "),
        ({"columns": {"amount": ""}}, "columns", "is "),
        ({"source": "a#b"}, "source", "is 'a#b'"),
    ],
)
def test_a_choice_that_a_file_cannot_have_is_refused(
    world: World, changed: dict[str, Any], field: str, problem: str
) -> None:
    refused = send(world, "POST", "/csv/maps", {"part": encoded(FAULTY.encode()), "last": True} | changed)
    (found,) = refused.json()["errors"]
    assert (refused.status, found["field"]) == (400, field)
    assert problem in found["problem"]


AGENCIES = "agency,legal_name,country\n44,Quay Records Ltd,GB\n45,,UK\n44,,\n46\n"


def test_agencies_and_messages_are_those_of_the_command(
    world: World, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "agencies.csv"
    file.write_text(AGENCIES, "utf-8")
    parser = argparse.ArgumentParser()
    agencies.configure(parser)
    args = parser.parse_args([str(file), "--url", "http://127.0.0.1:1"])
    assert agencies.run(args) == 1
    answer = send(world, "POST", "/csv/agencies", {"file": encoded(AGENCIES.encode())}).json()
    bad = [f"line {one['line']}: {one['reason']}" for one in answer["bad"]]
    assert [*bad, "3 of 4 agencies are invalid; nothing was sent"] == capsys.readouterr().out.splitlines()
    (found,) = answer["items"]
    assert found == {"line": 2, "agency": "44", "content": {"legal_name": "Quay Records Ltd", "country": "GB"}}
    registered = send(world, "PUT", "/agencies/44", {"seen": 0, "content": found["content"]})
    assert registered.status == 201


def test_a_file_of_agencies_with_an_unknown_column_is_refused(world: World) -> None:
    response = send(world, "POST", "/csv/agencies", {"file": encoded(b"agency,vat\n42,x\n")})
    assert response.status == 400
    assert response.json()["detail"].startswith("has the unknown column 'vat': expected columns are agency, legal_name")


# ---------------------------------------------------------------- what finance may record


@pytest.fixture
def open_to_uploads() -> Iterator[World]:
    """A system on which finance records from the source `till`."""
    with opened({"JwtRoleClaim": "role", "upload_sources": ["till", "stripe"]}) as world:
        yield world


def record(world: World, *sent: Cloud, sub: str = "fay") -> list[dict[str, Any]]:
    """Record events as a person of finance; return their outcomes."""
    _, answer = as_person(world, EVENTS, "/events", sent, sub, role="finance")
    outcomes: list[dict[str, Any]] = answer["items"]
    return outcomes


def test_finance_records_the_sales_of_a_file_once_though_others_send_it_again(open_to_uploads: World) -> None:
    (answer,) = converted(open_to_uploads, SALES.encode())
    assert [one["verdict"] for one in record(open_to_uploads, *answer["items"])] == ["recorded"] * 2
    assert [one["verdict"] for one in record(open_to_uploads, *answer["items"], sub="bob")] == ["duplicate"] * 2
    assert verdicts(post(open_to_uploads, answer["items"])) == ["duplicate"] * 2
    assert open_to_uploads.read("/events/till/R-1")["recorded_by"] == "fay"
    (refused,) = record(open_to_uploads, sale("s1"))
    assert [one["field"] for one in refused["errors"]] == ["type", "source"]
    assert len(ledger(open_to_uploads)) == 2


def test_where_two_must_agree_an_uploaded_sale_waits_for_the_second() -> None:
    with opened(TWO | {"upload_sources": ["till"]}) as two:
        (outcome,) = record(two, sale("s1") | {"source": "till"})
        assert (outcome["verdict"], outcome["held"]["problems"][0]["problem"]) == (
            "held",
            "is sale.recorded that a person has recorded",
        )
        assert decide(two, "fay", "release", "till/s1")[0] == 409
        assert decide(two, "bob", "release", "till/s1")[0] == 200
        watch(two)
        assert in_ledger(two) == {"s1": ""}


COUNTED_BY_ROW = """
[file]
never_changes = true
[[event]]
id = "{order}:{row}"
source = "till"
subject = "42"
type = "sale.recorded"
time = "{at}"
[event.data]
amount = "{amount}"
currency = "EUR"
order_id = "{order}"
"""
CORRECTED = "order,at,amount\nU-2,2026-10-03,20.00\nU-2,2026-10-03,5.00\nU-2,2026-10-03,5.00\nU-3,2026-10-04,7.50\n"


@pytest.mark.parametrize("size", [60, 10_000])
def test_a_row_is_recorded_under_one_id_though_its_place_in_the_file_changes(world: World, size: int) -> None:
    def sent(text: str) -> list[dict[str, Any]]:
        answers = converted(world, text.encode(), size, map=COUNTED_BY_ROW, settings={})
        answer: list[dict[str, Any]] = post(world, [one for some in answers for one in some["items"]]).json()["items"]
        return answer

    assert [one["verdict"] for one in sent(CORRECTED)] == ["recorded"] * 4
    assert [one["verdict"] for one in sent(CORRECTED)] == ["duplicate"] * 4
    again = sent(CORRECTED.replace("amount\n", "amount\nU-1,2026-10-02,1234.50\n"))
    assert [one["verdict"] for one in again] == ["recorded", *["rejected"] * 4]
    assert [one["errors"][0]["problem"].split("'")[1] for one in again[1:]] == ["U-2:1", "U-2:2", "U-2:3", "U-3:4"]
