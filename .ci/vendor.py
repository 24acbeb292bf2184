"""Updates the console's vendored libraries: ``vendor.py`` (needs npm).

For each package in functions/console/vendor.json, it takes the newest version in its range, copies the named files,
and writes versions, licences and hashes into that file. A changed licence stops it: somebody must read it first.
"""

import json
import subprocess
import sys
import tarfile
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

CONSOLE: Final = Path(__file__).resolve().parents[1] / "functions" / "console"
LOCK: Final = CONSOLE / "vendor.json"
FOLDER: Final = CONSOLE / "static" / "vendor"


def main() -> int:
    """Update every package; return the exit code."""
    lock = json.loads(LOCK.read_text("utf-8"))
    for package in lock["packages"]:
        with tempfile.TemporaryDirectory() as place, packed(package, Path(place)) as archive:
            about = json.loads(content(archive, "package.json"))
            if about["license"] != package["license"]:
                print(f"{package['name']} {about['version']} has the licence {about['license']}: read it first")
                return 1
            package["version"] = about["version"]
            for name, file in package["files"].items():
                copied = content(archive, file["from"])
                (FOLDER / name).write_bytes(copied)
                file["sha256"] = sha256(copied).hexdigest()
    LOCK.write_text(json.dumps(lock, indent=2) + "\n", "utf-8")
    return 0


def packed(package: dict[str, Any], place: Path) -> tarfile.TarFile:
    """Download a package as an archive."""
    command = ["npm", "pack", "--silent", "--pack-destination", str(place), f"{package['name']}@{package['range']}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 - from our own file
    (archive,) = place.iterdir()
    return tarfile.open(archive)


def content(archive: tarfile.TarFile, name: str) -> bytes:
    """Return the content of a package's file."""
    file = archive.extractfile(f"package/{name}")
    if file is None:
        raise FileNotFoundError(name)
    return file.read()


if __name__ == "__main__":
    sys.exit(main())
