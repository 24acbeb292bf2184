"""The statements of a bank's file: each adds up, none is lost, and pages, repeats, overlaps and gaps are found."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.file_formats.bank.line import BankFile, BankFileError
from quarterhour.file_formats.bank.read import read_bank_file
from tests.support.bank_files import OWN_ACCOUNT, camt, camt_of, entry, mt940, statement, transaction
from tests.support.laws import examples

FIRST = mt940(("CR21,00NTRFNONREF//A1", "S-000001"), closing="121,00")
SECOND = mt940(("CR7,50NTRFNONREF//A2", "S-000002"), opening="121,00", closing="128,50", number="2/1")
ENVELOPE = "{1:F01BANKDEFFXXXX0000000000}{2:O9401200261105BANKDEFFXXXX00000000002611051200N}{4:\n"


def file(text: str) -> BankFile:
    return read_bank_file(text.encode())


def amounts(found: BankFile) -> list[str]:
    return [str(one.amount) for one in found.lines]


def refusal(content: bytes) -> str:
    with pytest.raises(BankFileError) as raised:
        read_bank_file(content)
    return raised.value.problem


@pytest.mark.parametrize(
    "text",
    [
        FIRST + SECOND,
        "\n" + FIRST + SECOND,
        "\N{ZERO WIDTH NO-BREAK SPACE}" + FIRST + SECOND,
        FIRST.replace("-\n", "") + SECOND,
        FIRST + "\n\n" + SECOND,
        ENVELOPE + FIRST.replace("-\n", "-}") + ENVELOPE + SECOND.replace("-\n", "-}"),
        ENVELOPE + FIRST.replace("-\n", "-}\n") + ENVELOPE + SECOND.replace("-\n", "-}\n"),
        "BANKNL2A\n940\nBANKNL2A\n" + FIRST + "BANKNL2A\n940\nBANKNL2A\n" + SECOND,
        FIRST.replace("-\n", "") + SECOND.replace(":20:STARTUMS\n", ""),
        (FIRST + SECOND).replace("\n", "\r\n"),
    ],
)
def test_each_statement_of_an_mt940_is_read_whatever_is_around_it(text: str) -> None:
    found = file(text)
    assert (amounts(found), found.problems) == (["21.00", "7.50"], ())
    assert [(one.number, str(one.opening), str(one.closing)) for one in found.statements] == [
        ("1/1", "100.00", "121.00"),
        ("2/1", "121.00", "128.50"),
    ]
    assert [(one.reference, one.statement) for one in found.lines] == [("S-000001", 1), ("S-000002", 2)]


def test_lines_of_mt940_without_a_type_or_without_details_are_kept() -> None:
    text = ":61:2611051105C1,00\n:61:2611051105C2,00NTRF\n:61:2611051105D0,50\n:86:fee\n"
    found = file(mt940(closing="102,50").replace(":62F:", f"{text}:62F:"))
    assert amounts(found) == ["1.00", "2.00", "-0.50"]


def test_what_mt940_says_of_the_account_is_no_part_of_a_line() -> None:
    text = FIRST.replace("-\n", ":64:C261130EUR121,00\n:86:S-000009 is the next invoice\n-\n")
    assert [one.reference for one in file(text).lines] == ["S-000001"]


def test_a_hyphen_at_the_start_of_a_text_ends_no_statement() -> None:
    found = file(FIRST.replace("S-000001", "for\n-\nS-000001"))
    assert [one.reference for one in found.lines] == ["for S-000001"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (":61:", ":61:2611051105C5,00NTRF\n:61:", "its 2 lines are 26.00 and give 126.00, and it closes with 121.00"),
        (":62F:C261130EUR121,00\n", "", "has no closing balance"),
        (":60F:C261101EUR100,00\n", "", "has no opening balance"),
        ("EUR100,00", "EUR1.100,00", "has the balance 'C261101EUR1.100,00'"),
        ("C261101", "C261301", "has the balance"),
        ("CR21,00", "CR1.021,00", "has a field that cannot be read, number 1"),
        ("C261130EUR", "C261130USD", "is in EUR and has amounts in USD"),
        ("-\n", ":61:2611051105C5,00NTRF\n-\n", "has a line after the closing balance"),
        (":61:", ":60F:C261101EUR1,00\n:61:", "has an opening balance amid the lines"),
    ],
)
def test_an_mt940_of_which_anything_is_off_is_refused(old: str, new: str, problem: str) -> None:
    assert FIRST.count(old) == 1
    assert problem in refusal((FIRST.replace(old, new) + SECOND).encode())


def test_each_statement_that_does_not_add_up_is_named() -> None:
    wrong = FIRST.replace("21,00NTRF", "20,00NTRF") + SECOND.replace("7,50NTRF", "9,00NTRF")
    problem = refusal(wrong.encode())
    assert "statement 1 (1/1)" in problem
    assert "1.00 is off; statement 2 (2/1)" in problem
    assert problem.endswith("-1.50 is off")


PAGES = [
    mt940(("CR21,00NTRFNONREF//A1", "one"), closing="121,00", marks="FM"),
    mt940(("CR7,50NTRFNONREF//A2", "two"), opening="121,00", closing="128,50", number="1/2", marks="MM"),
    mt940(("DR1,00NTRFNONREF//A3", "three"), opening="128,50", closing="127,50", number="1/3", marks="MF"),
]


def test_pages_are_one_statement() -> None:
    found = file("".join(PAGES))
    (one,) = found.statements
    assert (str(one.opening), one.lines, str(one.closing), found.problems) == ("100.00", 3, "127.50", ())


def test_a_page_that_is_missing_amid_others_does_not_add_up() -> None:
    assert "its 2 lines are 20.00 and give 120.00, and it closes with 127.50: 7.50 is off" in refusal(
        (PAGES[0] + PAGES[2]).encode()
    )


def test_pages_that_are_missing_at_an_end_are_said() -> None:
    (begins,) = file(PAGES[1] + PAGES[2]).problems
    (ends,) = file(PAGES[0] + PAGES[1]).problems
    assert begins.endswith("begins with a later page: the pages before it are not in this file")
    assert ends.endswith("ends with a page that is not the last: the pages after it are not in this file")


@pytest.mark.parametrize("codes", [("OPBD", "ITBD", "ITBD", "CLBD"), ("OPBD", "CLBD", "PRCD", "CLBD")])
def test_pages_of_camt_are_one_statement(codes: tuple[str, str, str, str]) -> None:
    def page(number: int, *entries: str, **more: str) -> str:
        last = "true" if number == 2 else "false"
        head = f"<Id>9</Id><StmtPgntn><PgNb>{number}</PgNb><LastPgInd>{last}</LastPgInd></StmtPgntn>"
        return statement(*entries, head=head, codes=codes[2 * number - 2 : 2 * number], **more)

    first, second = page(1, entry("5.00"), closing="105.00"), page(2, entry("6.00"), opening="105.00", closing="111.00")
    found = read_bank_file(camt_of(first, second))
    (one,) = found.statements
    assert (one.number, one.lines, str(one.closing), found.problems) == ("9", 2, "111.00", ())
    assert len(read_bank_file(camt_of(first)).problems) == len(read_bank_file(camt_of(second)).problems) == 1


def test_a_camt_has_statements_of_accounts_and_currencies() -> None:
    found = read_bank_file(
        camt_of(
            statement(entry("5.00"), closing="105.00", head="<ElctrncSeqNb>7</ElctrncSeqNb><Id>x</Id>"),
            statement(entry("-6.00", currency="USD"), opening="-1.00", closing="-7.00", account="GB1"),
        )
    )
    assert [(one.account, one.number, one.currency, str(one.closing)) for one in found.statements] == [
        (OWN_ACCOUNT, "7", "EUR", "105.00"),
        ("GB1", "", "USD", "-7.00"),
    ]
    assert "is in EUR and has amounts in USD" in refusal(
        camt(entry("5.00"), entry("5.00", currency="USD"), closing="110.00")
    )


def test_a_payment_that_came_back_is_a_reversal_of_the_party_that_was_paid() -> None:
    part = transaction("S-000001", creditor="Agency Ltd", name="Marketplace")
    returned = f"<NtryDtls>{part.replace('</TxDtls>', '<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf></TxDtls>')}</NtryDtls>"
    (one,) = read_bank_file(camt(entry("50.00", inner=returned), closing="150.00")).lines
    assert (one.reversal, str(one.amount), one.name) == (True, "50.00", "Agency Ltd")


def test_a_statement_that_is_in_the_file_again_is_excluded() -> None:
    found = file(FIRST + SECOND + FIRST)
    assert ([one.excluded for one in found.lines], found.problems) == (["", "", "repeated"], ())
    assert [one.repeats for one in found.statements] == [None, None, 1]


def test_two_equal_days_whose_lines_come_to_zero_are_both_kept() -> None:
    pair = (("CR5,00NTRF", "in"), ("DR5,00NTRF", "out"))
    found = file(mt940(*pair) + mt940(*pair, number="2/1"))
    assert ([one.excluded for one in found.lines], found.problems) == ([""] * 4, ())


def test_statements_that_overlap_are_refused() -> None:
    both = mt940(
        ("CR21,00NTRFNONREF//A1", "S-000001"), ("CR7,50NTRFNONREF//A2", "S-000002"), closing="128,50", number="9/1"
    )
    assert refusal((FIRST + both).encode()) == (
        f"has 1 of the same lines in statement 1 (1/1) of {OWN_ACCOUNT} and statement 2 (9/1) of {OWN_ACCOUNT}, "
        "which overlap"
    )


@pytest.mark.parametrize("turned", [False, True])
def test_statements_between_others_that_are_missing_are_said(turned: bool) -> None:  # noqa: FBT001 - both orders
    third = mt940(("CR1,00NTRF", "x"), opening="128,50", closing="129,50", number="3/1").replace("261101", "261102")
    parts = [third, FIRST] if turned else [FIRST, third]
    (problem,) = file("".join(parts)).problems
    assert f"(3/1) of {OWN_ACCOUNT} opens with 128.50, with which no other one of its account closes" in problem
    assert file(third + SECOND + FIRST).problems == ()


@pytest.mark.law
@given(st.lists(st.lists(st.integers(-10_000, 10_000).filter(bool), max_size=4), min_size=1, max_size=5))
@examples(60)
def test_the_lines_of_any_statements_are_those_that_were_written(days: list[list[int]]) -> None:
    balance, text, entries = 0, "", []
    for number, day in enumerate(days, 1):
        written = [
            (f"{'D' if one < 0 else 'C'}{_comma(abs(one))}NTRFNONREF//{number}x{at}", "x") for at, one in enumerate(day)
        ]
        own = [entry(str(Decimal(one).scaleb(-2)), reference=f"{number}x{at}", inner="") for at, one in enumerate(day)]
        before, balance = balance, balance + sum(day)
        text += mt940(*written, opening=_comma(before), closing=_comma(balance), number=str(number))
        opening, closing = str(Decimal(before).scaleb(-2)), str(Decimal(balance).scaleb(-2))
        entries.append(statement(*own, opening=opening, closing=closing, head=f"<Id>{number}</Id>"))
    expected = [Decimal(one).scaleb(-2) for day in days for one in day]
    for found in (file(text), read_bank_file(camt_of(*entries))):
        assert [one.amount for one in found.lines] == expected
        assert {one.excluded for one in found.lines} <= {""}
        assert len(found.statements) == len(days)


def _comma(cents: int) -> str:
    return f"{Decimal(cents).scaleb(-2):.2f}".replace(".", ",")
