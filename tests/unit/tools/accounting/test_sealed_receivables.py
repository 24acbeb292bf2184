"""What was open at the end of a day, from sealed files."""

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from quarterhour.model.identifiers import Account, Identity
from quarterhour_tools.accounting.receivables import COLUMNS, open_items
from quarterhour_tools.accounting.sealed_payments import SealedPayment, SealedPayments
from quarterhour_tools.cli import main
from quarterhour_tools.errors import ToolError
from tests.support.accounting import content, document, tax, write_period

UNTIL = datetime(2027, 3, 1, tzinfo=UTC)
DOCUMENTS = (
    document(number="S-1", issued_on="2026-12-04"),
    document(number="S-2", period="2026-12", issued_on="2027-01-04", opening="119.00"),
    document(tax("-10.00", "-1.90"), number="S-3", agency="43", issued_on="2026-12-04"),
)


def paid(amount: str, at: str, statement: str = "", agency: str = "42") -> SealedPayment:
    """Return a payment in euros."""
    return SealedPayment(Account(agency, "EUR"), Identity("s", at), Decimal(amount), statement, "", at)


PAYMENTS = [
    paid("19.00", "2026-12-31T23:59:59.999Z", "S-1"),
    paid("200.00", "2027-01-01T00:00:00.000Z", "S-1"),
    paid("5.00", "2026-12-10T00:00:00.000Z", agency="44"),
]


def shown(on: str) -> list[tuple[str, ...]]:
    """Return agency, number, column, and amount of what is open."""
    found = open_items(DOCUMENTS, SealedPayments(PAYMENTS, UNTIL), date.fromisoformat(on))
    return [(one.names[0], one.names[3], one.column, str(one.amount)) for one in found]


def test_a_day_has_what_was_issued_and_paid_by_its_end() -> None:
    credit, prepaid = ("43", "S-3", "credits", "-11.90"), ("44", "", "unallocated", "5.00")
    assert shown("2026-12-03") == []
    assert shown("2026-12-31") == [("42", "S-1", "days_1_30", "100.00"), credit, prepaid]
    assert shown("2027-01-01") == [("42", "", "unallocated", "100.00"), credit, prepaid]
    assert shown("2027-01-20") == [("42", "S-2", "days_1_30", "19.00"), credit, prepaid]


@pytest.mark.parametrize("on", ["2027-02-28", "2027-03-01"])
def test_a_day_whose_lines_are_not_sealed_is_refused(on: str) -> None:
    """The last day of February ends in Amsterdam before it does in UTC."""
    until = UNTIL if on == "2027-03-01" else datetime(2027, 2, 28, 23, 30, tzinfo=UTC)
    with pytest.raises(ToolError, match=f"{on} is not sealed yet.*sealed until 2027-0"):
        open_items(DOCUMENTS, SealedPayments(PAYMENTS, until), date.fromisoformat(on))


def test_without_sealed_lines_nothing_is_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["receivables", str(tmp_path), "--on", "2026-12-31"]
    assert main(command) == 2
    assert "no period is sealed yet" in capsys.readouterr().err
    write_period(tmp_path, [content()])
    assert main(command) == 2
    assert "sealed until no line" in capsys.readouterr().err
    with pytest.raises(SystemExit, match="2"):
        main([*command[:-1], "31.12."])
    assert "expected a day such as 2026-12-31" in capsys.readouterr().err
    assert COLUMNS[-3:] == ("credits", "unallocated", "balance")
