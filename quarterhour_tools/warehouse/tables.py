"""The tables, views and named queries of the warehouse, as the template declares them for Athena."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from quarterhour_tools.emulator.document import Properties
from quarterhour_tools.emulator.template import REF, Template
from quarterhour_tools.errors import ToolError

SET_UP: Final = "set-up "
"""How the names of the queries begin that create what the other queries read."""
SEALED_LINES: Final = "sealed_lines"
"""The table of the lines as their files hold them."""
LINES: Final = "lines"
"""The table of the lines, which Athena keeps as an Iceberg table. Elsewhere, it is a view of ``TYPED_LINES``."""
TYPED_LINES: Final = "typed_lines"
PATH: Final = "$path"
"""The column with the path of a row's file, as Athena names it."""

_CREATE_LINES: Final = "CREATE OR REPLACE VIEW lines AS SELECT * EXCLUDE (dt) FROM typed_lines"
_NIGHTLY: Final = "nightly "
_VIEW: Final = re.compile(r"CREATE OR REPLACE VIEW (\w+) AS\s")
_ONLY_FILES: Final = re.compile(r"""FROM (\w+)\s+WHERE "\$path" LIKE '%/([\w.]+)'""")
"""The condition by which a view names the files of a table that it reads."""
_LOCATION: Final = re.compile(r"s3://[^/]*/(.*)")
_PARTITION: Final = re.compile(r"\$\{(\w+)\}")
_TEXT_LINES: Final = "LazySimpleSerDe"
_LETTERS: Final = re.compile("[A-Za-z]")


@dataclass(frozen=True, slots=True)
class Partition:
    """A column that the key of a file holds: its name, and the form of its values as Java writes it: ``yyyy-MM``."""

    name: str
    form: str


@dataclass(frozen=True, slots=True)
class SealedTable:
    """A table over sealed files, whose columns are all text.

    ``location``: the prefix of the keys of its files, with partitions as ``${dt}``. ``header``: whether the first line
    of a file names the columns. ``is_csv``: whether lines are CSV; otherwise each is the value of the only column.
    ``file``: the name of its files, where others lie beside them, such as pages of HTML; else ``*``.
    """

    name: str
    columns: tuple[str, ...]
    partitions: tuple[Partition, ...]
    location: str
    header: bool
    is_csv: bool
    file: str = "*"

    @property
    def prefix(self) -> str:
        """What all keys of its files begin with."""
        return self.location.partition("${")[0]

    @property
    def pattern(self) -> str:
        """The pattern of the folders of its files, for a shell: ``ledger/dt=[0-9][0-9][0-9][0-9]-…/``."""
        return self._with({one.name: _LETTERS.sub("[0-9]", one.form) for one in self.partitions})

    def value_in_path(self, name: str) -> str:
        """Return the regular expression whose only group is the value of a partition in a file's path."""
        own = {one.name: _LETTERS.sub("[0-9]", one.form) for one in self.partitions}
        return f"/{self._with({**own, name: f'({own[name]})'})}"

    def _with(self, values: dict[str, str]) -> str:
        return _PARTITION.sub(lambda match: values[match[1]], self.location)


@dataclass(frozen=True, slots=True)
class View:
    """A view, and the statement that creates it."""

    name: str
    statement: str


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A query for people: its name, what it answers, and its SQL."""

    name: str
    description: str
    sql: str


@dataclass(frozen=True, slots=True)
class Declared:
    """What a template declares: tables over files, views in the order of creation, and queries for people by name."""

    tables: tuple[SealedTable, ...]
    views: tuple[View, ...]
    queries: dict[str, NamedQuery]

    @classmethod
    def of(cls, template: Template) -> "Declared":
        """Read what a template declares; raise ``ToolError`` for a table that cannot be read here."""
        named = named_queries(template)
        views = tuple(View(match[1], one["QueryString"]) for one in named if (match := _VIEW.match(one["QueryString"])))
        queries = [
            NamedQuery(one["Name"], one["Description"], one["QueryString"])
            for one in named
            if not one["Name"].startswith((SET_UP, _NIGHTLY))
        ]
        files = dict(found for view in views for found in _ONLY_FILES.findall(view.statement))
        return cls(
            tuple(_table(one, files.get(one["Name"], "*")) for one in glue_tables(template)),
            tuple(_ordered(views)),
            {one.name: one for one in queries},
        )

    def query(self, name: str) -> NamedQuery:
        """Return a query for people by its name; raise ``ToolError`` if there is none."""
        if name not in self.queries:
            raise ToolError(f"there is no query {name!r}: expected one of {', '.join(self.queries)}")
        return self.queries[name]

    def listed(self) -> str:
        """Return the names of the queries for people, each with what it answers."""
        width = max(map(len, self.queries))
        return "\n".join(f"{one.name:{width}}  {one.description}" for one in self.queries.values())


def glue_tables(template: Template) -> list[Properties]:
    """Return the inputs of the Glue tables; a reference is the logical name of its resource."""
    return [_resolved(template, one["TableInput"]) for one in template.resources("AWS::Glue::Table").values()]


def named_queries(template: Template) -> list[Properties]:
    """Return all named queries of Athena; a reference is the logical name of its resource."""
    return [_resolved(template, one) for one in template.resources("AWS::Athena::NamedQuery").values()]


def _resolved(template: Template, properties: Properties) -> Properties:
    resolved: Properties = template.resolve(
        properties, lambda logical, attribute: logical if attribute == REF else f"{logical}.{attribute}"
    )
    return resolved


def _table(declared: Properties, file: str) -> SealedTable:
    parameters, storage = declared["Parameters"], declared["StorageDescriptor"]
    # ${!dt} is how Fn::Sub writes ${dt}.
    text = parameters.get("storage.location.template", storage["Location"]).replace("${!", "${")
    location = _LOCATION.fullmatch(text)
    if location is None:
        raise ToolError(f"the table {declared['Name']} is at {text}: expected s3://BUCKET/PREFIX")
    return SealedTable(
        name=declared["Name"],
        columns=tuple(column["Name"] for column in storage["Columns"]),
        partitions=tuple(
            Partition(one["Name"], parameters[f"projection.{one['Name']}.format"])
            for one in declared.get("PartitionKeys", [])
        ),
        location=location[1],
        header="skip.header.line.count" in parameters,
        is_csv=not storage["SerdeInfo"]["SerializationLibrary"].endswith(_TEXT_LINES),
        file=file,
    )


def _ordered(views: tuple[View, ...]) -> Iterator[View]:
    """Yield the views so that each comes after those that it reads, with the lines as a view among them."""
    of_lines = View(LINES, _CREATE_LINES)
    for view in views:
        yield view
        if view.name == TYPED_LINES:
            yield of_lines
