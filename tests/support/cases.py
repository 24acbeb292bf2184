"""Tables of cases that are one test.

A case that calls one pure function takes microseconds; a test takes some milliseconds, and more to collect.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from inspect import Parameter, signature
from reprlib import repr as shortened
from typing import Any, Final

import pytest

Test = Callable[..., None]
Ids = Iterable[str] | Callable[[Any], str] | None

_FAILURES: Final = (Exception, pytest.fail.Exception, pytest.skip.Exception)
_SUBTESTS: Final = Parameter("subtests", Parameter.POSITIONAL_OR_KEYWORD)


def cases(names: str | tuple[str, ...], values: Iterable[Any], ids: Ids = None) -> Callable[[Test], Test]:
    """Call a test for each case, with the arguments of ``pytest.mark.parametrize``, as one test.

    Each case that fails is reported as a subtest with its name. All cases share the test's fixtures, so they must
    leave them as they were.
    """
    arguments = (names,) if isinstance(names, str) else names
    table = list(_table(arguments, list(values), ids))

    def decorate(test: Test) -> Test:
        own = signature(test)

        @wraps(test)
        def each(subtests: pytest.Subtests, **fixtures: Any) -> None:
            if "subtests" in own.parameters:
                fixtures["subtests"] = subtests
            for name, case in table:
                try:
                    test(**fixtures, **case)
                except _FAILURES:
                    with subtests.test(name):
                        raise

        fixtures = [one for name, one in own.parameters.items() if name not in {*arguments, "subtests"}]
        each.__signature__ = own.replace(parameters=[_SUBTESTS, *fixtures])  # type: ignore[attr-defined]
        return each

    return decorate


def _table(arguments: tuple[str, ...], values: list[Any], ids: Ids) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the name and the arguments of each case."""
    given = [str(ids(value)) for value in values] if callable(ids) else [*(ids or [shortened(one) for one in values])]
    for name, value in zip(given, values, strict=True):
        yield name, dict(zip(arguments, value if len(arguments) > 1 else [value], strict=True))
