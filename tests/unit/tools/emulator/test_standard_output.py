"""What functions write is logged, and what other threads write meanwhile is printed."""

import logging
import sys
from collections.abc import Callable
from io import StringIO
from threading import Thread

import pytest

from quarterhour_tools.emulator.standard_output import StandardOutput


def in_a_thread(run: Callable[[], object]) -> None:
    thread = Thread(target=run)
    thread.start()
    thread.join()


def test_another_thread_prints_while_a_function_runs(capsys: pytest.CaptureFixture[str]) -> None:
    output, log = StandardOutput(), StringIO()
    before = sys.stdout
    with output.logged(log):
        sys.stdout.write("a log line\n")
        in_a_thread(lambda: sys.stdout.write("a result\n"))
    sys.stdout.write("another result\n")
    assert (log.getvalue(), capsys.readouterr().out) == ("a log line\n", "a result\nanother result\n")
    assert sys.stdout is before


def test_blocks_of_two_threads_that_overlap_restore_the_stream(capsys: pytest.CaptureFixture[str]) -> None:
    output, one, two = StandardOutput(), StringIO(), StringIO()
    before = sys.stdout
    first, second = output.logged(one), output.logged(two)
    first.__enter__()
    in_a_thread(second.__enter__)
    first.__exit__(None, None, None)
    sys.stdout.write("a result\n")
    in_a_thread(lambda: second.__exit__(None, None, None))
    assert (sys.stdout is before, one.getvalue(), two.getvalue()) == (True, "", "")
    assert capsys.readouterr().out == "a result\n"


def test_a_block_within_another_of_the_same_thread_returns_to_its_log() -> None:
    output, one, two = StandardOutput(), StringIO(), StringIO()
    with output.logged(one):
        with output.logged(two):
            sys.stdout.write("inner\n")
        sys.stdout.write("outer\n")
    assert (one.getvalue(), two.getvalue()) == ("outer\n", "inner\n")


def test_a_logger_that_a_function_makes_writes_to_its_log_from_any_thread(capsys: pytest.CaptureFixture[str]) -> None:
    output, log, logger = StandardOutput(), StringIO(), logging.getLogger("of a function")
    with output.logged(log):
        logger.addHandler(handler := logging.StreamHandler(sys.stdout))
        output.bind_loggers(log)
        in_a_thread(lambda: logger.warning("from a worker"))
    logger.removeHandler(handler)
    assert (log.getvalue(), capsys.readouterr().out) == ("from a worker\n", "")
