"""Turns go to the threads in the order of their requests."""

import threading

import pytest

from quarterhour_tools.emulator.server import Turns


def wait_until_waiting(turns: Turns, number: int) -> None:
    for _ in range(2000):
        if turns.waiting == number:
            return
        threading.Event().wait(0.01)
    raise TimeoutError


def test_a_thread_that_takes_another_turn_waits_after_the_others() -> None:
    turns, order = Turns(), list[str]()

    def take(name: str) -> None:
        with turns.taken():
            order.append(name)

    threads = [threading.Thread(target=take, args=(name,)) for name in ("second", "third")]
    with turns.taken():
        for number, thread in enumerate(threads, 1):
            thread.start()
            wait_until_waiting(turns, number)
        order.append("first")
    take("fourth")
    for thread in threads:
        thread.join()
    assert order == ["first", "second", "third", "fourth"]
    assert turns.waiting == 0


def test_a_turn_ends_with_an_error_too() -> None:
    turns = Turns()
    with pytest.raises(ZeroDivisionError), turns.taken():
        divmod(1, 0)
    with turns.taken():
        assert turns.waiting == 0


def test_no_two_threads_have_a_turn_at_once() -> None:
    turns, inside, most = Turns(), 0, 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(200):
            with turns.taken():
                inside += 1
                most = max(most, inside)
                threading.Event().wait(0)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
