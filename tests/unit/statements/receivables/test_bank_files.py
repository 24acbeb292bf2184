"""Files of a bank are read into lines of one form, whatever their format; what is not whole is refused or reported."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.file_formats.bank.line import MOST_LINES, BankFileError, BankLine, line_ids
from quarterhour.file_formats.bank.read import read_bank_file
from tests.support.bank_files import (
    CAMT_08,
    OWN_ACCOUNT,
    PAYER,
    camt,
    camt_of,
    entry,
    mt940,
    statement,
    table,
    transaction,
)
from tests.support.cases import cases

CODED = (
    "166?00CREDIT?20EREF+S-000007?21SVWZ+Invoice S-0000?2207 thanks"
    f"?30WESTGB2L?31{PAYER}?32M\N{LATIN CAPITAL LETTER U WITH DIAERESIS}LLER GMBH"
)


def lines(content: bytes) -> tuple[BankLine, ...]:
    """Return the lines of a file about which nothing is wrong."""
    found = read_bank_file(content)
    assert found.problems == ()
    return found.lines


def amounts(found: tuple[BankLine, ...]) -> list[str]:
    return [str(one.amount) for one in found]


def refused(content: bytes, format_: str | None = None) -> BankFileError:
    with pytest.raises(BankFileError) as raised:
        read_bank_file(content, format_)
    return raised.value


def test_a_camt_entry_has_payer_references_and_the_banks_own_reference() -> None:
    (one,) = lines(camt(entry("121.00", "Invoice S-000001", reference="B7", end_to_end="E-1"), closing="221.00"))
    assert one == BankLine(
        booked_on=one.booked_on,
        amount=Decimal("121.00"),
        currency="EUR",
        account=OWN_ACCOUNT,
        name="Agency Ltd",
        iban=PAYER,
        reference="Invoice S-000001 E-1",
        bank_reference="B7",
        statement=1,
    )
    assert one.booked_on.isoformat() == "2026-11-05"


@pytest.mark.parametrize("version", ["02", "04", "06", "08", "10", "13"])
def test_every_version_of_camt_is_read(version: str) -> None:
    namespace = f"urn:iso:std:iso:20022:tech:xsd:camt.053.001.{version}"
    content = camt(entry("121.00"), closing="221.00", namespace=namespace).decode()
    if version < "08":
        for name in ("Pty", "Cd"):
            kept = content.partition("<Ntry>")
            content = kept[0] + kept[1] + kept[2].replace(f"<{name}>", "").replace(f"</{name}>", "")
    (one,) = lines(content.encode())
    assert (one.name, str(one.amount)) == ("Agency Ltd", "121.00")


def test_a_batch_gives_a_line_for_each_transaction_if_they_add_up() -> None:
    parts = "".join(transaction(f"S-00000{one}", part="60.50") for one in (1, 2))
    batch = entry("121.00", inner=f"<NtryDtls>{parts}</NtryDtls>", reference="BATCH")
    found = lines(camt(batch, closing="221.00"))
    assert [(one.reference, str(one.amount)) for one in found] == [("S-000001", "60.50"), ("S-000002", "60.50")]
    assert len(set(line_ids(found))) == 2


def test_a_batch_that_does_not_add_up_is_one_line_and_reported() -> None:
    parts = "".join(transaction(f"S-00000{one}", part="60.50") for one in (1, 2))
    found = read_bank_file(camt(entry("120.00", inner=f"<NtryDtls>{parts}</NtryDtls>"), closing="220.00"))
    assert [(one.reference, str(one.amount)) for one in found.lines] == [("S-000001 S-000002", "120.00")]
    assert found.problems == ("the parts of a batch of 2026-11-05 do not add up to its 120.00 EUR",)


def test_debits_are_negative_and_reversals_keep_their_direction_and_their_party() -> None:
    found = lines(
        camt(
            entry("-50.00", creditor="Agency Ltd", name="Marketplace"),
            entry("-121.00", reversal=True),
            entry("50.00", reversal=True, creditor="Agency Ltd", name="Marketplace"),
            closing="-21.00".removeprefix("-"),
            opening="142.00",
        )
    )
    assert [(str(one.amount), one.reversal, one.name) for one in found] == [
        ("-50.00", False, "Agency Ltd"),
        ("-121.00", True, "Agency Ltd"),
        ("50.00", True, "Agency Ltd"),
    ]


@pytest.mark.parametrize("status", ["PDNG", "INFO", "FUTR"])
def test_what_is_not_booked_is_excluded_and_no_part_of_the_balances(status: str) -> None:
    booked, pending = lines(camt(entry("7.00"), entry("121.00", status=status), closing="107.00"))
    assert (booked.excluded, pending.excluded, str(pending.amount)) == ("", "not_booked", "121.00")
    same = entry("7.00", reference="B7")
    first, second = line_ids(lines(camt(same.replace("BOOK", status), same, closing="107.00")))
    assert line_ids(lines(camt(same, closing="107.00"))) == [second] != [first]


def test_an_entry_that_is_not_booked_needs_no_date() -> None:
    pending = entry("121.00", status="PDNG").replace("<BookgDt><Dt>2026-11-05</Dt></BookgDt>", "")
    (one,) = lines(camt_of(statement(pending, head="<CreDtTm>2026-11-06T01:00:00</CreDtTm>")))
    assert one.booked_on.isoformat() == "2026-11-06"


@pytest.mark.parametrize(
    ("closing", "problem"),
    [
        (
            "200.00",
            "opens with 100.00 EUR, its 1 lines are 121.00 and give 221.00, and it closes with 200.00: -21.00 is off",
        ),
        ("", "has no closing balance and may be cut off"),
    ],
)
def test_a_file_that_does_not_add_up_is_refused_with_what_is_off(closing: str, problem: str) -> None:
    said = f"does not add up: statement 1 of {OWN_ACCOUNT} {problem}"
    assert refused(camt(entry("121.00"), closing=closing)).problem == said


@cases(
    ("content", "problem"),
    [
        (camt(entry("121.00"))[:-60], "is not XML"),
        (b'<!DOCTYPE a [<!ENTITY b "bb"><!ENTITY c "&b;&b;">]><a>&c;</a>', "has a DTD"),
        (b'<!DOCTYPE a SYSTEM "file:///etc/passwd"><a/>', "has a DTD"),
        (b"<a>" * 60 + b"</a>" * 60, "too deep"),
        (b"<Document/>", "is another XML file"),
        (b"<Document><BkToCstmrAcctRpt/></Document>", "is camt.052"),
        (camt(entry("twelve")), "has the amount 'twelve'"),
        (camt(entry("1.001"), closing="101.001"), "has the amount 1.001"),
        (camt(entry("121.00", date="5.11.2026")), "has an entry with the date '5.11.2026'"),
        (camt(entry("121.00", currency="EURO"), closing="221.00"), "has the currency 'EURO'"),
        (b"  \n", "is empty"),
        (mt940(("C1,00NTRF", "x")).replace("1105C", "1305C").encode(), "has a field that cannot be read"),
        (b":20:x\n:61:garbage\n", "is not MT940"),
        (b":20:x\n:25:y\n:61:garbage\n", "has a field that cannot be read"),
        (b"/etc/passwd", "has the columns /etc/passwd"),
        (b"date,amount,currency,date\n", "has the columns"),
        ("date,amount,currency,name\n2026-11-05,1,EUR,Bücher".encode("latin-1"), "is not UTF-8"),
        ("date,amount,currency\n2026-11-05,1,EUR\n".encode("utf-16-le"), "has many NUL bytes"),
        (table([("1.00", "x")] * (MOST_LINES + 1)), "has more than 5,000 lines"),
        (mt940(*[("C1,00NTRF", "x")] * (MOST_LINES + 1)).encode(), "has more than 5,000 lines"),
        (camt(*[entry("1.00", inner="")] * (MOST_LINES + 1)), "has more than 5,000 lines"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_the_reason(content: bytes, problem: str) -> None:
    assert problem in refused(content).problem
    assert refused(content).expected


def test_the_format_can_be_named() -> None:
    assert "is not XML" in refused(table([("1.00", "x")]), "camt.053").problem


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_mt940_is_read_in_every_usual_encoding(encoding: str, end: str) -> None:
    content = mt940(("CR121,00NTRFNONREF//B7", CODED), closing="221,00").replace("\n", end)
    (one,) = lines(content.encode(encoding))
    assert (str(one.amount), one.currency, one.account, one.bank_reference) == ("121.00", "EUR", OWN_ACCOUNT, "B7")
    assert (one.name, one.iban) == ("M\N{LATIN CAPITAL LETTER U WITH DIAERESIS}LLER GMBH", PAYER)
    assert one.reference == "Invoice S-000007 thanks S-000007"


@pytest.mark.parametrize(
    ("mark", "amount", "reversal"),
    [("C", "5.00", False), ("D", "-5.00", False), ("RC", "-5.00", True), ("RD", "5.00", True)],
)
def test_marks_of_mt940_give_sign_and_reversal(mark: str, amount: str, reversal: bool) -> None:  # noqa: FBT001
    closing = "105,00" if amount == "5.00" else "95,00"
    (one,) = lines(mt940((f"{mark}5,00NTRF", "x"), closing=closing).encode())
    assert (str(one.amount), one.reversal) == (amount, reversal)


@pytest.mark.parametrize(
    "details",
    [
        f"/TRTP/SEPA OVERBOEKING/IBAN/{PAYER}/BIC/WESTGB2L/NAME/Agency Ltd/REMI/S-000001/EREF/NOTPROVIDED",
        f"/CNTP/{PAYER}/WESTGB2L/Agency Ltd///REMI/USTD//S-000001/",
    ],
)
def test_the_keywords_of_dutch_banks_name_the_payer(details: str) -> None:
    (one,) = lines(mt940(("C121,00NTRF", details), closing="221,00").encode())
    assert (one.name, one.iban) == ("Agency Ltd", PAYER)
    assert "S-000001" in one.reference


def test_mt940_without_a_closing_balance_is_refused() -> None:
    content = mt940(("C121,00NTRF", "x")).partition(":62F:")[0]
    assert f"statement 1 (1/1) of {OWN_ACCOUNT} has no closing balance" in refused(content.encode()).problem


def test_the_library_reads_no_file_of_this_machine_and_logs_no_line(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    refused(b"/etc/hostname", "mt940")
    refused(b":20:x\n:25:y\n:61:secret of a customer\n")
    assert (caplog.text, capfd.readouterr().err) == ("", "")


def test_lines_of_overlapping_files_have_the_same_ids() -> None:
    first = entry("121.00", "one", reference="B7")
    second, third = entry("7.00", "two"), entry("7.00", "two")
    found = line_ids(lines(camt(first, second, third, closing="235.00")))
    assert len(set(found)) == 3
    assert line_ids(lines(camt(second, third, closing="114.00"))) == found[1:]
    assert line_ids(lines(camt(second, closing="107.00"))) == found[1:2]


def test_a_reference_that_a_bank_repeats_is_another_line_on_another_day_or_of_another_amount() -> None:
    common: dict[str, Any] = {"reference": "0000"}
    entries = [entry("7.00", **common), entry("8.00", **common), entry("7.00", date="2026-11-06", **common)]
    assert len(set(line_ids(lines(camt(*entries, closing="122.00"))))) == 3


def test_blanks_in_a_reference_change_no_id() -> None:
    first, second = (lines(camt(entry("7.00", text), closing="107.00")) for text in ("S-0000 01", "S-00\n0001"))
    assert line_ids(first) == line_ids(second)


@cases(
    ("row", "reason", "amount"),
    [
        (b"2026-11-05,1.00", "has 2 cells instead of 4", None),
        (b"05.11.2026,1,EUR,x", "has the date '05.11.2026': expected dates such as 2026-11-05", "1"),
        (b'2026-11-05,"1,00",EUR,x', "has the amount '1,00': expected amounts such as -121.00", None),
        (b"2026-11-05,2.5O,EUR,x", "has the amount '2.5O': expected amounts such as -121.00", None),
        (b"2026-11-05,1.00,euro,x", "has the currency 'euro': expected codes of ISO 4217 such as EUR", None),
        (b"2026-11-05,1.50,JPY,x", "has the amount 1.50: expected the decimal places of JPY", "1.50"),
        ("2026-11-05,1.00,EUR,Müller".encode("latin-1"), "has bytes that are not UTF-8: expected UTF-8", "1.00"),
        (b'2026-11-05,1.00,EUR,"open', "is not CSV: unexpected end of data", None),
    ],
)
def test_a_row_that_cannot_be_read_is_bad_with_its_text_and_no_other_one(
    row: bytes, reason: str, amount: str | None
) -> None:
    good = b"2026-11-05,7.00,EUR,B\xc3\xbccher M\xc3\xbcller", b"2026-11-06,8.00,EUR,y"
    found = read_bank_file(b"\r\n".join([b"date,amount,currency,name", good[0], row, good[1], b""]))
    assert [str(one.amount) for one in found.lines] == ["7.00", "8.00"]
    (bad,) = found.bad
    assert (bad.line, bad.reason, bad.amount) == (3, reason, None if amount is None else Decimal(amount))
    assert bad.text == row.decode(errors="replace")


@given(st.lists(st.tuples(st.decimals(-999, 999, places=2), st.sampled_from(["ok", "date", "places"])), max_size=30))
def test_the_lines_and_the_bad_rows_of_a_table_add_up_to_it(rows: list[tuple[Decimal, str]]) -> None:
    days = {"date": "5 Nov", "ok": "2026-11-05", "places": "2026-11-05"}
    texts = [f"{days[kind]},{amount}{'5' * (kind == 'places')},EUR\n" for amount, kind in rows]
    found = read_bank_file("".join(["date,amount,currency\n", *texts]).encode())
    assert len(found.lines) + len(found.bad) == len(rows)
    sums = [one.amount for one in found.lines] + [one.amount for one in found.bad if one.amount is not None]
    assert sum(sums) == sum(Decimal(one.split(",")[1]) for one in texts)


def test_a_table_can_have_all_columns() -> None:
    content = b"\xef\xbb\xbfcurrency,amount,date,name,reference,account,iban,bank_reference\r\n"
    (one,) = lines(content + b'JPY,-121,2026-11-05,"=cmd()",S-1,acc,GB1,NONREF\r\n')
    assert (str(one.amount), one.name, one.reference, one.bank_reference) == ("-121", "=cmd()", "S-1", "")


def test_namespaces_do_not_matter() -> None:
    content = camt(entry("121.00"), closing="221.00").decode()
    assert lines(content.replace(f' xmlns="{CAMT_08}"', "").encode()) == lines(content.encode())
