"""Sales by product, pure: what a run sold to items, and items to what was sold of each product or category."""

import json
import zlib
from base64 import b64decode, b64encode
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date
from enum import StrEnum
from typing import Any, Final

from quarterhour.aws.items import chunks
from quarterhour.reports.product_figures import Product, ProductFigures
from quarterhour.reports.projections.keys import products_key

MARKETPLACE: Final = ""
"""In place of an agency: all of them together."""
ROWS_A_CHUNK: Final = 200
"""The most products of an item. Even with the longest names and figures, it stays below DynamoDB's 400 KB."""

_Row = tuple[str, str, ProductFigures]
"""Category, product, and what was sold."""


class By(StrEnum):
    """What the sales of a day are split by."""

    PRODUCT = "product"
    CATEGORY = "category"
    DAY = "day"
    """Nothing further: they are added up."""


_NAME: Final[Mapping[By, Callable[[str, str], str]]] = {
    By.PRODUCT: lambda _category, product: product,
    By.CATEGORY: lambda category, _product: category,
    By.DAY: lambda _category, _product: "",
}


def product_items(day: date, run: str, products: Mapping[Product, ProductFigures]) -> Iterator[dict[str, Any]]:
    """Yield the items of a run's sales by product: of each agency, and of the marketplace, by currency."""
    agencies: defaultdict[tuple[str, str], dict[tuple[str, str], list[Any]]] = defaultdict(dict)
    everything: defaultdict[str, dict[tuple[str, str], ProductFigures]] = defaultdict(dict)
    for (agency, currency, *named), sold in sorted(products.items()):
        category, product = named
        agencies[agency, currency][category, product] = sold.as_list()
        sums = everything[currency]
        sums[category, product] = sums[category, product] + sold if (category, product) in sums else sold
    for currency, sums in everything.items():
        agencies[MARKETPLACE, currency] = {named: sold.as_list() for named, sold in sorted(sums.items())}
    for (agency, currency), rows in agencies.items():
        for number, some in enumerate(chunks([[*named, *values] for named, values in rows.items()], ROWS_A_CHUNK)):
            yield {**products_key(day, agency, currency, run, number), "packed": _pack(some)}


def _pack(rows: Iterable[list[Any]]) -> str:
    text = json.dumps(list(rows), ensure_ascii=False, separators=(",", ":"))
    return b64encode(zlib.compress(text.encode())).decode()


def rows_of(item: Mapping[str, Any]) -> Iterator[_Row]:
    """Yield the products of an item."""
    for category, product, *values in json.loads(zlib.decompress(b64decode(item["packed"]))):
        yield category, product, ProductFigures.of(values)


def name_of(by: By, category: str, product: str) -> str:
    """Return the name under which a product counts."""
    return _NAME[by](category, product)
