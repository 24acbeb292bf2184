"""The roster of a period of 0.2.0: who gets a statement, and with which number."""

from decimal import Decimal
from io import BytesIO

from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model.identifiers import Account
from quarterhour.statements.document.statement import StatementEntry
from quarterhour.statements.drafts.figures import AccountSums, Kind, Sum
from quarterhour.statements.listing import FIGURES, Listed, SealedObject
from quarterhour.statements.of_0_2.roster import Numbers, pack_roster, read_numbers, read_roster, roster
from tests.support.builders import accounts
from tests.support.statement_plans import plan


def sums(commission: str = "1") -> AccountSums:
    found = AccountSums()
    found.add(
        (Kind.SALES, False), "2026-11-03", ("card 1", "0.1"), "2026-11-03", Sum(1, Decimal(10), Decimal(commission))
    )
    return found


def listed(account: Account, closing: str) -> Listed:
    figures = {name: Decimal(closing if name == "closing" else 0) for name in FIGURES}
    files = {name: SealedObject("a" * 64, 10) for name in ("statement.json", "statement.html", "lines.csv.gz")}
    return Listed(account, "S-000001", "statement", figures["closing"] > 0, figures, 1, 0, files)


def entries(*days: dict[str, AccountSums], previous: dict[str, str] | None = None) -> list[StatementEntry]:
    before = [listed(Account(agency, "GBP"), closing) for agency, closing in sorted((previous or {}).items())]
    found = [[(Account(agency, "GBP"), one) for agency, one in sorted(day.items())] for day in days]
    return list(roster(found, before, Numbers.of(plan())))


def test_numbers_follow_the_order_of_the_accounts() -> None:
    found = entries({"7": sums(), "42": sums()}, {"8": sums()})
    assert [(one.account.agency, one.number) for one in found] == [
        ("42", "S-000001"),
        ("7", "S-000002"),
        ("8", "S-000003"),
    ]


def test_credit_notes_have_numbers_of_their_own() -> None:
    found = entries({"1": sums("-1"), "2": sums(), "3": sums("-0.004"), "4": sums("-2")})
    assert [one.number for one in found] == ["C-000001", "S-000001", "S-000002", "C-000002"]
    assert [one.document for one in found] == ["credit_note", "statement", "statement", "credit_note"]


def test_an_idle_account_has_a_statement_while_its_balance_is_not_0() -> None:
    found = entries({}, previous={"1": "5.00", "2": "0.00", "3": "-1"})
    assert [(one.account.agency, one.sums.lines) for one in found] == [("1", 0), ("3", 0)]


@given(st.lists(accounts, unique=True, max_size=8))
def test_a_roster_is_read_as_it_was_written_and_its_numbers_have_no_gap(some: list[Account]) -> None:
    numbers = Numbers.of(plan())
    day = [(account, sums()) for account in sorted(some)]
    file = BytesIO()
    written = list(roster([day], [], numbers))
    pack_roster(iter(written), numbers, file)
    file.seek(0)
    assert list(read_roster(file, plan())) == written
    file.seek(0)
    assert read_numbers(file) == (len(some) + 1, 1)
    assert [one.number for one in written] == [f"S-{number:06d}" for number in range(1, len(some) + 1)]


def test_the_list_of_a_period_of_0_2_0_is_read_as_it_was_written() -> None:
    one = listed(Account("=1+1", "GBP"), "5.00")
    assert Listed.of_row_of_0_2(one.as_row_of_0_2()) == one
    assert one.as_row_of_0_2()[0] == "'=1+1"
