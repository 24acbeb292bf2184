"""SEPA credit transfers: valid by the official schema, the same bytes each time, and in letters that all banks take."""

import xml.etree.ElementTree as ET
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sepaxml.validation import try_valid_xml

from quarterhour_tools.accounting.credit_transfer import (
    SCHEMA,
    SCHEMAS,
    BankAccount,
    CreditTransfer,
    Transfers,
    credit_transfers,
    identification,
    name_at_banks,
    needs_address,
)
from quarterhour_tools.accounting.postal_address import postal_address
from tests.support.laws import examples

RUN = Transfers(
    "2026-12-05",
    datetime(2026, 12, 5, 9, 30, tzinfo=UTC),
    BankAccount("Corner Market B.V.", "NL91 ABNA 0417 1643 00"),
    date(2026, 12, 7),
)
TRANSFERS = [
    CreditTransfer(
        BankAccount("Café Lumière & Söhne", "DE89370400440532013000"), Decimal("881.00"), "S-000001", "S-000001 2026-11"
    ),
    CreditTransfer(BankAccount("Łódź_Books", "fr14 2004 1010 0505 0001 3M02 606"), Decimal("0.05"), "S/2", "two"),
]


def texts(file: bytes) -> dict[str, list[str]]:
    """Return the texts of a file by element, each in order."""
    found: dict[str, list[str]] = {}
    for element in ET.fromstring(file).iter():  # noqa: S314 - our own file
        if element.text:
            found.setdefault(element.tag.partition("}")[2], []).append(element.text)
    return found


def test_the_file_names_the_run_and_every_transfer() -> None:
    file = credit_transfers(RUN, TRANSFERS)
    try_valid_xml(file, SCHEMA)
    assert texts(file) == {
        "MsgId": ["2026-12-05"],
        "CreDtTm": ["2026-12-05T09:30:00Z"],
        "NbOfTxs": ["2", "2"],
        "CtrlSum": ["881.05", "881.05"],
        "Nm": ["Corner Market B.V.", "Corner Market B.V.", "Cafe Lumiere + Sohne", "Lodz-Books"],
        "PmtInfId": ["2026-12-05"],
        "PmtMtd": ["TRF"],
        "BtchBookg": ["true"],
        "Cd": ["SEPA"],
        "Dt": ["2026-12-07"],
        "IBAN": ["NL91ABNA0417164300", "DE89370400440532013000", "FR1420041010050500013M02606"],
        "Id": ["NOTPROVIDED"],
        "ChrgBr": ["SLEV"],
        "EndToEndId": ["S-000001", "S-2"],
        "InstdAmt": ["881.00", "0.05"],
        "Ustrd": ["S-000001 2026-11", "two"],
    }
    assert b'<InstdAmt Ccy="EUR">881.00</InstdAmt>' in file


NL = postal_address({"address": "Dam 1\n1012 JS Amsterdam", "country": "NL"})
CH = postal_address({"address": "Rue du Rhône 1", "post_code": "1204", "town": "Genève", "country": "CH"})


@pytest.mark.parametrize("schema", SCHEMAS)
def test_both_parties_have_addresses_in_parts_in_each_schema(schema: str) -> None:
    run = RUN._replace(schema=schema, debtor=RUN.debtor._replace(address=NL))
    swiss = TRANSFERS[0]._replace(recipient=BankAccount("Agence", "CH9300762011623852957", CH))
    file = credit_transfers(run, [swiss, TRANSFERS[1]])
    try_valid_xml(file, schema)
    assert f"xsd:{schema}".encode() in file
    found = texts(file)
    assert found["Ctry"] == ["NL", "CH"]
    assert found["TwnNm"] == ["Amsterdam", "Geneve"]
    assert found["PstCd"] == ["1012 JS", "1204"]
    assert found["StrtNm"] == ["Dam 1", "Rue du Rhone 1"]
    assert file.index(b"<Dbtr>") < file.index(b"<PstlAdr>") < file.index(b"</Dbtr>")


@pytest.mark.parametrize(
    ("payer", "recipient", "needed"),
    [
        ("NL91ABNA0417164300", "DE89370400440532013000", False),
        ("NL91ABNA0417164300", "IS140159260076545510730339", False),
        ("NL91ABNA0417164300", "gb29 nwbk 6016 1331 9268 19", True),
        ("NL91ABNA0417164300", "MC5811222000010123456789030", True),
        ("CH9300762011623852957", "DE89370400440532013000", True),
    ],
)
def test_a_transfer_from_or_to_outside_the_eea_needs_the_payer_s_address(
    payer: str,
    recipient: str,
    needed: bool,  # noqa: FBT001 - a value
) -> None:
    assert needs_address(payer, recipient) is needed


def test_signs_that_banks_do_not_take_are_rewritten_and_no_letter_is_lost() -> None:
    name = 'Smith & Søn [Straße] {A|B} _x~y; "Ümit" @ 100% \u0418\u0432\u0430\u043d//\\z/'
    assert name_at_banks(name) == "Smith + Son (Strasse) (A/B) -x-y, .Umit. . 100. Ivan/z"
    assert name_at_banks("/" + "x" * 80) == "x" * 69


def test_the_same_run_gives_the_same_bytes() -> None:
    assert credit_transfers(RUN, TRANSFERS) == credit_transfers(RUN, list(TRANSFERS))


def test_a_file_that_the_schema_refuses_is_not_returned() -> None:
    with pytest.raises(ValueError, match=r"the file is not valid by pain.001.001.09"):
        credit_transfers(RUN, [TRANSFERS[0]._replace(recipient=BankAccount("!", "DE1"))])


def test_an_identification_has_at_most_35_plain_characters() -> None:
    assert identification("//É_1 " + "9" * 40) == "--E-1-" + "9" * 29


@pytest.mark.law
@given(
    st.lists(
        st.builds(
            lambda name, cents, number, remittance: CreditTransfer(
                BankAccount(f"a{name}", "DE89370400440532013000"), Decimal(cents).scaleb(-2), number, f"a{remittance}"
            ),
            st.text(max_size=80),
            st.integers(1, 10**11 - 1),
            st.from_regex(r"[A-Za-z0-9/_.-]{1,20}[0-9]{6}", fullmatch=True),
            st.text(max_size=150),
        ),
        min_size=1,
        max_size=3,
    )
)
@examples(40)
def test_any_names_and_texts_make_a_valid_file_with_the_exact_sum(transfers: list[CreditTransfer]) -> None:
    found = texts(credit_transfers(RUN, transfers))
    assert Decimal(found["CtrlSum"][0]) == sum(one.amount for one in transfers)
    assert [Decimal(one) for one in found["InstdAmt"]] == [one.amount for one in transfers]
