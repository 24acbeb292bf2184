"""The OpenID provider of `quarterhour up --sign-in`: what prevents its start, and its lock."""

import json
import re
import tomllib
from pathlib import Path

import pytest

from quarterhour.web.access import Role
from quarterhour_tools.errors import ToolError
from quarterhour_tools.sign_in import provider
from quarterhour_tools.sign_in.people import PEOPLE
from tests.support.programs import program
from tests.support.repository import ROOT

FOLDER = Path(provider.__file__).parent
ORIGINS = ("http://127.0.0.1:8080",)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine with no programs but those in this folder."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


def start() -> None:
    with provider.running(ORIGINS):
        pass


@pytest.mark.usefixtures("path")
def test_missing_node_is_an_error_that_names_the_packages() -> None:
    with pytest.raises(ToolError, match=r"Node\.js 18 or later.* no node on the PATH \(apt-get install nodejs npm\)"):
        start()


@pytest.mark.parametrize(("version", "shown"), [("v16.20.2", "v16.20.2"), ("", "of an unknown version")])
def test_node_that_is_too_old_is_an_error(path: Path, version: str, shown: str) -> None:
    program(path, "node", f"echo {version}")
    with pytest.raises(ToolError, match=rf"Node\.js 18 or later.* is {shown}"):
        start()


def test_missing_npm_is_an_error_and_leaves_nothing_behind(path: Path) -> None:
    program(path, "node", "echo v20.1.0")
    with pytest.raises(ToolError, match=r"no npm on the PATH \(apt-get install npm\)"):
        start()
    assert list((path / "cache" / "quarterhour").iterdir()) == []


def test_a_failed_install_gives_its_reason_and_leaves_nothing_behind(path: Path) -> None:
    program(path, "node", "echo v20.1.0")
    program(path, "npm", "echo 'npm error code EINTEGRITY' >&2; exit 1")
    with pytest.raises(ToolError, match="npm could not install the OpenID provider: npm error code EINTEGRITY"):
        start()
    assert list((path / "cache" / "quarterhour").iterdir()) == []


def test_a_provider_that_ends_at_once_gives_its_reason(path: Path) -> None:
    program(path, "node", """[ "$1" = --version ] && echo v20.1.0 || echo 'Error: out of luck' >&2""")
    program(path, "npm", ":")
    with pytest.raises(ToolError, match="the OpenID provider did not start: Error: out of luck"):
        start()


def test_it_is_installed_once_from_its_lock_and_no_package_runs_a_script(path: Path) -> None:
    program(path, "node", """[ "$1" = --version ] && echo v20.1.0 || { read -r line; echo http://127.0.0.1:1; }""")
    program(path, "npm", f'echo "$@" >>{path}/calls; [ -f package-lock.json ] && [ -f provider.mjs ]')
    start()
    start()
    (call,) = (path / "calls").read_text().splitlines()
    assert call.split()[:2] == ["ci", "--ignore-scripts"]


def test_the_lock_holds_the_hash_of_each_package_and_no_address_of_a_download() -> None:
    packages = json.loads((FOLDER / "package-lock.json").read_text("utf-8"))["packages"]
    del packages[""]
    assert "node_modules/oidc-provider" in packages
    for name, package in packages.items():
        assert re.fullmatch(r"sha512-[A-Za-z0-9+/]+=*", package["integrity"]), name
        assert "resolved" not in package, name


def test_the_package_contains_what_it_installs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    shipped = project["tool"]["setuptools"]["package-data"]["quarterhour_tools"]
    files = {file for glob in shipped for file in FOLDER.parent.glob(glob)}
    assert {FOLDER / name for name in ("package.json", "package-lock.json", "provider.mjs")} <= files


def test_somebody_can_sign_in_with_each_role() -> None:
    assert {person.claims["role"] for person in PEOPLE.values()} == set(Role)
