"""Fixtures of the library's tests."""

from pathlib import Path

import pytest

from quarterhour_client import plan, worker


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "sales.spool"


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the pauses between attempts."""
    monkeypatch.setattr(plan, "FIRST_PAUSE", 0.005)
    monkeypatch.setattr(plan, "LONGEST_PAUSE", 0.02)
    monkeypatch.setattr(worker, "_POLL_SECONDS", 0.05)
