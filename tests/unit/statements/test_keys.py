"""The keys of the statements."""

from pathlib import Path

import pytest
from hypothesis import given

from quarterhour.model.identifiers import Account
from quarterhour.model.periods import Period
from quarterhour.statements.keys import (
    draft_list_key,
    folder_of,
    manifest_key,
    period_of_manifest,
    period_of_object,
    statement_key,
    statement_prefix,
)
from tests.support.builders import accounts

NOVEMBER = Period(2026, 11)


@given(one=accounts, other=accounts)
def test_two_accounts_never_share_a_folder_or_an_item(one: Account, other: Account) -> None:
    assert (statement_prefix(NOVEMBER, one) == statement_prefix(NOVEMBER, other)) == (one == other)
    assert (statement_key(NOVEMBER, one) == statement_key(NOVEMBER, other)) == (one == other)


@given(accounts)
def test_a_file_is_found_by_its_period(account: Account) -> None:
    assert period_of_object(statement_prefix(NOVEMBER, account) + "statement.json") == NOVEMBER


@given(accounts)
def test_an_agency_is_one_folder_of_a_key_that_s3_takes(account: Account) -> None:
    folder = folder_of(account.agency)
    assert "/" not in folder
    assert folder not in {".", ".."}
    assert len(statement_prefix(NOVEMBER, account) + "statement.json") < 1024


@pytest.mark.parametrize("agency", ["字" * 200, "é" * 200])
def test_very_long_names_have_folders_that_differ(agency: str) -> None:
    other = agency[:-1] + "x"
    assert folder_of(agency) != folder_of(other)
    assert len(folder_of(agency)) < 200


def test_no_name_has_the_folder_of_a_longer_one() -> None:
    assert folder_of(folder_of("字" * 200)) != folder_of("字" * 200)


@pytest.mark.parametrize("agency", ["字" * 28, "字" * 29, "manifest.json", "statements.csv"])
def test_the_files_of_a_period_can_be_kept_on_a_disk(agency: str, tmp_path: Path) -> None:
    for key in (
        manifest_key(NOVEMBER),
        draft_list_key(NOVEMBER),
        statement_prefix(NOVEMBER, Account(agency, "GBP")) + "a",
    ):
        file = tmp_path / key
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("")


def test_a_period_is_parsed_back_from_its_manifest() -> None:
    assert period_of_manifest(manifest_key(NOVEMBER)) == NOVEMBER
    assert period_of_manifest(draft_list_key(NOVEMBER)) is None
    assert period_of_manifest("statements/2026-13/manifest.json") is None
    assert period_of_object("ledger/2026-11/x") is None
