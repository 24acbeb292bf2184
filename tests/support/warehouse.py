"""The warehouse of ``template.yaml`` on Trino: Glue tables and Athena's statements, in Trino's words."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from quarterhour_tools.emulator.document import Properties
from quarterhour_tools.emulator.template import Template
from quarterhour_tools.warehouse.tables import SET_UP, Declared, SealedTable, glue_tables, named_queries
from tests.support.repository import ROOT
from tests.support.trino import ICEBERG, Trino

_CSV: Final = "org.apache.hadoop.hive.serde2.OpenCSVSerde"
_TYPES: Final = {"string": "varchar", "int": "integer"}
_CREATED: Final = re.compile(
    r"CREATE TABLE IF NOT EXISTS (?P<name>\w+) \((?P<columns>.*)\)\s+PARTITIONED BY \((?P<partitions>.*)\)\s+"
    r"LOCATION '[^']+'\s+TBLPROPERTIES \('table_type' = 'ICEBERG', 'format' = 'parquet'\)\s*",
    re.DOTALL,
)
_BUCKET: Final = re.compile(r"bucket\((\d+), (\w+)\)")
_SPAN: Final = timedelta(days=31)
"""The days of one insertion, as the query ``nightly days`` has them: Athena writes at most 100 partitions at once."""


def template() -> Template:
    """Return the template with a warehouse."""
    return Template.load(ROOT / "template.yaml", {"Warehouse": "on"})


def queries(of: Template) -> dict[str, str]:
    """Return the SQL of all named queries by name, in the order of the template."""
    return {one["Name"]: one["QueryString"] for one in named_queries(of)}


def hive_table(table: Properties, location: str) -> str:
    """Return the statement with which Trino creates a Glue table over the files in a folder, by the folder's URL."""
    storage, partitions = table["StorageDescriptor"], table.get("PartitionKeys", [])
    columns = [f'"{one["Name"]}" {trino_type(one["Type"])}' for one in [*storage["Columns"], *partitions]]
    serde = storage["SerdeInfo"]
    options = {"external_location": _literal(location), "format": "'TEXTFILE'"}
    if serde["SerializationLibrary"] == _CSV:
        given = serde["Parameters"]
        options |= {"format": "'CSV'"} | {
            f"csv_{name}": _literal(given[f"{name}Char"]) for name in ("separator", "quote", "escape")
        }
    if skipped := table["Parameters"].get("skip.header.line.count"):
        options["skip_header_line_count"] = skipped
    if partitions:
        options["partitioned_by"] = f"ARRAY[{', '.join(_literal(one['Name']) for one in partitions)}]"
    written = ", ".join(f"{name} = {value}" for name, value in options.items())
    return f"CREATE TABLE {table['Name']} ({', '.join(columns)}) WITH ({written})"


def iceberg_table(statement: str, schema: str) -> str:
    """Return Athena's statement for an Iceberg table as Trino's, for a schema of the catalog of Iceberg."""
    match = _CREATED.fullmatch(statement)
    assert match, statement
    columns = re.sub(r"`(\w+)` (\w+)", lambda one: f'"{one[1]}" {trino_type(one[2])}', match["columns"])
    partitions = re.split(r", (?!\w+\))", _BUCKET.sub(r"bucket(\2, \1)", match["partitions"]))
    partitioning = ", ".join(_literal(one) for one in _joined(partitions))
    return (
        f"CREATE TABLE IF NOT EXISTS {ICEBERG}.{schema}.{match['name']} ({columns}) "
        f"WITH (format = 'PARQUET', partitioning = ARRAY[{partitioning}])"
    )


def _joined(parts: list[str]) -> Iterator[str]:
    """Yield the items of a list that was split at its commas; a comma in parentheses separates nothing."""
    waiting = ""
    for part in parts:
        waiting = f"{waiting}, {part}" if waiting else part
        if waiting.count("(") == waiting.count(")"):
            yield waiting
            waiting = ""


def trino_type(athena: str) -> str:
    """Return Trino's name of a type of Athena's data definition language."""
    return _TYPES.get(athena, athena)


