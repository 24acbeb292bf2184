"""A bank's file from the command line: shown first, recorded once, and what is uncertain is written for a review."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quarterhour_tools.cli import main
from tests.e2e.test_rerate import serving
from tests.handlers.test_statements import record
from tests.support.agencies import tax
from tests.support.bank_files import OWN_ACCOUNT, camt, entry, mt940
from tests.support.stored_statements import end_of_october, register, seal_statements
from tests.support.system import World

OCTOBER = "S-000001"
MAP = '[numbers]\ndecimal = ","\n[line]\ndate = "{Day}"\namount = "{Sum}"\ncurrency = "GBP"\nreference = "{Text}"\n'


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[World, str]]:
    """121.00 GBP of October is open, and 1.21 GBP of another agency, over HTTP."""
    with end_of_october() as world:
        register(world, "42", scheme="standard", percent="21")
        record(world, "sale.recorded", "a1", "1000", commission_rate="0.1")
        world.write(
            "/agencies/43",
            {**tax(scheme="standard", percent="21"), "legal_name": "Northern Tours", "iban": OWN_ACCOUNT},
        )
        record(world, "sale.recorded", "b1", "10", commission_rate="0.1", agency="43")
        seal_statements(world)
        with serving(world) as url:
            yield world, url


def open_of(world: World) -> list[str]:
    world.drain()
    return [one["open"] for one in world.read("/receivables", agency="42")["items"]]


def test_the_same_file_twice_records_once_and_the_rest_is_written_for_review(
    served: tuple[World, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world, url = served
    file, review = tmp_path / "bank.xml", tmp_path / "review.ndjson"
    named, other = entry("21.00", OCTOBER, currency="GBP"), entry("99.00", "=1+1", currency="GBP", iban="")
    file.write_bytes(camt(named, other, closing="220.00"))
    command = ["payments", str(file), "--url", url]

    assert main(command) == 0
    shown = capsys.readouterr().out
    assert "it names S-000001 and leaves 100.00 GBP open" in shown
    assert shown.endswith(
        "2 lines: 1 certain, 0 to review, 0 recorded before, 1 without a match\n"
        "nothing is recorded: --record records what is certain\n"
    )
    assert open_of(world) == ["121.00"]

    assert main([*command, "--record"]) == 0
    assert capsys.readouterr().out.endswith("payments: 1 recorded\n")
    assert open_of(world) == ["100.00"]
    assert main([*command, "--record"]) == 0
    assert "1 recorded before" in capsys.readouterr().out
    assert open_of(world) == ["100.00"]

    excess = entry("130.00", OCTOBER, currency="GBP", reference="B9")
    file.write_bytes(camt(named, excess, closing="251.00"))
    assert main([*command, "--record", "--json", "--review", str(review)]) == 1
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert [(one["match"], one["verdicts"]) for one in found["lines"]] == [("recorded", []), ("excess", [])]
    assert [json.loads(one)["data"]["amount"] for one in review.read_text("utf-8").splitlines()] == ["100.00", "30.00"]
    assert open_of(world) == ["100.00"]
    assert main(["send", str(review), "--url", url]) == 0
    world.drain()
    assert world.read("/receivables", agency="42")["items"][0]["unallocated"] == "30.00"


def test_a_person_assigns_a_line_and_the_agency_s_registration_learns_who_paid(
    served: tuple[World, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world, url = served
    file = tmp_path / "bank.xml"
    paid = {"name": "Old Mill Holding", "iban": "GB33BUKB20201555555555", "currency": "GBP"}
    file.write_bytes(camt(entry("0.20", "thanks", reference="M1", **paid), closing="100.20"))
    command = ["payments", str(file), "--url", url, "--json"]
    for wrong, message in (
        (["9", "43"], "the file has no line 9"),
        (["x", "43"], "--assign x 43: expected LINE AGENCY [STATEMENT]"),
        (["1"], "--assign 1: expected LINE AGENCY [STATEMENT]"),
    ):
        assert main([*command, "--assign", *wrong]) == 2
        assert message in capsys.readouterr().err
    assert main([*command, "--assign", "1", "43", "S-000002"]) == 0
    shown = capsys.readouterr()
    assert "line 1: recorded for 43; Old Mill Holding is registered as its payer\n" in shown.err
    assert json.loads(shown.out)["lines"][0]["match"] == "recorded"
    registered = world.read("/agencies/43")["content"]
    assert (registered["payer_names"], registered["payer_ibans"]) == (["Old Mill Holding"], [paid["iban"]])
    assert registered["legal_name"] == "Northern Tours"
    world.drain()

    file.write_bytes(camt(entry("0.30", "again", reference="M2", **paid), closing="100.30"))
    assert main(command) == 1
    (line,) = json.loads(capsys.readouterr().out)["lines"]
    assert (line["match"], line["events"][0]["subject"]) == ("part", "43"), "it is proposed"
    assert main([*command, "--assign", "1", "43"]) == 0
    assert "line 1: recorded for 43\n" in capsys.readouterr().err, "the payer is known"
    assert main([*command, "--assign", "1", "43"]) == 2
    assert "--assign: line 1 needs no agency: it is recorded already" in capsys.readouterr().err

    file.write_bytes(camt(entry("0.10", "", reference="M3", **paid), closing="100.10"))
    assert main([*command, "--assign", "1", "nobody"]) == 0
    assert "the agency is not registered, so its payer is not remembered" in capsys.readouterr().err


def test_a_map_reads_other_csv(served: tuple[World, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, url = served
    csv_map = tmp_path / "map.toml"
    csv_map.write_text(MAP)
    (tmp_path / "bank.csv").write_text("Day;Sum;Text\n2026-11-05;7,00;rent\n")
    command = ["payments", str(tmp_path / "bank.csv"), "--url", url]
    assert main([*command, "--map", str(csv_map), "--json"]) == 0
    (line,) = json.loads(capsys.readouterr().out)["lines"]
    assert (line["date"], line["amount"], line["currency"], line["match"]) == ("2026-11-05", "7.00", "GBP", "none")


def test_a_bad_row_of_other_csv_is_shown_and_no_other_row_is_lost(
    served: tuple[World, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (csv_map := tmp_path / "map.toml").write_text(MAP)
    (file := tmp_path / "bank.csv").write_text(
        "Day;Sum;Text\n2026-11-05;7.00;rent\n2026-11-06;8,00;rent\n5 Nov;9,00;x\n"
    )
    assert main(["payments", str(file), "--url", served[1], "--map", str(csv_map), "--json"]) == 1
    shown = capsys.readouterr()
    found = json.loads(shown.out)
    assert ([one["amount"] for one in found["lines"]], found["unread"]) == (["8.00"], 1)
    assert [(one["amount"], one["lines"]) for one in found["sums"]] == [("17.00", 2)]
    assert "line 2: line.amount: Sum is '7.00'" in shown.err
    assert "2 bad rows: correct the file, and send it again" in shown.err


@pytest.mark.parametrize(
    "case",
    [
        ("Day;Sum;Text\n2026-11-05;7,00;rent\n", [], "the body has the columns Day;Sum;Text; send UTF-8"),
        ("Day;Text\n2026-11-05;rent\n", ["--map"], "map.toml: line.amount: the file has no column 'Sum'"),
        ("<a", ["--format", "camt.053"], "the body is not XML"),
    ],
)
def test_a_file_that_cannot_be_read_ends_with_2(
    served: tuple[World, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    case: tuple[str, list[str], str],
) -> None:
    content, options, message = case
    (csv_map := tmp_path / "map.toml").write_text(MAP)
    (file := tmp_path / "bank.csv").write_text(content)
    given = [*options, str(csv_map)] if options == ["--map"] else options
    assert main(["payments", str(file), "--url", served[1], *given]) == 2
    assert message in capsys.readouterr().err


def test_a_file_that_does_not_add_up_is_refused(
    served: tuple[World, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "bank.xml"
    file.write_bytes(camt(entry("7.00", "rent", currency="GBP"), closing="200.00"))
    assert main(["payments", str(file), "--url", served[1]]) == 2
    assert "give 107.00, and it closes with 200.00: 93.00 is off" in capsys.readouterr().err


def test_statements_and_sums_of_the_file_are_shown_with_what_an_earlier_file_had(
    served: tuple[World, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world, url = served
    file = tmp_path / "bank.sta"
    paid = ("CR1,00NTRFNONREF//D1", "S-000002")
    first = mt940(paid, opening="100,00", closing="101,00")
    second = mt940(("DR0,30NCHGNONREF//D2", "fees"), opening="101,00", closing="100,70", number="2/1")
    file.write_text((first + second).replace("EUR", "GBP"))
    command = ["payments", str(file), "--url", url]
    main([*command, "--record"])
    world.drain()
    capsys.readouterr()
    assert main(command) == 0
    shown = [" ".join(one.split()) for one in capsys.readouterr().out.splitlines()]
    assert "1/1 DE89370400440532013000 GBP 100.00 1 1.00 101.00" in shown
    assert "2/1 DE89370400440532013000 GBP 101.00 1 -0.30 100.70" in shown
    assert "statement 1 (1/1) overlaps an earlier file: 1 of its 1 line recorded before" in shown
    at = shown.index("currency lines amount")
    assert [one for one in shown[at:] if one.startswith("GBP")] == [
        "GBP recorded before 1 1.00",
        "GBP without a match 1 -0.30",
        "GBP in the file 2 0.70",
    ]


def test_rows_that_the_map_leaves_out_are_counted(
    served: tuple[World, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    csv_map = tmp_path / "map.toml"
    left_out = '[[exclude]]\nrule = "fees"\nwhen = { column = "Text", equals = "fee" }\n'
    csv_map.write_text(f'{MAP}when = {{ column = "Text", equals = "rent" }}\n{left_out}')
    (tmp_path / "bank.csv").write_text(
        "Day;Sum;Text\n2026-11-05;7,00;rent\n2026-11-05;-2,50;\n2026-11-05;-1,00;fee\n2026-11-05;Total;\n"
    )
    assert main(["payments", str(tmp_path / "bank.csv"), "--url", served[1], "--map", str(csv_map), "--json"]) == 0
    sums = json.loads(capsys.readouterr().out)["sums"]
    assert [(one["currency"], one["lines"], one["amount"]) for one in sums] == [("", 1, "0"), ("GBP", 3, "3.50")]
    found = [
        (one["currency"], part["outcome"], part["lines"], part["amount"]) for one in sums for part in one["outcomes"]
    ]
    assert found == [
        ("", "when", 1, "0"),
        ("GBP", "no_payment", 1, "7.00"),
        ("GBP", "when", 1, "-2.50"),
        ("GBP", "fees", 1, "-1.00"),
    ]
