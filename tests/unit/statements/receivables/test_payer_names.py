"""Names of payers in other letters and words: two forms of one name are proposed, and never recorded by themselves."""

from datetime import date
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.file_formats.bank.line import BankLine
from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.statements.receivables.matching import Match, OpenStatement, Payer, propose
from quarterhour.statements.receivables.payer_names import exact_names, loose_name
from tests.support.laws import examples

OPEN = [OpenStatement(Account("42", "EUR"), "S-000001", Period.parse("2026-11"), Decimal("121.00"))]


def line(amount: str, name: str) -> BankLine:
    return BankLine(date(2026, 12, 5), Decimal(amount), "EUR", name=name)


@pytest.mark.parametrize(
    ("registered", "written"),
    [
        ("M\u00fcller GmbH", "MUELLER GMBH"),
        ("Stra\u00dfe 7 AG", "STRASSE 7 AG"),
        ("J\u00f8rgensen A/S", "JOERGENSEN AS"),
        ("\u0141\u00f3d\u017a Sp. z o.o.", "LODZ SP ZOO"),
    ],
)
def test_a_name_as_banks_print_it_is_certain(registered: str, written: str) -> None:
    for names in ((registered, written), (written, registered)):
        (one,) = propose([line("121.00", name=names[1])], OPEN, [Payer("42", (names[0],))])
        assert (one.match, one.certain, [part.number for part in one.parts]) == (Match.PAYER, True, ["S-000001"])


@pytest.mark.parametrize(
    ("registered", "written"),
    [
        ("M\u00fcller GmbH", "Muller"),
        ("J\u00f8rgensen A/S", "Jorgensen"),
        ("\u00c5rhus B\u00f8ger ApS", "AARHUS BOGER"),
        ("Caf\u00e9 Lumi\u00e8re S.A.R.L.", "SARL CAFE LUMIERE"),
        ("Harbour Books Ltd", "Books Harbour Limited"),
        ("Becker & S\u00f6hne OHG", "Soehne und Becker oHG"),
        ("Noord B.V.", "B V Noord"),
        ("Kowalski, Anna", "ANNA KOWALSKI"),
    ],
)
def test_another_form_of_a_name_is_proposed_with_the_reason_and_is_not_certain(registered: str, written: str) -> None:
    (one,) = propose([line("121.00", name=written)], OPEN, [Payer("42", (registered,))])
    assert (one.match, one.certain, [part.number for part in one.parts]) == (Match.PAYER, False, ["S-000001"])
    assert one.reason == (
        f"the name {written} is written like {registered}, but for letters, legal form or order of words, "
        "and S-000001 alone has this amount"
    )


@pytest.mark.parametrize(
    ("registered", "written"),
    [
        ("M\u00fcller GmbH", "M\u00dcLLER GMBH"),
        ("Caf\u00e9 & Co. KG", "CAFE CO KG"),
        ("Noord B.V.", "NOORD B V"),
    ],
)
def test_a_name_that_differs_in_case_marks_and_signs_alone_is_the_name(registered: str, written: str) -> None:
    (one,) = propose([line("121.00", name=written)], OPEN, [Payer("42", (registered,))])
    assert (one.match, one.certain) == (Match.PAYER, True)


@pytest.mark.parametrize("written", ["M\u00fcller Tours GmbH", "Miller GmbH", "GmbH", ""])
def test_other_names_are_other_payers(written: str) -> None:
    (one,) = propose([line("120.00", name=written)], OPEN, [Payer("42", ("M\u00fcller GmbH",))])
    assert (one.match, one.parts) == (Match.NONE, ())


def test_a_form_of_two_names_is_left_to_a_person() -> None:
    payers = [Payer("42", ("M\u00fcller GmbH",)), Payer("43", ("Muller Ltd",))]
    (one,) = propose([line("121.00", name="Mueller")], OPEN, payers)
    assert (one.match, one.parts) == (Match.AMBIGUOUS, ())
    assert "written like Muller Ltd, M\u00fcller GmbH" in one.reason


@pytest.mark.law
@given(st.text(max_size=40))
@examples(100)
def test_what_is_the_same_exactly_is_the_same_loosely(name: str) -> None:
    assert exact_names(name) == exact_names(name.lower())
    assert loose_name(name.lower()) == loose_name(name)
    assert loose_name(f"GmbH {name}") == loose_name(f"{name} GmbH")
