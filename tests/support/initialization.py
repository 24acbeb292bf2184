"""Load functions as Lambda does before it takes a snapshot, and print which of them read the clock or the network.

The standard input holds the environment of each function by the path of its handler, as JSON.
"""

import json
import os
import sys
from datetime import UTC, datetime
from importlib.util import module_from_spec, spec_from_file_location
from typing import NoReturn

from quarterhour.model import clock

used: list[str] = []


class NoClock:
    """A clock that nobody may read before the snapshot."""

    def now(self) -> datetime:
        """Note that the clock was read."""
        used.append("the clock")
        return datetime.min.replace(tzinfo=UTC)

    def sleep(self, seconds: float) -> NoReturn:
        """Refuse to wait."""
        raise AssertionError(f"the initialization waits {seconds} s")


def watch(event: str, arguments: tuple[object, ...]) -> None:
    """Note what reaches for the network."""
    if event in {"socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendto"}:
        used.append(f"{event}{arguments[1:]}")


def main() -> None:
    """Load each function in its environment."""
    sys.addaudithook(watch)
    found = {}
    with clock.using(NoClock()):
        for path, environment in json.load(sys.stdin).items():
            os.environ.update(environment)
            spec = spec_from_file_location("handler", path)
            assert spec
            assert spec.loader
            spec.loader.exec_module(module_from_spec(spec))
            found[path] = used.copy()
            used.clear()
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
