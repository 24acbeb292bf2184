"""Finds statements by name, for threads about them, and by number, for the search."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from quarterhour.aws.entity import Values
from quarterhour.aws.entity_table import EntityReader
from quarterhour.model.fields import is_name
from quarterhour.model.identifiers import SEPARATOR, Account
from quarterhour.model.periods import Period
from quarterhour.statements.keys import number_key, statement_key
from quarterhour.web.access import Caller

if TYPE_CHECKING:
    from quarterhour.statements.api import FoundStatement, FoundStatements


@dataclass(frozen=True, slots=True)
class StatementLookup:
    """Finds sealed statements."""

    entities: EntityReader

    def is_visible(self, name: str, caller: Caller) -> bool:
        """Return whether the statement ``<agency>#<currency>#<period>`` exists and the caller may see its agency."""
        names, _, period = name.rpartition(SEPARATOR)
        try:
            account, month = Account.parse(names), Period.parse(period)
        except ValueError:
            return False
        found = is_name(account.agency) and is_name(account.currency) and caller.may_see(account.agency)
        return found and self.entities.get(statement_key(month, account)) is not None

    def found(self, text: str, caller: Caller, _most: int) -> "FoundStatements":
        """Return the statements whose number is a text, as it is written or in capital letters."""
        numbers = list(dict.fromkeys([text, text.upper()]))
        found = self.entities.get_many([number_key(one) for one in numbers])
        visible = (one for one in found if caller.may_see(one["agency"]))
        return {"statements": [shown(one) for one in visible]}


def shown(values: Values) -> "FoundStatement":
    """Return what a search shows of a statement, by the item of a document's number."""
    return {
        "number": values["number"],
        "document": values["document"],
        "period": values["period"],
        "agency": values["agency"],
        "currency": values["currency"],
    }
