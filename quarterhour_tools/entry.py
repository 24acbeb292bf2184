"""The entry point of the command `quarterhour`. It handles an interrupt before, during and after the other imports."""

import gc
import os
import signal
from typing import Final, NoReturn

from quarterhour_tools.errors import INTERRUPTED, INTERRUPTED_MESSAGE

_YOUNG_COLLECTIONS: Final = 1000
"""How many times the garbage collector examines new objects before it examines older ones.

The embedded engine keeps almost all of its objects, millions of them.
"""
_LINE: Final = f"{INTERRUPTED_MESSAGE}\n".encode()


def main() -> int:
    """Run the command line; return its exit code."""
    _leave_when_interrupted()
    gc.set_threshold(gc.get_threshold()[0], _YOUNG_COLLECTIONS)
    from quarterhour_tools.cli import main as run  # noqa: PLC0415 - takes a while, in which a signal may come

    try:
        return run()
    finally:
        _leave_when_interrupted()
        # The process ends: a last collection would examine all objects of the embedded engine, for nothing.
        gc.freeze()


def _leave_when_interrupted() -> None:
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _leave)


def _leave(*_: object) -> NoReturn:
    """Exit at once: no work has begun, and Python cannot always raise an exception while it imports or exits."""
    os.write(2, _LINE)
    os._exit(INTERRUPTED)
