"""Lines of a bank's file match statements for a reason; what is in doubt is left to a person."""

from collections import defaultdict
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.file_formats.bank.line import BankLine
from quarterhour.model import money
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.statements.receivables.matching import Match, OpenStatement, Payer, ProposedPayment, propose

IBAN, OTHER_IBAN = "GB82WEST12345698765432", "DE89370400440532013000"
KLEIN = Account("klein", "EUR")
PAYERS = [
    Payer("42", ("Café Müller & Co. KG",), ("GB82 WEST 1234 5698 7654 32",)),
    Payer("43", ("Northern Tours",), (OTHER_IBAN,)),
]


def statement(number: str, amount: str, agency: str = "42", currency: str = "EUR", month: int = 10) -> OpenStatement:
    return OpenStatement(Account(agency, currency), number, Period(2026, month), Decimal(amount))


OPEN = [
    statement("S-000001", "121.00"),
    statement("S-000002", "60.50", month=11),
    statement("S-000003", "121.00", "43"),
    statement("S-000004", "30.00", "43", "GBP"),
    statement("C-000001", "-87.90", "44"),
]


def line(amount: str, reference: str = "", **more: Any) -> BankLine:
    return BankLine(date(2026, 12, 5), Decimal(amount), more.pop("currency", "EUR"), reference=reference, **more)


def matched(*lines: BankLine, statements: list[OpenStatement] | None = None) -> list[ProposedPayment]:
    return propose(lines, OPEN if statements is None else statements, PAYERS)


def parts(one: ProposedPayment) -> list[tuple[str, str | None, str]]:
    return [(part.agency, part.number, str(part.amount)) for part in one.parts]


@pytest.mark.parametrize(
    "text",
    [
        "S-000001",
        "Invoice s000001, thanks",
        "EREF+S-0000 01",
        "S-000\n001",
        "INV S - 000001",
        "Rg.S/000001 2026",
        "S-000001.",
    ],
)
def test_a_number_is_found_however_a_bank_writes_it(text: str) -> None:
    (one,) = matched(line("121.00", text))
    assert (one.match, one.certain, parts(one)) == (Match.NUMBER, True, [("42", "S-000001", "121.00")])
    assert one.reason == "it names S-000001 and pays all of it"


@pytest.mark.parametrize("text", ["S-00000", "XS-000001", "C000002-S", "000001"])
def test_what_only_resembles_a_number_names_no_open_statement(text: str) -> None:
    (one,) = matched(line("77.00", text))
    assert (one.certain, one.parts) == (False, ())


def test_a_longer_number_is_not_taken_for_a_shorter_one() -> None:
    (one,) = matched(line("121.00", "S-0000012"))
    assert (one.match, one.parts) == (Match.CONTRADICTION, ())
    (one,) = matched(line("5.00", "S-0000012"), statements=[*OPEN, statement("S-0000012", "5.00")])
    assert parts(one) == [("42", "S-0000012", "5.00")]


def test_a_part_of_a_named_statement_is_certain() -> None:
    (one,) = matched(line("21.00", "S-000001"))
    assert (one.match, one.certain, parts(one)) == (Match.PART, True, [("42", "S-000001", "21.00")])
    assert one.reason == "it names S-000001 and leaves 100.00 EUR open"


def test_several_named_statements_are_certain_by_their_exact_sum_alone() -> None:
    both = [("42", "S-000001", "121.00"), ("42", "S-000002", "60.50")]
    (exact,) = matched(line("181.50", "S-000002 + S-000001"))
    assert (exact.match, exact.certain, parts(exact)) == (Match.NUMBERS, True, both)
    (less,) = matched(line("130.00", "S-000001, S-000002"))
    assert (less.match, less.certain) == (Match.PART, False)
    assert parts(less) == [("42", "S-000001", "121.00"), ("42", "S-000002", "9.00")]


def test_more_than_is_open_is_left_to_a_person() -> None:
    (one,) = matched(line("150.00", "S-000001"))
    assert (one.match, one.certain) == (Match.EXCESS, False)
    assert parts(one) == [("42", "S-000001", "121.00"), ("42", None, "29.00")]


@pytest.mark.parametrize(
    ("paid", "reason"),
    [
        (line("121.00", "S-000001 S-000009"), "it names S-000009, of which nothing is open"),
        (line("151.00", "S-000003 S-000004"), "it names S-000003, S-000004 in another currency than EUR"),
        (line("87.90", "C-000001"), "it names C-000001, which is paid in the other direction"),
        (line("242.00", "S-000001 S-000003"), "it names statements of several agencies: S-000001, S-000003"),
        (
            line("121.00", "S-000001", iban=OTHER_IBAN),
            "it names S-000001, and comes from the account of another agency",
        ),
    ],
)
def test_a_line_that_contradicts_what_it_names_is_left_to_a_person(paid: BankLine, reason: str) -> None:
    (one,) = matched(paid)
    assert (one.match, one.certain, one.parts, one.reason) == (Match.CONTRADICTION, False, (), reason)


