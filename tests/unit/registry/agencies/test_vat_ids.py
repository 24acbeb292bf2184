"""VAT ids: as people write them, in one form, and why another text is none."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterhour.registry.agencies.vat_ids import letters_of, read_vat_id, state_of
from tests.support.cases import cases


@cases(
    ("text", "country", "canonical"),
    [
        ("GB980780684", "GB", "GB980780684"),
        ("980 7806 84", "GB", "GB980780684"),
        ("xi 980 7806 84", "GB", "XI980780684"),
        ("XI980780684", "IE", "XI980780684"),
        ("GB980780684", "IM", "GB980780684"),
        ("DE136695976", None, "DE136695976"),
        ("DE136695976", "GB", "DE136695976"),
        ("de-136.695.976", "DE", "DE136695976"),
        ("136\u00a0695\u202f976", "DE", "DE136695976"),
        ("EL094259216", "GR", "EL094259216"),
        ("GR094259216", "GR", "EL094259216"),
        ("GR 094259216", None, "EL094259216"),
        ("094 259 216", "GR", "EL094259216"),
        ("FR 40 303 265 045", "FR", "FR40303265045"),
        ("40303265045", "MC", "FR40303265045"),
        ("fr96684482565", "MC", "FR96684482565"),
        ("U13585627", "AT", "ATU13585627"),
        ("BE 428.759.497", "BE", "BE0428759497"),
        ("0428759497", "BE", "BE0428759497"),
        ("NL004495445B01", "NL", "NL004495445B01"),
        ("CHE-107.787.577 IVA", "CH", "CHE107787577MWST"),
        ("CHE-107.787.577", "CH", "CHE107787577"),
        ("995 525 828", "NO", "NO995525828MVA"),
        ("IT00743112005", "IT", "IT00743112005"),
        ("12-3456789", "US", "123456789"),
        ("RO 18547290", "RO", "RO18547290"),
        ("18547290", "RO", "RO18547290"),
        ("MC 53000004605", "MC", "FR53000004605"),
        ("IM 980 7806 84", None, "GB980780684"),
        ("USt-IdNr. DE 136 695 976", "DE", "DE136695976"),
        ("USt-IdNr.: DE136695976", None, "DE136695976"),
        ("VAT no. GB 980 7806 84", "GB", "GB980780684"),
        ("UID: ATU13585627", "AT", "ATU13585627"),
        ("BTW NL004495445B01", "NL", "NL004495445B01"),
        ("BTW-BE 0403.019.261", "BE", "BE0403019261"),
        ("N\u00b0 TVA : FR 40 303 265 045", "FR", "FR40303265045"),
        ("P. IVA 00743110157", "IT", "IT00743110157"),
        ("NIP 856-734-62-15", "PL", "PL8567346215"),
        ("DI\u010c CZ25123891", "CZ", "CZ25123891"),
        ("\u0391\u03a6\u039c 094259216", "GR", "EL094259216"),
        ("UID-Nr. CHE-107.787.577 MWST", "CH", "CHE107787577MWST"),
        ("DE136695976\u200e", "DE", "DE136695976"),
        ("\uff24\uff25\uff11\uff13\uff16\uff16\uff19\uff15\uff19\uff17\uff16,", "DE", "DE136695976"),
    ],
)
def test_a_vat_id_has_one_form_however_people_write_it(text: str, country: str | None, canonical: str) -> None:
    assert read_vat_id(text, country) == canonical
    assert read_vat_id(canonical, country) == canonical


@cases(
    ("text", "country", "why"),
    [
        ("GB980780685", "GB", "has wrong check digits"),
        ("DE136695975", "GB", "has wrong check digits"),
        ("DE13669597", "DE", "has another length than the VAT ids of DE"),
        ("DE13669597X", "DE", "has another form than the VAT ids of DE"),
        ("XX136695976", "DE", "begins with XX, not with DE, or has another form than the VAT ids of DE"),
        ("980780684", None, "begins with the letters of no country"),
        ("US!", "US", "has other characters than letters and digits"),
        ("1", "US", "has 1 letters and digits, not 4 to 20"),
        ("EL0", "GR", "has another length than the VAT ids of EL"),
        ("", "DE", "has no letters and digits"),
        ("USt-IdNr. DE136695975", "DE", "has wrong check digits"),
        ("USt-IdNr. DE13669597", "DE", "has another length than the VAT ids of DE"),
        ("IT00743112006", "IT", "has another form than the VAT ids of IT"),
    ],
)
def test_a_vat_id_that_no_country_can_have_issued_is_refused_with_what_is_wrong(
    text: str, country: str | None, why: str
) -> None:
    with pytest.raises(ValueError, match=f", which {why}$"):
        read_vat_id(text, country)


_COUNTRIES = ["GB", "DE", "US", "IN", "CH", "ES", "IT", "PT", "MC", "NO", "RO"]


@given(
    st.text(max_size=30) | st.from_regex(r"(?:VAT|UID|N|NO|RO|MC)*[0-9]{2,12}", fullmatch=True),
    st.none() | st.sampled_from(_COUNTRIES),
)
def test_the_form_of_a_vat_id_has_itself_as_form(text: str, country: str | None) -> None:
    with suppress(ValueError):
        found = read_vat_id(text, country)
        assert [found] == [read_vat_id(found, country)]


@cases(
    ("vat_id", "country", "state"),
    [
        ("DE136695976", "US", "DE"),
        ("EL094259216", None, "GR"),
        ("FR96684482565", "MC", "FR"),
        (None, "MC", "FR"),
        ("XI980780684", "GB", "GB"),
        (None, "NL", "NL"),
        (None, None, None),
    ],
)
def test_a_party_is_of_the_state_of_its_vat_id(vat_id: str | None, country: str | None, state: str | None) -> None:
    assert state_of(vat_id, country) == state


def test_greece_writes_el_before_its_ids() -> None:
    assert [letters_of(one) for one in ("GR", "MC", "DE")] == ["EL", "FR", "DE"]
