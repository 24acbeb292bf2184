"""Tests that change what took long to build: each works on a copy, in a copy of the process."""

import os
import signal
import sys
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress

import pytest

from tests.support.system import World

OnACopy = Callable[[World], AbstractContextManager[None]]


def run_on_a_copy(test: pytest.Function) -> None:
    """Run the test in a copy of this process, and fail with what it says there."""
    reads, writes = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 and later warn of a copy beside other threads. pytest-xdist's hold nothing of a test.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if not child:
        _run(test, writes)
    os.close(writes)
    try:
        with os.fdopen(reads, encoding="utf-8") as pipe:
            said = pipe.read()
        _, status = os.waitpid(child, 0)
    except BaseException:
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        raise
    if status:
        pytest.fail(said or f"the copy of the process ended with the status {status}", pytrace=False)


def _run(test: pytest.Function, writes: int) -> None:
    """Run the test and end this process, the copy; only a test that passes ends it with the status 0."""
    status = 1
    try:
        arguments = {name: test.funcargs[name] for name in test._fixtureinfo.argnames}
        test.obj(**arguments)
        status = 0
    except BaseException:  # noqa: BLE001 - all is reported to the first process
        with os.fdopen(writes, "w", encoding="utf-8") as pipe:
            pipe.write(str(test.repr_failure(pytest.ExceptionInfo.from_current())))
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
