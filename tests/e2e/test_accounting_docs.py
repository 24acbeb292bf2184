"""Every command of the page "Accounting" runs, and every command of its table is shown."""

import re
import shlex
import shutil
from pathlib import Path
from typing import Any, Final

import pytest

from quarterhour_tools.accounting import payouts
from quarterhour_tools.accounting.dac7 import DAC7_COLUMNS
from quarterhour_tools.accounting.journal_csv import COLUMNS
from quarterhour_tools.bucket import Folder
from quarterhour_tools.cli import main
from tests.e2e.test_rerate import serving
from tests.support.accounting import content, lines_file, write_period
from tests.support.repository import ROOT
from tests.support.system import opened

PAGE: Final = (ROOT / "docs" / "accounting.md").read_text("utf-8")
COMMANDS: Final = [
    shlex.split(line)[1:]
    for block in re.findall(r"^```sh\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    for line in block.splitlines()
]
ADDRESS: Final = "http://127.0.0.1:8080"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory that the page assumes: the examples, and a year's sealed statements."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    for month in range(1, 13):
        period = f"2026-{month:02d}"
        common: dict[str, Any] = {"period": period, "issued_on": f"{period}-28"}
        own, owed = (f"{(month - 1) * amount}.00" for amount in (119, -881))
        credit = {"agency": "43", "number": f"S-{month:02d}", "collects": "marketplace", "proceeds": "1000.00"}
        documents = [content(opening=own, **common), content(opening=owed, **credit, **common)]
        write_period(tmp_path / "sealed", documents, period)
    last = tmp_path / "sealed/ledger/dt=2027-01-01/quarter=0000/lines.csv.gz"
    last.parent.mkdir(parents=True)
    last.write_bytes(lines_file([]))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_command_of_the_page_runs(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payouts, "sealed_files", lambda _: Folder(place / "sealed"))
    with opened() as world, serving(world) as url:
        for command in COMMANDS:
            assert main([url if one == ADDRESS else one for one in command]) == 0, command
    for command in COMMANDS:
        for option in ("--out", "--csv"):
            if option in command:
                assert (place / command[command.index(option) + 1]).stat().st_size > 0
    assert (place / "payouts.xml").read_bytes().count(b"<CdtTrfTxInf>") == 12


def test_every_command_of_the_table_is_shown() -> None:
    table = re.findall(r"^\|.*?`quarterhour ([\w-]+)`", PAGE, re.MULTILINE)
    assert sorted(table) == sorted({command[0] for command in COMMANDS})


@pytest.mark.parametrize(("section", "columns"), [("## Journals", COLUMNS), ("## DAC7", DAC7_COLUMNS)])
def test_every_column_is_described(section: str, columns: tuple[str, ...]) -> None:
    text = PAGE.partition(section)[2].partition("\n## ")[0]
    assert [name for name in columns if f"`{name}`" not in text] == []
