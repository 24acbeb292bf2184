from decimal import Decimal

import pytest

from quarterhour.model.errors import QuarterhourError
from quarterhour.model.schema import SCHEMA, UnknownSchemaError, check_schema
from tests.support.cases import cases


@pytest.mark.parametrize("found", [SCHEMA, Decimal(SCHEMA)])
def test_the_schema_of_this_version_is_read(found: object) -> None:
    check_schema(found)


@pytest.mark.parametrize("found", [SCHEMA + 1, Decimal(SCHEMA + 1), 999])
def test_the_schema_of_a_later_version_names_that_version(found: object) -> None:
    with pytest.raises(UnknownSchemaError, match=f"the schema {found} is unknown: use the version that wrote it"):
        check_schema(found)


@cases("found", [None, 0, -1, True, "1", [], {}, Decimal("1.5"), Decimal("2.5"), 1.0])
def test_a_schema_that_no_version_writes_is_refused(found: object) -> None:
    with pytest.raises(UnknownSchemaError, match="no version has written it"):
        check_schema(found)


def test_the_error_is_one_of_the_product_and_an_invalid_value() -> None:
    assert issubclass(UnknownSchemaError, QuarterhourError)
    assert issubclass(UnknownSchemaError, ValueError)
