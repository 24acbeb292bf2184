"""Pages for people: text is escaped, and nothing is loaded."""

from hypothesis import given
from hypothesis import strategies as st

from quarterhour.web.html.markup import Html, Row, address, name, page, section, table
from tests.support.html import Page

ATTACK = '<img src=x onerror="alert(1)">\'&lt;'


def shown(*parts: Html, title: str = "A page") -> Page:
    return Page(page(title, [], parts))


def test_a_page_allows_its_own_style_and_images_within_it_and_nothing_else() -> None:
    read = shown(section("One", name("x")))
    (policy,) = (meta["content"] for meta in read.named("meta") if meta.get("http-equiv"))
    assert policy is not None
    assert policy.startswith("default-src 'none'; img-src data:; style-src 'sha256-")
    assert "unsafe" not in policy
    assert not read.named("script")
    assert not [attributes for _, attributes in read.tags if "style" in attributes]
    assert [link["href"] for link in read.named("link")] == ["data:,"], "a browser requests an icon otherwise"


@given(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=40))
def test_text_is_shown_as_it_is_wherever_it_appears(text: str) -> None:
    read = shown(
        section(text, name(text), table(text, [text], [text], [Row([name(text)], [text])])),
        title=text,
    )
    assert read.rows == [[text, text], [text, text]]
    assert read.text.split("A page")[-1].count(text) >= 5
    assert [region["aria-label"] for region in read.named("div")] == [text]


def test_markup_in_a_name_stays_text() -> None:
    read = shown(section(ATTACK, name(ATTACK), table(ATTACK, [ATTACK], [ATTACK], [Row([name(ATTACK)], [ATTACK])])))
    assert read.named("img") == []
    assert read.rows == [[ATTACK, ATTACK]] * 2


def test_each_line_of_an_address_keeps_its_own_direction() -> None:
    read = shown(address("شارع 1\nLondon"))
    assert len(read.named("bdi")) == 2
    assert len(read.named("br")) == 1


def test_a_figure_is_shown_as_it_is_stored_and_an_empty_cell_for_none() -> None:
    read = shown(table("Sums", ["Day"], ["Net", "Lines", "Rate"], [Row([name("1")], ["-1234567.1000", 0, None])]))
    assert read.rows[1] == ["1", "-1234567.1000", "0", ""]
