"""The part of a statement's page that says what is owed, by whom and to whom."""

from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import Final

from quarterhour.model import money
from quarterhour.registry.agencies.addresses import whole_address
from quarterhour.statements.document.page_part import PagePart, StatementContent, agency_name, sentences
from quarterhour.web.html.markup import NOTHING, Html, address, block, escaped, facts, name, paragraph

_IBAN_GROUP: Final = 4


class PartiesPart(PagePart):
    """What is owed and until when, what is corrected, and the parties."""

    def sections(self) -> Iterator[Html]:
        """Yield the sections of the part."""
        yield self._due()
        yield self._corrected()
        yield self._parties()

    def _due(self) -> Html:
        """Return what is owed, to whom, and until when."""
        document, words, owner = self._of, self._in, self._of["owner"]
        said: list[Html] = []
        if self._open > 0:
            payable = [
                ("due_date", escaped(words.full_date(document["due_on"]))),
                ("payable_to", name(owner["legal_name"])),
                ("IBAN", escaped(_grouped(owner["iban"])) if owner["iban"] else NOTHING),
                ("reference", name(document["number"])),
            ]
            said = [facts((words.texts.get(key, key), value) for key, value in payable)]
        elif self._is_payout:
            iban = document["customer"]["iban"]
            to = facts([("IBAN", escaped(_grouped(iban)))]) if iban else NOTHING
            owed_by = paragraph(words.html("payout_of", owner=name(owner["legal_name"])), "plain")
            said = [Html(f"<div>{owed_by}{to}</div>")]
        elif self._open:
            said = [paragraph(words.html("carried_forward"), "plain")]
        owed = money.plain(abs(self._open))
        amount = Html(f"<strong>{escaped(words.money(owed, self._currency))}</strong>")
        return block("due", Html(f"<div>{paragraph(words.html(self._balance_name), 'label')}{amount}</div>"), *said)

    def _corrected(self) -> Html:
        """Return what the document cancels, replaces or corrects, and what it leaves to be paid."""
        said = list(self._corrections())
        return block("say", *(paragraph(one, "plain") for one in said)) if said else NOTHING

    def _corrections(self) -> Iterator[Html]:
        document, words = self._of, self._in
        if cancelled := document["cancels"]:
            yield words.html(
                f"cancels_{cancelled['document']}",
                number=name(cancelled["number"]),
                date=escaped(words.full_date(cancelled["issued_on"])),
                period=escaped(words.days(document["period"])),
            )
        if document["replaces"]:
            yield words.html("replaces", number=name(document["replaces"]))
        if document["document"] != "credit_note":
            return
        if (credit := -Decimal(document["payable"])) > 0:
            yield sentences(words.html("credits", amount=self._money(money.plain(credit))), self._left())
        months = [self._month_of_statement(one["month"]) for one in document["earlier_months"]]
        if months and not document["cancels"]:
            yield words.html("corrects", months=Html(", ".join(months)))

    def _left(self) -> Html:
        """Return what a credit note leaves to be paid."""
        kind = "due" if self._open > 0 else "credit" if self._open else "nothing"
        return self._in.html(f"credits_and_{kind}", amount=self._money(money.plain(abs(self._open))))

    def _month_of_statement(self, month: str) -> Html:
        """Return a month, and the number and the date of its statement if the document names them."""
        before, words = self._of["previous"], self._in
        shown = escaped(words.month(month))
        if not before or before["period"] != month:
            return shown
        issued_on = escaped(words.full_date(before["issued_on"]))
        return words.html(f"of_{before['document']}", month=shown, number=name(before["number"]), date=issued_on)

    def _parties(self) -> Html:
        document, words, customer = self._of, self._in, self._of["customer"]
        unknown = NOTHING if customer["registered"] else words.html("not_registered")
        return block(
            "parties",
            block("party", *_titled(words["issuer"], self._party(document["owner"]))),
            block(
                "party",
                *_titled(words["recipient"], self._party({**customer, "legal_name": agency_name(document)})),
                paragraph(unknown, "plain"),
            ),
            facts(
                [
                    (words["number"], name(document["number"])),
                    (words["issued_on"], escaped(words.full_date(document["issued_on"]))),
                    (words["period"], escaped(words.days(document["period"]))),
                    (words["agency"], name(document["agency"])),
                ]
            ),
        )

    def _party(self, party: StatementContent) -> Iterator[Html]:
        """Yield what is known of the owner or the agency."""
        vat_id, country = party["vat_id"], party["country"]
        yield paragraph(name(party["legal_name"]), "lead")
        yield paragraph(address(whole_address(party)), "plain")
        yield paragraph(escaped(self._in.country(country)) if country else NOTHING, "plain")
        yield paragraph(Html(f"{escaped(self._in['vat_id'])} {name(vat_id)}") if vat_id else NOTHING, "plain")
        yield paragraph(name(party["contact"]), "plain")


def _titled(title: str, parts: Iterable[Html]) -> Iterator[Html]:
    """Yield a heading and the parts below it; nothing without parts."""
    if known := [part for part in parts if part]:
        yield Html(f"<h2>{escaped(title)}</h2>")
        yield from known


def _grouped(iban: str) -> str:
    """Return an IBAN as it is printed: in groups of four."""
    plain = "".join(iban.split())
    return " ".join(plain[at : at + _IBAN_GROUP] for at in range(0, len(plain), _IBAN_GROUP))