def test_a_second_payment_of_a_statement_is_left_to_a_person() -> None:
    first, second = matched(line("121.00", "S-000001"), line("121.00", "S-000001"))
    assert (first.certain, second.match, second.parts) == (True, Match.CONTRADICTION, ())


def test_a_named_statement_goes_before_an_earlier_line_of_the_same_amount() -> None:
    first, second = matched(line("121.00", iban=IBAN), line("121.00", "S-000001"))
    assert (first.certain, parts(second)) == (False, [("42", "S-000001", "121.00")])


@pytest.mark.parametrize("payer", [{"iban": IBAN.lower()}, {"name": "CAFE MULLER CO KG"}])
def test_the_exact_amount_of_one_statement_of_the_payer_is_certain(payer: dict[str, str]) -> None:
    (one,) = matched(line("60.50", "thanks", **payer))
    assert (one.match, one.certain, parts(one)) == (Match.PAYER, True, [("42", "S-000002", "60.50")])
    (one,) = matched(line("181.50", **payer))
    assert (one.match, one.certain, len(one.parts)) == (Match.ALL, True, 2)


def test_any_other_amount_of_a_payer_is_left_to_a_person() -> None:
    (less,) = matched(line("130.00", iban=IBAN))
    assert (less.match, less.certain) == (Match.PART, False)
    assert parts(less) == [("42", "S-000001", "121.00"), ("42", "S-000002", "9.00")]
    (more,) = matched(line("200.00", iban=IBAN))
    assert (more.match, more.certain, parts(more)[-1]) == (Match.EXCESS, False, ("42", None, "18.50"))


def test_equal_amounts_of_a_payer_are_ambiguous() -> None:
    equal = [statement("S-000001", "121.00"), statement("S-000002", "121.00", month=11)]
    found = matched(line("121.00", iban=IBAN), line("121.00", iban=IBAN), statements=equal)
    assert [(one.certain, parts(one)) for one in found] == [
        (False, [("42", "S-000001", "121.00")]),
        (False, [("42", "S-000002", "121.00")]),
    ]
    assert (found[0].match, found[0].candidates) == (Match.AMBIGUOUS, ("S-000001", "S-000002"))


def test_a_name_of_two_agencies_is_ambiguous() -> None:
    twins = [Payer("42", ("Twin Ltd",)), Payer("43", ("TWIN LTD.",))]
    (one,) = propose([line("121.00", name="Twin Ltd")], OPEN, twins)
    assert (one.match, one.certain, one.parts) == (Match.AMBIGUOUS, False, ())


def test_an_amount_alone_is_never_certain() -> None:
    one, two = matched(line("60.50"), line("121.00"))
    assert (one.match, one.certain, parts(one)) == (Match.AMOUNT, False, [("42", "S-000002", "60.50")])
    assert (two.match, two.parts, two.candidates) == (Match.AMBIGUOUS, (), ("S-000001", "S-000003"))


def test_a_payout_is_certain_by_its_number_alone() -> None:
    named, from_iban, amount = (
        propose([one], OPEN, [Payer("44", ibans=(IBAN,))])[0]
        for one in (line("-87.90", "C-000001"), line("-87.90", iban=IBAN), line("-87.90"))
    )
    assert (named.certain, parts(named)) == (True, [("44", "C-000001", "-87.90")])
    assert (from_iban.certain, parts(from_iban)) == (False, [("44", "C-000001", "-87.90")])
    assert (amount.match, amount.parts) == (Match.NONE, ())


def test_a_payout_that_is_recorded_already_needs_nobody() -> None:
    (one,) = matched(line("-50.00", "C-000009"))
    assert (one.match, one.parts) == (Match.NONE, ())


@pytest.mark.parametrize(
    ("one", "match"),
    [
        (line("121.00", "S-000001", reversal=True), Match.REVERSAL),
        (line("0.00", "S-000001"), Match.NONE),
        (line("99.00", "rent"), Match.NONE),
        (line("30.00", iban=IBAN, currency="GBP"), Match.NONE),
    ],
)
def test_reversals_and_what_matches_nothing_propose_nothing(one: BankLine, match: Match) -> None:
    (found,) = matched(one)
    assert (found.match, found.certain, found.parts) == (match, False, ())


def test_without_open_statements_nothing_matches() -> None:
    assert [one.match for one in matched(line("121.00", "S-000001"), statements=[])] == [Match.NONE]


def test_numbers_without_a_prefix_are_found_and_other_digits_are_not_taken_for_one() -> None:
    plain = [statement("2026000001", "121.00")]
    found = matched(line("121.00", "2026-000001"), line("5.00", "2026-11-05 IBAN 12345678"), statements=plain)
    assert [one.match for one in found] == [Match.NUMBER, Match.NONE]


