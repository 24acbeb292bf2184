"""Names of the ledger as people read them: machines, rate cards, and locations."""

from tests.support.console_modules import NEEDS_NODE, evaluated

pytestmark = NEEDS_NODE


def named(function: str, names: list[str], *more: str) -> list[str]:
    """Return what a function of the module makes of names, without what isolates them from the text around."""
    arguments = "".join(f", {one!r}" for one in more)
    found: list[str] = evaluated("lib/names.js", f"{names!r}.map((one) => module.{function}(one{arguments}))")
    return [one.replace("\u2068", "").replace("\u2069", "") for one in found]


def test_a_machine_has_the_name_within_its_arn_and_a_person_their_own() -> None:
    assert named("person", [
        "arn:aws:iam::123456789012:user/local", "arn:aws:sts::123456789012:assumed-role/Shop/session-7", "zoe"
    ]) == ["machine local", "machine Shop", "zoe"]  # fmt: skip


def test_a_rate_card_is_named_by_whom_it_is_for() -> None:
    documents = ["rate-card:42", "rate-card:7", "rate-card:group/books", "rate-card:default"]
    expected = ["Rate card of the agency", "Rate card of 7", "Rate card of the group books", "General rate card"]
    assert named("rateCard", documents, "42") == expected


def test_a_location_begins_with_the_nearest_name_and_ends_with_its_country() -> None:
    names = named("locationText", ["GB#Edinburgh#Leith", "elsewhere"])
    assert names == ["Leith, Edinburgh, United Kingdom", "elsewhere"]
