"""The roster of a period: who gets a draft, and with which sums."""

from datetime import date
from decimal import Decimal
from io import BytesIO

from hypothesis import given
from hypothesis import strategies as st

from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.statements.drafts.draft import Draft, ListedDraft, draft_totals
from quarterhour.statements.drafts.figures import AccountSums, Kind, Sum
from quarterhour.statements.drafts.roster import pack_roster, read_roster, roster
from quarterhour.statements.listing import SealedObject
from tests.support.builders import accounts
from tests.support.statement_plans import plan

FILE = SealedObject("a" * 64, 10)


def sums(commission: str = "1", *days: str) -> AccountSums:
    """Return the sums of a sale of 10 on each day, by default on 3 November."""
    found = AccountSums()
    for day in days or ("2026-11-03",):
        found.add((Kind.SALES, False), day, ("default", "0.1"), day, Sum(1, Decimal(10), Decimal(commission)))
    return found


def test_an_account_has_the_sums_of_all_days_and_one_without_lines_is_not_on_the_roster() -> None:
    first, second = {"7": sums(), "42": sums("2")}, {"42": sums("-3"), "8": sums()}
    days = [[(Account(agency, "GBP"), one) for agency, one in sorted(day.items())] for day in (first, second)]
    found = [(account.agency, one.lines, one.commission) for account, one in roster(days)]
    assert found == [("42", 2, Decimal(-1)), ("7", 1, Decimal(1)), ("8", 1, Decimal(1))]


@given(st.lists(accounts, unique=True, max_size=8))
def test_a_roster_is_read_as_it_was_written(some: list[Account]) -> None:
    written = [(account, sums()) for account in sorted(some)]
    file = BytesIO()
    pack_roster(iter(written), file)
    file.seek(0)
    assert list(read_roster(file)) == written


def test_the_draft_names_its_tax_points_as_spans_without_a_gap_and_the_lines_at_the_default_rate() -> None:
    draft = Draft(Account("42", "GBP"), sums("1", "2026-11-03", "2026-11-04", "2026-10-31", "2026-11-06"), [], FILE)
    assert draft.tax_points(Period(2026, 11)) == [
        (date(2026, 10, 31), date(2026, 10, 31)),
        (date(2026, 11, 3), date(2026, 11, 4)),
        (date(2026, 11, 6), date(2026, 11, 6)),
    ]
    assert draft.default_rate_lines == 4


def test_the_list_of_drafts_is_read_as_it_was_written_and_added_up() -> None:
    of_account = sums("1.005")
    draft = Draft(Account("=1+1", "GBP"), of_account, [], FILE)
    one = ListedDraft(draft.account, draft.figures, 1, 0, {"draft.json": FILE, "lines.csv.gz": FILE})
    assert ListedDraft.of_row(one.as_row()) == one
    assert one.as_row()[:6] == ["'=1+1", "GBP", "0", "10", "1.005", "0"]
    totals = draft_totals()
    for _ in range(2):
        totals.add("drafts", "GBP", one.lines, one.figures)
    figures = {"brought_forward": "0", "net": "20", "commission_exact": "2.010", "payments": "0"}
    assert totals.as_dict() == {"drafts": 2, "lines": 2, "currencies": {"GBP": figures}}


def test_a_draft_is_read_as_it_was_written_and_names_no_party_tax_or_number() -> None:
    draft = Draft(Account("42", "GBP"), sums(), [{"order": None, "lines": 1}], FILE)
    content = draft.document(plan())
    assert list(content) == [
        *("schema", "period", "recorded_until", "agency", "currency", "sums", "orders", "lines_file"),
    ]
    assert (content["period"], content["recorded_until"]) == ("2026-11", "202612040000")
