"""Orders that clients send and change, what each reader sees of them, and what the ledger must hold of them."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from quarterhour.ledger.events.billed import SOURCE
from quarterhour.model import clock, money
from quarterhour.model.clock import ManualClock
from quarterhour.orders.events import refund, sale
from quarterhour.orders.plan import INDEX_LAG
from quarterhour_tools.emulator.http_api import Request, Response
from tests.invariants.trial import Trial
from tests.support.events import Cloud, void
from tests.support.events import refund as given_back

CURRENCY = "GBP"
PAGE = 1000

Body = dict[str, Any]


def order(id_: str, *amounts: str, customer: str = "ann") -> Body:
    """Return an order with an item of each amount."""
    items = [
        {"agency": str(number % 2), "product": f"P-{number}", "amount": amount} for number, amount in enumerate(amounts)
    ]
    return {"order": id_, "customer": customer, "currency": CURRENCY, "items": items}


class OrderBook:
    """All orders of a world, and what their clients know of them."""

    def __init__(self, world: Trial) -> None:
        self._world = world
        self.sent: dict[str, list[Body]] = {}
        self.taken: dict[str, Body] = {}
        """What was answered as created, or as there, by order."""

    def close(self) -> None:
        """Forget the orders: what comes after is another round."""
        self.sent.clear()
        self.taken.clear()

    # ------------------------------------------------------------ the clients

    def create(self, body: Body) -> int | None:
        """Send an order once; return the status, ``None`` where no answer came."""
        contents = self.sent.setdefault(body["order"], [])
        contents += [] if body in contents else [body]
        answer = self._world.request("write", "POST", "/orders", body)
        if answer and answer.status in {200, 201}:
            assert self.taken.setdefault(body["order"], body) == body, "two contents of one order were taken"
        return answer.status if answer else None

    def create_again(self) -> None:
        """Send all orders again that have no answer yet."""
        for id_ in self.sent.keys() - self.taken.keys():
            for body in list(self.sent[id_]):
                self.create(body)

    def change(self, id_: str, before: str, after: str) -> int | None:
        """Ask for a change of status once; return the status, ``None`` where no answer came."""
        answer = self._world.request("write", "PUT", f"/orders/{id_}/status", {"from": before, "to": after})
        return answer.status if answer else None

    def give_back(self, id_: str, amount: str, number: int = 0, line: int = 1) -> list[str]:
        """Refund a part of an item by hand; return the verdict, none where no answer came."""
        agency = str((line - 1) % 2)
        part = given_back(f"{id_}:{line}:part-{number}", amount, f"{id_}:{line}", agency=agency)
        return self._world.send([{**part, "source": SOURCE}])

    def void_line(self, id_: str, line: int = 1) -> list[str]:
        """Void the sale of an item by hand, from another source; return the verdict, none where no answer came."""
        agency, sold = str((line - 1) % 2), f"{id_}:{line}"
        return self._world.send([void(f"void-{id_}-{line}", sold, agency=agency, refers_to_source=SOURCE)])

    # ------------------------------------------------------------ what readers see

    def look(self) -> None:
        """Hold every reader's view of every order: all of it or nothing, and what was taken is there."""
        # As a moment later, when what was written is in the indexes.
        with clock.using(ManualClock(self._world.clock.now() + INDEX_LAG)):
            for id_, bodies in self.sent.items():
                self._look_at(id_, bodies)

    def _look_at(self, id_: str, bodies: list[Body]) -> None:
        answer = self._read(f"/orders/{id_}", limit=PAGE)
        found = answer.json() if answer.status == 200 else None
        assert found or answer.status == 404
        assert found or id_ not in self.taken, "an order that was answered is not there"
        shown = _content(found["items"]) if found else []
        assert shown in [[], *(_content(body["items"]) for body in bodies)], "an order is there in part"
        if id_ in self.taken:
            assert shown == _content(self.taken[id_]["items"]), "not what was taken"
        there = [id_] if found else []
        customer = bodies[0]["customer"]
        assert self._listed(f"/customers/{customer}/orders", id_) == there
        assert _content(self._items(f"/customers/{customer}/items", id_)) == sorted(shown)
        queues = [one for status in ("open", "paid", "shipped") for one in self._listed("/orders", id_, status=status)]
        waiting = found and found["status"] in {"open", "paid", "shipped"}
        assert queues == (there if waiting else [])

    def _listed(self, path: str, id_: str, **parameters: object) -> list[str]:
        return [one["order"] for one in self._items(path, id_, **parameters)]

    def _items(self, path: str, id_: str, **parameters: object) -> list[Body]:
        items = self._read(path, limit=PAGE, **parameters).json()["items"]
        return [one for one in items if one["order"] == id_]

    def _read(self, path: str, **parameters: object) -> Response:
        return self._world.stack.request(Request("GET", path, urlencode(parameters)))

    # ------------------------------------------------------------ what the ledger must hold

    def expect(self) -> None:
        """Add the events that the ledger must hold, by the history of each order."""
        for id_ in self.sent:
            answer = self._read(f"/orders/{id_}", limit=PAGE)
            for cloud in self._due(answer.json()) if answer.status == 200 else ():
                self._world.sent.setdefault(cloud["id"], []).append(cloud)
                self._world.accepted[cloud["id"]] = cloud

    def _due(self, found: Body) -> Iterator[Cloud]:
        statuses = [entry["status"] for entry in found["history"]]
        assert len(set(statuses)) == len(statuses), "a status came twice"
        if "paid" in statuses:
            for item in found["items"]:
                line, facts = item["line"], {name: value for name, value in item.items() if name != "line"}
                sold = sale(
                    found["order"],
                    line,
                    facts,
                    currency=found["currency"],
                    customer=found.get("customer"),
                    placed_at=found["placed_at"],
                )
                yield sold
                if statuses[-1] == "cancelled":
                    yield self._rest(refund(sold, found["history"][-1]["at"]))

    def _rest(self, whole: Cloud) -> Cloud:
        """Return the refund of what nothing else has given back."""
        of = whole["data"]["refers_to"]
        rest = Decimal(whole["data"]["amount"])
        for other in self._world.ledger():
            if other["id"] != whole["id"] and other.get("refers_to") == of:
                rest = money.add(rest, money.negated(Decimal(other["amount"])))
        return {**whole, "data": {**whole["data"], "amount": money.plain(rest)}}


def _content(items: list[Body]) -> list[tuple[str, str]]:
    return [(one["product"], one["amount"]) for one in items]
