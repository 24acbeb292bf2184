"""Tests that change what took long to build: each works on a copy, in a copy of the process."""

import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, suppress
from typing import Self

import pytest

from tests.support.system import World

OnACopy = Callable[[World], AbstractContextManager[None]]


def run_on_a_copy(test: pytest.Function) -> None:
    """Run the test in a copy of this process, and fail with the error of the copy."""
    child, pipe = _fork()
    if not child:
        _run(test, pipe)
    if failure := _failure(child, pipe):
        pytest.fail(failure, pytrace=False)


class Branches:
    """Copies of this process that go on in another way from a place within the block, to its end.

    Each copy ends with the block, and fails where the block fails. The block then fails in the first process, too. So
    what precedes the place runs once for all of them.
    """

    def __init__(self) -> None:
        self.ended = 0
        """How many copies have ended."""
        self._failures: list[str] = []
        self._pipe: int | None = None

    def at(self, changes: Iterable[Callable[[], object]]) -> None:
        """Make a copy for each change, which it makes before it goes on; return in the first process after the last."""
        for change in changes:
            child, pipe = _fork()
            if not child:
                self._pipe = pipe
                change()
                return
            if failure := _failure(child, pipe):
                self._failures.append(failure)
            self.ended += 1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._pipe is not None:
            _end(self._pipe, traceback.format_exc() if kind else "")
        if self._failures:
            pytest.fail(self._failures[0], pytrace=False)


def _fork() -> tuple[int, int]:
    """Copy this process; return the copy's id, and the pipe from it. In the copy, return 0 and the pipe's other end."""
    reads, writes = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 and later warn of a copy beside other threads. pytest-xdist's hold nothing of a test.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    os.close(writes if child else reads)
    return child, reads if child else writes


def _failure(child: int, pipe: int) -> str:
    """Wait for the end of a copy; return how it failed, and nothing if it did not."""
    try:
        with os.fdopen(pipe, encoding="utf-8") as reader:
            said = reader.read()
        _, status = os.waitpid(child, 0)
    except BaseException:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        raise
    return (said or f"the copy of the process ended with the status {status}") if status else ""


def _run(test: pytest.Function, pipe: int) -> None:
    """Run the test and end this process, the copy; only a test that passes ends it with the status 0."""
    failure = "the failure cannot be described"
    try:
        arguments = {name: test.funcargs[name] for name in test._fixtureinfo.argnames}
        test.obj(**arguments)
        failure = ""
    except BaseException:  # noqa: BLE001 - all is reported to the first process
        failure = str(test.repr_failure(pytest.ExceptionInfo.from_current())) or failure
    finally:
        _end(pipe, failure)


def _end(pipe: int, failure: str) -> None:
    """End this process, a copy, and report its failure; only without one is its status 0."""
    try:
        with os.fdopen(pipe, "w", encoding="utf-8") as writer:
            writer.write(failure)
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(1 if failure else 0)
