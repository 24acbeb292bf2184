"""How many examples a law is held against."""

from typing import Final

from hypothesis import settings

FULL: Final = "full"
QUICK: Final = "quick"


def register() -> None:
    """Register the profiles, and load the quick one; no deadline, as a busy machine must not fail a law that holds."""
    settings.register_profile(FULL, deadline=None)
    settings.register_profile(QUICK, settings.get_profile(FULL), max_examples=10)
    settings.load_profile(QUICK)


def examples(number: int) -> settings:
    """Return settings for a law that needs so many examples; the quick profile takes a share of them."""
    return settings(max_examples=number * settings().max_examples // settings.get_profile(FULL).max_examples)
