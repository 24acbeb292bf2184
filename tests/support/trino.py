"""Trino, the engine that Athena is built on, as a child process: with Hive tables over files, and with Iceberg tables.

``python -m tests.support.trino`` fetches it. The release is the newest one that runs on Java 17 and that Maven has.
"""

import os
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import httpx

from quarterhour_tools import programs
from quarterhour_tools.errors import ToolError

VERSION: Final = "368"
ICEBERG: Final = "iceberg"
"""The catalog of Iceberg tables; the other catalog leads to them, so a query names no catalog."""

_FILES: Final = "files"
_SHA256: Final = "794a7df6faae51895183b52c6d7f36f0a9715140fab317dac5400f71729c05cd"
_PLUGINS: Final = ("hive", "iceberg")
"""The plugins that are kept; the archive has many more, and each takes time to load."""
_STARTS_WITHIN: Final = 180.0
_PYTHON: Final[dict[str, Callable[[str], Any]]] = {"decimal": Decimal, "date": date.fromisoformat}
"""How the text of a value is read, by its type."""
_POM: Final = f"""\
<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>quarterhour</groupId>
  <artifactId>trino</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
  <dependencies>
    <dependency>
      <groupId>io.trino</groupId>
      <artifactId>trino-server</artifactId>
      <version>{VERSION}</version>
      <type>tar.gz</type>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>
  </dependencies>
</project>
"""


class QueryError(Exception):
    """A statement that Trino refused, or that failed."""


