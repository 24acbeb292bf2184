"""The errors of `quarterhour csv`: of a cell, of a map, of a file."""


class CellError(Exception):
    """A cell, or a combination of cells, is not a value of the required kind; the message says why."""


class EmptyCellError(CellError):
    """There is no value."""


class MapError(Exception):
    """The map is invalid, or does not fit the file; `field` is the dotted name of the wrong entry."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem

    def under(self, name: str) -> "MapError":
        """Return the same error for an entry within another one."""
        return MapError(f"{name}.{self.field}", self.problem)


class FileError(Exception):
    """The file is not a CSV file that can be read; the message says why, and what to do."""


class EncodingError(FileError):
    """The encoding of the file is in doubt; the message shows how encodings read it."""
