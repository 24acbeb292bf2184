"""The vendored libraries are the files that the lock names, with their licences beside them."""

import json
from hashlib import sha256

from tests.support.repository import ROOT

CONSOLE = ROOT / "functions" / "console"
PACKAGES = json.loads((CONSOLE / "vendor.json").read_text("utf-8"))["packages"]


def test_the_files_are_those_of_the_lock() -> None:
    locked = {name: file["sha256"] for package in PACKAGES for name, file in package["files"].items()}
    found = {path.name: sha256(path.read_bytes()).hexdigest() for path in (CONSOLE / "static" / "vendor").iterdir()}
    assert found == locked


def test_each_package_has_a_version_a_permissive_licence_and_its_text() -> None:
    for package in PACKAGES:
        assert package["version"], package
        assert package["license"] in {"Apache-2.0", "MIT"}
        assert f"{package['name']}.LICENSE" in package["files"]
