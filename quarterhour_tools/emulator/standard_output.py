"""Standard output while functions run in some threads: what they write is their log, what others write is printed."""

import logging
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final, TextIO, cast


class StandardOutput:
    """Stands in for ``sys.stdout`` while a function runs, and writes what each thread writes to that thread's log.

    ``redirect_stdout`` redirects all threads. A command in one thread would then lose what it prints while a server in
    another thread runs a function, and two blocks that overlap would restore the wrong stream.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._thread = threading.local()
        self._blocks = 0
        self._printed: TextIO = sys.stdout

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - an attribute of the stream
        return getattr(getattr(self._thread, "log", None) or self._printed, name)

    @contextmanager
    def logged(self, log: TextIO) -> Iterator[None]:
        """Write what this thread writes to a log for the length of the block."""
        before = getattr(self._thread, "log", None)
        with self._guard:
            if sys.stdout is not self:
                self._printed, sys.stdout = sys.stdout, cast("TextIO", self)
            self._blocks += 1
        self._thread.log = log
        try:
            yield
        finally:
            self._thread.log = before
            with self._guard:
                self._blocks -= 1
                if not self._blocks and sys.stdout is self:
                    sys.stdout = self._printed

    def bind_loggers(self, log: TextIO) -> None:
        """Let the loggers that a function's module has made write to its log, from the threads that it starts too."""
        for logger in list(logging.Logger.manager.loggerDict.values()):
            for handler in logger.handlers if isinstance(logger, logging.Logger) else ():
                if isinstance(handler, logging.StreamHandler) and handler.stream is self:
                    handler.setStream(log)


STANDARD_OUTPUT: Final = StandardOutput()
