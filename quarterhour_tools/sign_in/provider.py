"""The OpenID provider as a child process: installed once from a lock, started on a free port, stopped with a block."""

import json
import re
import select
import shutil
import subprocess  # nosec B404
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from quarterhour_tools import programs
from quarterhour_tools.errors import ToolError
from quarterhour_tools.sign_in.people import PEOPLE

_AUDIENCE: Final = "quarterhour"
_CLIENT: Final = "console"
_SCOPE: Final = "openid profile"
_NODE: Final = 18
_SCRIPT: Final = "provider.mjs"
_FILES: Final = ("package.json", "package-lock.json", _SCRIPT)
_STARTS_WITHIN: Final = 60.0
_NEEDED: Final = f"sign-in runs an OpenID provider on Node.js {_NODE} or later, and installs it with npm"


def parameters(issuer: str) -> dict[str, str]:
    """Return the parameters of the template with which people sign in at the provider."""
    return {
        "JwtIssuer": issuer,
        "JwtAudience": _AUDIENCE,
        "JwtAgencyClaim": "agency",
        "JwtRoleClaim": "role",
        "ConsoleClientId": f"{_CLIENT} {_SCOPE}",
    }


@contextmanager
def running(origins: Sequence[str], seconds: int = 3600) -> Iterator[str]:
    """Run the provider for the length of the block; yield its address, the issuer of the tokens.

    ``origins``: those of the console. ``seconds``: for which an access token is valid. Raises ``ToolError`` if Node.js
    or npm is missing or too old, if the provider cannot be installed, or if it does not start.
    """
    node = _node()
    digest = sha256(b"".join(_content(name) for name in _FILES)).hexdigest()[:16]
    folder = programs.fetched(f"sign-in-{digest}", _install)
    settings = {"origins": [*origins], "client": _CLIENT, "audience": _AUDIENCE, "scope": _SCOPE, "seconds": seconds}
    people = {subject: asdict(person) for subject, person in PEOPLE.items()}
    with TemporaryDirectory(prefix="quarterhour-") as place:
        log = Path(place) / "log"
        with log.open("wb") as errors:
            # In its own session, so that Ctrl-C reaches only us. It ends with its input, so a crash leaves no orphan.
            process = subprocess.Popen(  # noqa: S603 - our own arguments  # nosec B603
                [node, str(folder / _SCRIPT)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                bufsize=0,
                start_new_session=True,
            )
        with process:
            try:
                yield _address(process, json.dumps({**settings, "people": people}), log)
            finally:
                programs.stop(process)


def _address(process: "subprocess.Popen[bytes]", settings: str, log: Path) -> str:
    """Send the provider its settings, and return the address that it prints once it answers."""
    if process.stdin is None or process.stdout is None:
        raise TypeError("the process has no pipes")
    with suppress(BrokenPipeError):  # it has ended, and the log says why
        process.stdin.write(settings.encode() + b"\n")
    ready, _, _ = select.select([process.stdout], [], [], _STARTS_WITHIN)
    address = process.stdout.readline().decode().strip() if ready else ""
    if not address:
        raise ToolError(f"the OpenID provider did not start: {programs.last_line(log)}")
    return address


def _node() -> str:
    node = shutil.which("node")
    if node is None:
        raise ToolError(f"{_NEEDED}: there is no node on the PATH (apt-get install nodejs npm)")
    ended = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)  # noqa: S603 - our own  # nosec B603
    match = re.match(r"v(\d+)", ended.stdout)
    if match is None or int(match[1]) < _NODE:
        raise ToolError(f"{_NEEDED}: {node} is {ended.stdout.strip() or 'of an unknown version'}")
    return node


def _install(folder: Path) -> None:
    """Install the provider and what it needs into an empty folder, each package as the lock says."""
    npm = shutil.which("npm")
    if npm is None:
        raise ToolError(f"{_NEEDED}: there is no npm on the PATH (apt-get install npm)")
    for name in _FILES:
        (folder / name).write_bytes(_content(name))
    # No package may run a script.
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - our own  # nosec B603
    if ended.returncode:
        first = next((line for line in ended.stderr.splitlines() if line.strip()), "no reason given")
        raise ToolError(f"npm could not install the OpenID provider: {first}")


def _content(name: str) -> bytes:
    return (Path(__file__).parent / name).read_bytes()
