"""The bar chart: heights in proportion, the highest and the lowest bar in words."""

from quarterhour.web.html.chart import Bar, bar_chart
from quarterhour.web.html.markup import page
from tests.support.html import Page


def drawn(*figures: str) -> Page:
    bars = [Bar(f"day {number}", figure) for number, figure in enumerate(figures, 1)]
    return Page(page("A chart", [], [bar_chart("Net in GBP", bars)]))


def test_bars_are_as_high_as_their_figures_and_stop_at_zero() -> None:
    bars = [(bar["y"], bar["height"]) for bar in drawn("3.00", "1.5", "0", "-1").named("rect")]
    assert bars == [("0", "750"), ("375", "375"), ("750", "250")]


def test_the_chart_says_what_it_shows_to_those_who_do_not_see_it() -> None:
    (chart,) = drawn("1.50", "-2.25", "0").named("svg")
    assert chart["aria-label"] == "Net in GBP. Highest: 1.50 (day 1). Lowest: -2.25 (day 2)"
    (positive,) = drawn("1.50", "3").named("svg")
    assert positive["aria-label"] == "Net in GBP. Highest: 3 (day 2)"


def test_figures_that_are_all_zero_have_no_chart() -> None:
    assert drawn("0", "0.00").named("svg") == []
    assert drawn().named("svg") == []


def test_figures_of_38_digits_are_drawn() -> None:
    largest = "9" * 38
    assert [bar["height"] for bar in drawn(largest, f"-{largest}").named("rect")] == ["500", "500"]


def test_a_few_bars_are_narrow_and_all_named_and_of_many_the_first_and_the_last() -> None:
    assert drawn("1", "2").text.endswith("day 1 day 2")
    assert {bar["width"] for bar in drawn("1", "2").named("rect")} == {"10"}, "of 200"
    many = drawn(*(str(n) for n in range(1, 32)))
    assert many.text.endswith("day 1 day 31")
    assert {bar["width"] for bar in many.named("rect")} == {"80"}, "of 3100"


def test_figures_can_be_written_as_people_read_them_with_captions_in_their_language() -> None:
    bars = [Bar("1. Nov.", "1234.5", "1.234,50"), Bar("2. Nov.", "-2", "−2,00")]  # noqa: RUF001 - a minus
    captions = ("Höchster: {figure} ({label}).", " Niedrigster: {figure} ({label}).")
    (chart,) = Page(page("A chart", [], [bar_chart("Netto", bars, captions)])).named("svg")
    assert chart["aria-label"] == "Netto. Höchster: 1.234,50 (1. Nov.). Niedrigster: −2,00 (2. Nov.)."  # noqa: RUF001
