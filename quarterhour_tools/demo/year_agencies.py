"""The agencies of the demo's year, and the owner of its marketplace. All are made up.

The check digits of VAT ids and IBANs are right. Their numbers are from ranges that are documented as examples, or that
no authority assigns.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

OWNER: Final[Mapping[str, Any]] = {
    "legal_name": "Hafenmarkt GmbH",
    "address": "Am Sandtorkai 1\n20457 Hamburg",
    "country": "DE",
    "vat_id": "DE136695976",
    "iban": "DE89 3704 0044 0532 0130 00",
    "contact": "billing@hafenmarkt.example",
    "payment_days": 14,
}
"""Who issues the statements."""
BASE_CURRENCY: Final = "EUR"
_STANDARD_PERCENT: Final = "19"
"""The tax of agencies in the owner's country."""
_EU: Final = frozenset({"DE", "FR", "ES", "NL", "PL", "GR"})
_LANGUAGES: Final = frozenset({"de", "fr", "es", "nl"})


@dataclass(frozen=True, slots=True)
class YearAgency:
    """An agency: its registration, how much it sells, and what becomes of it.

    ``size``: its sales in a month of average season. ``growth``: its size at the end of the year, 1 for the same.
    ``iban``: where its proceeds are paid out, if the marketplace holds the customers' money. ``pays_after``: the days
    from a statement's date to its payment. ``months``: how long ago it joined.
    """

    id: str
    name: str
    address: str
    country: str
    vat_id: str
    group: str
    size: int
    currencies: tuple[str, ...] = ("EUR",)
    iban: str = ""
    growth: float = 1
    pays_after: int = 9
    months: int = 12

    @property
    def content(self) -> dict[str, Any]:
        """The content of its registration."""
        scheme = "standard" if self.country == OWNER["country"] else "reverse_charge"
        tax = {"scheme": scheme if self.country in _EU else "outside_scope"}
        if scheme == "standard":
            tax["percent"] = _STANDARD_PERCENT
        if self.vat_id:
            tax["vat_id"] = self.vat_id
        language = self.country.lower()
        return {
            "legal_name": self.name,
            "address": self.address,
            "country": self.country,
            "tax": tax,
            "currency": self.currencies[0],
            **({"group": self.group} if self.group else {}),
            **({"language": language} if language in _LANGUAGES else {}),
            **({"collects": "marketplace", "iban": self.iban} if self.iban else {}),
        }


FAILS: Final = "31"
"""The agency that sells less every month, stops to pay, and is closed."""
NEW: Final = "49"
"""The agency that joins in the last months, and has no rate card."""
UNREGISTERED: Final = "kiosk-9"
"""The account that sells in the last month, and is not registered."""
UNMATCHED: Final = "20"
"""The agency with a payment that names no statement of it."""
CLIENT: Final = "42"
"""The agency of the made-up people who sign in. It begins to sell in a currency without an exchange rate."""
DISPUTES: Final = "17"
"""The agency with an open dispute."""

