"""DynamoDB Local as a child process: fetched once, started on a free port, stopped at the end of a block.

Its licence forbids redistribution, so Maven fetches it from where Amazon publishes it, into a cache folder.
"""

import os
import re
import shutil
import socket
import subprocess  # nosec B404
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from quarterhour_tools import programs
from quarterhour_tools.errors import ToolError

VERSION: Final = "3.1.0"
HOME_VARIABLE: Final = "DYNAMODB_LOCAL_HOME"
"""The variable that names the folder of an unpacked download; without it, Maven fetches the artifact."""

_JAVA: Final = 17
_MAIN: Final = "software.amazon.dynamodb.services.local.main.ServerRunner"
_STARTS_WITHIN: Final = 60.0
_POM: Final = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>quarterhour</groupId>
  <artifactId>dynamodb-local</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>software.amazon.dynamodb</groupId>
      <artifactId>DynamoDBLocal</artifactId>
      <version>{VERSION}</version>
    </dependency>
  </dependencies>
</project>
"""


@contextmanager
def running() -> Iterator[str]:
    """Run DynamoDB Local in memory for the length of the block; yield its URL.

    Raises ``ToolError`` if Java, Maven or the artifact is missing, or if it does not start.
    """
    java = _java()
    libraries = _libraries()
    port = _free_port()
    with TemporaryDirectory(prefix="quarterhour-") as folder:
        log = Path(folder) / "log"
        with log.open("wb") as output:
            # In its own session, so that Ctrl-C reaches only us and this process stops last.
            process = subprocess.Popen(  # noqa: S603 - our own arguments  # nosec B603
                _command(java, libraries, port), stdout=output, stderr=output, cwd=folder, start_new_session=True
            )
        try:
            _wait_for(port, process, log)
            yield f"http://127.0.0.1:{port}"
        finally:
            programs.stop(process)


def _command(java: str, folders: list[Path], port: int) -> list[str]:
    return [
        java,
        # It lives for minutes: what the second compiler and collecting side by side cost, they do not save.
        *("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"),
        f"-Djava.library.path={os.pathsep.join(map(str, folders))}",
        "-cp",
        os.pathsep.join(f"{folder}/*" for folder in folders),
        _MAIN,
        *("-inMemory", "-sharedDb", "-disableTelemetry", "-port", str(port)),
    ]


def _java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin" if home else None)
    if java is None:
        raise ToolError(f"DynamoDB Local needs Java {_JAVA} or later, and there is none on the PATH")
    ended = subprocess.run([java, "-version"], capture_output=True, text=True, check=False)  # noqa: S603 - our own  # nosec B603
    version = java_version(ended.stderr)
    if version < _JAVA:
        raise ToolError(f"DynamoDB Local needs Java {_JAVA} or later; {java} is {version or 'of an unknown version'}")
    return java


def java_version(output: str) -> int:
    """Return the feature release from the output of ``java -version``; 0 if it holds none."""
    match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match[1]) if match else 0


def _libraries() -> list[Path]:
    """Return the folders of DynamoDB Local's archives and native libraries."""
    named = os.environ.get(HOME_VARIABLE)
    if named:
        home = Path(named)
        folders = [folder for folder in (home, home / "DynamoDBLocal_lib") if list(folder.glob("*.jar"))]
        if not folders:
            raise ToolError(f"{HOME_VARIABLE} names {home}, which holds no DynamoDBLocal.jar")
        return folders
    return [programs.fetched(f"dynamodb-local-{VERSION}", _fetch)]


def _fetch(folder: Path) -> None:
    """Fetch the artifact and its dependencies into an empty folder."""
    otherwise = f"unpack its download and name the folder in {HOME_VARIABLE}"
    programs.fetch_with_maven(_POM, folder, f"DynamoDB Local {VERSION}", otherwise)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for(port: int, process: "subprocess.Popen[bytes]", log: Path) -> None:
    until = time.monotonic() + _STARTS_WITHIN
    while time.monotonic() < until and process.poll() is None:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise ToolError(f"DynamoDB Local did not start: {programs.last_line(log)}")