cents = st.integers(-200, 200).map(lambda value: Decimal(value).scaleb(-2))
currencies = st.sampled_from(["EUR", "GBP"])
statements_ = st.lists(st.tuples(cents.filter(bool), st.sampled_from(["42", "43"]), currencies), max_size=6)
texts = st.lists(st.integers(1, 7), max_size=3).map(lambda numbers: " ".join(f"S-{one:06d}" for one in numbers))
payments = st.lists(
    st.builds(
        BankLine,
        booked_on=st.just(date(2026, 12, 5)),
        amount=cents,
        currency=currencies,
        iban=st.sampled_from(["", IBAN, OTHER_IBAN]),
        reference=texts,
        reversal=st.booleans(),
    ),
    max_size=8,
)


@given(statements_, payments)
def test_no_more_is_proposed_than_is_open_and_a_certain_line_is_used_whole(
    given_: list[tuple[Decimal, str, str]], lines: list[BankLine]
) -> None:
    opened = [
        OpenStatement(Account(agency, currency), f"S-{number:06d}", Period(2026, 10), amount)
        for number, (amount, agency, currency) in enumerate(given_, 1)
    ]
    found = propose(lines, opened, PAYERS)
    sums = defaultdict[str, list[Decimal]](list)
    for one, proposal in zip(lines, found, strict=True):
        amounts = [part.amount for part in proposal.parts]
        assert not proposal.parts or money.total(amounts) == one.amount
        assert all((amount > 0) == (one.amount > 0) for amount in amounts)
        if proposal.certain:
            assert proposal.parts
            assert all(part.number for part in proposal.parts)
        for part in proposal.parts:
            if part.number:
                sums[part.number].append(part.amount)
    for statement_ in opened:
        total = money.total(sums[statement_.number])
        assert abs(total) <= abs(statement_.open)
        assert total.is_zero() or (total > 0) == (statement_.open > 0)


def test_a_statement_that_a_part_of_the_line_has_paid_is_no_contradiction() -> None:
    rest = line("60.50", "S-000005 S-000002")
    (one,) = propose([rest], OPEN, PAYERS, {0: ["S-000005"]})
    assert (one.match, one.certain, parts(one)) == (Match.NUMBER, True, [("42", "S-000002", "60.50")])
    (one,) = propose([rest], OPEN, PAYERS)
    assert (one.match, one.parts) == (Match.CONTRADICTION, ())


SEVERAL = [
    OpenStatement(KLEIN, "S-000005", Period(2026, 8), Decimal("231.73"), Decimal("231.73")),
    OpenStatement(KLEIN, "S-000018", Period(2026, 9), Decimal("301.57"), Decimal("533.30")),
    OpenStatement(KLEIN, "S-000031", Period(2026, 10), Decimal("348.53"), Decimal("881.83")),
    OpenStatement(KLEIN, "S-000044", Period(2026, 11), Decimal("10.00"), Decimal("911.83")),
]
"""The last one asks for 20.00 more than is open: so much was paid since."""


@pytest.mark.parametrize(
    ("amount", "number", "paid", "reason"),
    [
        ("881.83", "S-000031", ["231.73", "301.57", "348.53"], "pays all that is open up to it"),
        ("533.30", "S-000018", ["231.73", "301.57"], "pays all that is open up to it"),
        ("891.83", "S-000031", ["231.73", "301.57", "348.53", "10.00"], "pays all that is open of the agency"),
        ("911.83", "S-000044", ["231.73", "301.57", "348.53", "10.00", "20.00"], "is the sum that this asks for"),
    ],
)
def test_the_sum_that_a_statement_asks_for_is_certain_with_its_number_whatever_it_clears(
    amount: str, number: str, paid: list[str], reason: str
) -> None:
    (one,) = propose([line(amount, f"Rechnung {number}")], SEVERAL, [])
    assert (one.match, one.certain, one.reason) == (Match.BALANCE, True, f"it names {number} and {reason}")
    assert [str(part.amount) for part in one.parts] == paid
    (other,) = propose([line("882.83", "Rechnung S-000031")], SEVERAL, [])
    assert (other.match, other.certain) == (Match.EXCESS, False)


@pytest.mark.parametrize("written", ["ZUERCHER HANDEL AG", "Zurcher Handel AG", "z\u00fcrcher handel ag"])
def test_a_name_as_banks_print_it_is_that_of_the_agency(written: str) -> None:
    owed = [OpenStatement(KLEIN, "S-000001", Period(2026, 9), Decimal("759.46"))]
    (one,) = propose([line("759.46", name=written)], owed, [Payer("klein", ("Z\u00fcrcher Handel AG",))])
    assert (one.match, one.certain) == (Match.PAYER, True)
    (other,) = propose([line("759.46", name=written)], owed, [Payer("klein", ("Zuricher Handel AG",))])
    assert not other.certain


def test_a_payer_is_known_by_every_registered_name_and_iban() -> None:
    owed = [OpenStatement(KLEIN, "S-000001", Period(2026, 9), Decimal("354.69"))]
    payers = [Payer("klein", ("Anna Klein (Kleinunternehmerin)", "Anna Klein"), (IBAN, OTHER_IBAN))]
    for paid in (line("354.69", name="ANNA KLEIN"), line("354.69", iban=OTHER_IBAN)):
        (one,) = propose([paid], owed, payers)
        assert one.certain
