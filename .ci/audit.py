"""Audits the locked packages with the public database of vulnerabilities, and prints how many were audited.

Fails if a vulnerability is known or the tool itself fails. If the database cannot be reached or does not know a
package, the script does not fail, and its last line says NOT AUDITED.
"""

import json
import re
import subprocess
import sys
from typing import Any, Final

Package = dict[str, Any]

UNREACHED: Final = re.compile(r"requests\.exceptions\.|could not connect|HTTP error|timed out", re.IGNORECASE)


class UnreachedError(Exception):
    """The database cannot be reached."""


def audited(lock: str) -> list[Package]:
    """Return the findings for the packages of a lock; raise ``UnreachedError`` if the database does not respond."""
    options = ["--no-deps", "--disable-pip", "--progress-spinner=off", "--timeout=10", "--format=json"]
    output = subprocess.run(  # noqa: S603 - our own arguments
        [sys.executable, "-m", "pip_audit", *options, f"--requirement={lock}"],
        capture_output=True,
        text=True,
        check=False,
    )
    if output.stdout.startswith("{"):
        packages: list[Package] = json.loads(output.stdout)["dependencies"]
        return packages
    reason = (output.stderr.strip().splitlines() or ["nothing was said"])[-1]
    if UNREACHED.search(reason):
        raise UnreachedError(reason)
    sys.exit(f"{lock} could not be audited: {reason}")


def main(locks: list[str]) -> int:
    """Print the findings of each lock; return 1 if there is a vulnerability."""
    unknown: set[str] = set()
    vulnerable = 0
    for lock in locks:
        try:
            packages = audited(lock)
        except UnreachedError as error:
            print(f"NOT AUDITED: the database of vulnerabilities cannot be reached: {error}")
            return 1 if vulnerable else 0
        skipped = {one["name"] for one in packages if "skip_reason" in one}
        unknown |= skipped
        for one in packages:
            for known in one.get("vulns", []):
                vulnerable += 1
                fixed = ", ".join(known["fix_versions"]) or "no version yet"
                print(f"{lock}: {one['name']} {one['version']} has {known['id']}, fixed in {fixed}")
        print(f"{lock}: {len(packages) - len(skipped)} of {len(packages)} packages audited")
    if unknown:
        print(f"NOT AUDITED: {len(unknown)} packages are unknown to the database")
    return 1 if vulnerable else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
