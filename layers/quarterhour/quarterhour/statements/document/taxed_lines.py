"""The charges of a draft's lines by what decides their tax, read from the file of the lines."""

import csv
import io
from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from quarterhour.model.charges import NO_CHARGES, read_charges, total
from quarterhour.model.errors import SealedFileError
from quarterhour.model.periods import Period
from quarterhour.reports.digests import stream_digest
from quarterhour.reports.lines import COLUMNS, unescape_formula
from quarterhour.reports.packing import unpacked
from quarterhour.reports.sealed_files import SealedFiles
from quarterhour.statements.document.tax import Taxable, TaxNames
from quarterhour.statements.drafts.charge_sums import without_zeros
from quarterhour.statements.drafts.draft import Draft
from quarterhour.statements.drafts.figures import CHARGED, kind_of
from quarterhour.statements.keys import LINES, statement_prefix

if TYPE_CHECKING:
    from quarterhour.model.charges import Charges

_CELLS: Final = itemgetter(
    *map(COLUMNS.index, ("type", "kind", "terms", "category", "commission", "tax_point", "charges"))
)


def read_taxed_lines(files: SealedFiles, period: Period, draft: Draft, names: TaxNames) -> dict[Taxable, Decimal]:
    """Return the charges of a draft's lines; raise ``SealedFileError`` if their file is not the one sealed."""
    key = statement_prefix(period, draft.account) + LINES
    with files.copied(key) as file:
        if stream_digest(file) != draft.lines.sha256:
            raise SealedFileError(f"{key} is not the file that was sealed: restore its version")
        file.seek(0)
        with unpacked(file) as content, io.TextIOWrapper(content, encoding="utf-8", newline="") as text:
            next(text)  # the names of the columns
            return commissions(text, names)


def commissions(text: Iterable[str], names: TaxNames) -> dict[Taxable, Decimal]:
    """Return the charges of the lines of a text; lines that charge nothing are left out.

    ``names``: the kinds and categories that decide the tax.
    """
    found: dict[Taxable, Charges] = {}
    for row in csv.reader(text, strict=True):
        type_, kind, terms, category, commission, tax_point, charges = _CELLS(row)
        if kind_of(type_, kind, terms) not in CHARGED:
            continue
        category = unescape_formula(category)
        key = Taxable(
            date.fromisoformat(tax_point),
            kind if kind in names.kinds else "",
            category if category in names.categories else "",
        )
        found[key] = total((found.get(key, NO_CHARGES), read_charges(charges, Decimal(commission))))
    return {
        key._replace(charge=name): amount
        for key, of_key in found.items()
        for name, amount in without_zeros(of_key.amounts)
    }