AGENCIES: Final = (
    YearAgency("10", "Buchhandlung Lindenhof GmbH", "Lindenhof 4\n10115 Berlin", "DE", "DE999900016", "books", 62),
    YearAgency(
        "11", "Kaffeerösterei Elbblick OHG", "Große Elbstraße 9\n22767 Hamburg", "DE", "DE999900024", "food", 30
    ),
    YearAgency(
        "12",
        "Töpferei Jahnke e. K.",
        "Am Markt 2\n18055 Rostock",
        "DE",
        "DE999900032",
        "craft",
        12,
        pays_after=21,
        months=10,
    ),
    YearAgency("13", "Spielzeugwerk Süd GmbH", "Färbergasse 7\n90403 Nürnberg", "DE", "DE999900049", "toys", 34),
    YearAgency(
        *("14", "Gärtnerei Blumenau KG", "Rosenweg 15\n79098 Freiburg", "DE", "DE999900057", "garden", 26),
        iban="DE62370400440532013001",
    ),
    YearAgency("15", "Möbel & Mehr Köln GmbH", "Ringstraße 88\n50672 Köln", "DE", "DE999900065", "home", 20),
    YearAgency(
        "16",
        "Wollstube Anna Weiß",
        "Bachgasse 3\n01067 Dresden",
        "DE",
        "DE999900073",
        "fashion",
        9,
        pays_after=34,
        months=9,
    ),
    YearAgency(
        *("17", "Nordlicht Versand GmbH", "Kaistraße 21\n24103 Kiel", "DE", "DE999900081", "home", 58),
        iban="DE35370400440532013002",
    ),
    YearAgency("18", "Imkerei Sommerfeld", "Heideweg 6\n29525 Uelzen", "DE", "DE999900090", "food", 8, months=8),
    YearAgency("19", "Librairie du Canal SARL", "12 quai de Valmy\n75010 Paris", "FR", "FR42000000010", "books", 33),
    YearAgency("20", "Maison Lumière SAS", "5 rue du Port\n13002 Marseille", "FR", "FR72000000020", "home", 27),
    YearAgency(
        "21", "Fromagerie des Alpes", "1 place Notre-Dame\n38000 Grenoble", "FR", "FR05000000030", "food", 16, months=7
    ),
    YearAgency(
        "22",
        "Atelier Céleste",
        "8 rue Haute\n67000 Strasbourg",
        "FR",
        "FR35000000040",
        "craft",
        9,
        pays_after=26,
        months=9,
    ),
    YearAgency(
        *("23", "Jouets Petit Ours SARL", "30 rue Sainte\n44000 Nantes", "FR", "FR65000000050", "toys", 18),
        iban="FR1420041010050500013M02606",
    ),
    YearAgency(*("24", "Vélo & Vent SAS", "2 cours Gambetta\n69003 Lyon", "FR", "FR95000000060", "home", 11), growth=9),
    YearAgency(
        "25", "Librería Azahar S.L.", "Plaza Feria 14\n41003 Sevilla", "ES", "ESB00000018", "books", 17, months=10
    ),
    YearAgency("26", "Cerámica del Sur S.L.", "Plaza Alta 3\n18009 Granada", "ES", "ESB00000026", "craft", 14),
    YearAgency("27", "Aceites Olivar S.A.", "Avenida de Jaén 51\n23700 Linares", "ES", "ESB00000034", "food", 22),
    YearAgency("28", "Moda Mediterránea S.L.", "Plaça Nova 9\n46002 València", "ES", "ESB00000042", "fashion", 31),
    YearAgency(
        *("29", "Juguetería Luna S.L.", "Gran Vía 40\n28013 Madrid", "ES", "ESB00000059", "toys", 15),
        iban="ES8321000418460200051330",
        months=6,
    ),
    YearAgency("30", "Boekhandel De Brug B.V.", "Oudegracht 77\n3511 AD Utrecht", "NL", "NL000000012B01", "books", 24),
    YearAgency(
        *("31", "Grachtenhuis Wonen B.V.", "Herengracht 5\n1015 BA Amsterdam", "NL", "NL000000024B01", "home", 36),
        growth=0.08,
    ),
    YearAgency(
        "32",
        "Kaasmakerij Van Dijk",
        "Dorpsstraat 1\n1141 BB Monnickendam",
        "NL",
        "NL000000036B01",
        "food",
        11,
        months=8,
    ),
    YearAgency(
        *("33", "Tuinhuis Tulp B.V.", "Laan 60\n2161 EK Lisse", "NL", "NL000000048B01", "garden", 20),
        iban="NL64ABNA0417164301",
    ),
    YearAgency(
        "34", "Fietsatelier Zuid", "Maasboulevard 8\n3063 NS Rotterdam", "NL", "NL000000061B01", "fashion", 10, months=5
    ),
    YearAgency("35", "Księgarnia Pod Lipą", "ul. Długa 12\n31-147 Kraków", "PL", "PL9990000103", "books", 14),
    YearAgency("36", "Świat Zabawek Sp. z o.o.", "ul. Piękna 7\n00-539 Warszawa", "PL", "PL9990000126", "toys", 21),
    YearAgency(
        *("37", "Bursztyn Gdańsk", "ul. Mariacka 3\n80-833 Gdańsk", "PL", "PL9990000132", "craft", 12),
        iban="PL61109010140000071219812874",
        months=9,
    ),
    YearAgency(
        "38", "Łódzkie Tkaniny S.A.", "ul. Piotrkowska 90\n90-103 Łódź", "PL", "PL9990000149", "fashion", 13, months=7
    ),
    YearAgency("39", "Ελαιώνας Α.Ε.", "Οδός Ερμού 18\n105 63 Αθήνα", "GR", "EL000000012", "food", 12, months=6),  # noqa: RUF001 - Greek
    YearAgency("40", "Thames Toys Ltd", "4 Wharf Road\nLondon SE1 9AA", "GB", "", "toys", 40, ("GBP",)),
    YearAgency("41", "Highland Woollens Ltd", "1 Castle Street\nInverness IV2 3DU", "GB", "", "fashion", 16, ("GBP",)),
    YearAgency("42", "Harbour Books Ltd", "1 Quay Street\nBristol BS1 4ER", "GB", "", "books", 66, ("GBP", "EUR")),
    YearAgency(
        "43", "Quay & Sons Ltd", "2 Quay Street\nBristol BS1 4ER", "GB", "", "home", 22, ("GBP",), pays_after=19
    ),
    YearAgency(
        *("44", "Cotswold Garden Company", "Mill Lane\nCirencester GL7 2NE", "GB", "", "garden", 23, ("GBP",)),
        iban="GB55WEST12345698765433",
    ),
    YearAgency(
        "45", "Pennine Pantry LLP", "9 Market Place\nHexham NE46 1XQ", "GB", "", "food", 15, ("GBP",), months=10
    ),
    YearAgency("46", "株式会社さくら工芸", "横浜市中区海岸通1-2", "JP", "", "craft", 24, ("JPY",)),
    YearAgency("47", "有限会社みどり園", "京都市左京区下鴨4", "JP", "", "food", 13, ("JPY",), pays_after=12, months=8),
    YearAgency("48", "合同会社ほしぞら", "札幌市中央区北1条西3", "JP", "", "toys", 10, ("JPY",), months=4),
    YearAgency(
        "49", "Seifenmanufaktur Halle GmbH", "Saalestraße 12\n06108 Halle", "DE", "DE999900104", "", 24, months=3
    ),
)
"""The forty agencies, by id."""
RATE_CARDS: Final[Mapping[str, tuple[Mapping[str, Any], ...]]] = {
    "rate-card:group/books": ({"percent": "9"}, {"category": "rare books", "percent": "12.5"}),
    "rate-card:group/home": ({"percent": "12"},),
    "rate-card:group/food": ({"percent": "7.5"}, {"location": "GB", "percent": "8"}),
    "rate-card:group/garden": ({"percent": "11"},),
    "rate-card:group/toys": ({"percent": "10.25"},),
    "rate-card:group/fashion": ({"percent": "14"},),
    "rate-card:group/craft": (
        {"percent": "13"},
        {"currency": "JPY", "charges": [{"name": "commission", "percent": "11", "fixed": "30", "minimum": "50"}]},
    ),
    "rate-card:42": (
        {"percent": "8"},
        {
            "category": "rare books",
            "currency": "GBP",
            "charges": [{"name": "commission", "percent": "10", "fixed": "0.30", "minimum": "1"}],
        },
    ),
}
"""The rules of the rate cards, by document."""
