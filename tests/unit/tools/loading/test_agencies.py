"""A file of agencies: read from NDJSON or CSV, every problem reported, each agency written only if it differs."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from quarterhour.registry.agencies.rows import AgencyRow
from quarterhour_tools.errors import ToolError
from quarterhour_tools.loading.agencies import (
    CHANGED,
    CREATED,
    REFUSED,
    UNCHANGED,
    load,
    read,
    read_versions,
)

CONTENT: dict[str, Any] = {
    "legal_name": "Harbour Books Ltd",
    "country": "GB",
    "tax": {"scheme": "standard", "percent": "20", "vat_id": "GB980780684"},
    "group": "bookshops",
}


def file(folder: Path, content: str, name: str = "agencies.ndjson") -> str:
    path = folder / name
    path.write_bytes(gzip.compress(content.encode()) if name.endswith(".gz") else content.encode())
    return str(path)


NDJSON = (
    '\ufeff{"agency": "42", "legal_name": "Harbour Books Ltd", "country": "GB", "group": "bookshops", '
    '"tax": {"scheme": "standard", "percent": 20, "vat_id": "GB980780684"}}\n\n{"agency": "a/b"}\n'
)
CSV = (
    "\ufeffagency,legal_name,country,tax_scheme,tax_percent,vat_id,group,address\n"
    "42,Harbour Books Ltd,GB,standard,20,GB980780684,bookshops,\na/b,,,,,,,\n"
)


@pytest.mark.parametrize(
    ("content", "name", "numbers"),
    [(NDJSON, "agencies", [1, 3]), (NDJSON, "a.ndjson.gz", [1, 3]), (CSV, "a.csv", [2, 3]), (CSV, "a.csv.gz", [2, 3])],
)
def test_agencies_are_read_from_ndjson_or_csv(tmp_path: Path, content: str, name: str, numbers: list[int]) -> None:
    rows, bad = read(file(tmp_path, content, name))
    assert not bad
    assert rows == [AgencyRow(numbers[0], "42", CONTENT), AgencyRow(numbers[1], "a/b", {})]
    assert rows[1].path == "/agencies/a%252Fb"


def test_a_row_can_say_why_nothing_is_taxed_and_which_invoices_the_agency_takes(tmp_path: Path) -> None:
    columns = "agency,tax_scheme,tax_reason,tax_reason_code,invoice_profile,electronic_address,country,post_code,town\n"
    row = "42,exempt,§ 4 Nr. 8 UStG,VATEX-EU-135-1,xrechnung,0204:991-03730-19,DE,D-20095,Hamburg\n"
    ((found,), bad) = read(file(tmp_path, columns + row, "a.csv"))
    assert not bad
    assert found.content == {
        "tax": {"scheme": "exempt", "reason": "§ 4 Nr. 8 UStG", "reason_code": "VATEX-EU-135-1"},
        "invoice_profile": "xrechnung",
        "electronic_address": "0204:991-03730-19",
        "country": "DE",
        "post_code": "20095",
        "town": "Hamburg",
    }


@pytest.mark.parametrize(
    ("line", "problems"),
    [
        ("{", ["is not JSON"]),
        ("[]", ["is not an object"]),
        ('{"legal_name": "x"}', ["agency is missing"]),
        ('{"agency": 42}', ["agency is 42"]),
        ('{"agency": "42 "}', ["agency is '42 '"]),
        ('{"agency": "default"}', ["agency is 'default'"]),
        (
            '{"agency": "7", "tax": {"scheme": "standard", "percent": "101"}, "country": "UK"}',
            ["country", "tax.percent"],
        ),
        ('{"agency": "7", "country": "GB", "tax": {"scheme": "exempt", "vat_id": "GB1"}}', ["tax.vat_id is 'GB1'"]),
        ('{"agency": "42"}', ["agency 42 is in line 1 already"]),
    ],
)
def test_a_bad_line_is_reported_with_every_problem(tmp_path: Path, line: str, problems: list[str]) -> None:
    path = file(tmp_path, f'{{"agency": "42"}}\n{line}\n{{"agency": "8"}}\n')
    rows, bad = read(path)
    assert [row.agency for row in rows] == ["42", "8"]
    assert [one.number for one in bad] == [2]
    assert all(problem in bad[0].problem for problem in problems)
    with pytest.raises(ToolError, match="line 2: "):
        read_versions(path)


def test_a_line_of_csv_with_another_number_of_cells_is_reported(tmp_path: Path) -> None:
    rows, bad = read(file(tmp_path, "agency,country\n42\n43,GB,x\n44,GB\n", "a.csv"))
    assert ([row.agency for row in rows], [one.number for one in bad]) == (["44"], [2, 3])


@pytest.mark.parametrize("content", ["name,country\n42,GB\n", "agency,vat\n42,x\n", "42\n"])
def test_csv_with_unknown_columns_or_without_agencies_is_refused(tmp_path: Path, content: str) -> None:
    with pytest.raises(ToolError, match="expected columns are agency, legal_name"):
        read(file(tmp_path, content, "a.csv"))


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"agency\n\xff\n")
    with pytest.raises(ToolError, match="decode"):
        read(str(path))
    assert read(file(tmp_path, "")) == ([], [])


VERSIONS = (
    '{"agency": "42", "group": "b", "valid_from": "2026-11-01T00:00:00Z", "registered_at": "2026-10-25T09:00:00Z"}\n'
    '{"agency": "42", "group": "c", "valid_from": "2026-12-01T00:00:00Z"}\n'
    '{"agency": "42", "group": "a", "valid_from": "2026-01-01T00:00:00Z"}\n'
    '{"agency": "7", "registered_at": "2026-10-01T00:00:00Z"}\n'
)
VERSIONS_CSV = (
    "agency,group,valid_from,registered_at\n42,b,2026-11-01T00:00:00Z,2026-10-25T09:00:00Z\n"
    "42,c,2026-12-01T00:00:00Z,\n42,a,2026-01-01T00:00:00Z,\n7,,,2026-10-01T00:00:00Z\n"
)


@pytest.mark.parametrize("content", [VERSIONS, VERSIONS_CSV])
def test_the_versions_of_agencies_are_in_the_order_in_which_they_are_written(tmp_path: Path, content: str) -> None:
    rows = read_versions(file(tmp_path, content))
    assert [(row.agency, row.content.get("group")) for row in rows] == [
        ("42", "a"),
        ("42", "c"),
        ("7", None),
        ("42", "b"),
    ]
    assert [row.registered_at and row.registered_at.isoformat() for row in rows] == [
        *(None, None, "2026-10-01T00:00:00+00:00", "2026-10-25T09:00:00+00:00")
    ]
    assert all("registered_at" not in row.content for row in rows)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"agency": "42"}', "agency 42 is in line 1 already; a version needs valid_from"),
        ('{"agency": "8", "registered_at": "today"}', "registered_at is 'today': expected an RFC 3339 instant"),
    ],
)
def test_an_invalid_version_is_refused(tmp_path: Path, line: str, problem: str) -> None:
    with pytest.raises(ToolError, match=problem):
        read_versions(file(tmp_path, f"{VERSIONS}{line}\n"))


def test_only_a_replay_takes_versions(tmp_path: Path) -> None:
    rows, bad = read(file(tmp_path, VERSIONS))
    assert [row.number for row in rows] == [2]
    assert [one.number for one in bad] == [1, 3, 4]
    assert "registered_at is not known" in bad[0].problem


class Api:
    """The API's agencies, by their paths."""

    def __init__(self) -> None:
        self.agencies: dict[str, dict[str, Any]] = {}
        self.refuses = False

    def send(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        if method == "GET":
            return (200, self.agencies[path]) if path in self.agencies else (404, {"detail": "not registered"})
        if self.refuses:
            return 409, {"detail": "has changed"}
        self.agencies[path] = {"version": body["seen"] + 1, "content": body["content"]}
        return 201, {}


def test_only_agencies_that_differ_are_written_and_what_changed_is_reported() -> None:
    api = Api()
    rows = [AgencyRow(1, "42", CONTENT), AgencyRow(2, "43", {}), AgencyRow(3, "44", {"group": "eu"})]
    lines: list[str] = []
    assert load(rows, api.send, lines.append) == {CREATED: 3}
    assert load(rows, api.send, lines.append) == {UNCHANGED: 3}
    changed = [AgencyRow(1, "42", {**CONTENT, "group": "eu", "country": "DE"}), rows[1], AgencyRow(3, "44", {})]
    assert load(changed, api.send, lines.append) == {CHANGED: 2, UNCHANGED: 1}
    assert lines == [
        *("42: created", "43: created", "44: created"),
        *("42: changed: country, group", "44: changed: group"),
    ]
    assert api.agencies["/agencies/42"]["version"] == 2
    api.refuses = True
    assert load(rows[:1], api.send, lines.append) == {REFUSED: 1}
    assert lines[-1] == "line 1: 42: refused: has changed"


def test_an_agency_that_cannot_be_read_stops_the_command() -> None:
    with pytest.raises(ToolError, match="GET /agencies/42 failed with 403"):
        load([AgencyRow(1, "42", {})], lambda *_: (403, {}), lambda _: None)