def _literal(text: str) -> str:
    quoted = "'" + text.replace("'", "''") + "'"
    return quoted if text.isascii() else "U&'" + "".join(f"\\{ord(one):04X}" for one in text) + "'"


class Warehouse:
    """The tables of the template on a running Trino, in a schema of their own, over a folder of sealed files."""

    def __init__(self, trino: Trino, schema: str, files: Path, links: Path) -> None:
        """Take the folder with ``ledger/``, ``reports/`` and ``statements/``, and an empty one for links to them."""
        self.template = template()
        self.queries = queries(self.template)
        self._trino = trino
        self._schema = schema
        self._files = files
        self._links = links
        trino.run(f"CREATE SCHEMA {schema}", schema)
        self._tables = Declared.of(self.template).tables
        for table, properties in zip(self._tables, glue_tables(self.template), strict=True):
            folder, target = links / table.name, files / table.prefix
            if table.partitions or not target.exists():
                folder.mkdir()
            else:
                folder.symlink_to(target)
            trino.run(hive_table(properties, folder.as_uri()), schema)

    def set_up(self) -> None:
        """Run the queries that create the views and the Iceberg table."""
        for name in self.queries:
            if name.startswith(SET_UP):
                self.named(name)

    def find_partitions(self) -> None:
        """Let Trino find the days and periods that have files; Athena computes them from the template's pattern."""
        for table in self._tables:
            for partition in table.partitions:
                for value, place in _values(self._files, table, partition.name):
                    link = self._links / table.name / f"{partition.name}={quote(value, safe='')}"
                    if not link.exists():
                        link.symlink_to(place)
                self._trino.run(
                    f"CALL system.sync_partition_metadata('{self._schema}', '{table.name}', 'FULL')", self._schema
                )

    def load(self) -> None:
        """Create the views and the Iceberg table, and insert the lines of all sealed days, as the nights do."""
        self.set_up()
        self.find_partitions()
        for first, last in self._spans():
            self.named("nightly insertion", *[first, last] * 3)

    def differences(self) -> list[list[Any]]:
        """Return the runs whose lines in the Iceberg table differ from their manifests and summaries."""
        return [row for span in self._spans() for row in self.named("nightly differences", *span * 4)]

    def _spans(self) -> Iterator[tuple[str, str]]:
        """Yield the first and the last day of each span of the sealed days, as SQL literals."""
        runs = next(table for table in self._tables if table.name == "sealed_manifests")
        days = [date.fromisoformat(day.replace("/", "-")) for day, _ in _values(self._files, runs, "day")]
        first = min(days)
        while first <= max(days):
            yield f"'{first}'", f"'{first + _SPAN - timedelta(days=1)}'"
            first += _SPAN

    def named(self, name: str, *parameters: str) -> list[list[Any]]:
        """Run a named query; ``parameters`` are SQL literals, as Athena takes them."""
        return self.run(self.queries[name], *parameters)

    def run(self, sql: str, *parameters: str) -> list[list[Any]]:
        """Run a statement of Athena's."""
        return self._trino.run(self.statement(sql, *parameters), self._schema)

    def submit(self, sql: str, *parameters: str) -> dict[str, Any]:
        """Begin a statement of Athena's; return its first page."""
        return self._trino.submit(self.statement(sql, *parameters), self._schema)

    def statement(self, sql: str, *parameters: str) -> str:
        """Return a statement of Athena's in Trino's words; ``parameters`` replace its question marks."""
        assert sql.count("?") == len(parameters), sql
        values = iter(parameters)
        text = re.sub(r"\?", lambda _: next(values), sql).strip()
        return iceberg_table(text, self._schema) if text.startswith("CREATE TABLE") else text


def _values(files: Path, table: SealedTable, partition: str) -> Iterator[tuple[str, Path]]:
    """Yield each value of a partition that has a folder, and the folder."""
    for place in sorted(files.glob(table.pattern.removesuffix("/"))):
        found = re.fullmatch(table.value_in_path(partition), f"/{place.relative_to(files).as_posix()}/")
        assert found, place
        yield found[1], place.resolve()
