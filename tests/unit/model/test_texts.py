"""One text has one form, and what is accepted is the same for every version of Python."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from quarterhour_client.events import sale

from quarterhour.model import exact_json, fields, texts
from quarterhour.registry.agencies.agency import address
from quarterhour.web import parameters

PERSIAN = "\u0646\u0634\u0631\u0647\u200c\u0647\u0627"
HINDI = "क्\u200dष"
BENGALI = "র\u200d্যাব"
COUPLE = "\U0001f469\u200d\u2764\ufe0f\u200d\U0001f468"
SCOTLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"
NEW_EMOJI = "\U0001fae9"
"""One that the tables of older versions of Python lack."""
FORMS = st.sampled_from(["NFC", "NFD"])


def form(name: str, text: str) -> str:
    """Return a text in a normal form."""
    return unicodedata.normalize("NFC" if name == "NFC" else "NFD", text)


@given(st.text(), FORMS)
def test_two_forms_of_a_text_are_one(text: str, other: str) -> None:
    sent = form(other, text)
    assert fields.name(sent) == fields.name(text)
    assert fields.label(sent) == fields.label(text)
    assert fields.text(sent) == fields.text(text)
    assert fields.location(sent) == fields.location(text)
    as_json = exact_json.write({sent: [sent, {"a": sent}]})
    assert exact_json.parse(as_json) == {texts.one_form(text): [texts.one_form(text), {"a": texts.one_form(text)}]}


@given(st.text())
def test_the_one_form_of_a_text_has_itself_as_form(text: str) -> None:
    for read in (fields.name, fields.label, fields.text, fields.location):
        found = read(text)
        if found is not None:
            assert read(found) == found
            assert unicodedata.is_normalized("NFC", found)
            found.encode()


@given(st.text(st.characters(codec="utf-8")))
def test_a_name_reads_the_same_as_a_part_of_a_path_and_as_a_parameter(text: str) -> None:
    name = fields.name(text)
    if name and "%" not in name and "\ufffd" not in name:
        assert parameters.decoded(text) == name == parameters.name(form("NFD", text))


def test_two_forms_of_a_key_are_one_key() -> None:
    with pytest.raises(ValueError, match="appears twice"):
        exact_json.parse('{"B\\u00fccher": 1, "Bu\u0308cher": 2}')


@pytest.mark.parametrize("text", [PERSIAN, HINDI, BENGALI, COUPLE, SCOTLAND, NEW_EMOJI, "שלום", "株式会社"])
def test_letters_keep_the_joiners_that_they_need(text: str) -> None:
    assert fields.name(text) == fields.label(text) == fields.text(text) == text


@pytest.mark.parametrize(
    "character",
    [*"\u200b\u200c\u200d\u200e\u202e\u2066\ufeff\u00ad\u3164\x00\x7f\x85\ud83d\ufdd0\uffff\u2060", "\U000e0041"],
)
def test_what_nobody_sees_is_in_no_name_and_goes_from_a_description(character: str) -> None:
    for text in (f"a{character}b", f"{character}株", f"株{character}式"):
        assert fields.name(text) is None
        assert fields.text(text) == text.replace(character, " " if character == "\x85" else "").strip()


@pytest.mark.parametrize("blank", ["\u00a0", "\u3000", "\u202f", "\u2003", " "])
def test_other_blanks_are_blanks(blank: str) -> None:
    assert fields.name(f"東京{blank}タワー") == fields.label(f"東京{blank}タワー") == "東京 タワー"
    assert fields.name(f"{blank}東京") is None
    assert fields.label(f"{blank}東京") == "東京"
    assert fields.text(f"10{blank}\t\n{blank}kg ") == "10 kg"


def test_an_address_has_the_lines_that_are_seen() -> None:
    assert address(f"\n {PERSIAN}\t1\r\n\u3000東京\u200b\n") == f"{PERSIAN} 1\n東京"
    assert address("x" * 499 + COUPLE) == "x" * 499
    assert address("\n\u200b\n") is None


@pytest.mark.parametrize("text", ["", " ", "\u200b", "\u00a0\n", "\ud83d"])
def test_a_text_of_which_nothing_is_seen_is_none(text: str) -> None:
    assert fields.text(text) is None
    assert fields.label(text) is None


@pytest.mark.parametrize(
    "letter", ["q\u0323\u0303", "\U0001f44d\U0001f3fd", COUPLE, SCOTLAND, "\U0001f1e9\U0001f1ea", HINDI]
)
def test_a_long_text_is_cut_at_the_border_of_a_letter(letter: str) -> None:
    for before in range(200):
        found = texts.described("x" * before + letter + "y" * 200, 200)
        whole = before + len(letter) <= 200
        assert found == ("x" * before + letter + "y" * 200)[:200] if whole else "x" * before


def test_a_letter_of_more_marks_than_fit_is_cut() -> None:
    assert texts.described("q" + "\u0323\u0303" * 200, 200) == ("q" + "\u0323" * 200)[:200]


@given(st.text(), st.integers(1, 20))
def test_a_cut_text_is_a_beginning_that_fits(text: str, most: int) -> None:
    whole = texts.described(text, len(text))
    found = texts.described(text, most)
    assert len(found) <= most
    assert whole.startswith(found)
    assert bool(found) == bool(whole)


@given(st.text(max_size=20))
def test_the_producer_library_takes_each_name_that_the_server_takes_in_the_same_form(text: str) -> None:
    name = fields.name(text)
    if name:
        assert sale(source=text, id="1", agency="42", amount="1", currency="EUR").source == name
