"""The events of a whole CSV file, by a map, for the commands that send them."""

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from quarterhour.file_formats.csv.errors import FileError, MapError
from quarterhour.file_formats.csv.events import MappedEvent, converted
from quarterhour.file_formats.csv.map import load_map
from quarterhour.file_formats.csv.summary import FileSummary
from quarterhour.file_formats.csv.table import read_table
from quarterhour.model.fields import printable
from quarterhour_tools.csv.file import open_text
from quarterhour_tools.csv.maps import read_map, settings_of
from quarterhour_tools.csv.sums import lines_of
from quarterhour_tools.errors import ToolError
from quarterhour_tools.output import counted

_MOST_SHOWN: Final = 100


@dataclass
class FileEvents:
    """A CSV file and its map. ``summary`` says what became of the rows that were read."""

    name: str
    map: str
    given: dict[str, str]
    summary: FileSummary = field(default_factory=FileSummary)

    def events(self) -> Iterator[MappedEvent]:
        """Yield the events; write bad rows, and what became of all rows, to standard error.

        Raises ``ToolError`` if the file or its map cannot be read.
        """
        try:
            csv_map = load_map(read_map(self.map))
            if csv_map.must_not_change:
                raise ToolError(f"{self.map}: is not used to send a file: {csv_map.must_not_change}")
            settings = settings_of(csv_map, self.given)
            with open_text(self.name, csv_map.file.encoding) as file:
                table = read_table(file.lines(), csv_map.file, csv_map.used_by)
                for row in converted(table, csv_map, settings):
                    self.summary.add(row)
                    if row.bad and self.summary.bad.rows + self.summary.problems <= _MOST_SHOWN:
                        print(f"line {row.line}: {printable(row.bad)}", file=sys.stderr)
                    yield from row.events
        except MapError as error:
            raise ToolError(f"{self.map}: {error}") from error
        except (FileError, OSError) as error:
            raise ToolError(f"{self.name}: {error}") from error
        if file.problem:
            read = counted(self.summary.file.rows, "row")
            raise ToolError(f"{self.name}: cannot be read further, after {read}: {file.problem}")
        for text in lines_of(self.summary):
            print(text, file=sys.stderr)