class Trino:
    """A running Trino, and its protocol: a statement is posted, and its result read by pages."""

    def __init__(self, home: Path, folder: Path) -> None:
        """Take the folders of the program and of the data."""
        self._home = home
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self._http = httpx.Client(timeout=60, headers={"X-Trino-User": "quarterhour"})

    def start(self) -> None:
        """Start the server on a free port, with the data of the last start, and wait until it runs queries.

        It answers before it knows its own node. A query then fails, and an insertion into buckets never ends.
        """
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self._configure(port)
        self._http.base_url = httpx.URL(f"http://127.0.0.1:{port}")
        etc, log = self._folder / "etc", self._folder / "log"
        java = shutil.which("java")
        if java is None:
            raise ToolError("Trino needs Java 17, and there is none on the PATH")
        with log.open("wb") as output:
            self._process = subprocess.Popen(  # noqa: S603 - our own arguments
                [
                    *(java, "-cp", f"{self._home}/lib/*", "-Xmx1G", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"),
                    *(
                        "-Xshare:auto",
                        "-Dnode.environment=test",
                        "-Dnode.id=one",
                        f"-Dnode.data-dir={self._folder}/data",
                    ),
                    *(f"-Dconfig={etc}/config.properties", f"-Dcatalog.config-dir={etc}/catalog"),
                    *(f"-Dlog.levels-file={etc}/log.properties", f"-Dplugin.dir={self._home}/plugin"),
                    "io.trino.server.TrinoServer",
                ],
                stdout=output,
                stderr=output,
                cwd=self._folder,
            )
        until = time.monotonic() + _STARTS_WITHIN
        while time.monotonic() < until and self._process.poll() is None:
            try:
                if not self._http.get("/v1/info").json()["starting"]:
                    self.run("SELECT 1", "default")
                    return
            except httpx.TransportError:
                pass
            time.sleep(0.1)
        raise ToolError(f"Trino did not start: {programs.last_line(log)}")

    def cpu_seconds(self) -> float:
        """Return the CPU seconds that the running server has taken."""
        assert self._process
        fields = Path(f"/proc/{self._process.pid}/stat").read_text("utf-8").rpartition(")")[2].split()
        return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        """End the server at once, in the middle of whatever it does."""
        if self._process:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    def close(self) -> None:
        """End the server and the connections to it."""
        self.kill()
        self._http.close()

    def run(self, sql: str, schema: str) -> list[list[Any]]:
        """Run a statement and return its rows, with decimals and dates. Raises ``QueryError`` if it fails.

        A server that has just started, or has no time, does not know its own node. Then nothing has run, and the
        statement is run again.
        """
        until = time.monotonic() + _STARTS_WITHIN
        while True:
            try:
                return self._run(sql, schema)
            except QueryError as error:
                if "NO_NODES_AVAILABLE" not in str(error) or time.monotonic() > until:
                    raise
                time.sleep(0.1)

    def _run(self, sql: str, schema: str) -> list[list[Any]]:
        page = self.submit(sql, schema)
        rows: list[list[Any]] = []
        while True:
            rows += _typed(page)
            if error := page.get("error"):
                raise QueryError(f"{error['errorName']}: {error['message']}: {sql}")
            if "nextUri" not in page:
                return rows
            page = self.follow(page)

    def submit(self, sql: str, schema: str) -> dict[str, Any]:
        """Post a statement and return the first page; it runs while its pages are read."""
        place = {"X-Trino-Catalog": _FILES, "X-Trino-Schema": schema}
        return self._answer(self._http.post("/v1/statement", content=sql.encode(), headers=place))

    def follow(self, page: dict[str, Any]) -> dict[str, Any]:
        """Return the page after another one; Trino runs a statement for as long as somebody asks for its pages."""
        return self._answer(self._http.get(page["nextUri"]))

    def cancel(self, page: dict[str, Any]) -> None:
        """End the statement of a page."""
        self._http.delete(page["nextUri"])

    @staticmethod
    def _answer(response: httpx.Response) -> dict[str, Any]:
        answer: dict[str, Any] = response.raise_for_status().json()
        return answer

    def _configure(self, port: int) -> None:
        metastore = f"hive.metastore.catalog.dir={(self._folder / 'metastore').as_uri()}"
        catalog = self._folder / "etc" / "catalog"
        catalog.mkdir(parents=True, exist_ok=True)
        for file, lines in {
            catalog.parent / "config.properties": [
                "coordinator=true",
                "node-scheduler.include-coordinator=true",
                f"http-server.http.port={port}",
                f"discovery.uri=http://127.0.0.1:{port}",
                "query.min-expire-age=1s",
                # It is its only node. On a busy machine, it would take itself for lost, as it does not answer in time.
                "failure-detector.enabled=false",
                "discovery.max-age=1h",
            ],
            catalog.parent / "log.properties": ["io.trino=WARN", "io.airlift=WARN"],
            catalog / f"{_FILES}.properties": [
                "connector.name=hive",
                "hive.metastore=file",
                "hive.recursive-directories=true",
                "hive.non-managed-table-writes-enabled=true",
                f"hive.iceberg-catalog-name={ICEBERG}",
                metastore,
            ],
            catalog / f"{ICEBERG}.properties": [
                "connector.name=iceberg",
                "iceberg.catalog.type=testing_file_metastore",
                metastore,
            ],
        }.items():
            file.write_text("\n".join([*lines, ""]), "utf-8")


def _typed(page: dict[str, Any]) -> Iterator[list[Any]]:
    """Yield the rows of a page, whose decimals and dates are text."""
    if "data" in page:
        types = [_PYTHON.get(column["type"].partition("(")[0]) for column in page["columns"]]
        for row in page["data"]:
            yield [
                type_(value) if type_ and value is not None else value for type_, value in zip(types, row, strict=True)
            ]


@contextmanager
def running(folder: Path) -> Iterator[Trino]:
    """Run Trino for the length of the block, with its data in a folder.

    Raises ``ToolError`` if Java, Maven or the archive is missing, or if it does not start.
    """
    trino = Trino(home(), folder)
    try:
        trino.start()
        yield trino
    finally:
        trino.close()


def home() -> Path:
    """Return the folder of the program; at the first use Maven fetches it, 650 MB of which 230 MB are kept."""
    return programs.fetched(f"trino-{VERSION}", _fetch)


def _fetch(folder: Path) -> None:
    download = folder / "download"
    download.mkdir()
    # Not into Maven's own cache: the archive is needed once.
    programs.fetch_with_maven(_POM, download, f"Trino {VERSION}", cache=folder / "maven")
    (archive,) = download.glob("*.tar.gz")
    with archive.open("rb") as file:
        digest = sha256()
        while piece := file.read(1 << 20):
            digest.update(piece)
    if digest.hexdigest() != _SHA256:
        raise ToolError(
            f"the archive of Trino {VERSION} is not the one that is known: its SHA-256 is {digest.hexdigest()}"
        )
    with tarfile.open(archive) as content:
        members = {one.name: one for one in content if not one.isdir()}
        kept = {one.name: folder / place for one in members.values() if (place := _place(one.name))}
        # A library that several plugins have is a link to the first. In the order of the archive, it is read once.
        first = {members[name].linkname for name in kept if members[name].islnk()}
        for name, member in members.items():
            if member.isreg() and (name in kept or name in first):
                content.extract(member, download, filter="data")
        for name, target in kept.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.hardlink_to(download / (members[name].linkname or name))
    shutil.rmtree(download)
    shutil.rmtree(folder / "maven", ignore_errors=True)


def _place(name: str) -> str:
    """Return where a member of the archive goes; an empty text if it is not needed."""
    top, _, place = name.partition("/")
    needed = place.startswith(("lib/", *(f"plugin/{name}/" for name in _PLUGINS)))
    return place if needed and top == f"trino-server-{VERSION}" else ""


if __name__ == "__main__":
    sys.stdout.write(f"Trino {VERSION} is in {home()}\n")
