"""The engines, and the errors of one that cannot be started."""

import os
from pathlib import Path

import pytest

from quarterhour.aws import clients
from quarterhour_tools.emulator.dynamodb_local import HOME_VARIABLE, java_version
from quarterhour_tools.emulator.engines import environment, open_engine
from quarterhour_tools.errors import ToolError
from tests.support.programs import program


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with no programs but those in this folder."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.delenv(HOME_VARIABLE, raising=False)
    return tmp_path


def open_dynamodb_local() -> None:
    with open_engine("dynamodb-local"):
        pass


def test_an_engine_is_embedded_and_empty_if_no_other_is_named() -> None:
    with open_engine() as engine:
        assert (engine.name, engine.dynamodb_url, engine.embedded is None) == ("embedded", "", False)
        assert engine.dynamodb().list_tables()["TableNames"] == []


def test_functions_share_the_clients_of_the_same_settings_and_environment() -> None:
    with open_engine(), environment({}, shared=True):
        first, again, once = clients.dynamodb(), clients.dynamodb(), clients.dynamodb_once()
    with open_engine(), environment({"AWS_ENDPOINT_URL_DYNAMODB": "http://127.0.0.1:1"}, shared=True):
        elsewhere = clients.dynamodb()
    with open_engine(), environment({}):
        own = clients.dynamodb()
    assert first is again
    assert len({first, once, own}) == 3
    assert elsewhere.meta.endpoint_url == "http://127.0.0.1:1" != first.meta.endpoint_url


def test_s3_answers_at_the_address_that_its_links_show() -> None:
    before = dict(os.environ)
    with open_engine(s3_url="http://127.0.0.1:1234") as engine:
        engine.s3().create_bucket(Bucket="sealed")
        assert [bucket["Name"] for bucket in engine.s3().list_buckets()["Buckets"]] == ["sealed"]
        assert os.environ["MOTO_S3_CUSTOM_ENDPOINTS"] == "http://127.0.0.1:1234"
    assert dict(os.environ) == before


@pytest.mark.parametrize("choice", ["postgres", "", "ftp://somewhere", "http://"])
def test_an_unknown_engine_is_refused_with_the_valid_ones(choice: str) -> None:
    with pytest.raises(ToolError, match="embedded, dynamodb-local or the URL"), open_engine(choice):
        pass


def test_aws_itself_is_refused_as_an_engine() -> None:
    with pytest.raises(ToolError, match="AWS itself"), open_engine("https://dynamodb.eu-west-1.amazonaws.com"):
        pass


@pytest.mark.parametrize(
    ("output", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_301"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ("no such thing", 0),
    ],
)
def test_the_version_of_java_is_read(output: str, version: int) -> None:
    assert java_version(output) == version


@pytest.mark.usefixtures("path")
def test_missing_java_is_an_error() -> None:
    with pytest.raises(ToolError, match="needs Java 17 or later, and there is none"):
        open_dynamodb_local()


def test_java_that_is_too_old_is_an_error(path: Path) -> None:
    program(path, "java", """echo 'openjdk version "11.0.2"' >&2""")
    with pytest.raises(ToolError, match=r"needs Java 17 or later; .* is 11"):
        open_dynamodb_local()


def test_missing_maven_is_an_error_that_names_the_alternative(path: Path) -> None:
    program(path, "java", """echo 'openjdk version "17.0.2"' >&2""")
    with pytest.raises(ToolError, match=rf"no mvn on the PATH; .*{HOME_VARIABLE}"):
        open_dynamodb_local()


def test_a_failed_download_leaves_nothing_behind(path: Path) -> None:
    program(path, "java", """echo 'openjdk version "17.0.2"' >&2""")
    program(path, "mvn", "echo '[ERROR] no such artifact'; exit 1")
    with pytest.raises(ToolError, match=r"could not fetch .*no such artifact"):
        open_dynamodb_local()
    assert list((path / "cache" / "quarterhour").iterdir()) == []


def test_an_unpacked_download_must_hold_the_archive(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(path, "java", """echo 'openjdk version "17.0.2"' >&2""")
    monkeypatch.setenv(HOME_VARIABLE, str(path))
    with pytest.raises(ToolError, match=r"no DynamoDBLocal\.jar"):
        open_dynamodb_local()
