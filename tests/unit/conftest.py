"""Unit tests touch no network: whoever opens a socket fails."""

from hypothesis import settings
from pytest_socket import disable_socket

# A busy machine must not fail a law that holds.
settings.register_profile("unit", deadline=None)
settings.load_profile("unit")


def pytest_runtest_setup() -> None:
    disable_socket()
