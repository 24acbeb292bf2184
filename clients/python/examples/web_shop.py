"""A web shop's request handler: a sale is on the disk before the customer sees "thank you". ``URL SPOOL``.

``checkout`` is what a framework calls for a request. The standard library's server stands for one here:
``curl -d '{"order": "1001", "agency": "42", "amount": "19.90"}' http://127.0.0.1:8000/checkout``.
"""

import json
import sys
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from quarterhour_client import Client, EventError, SpoolError, sale


def checkout(client: Client, order: dict[str, str]) -> tuple[int, str]:
    """Record the sale of an order, and return the status and the text of the response."""
    try:
        client.record(
            sale(
                source="web-shop",
                id=f"{order['order']}:paid",  # from our own data: the same in a retry
                agency=order["agency"],
                amount=order["amount"],
                currency="EUR",
                time=datetime.fromisoformat(order["paid_at"]) if "paid_at" in order else None,
                order_id=order["order"],
            )
        )
    except EventError as error:
        return 400, str(error)
    except SpoolError as error:  # full, or the disk fails: nothing was stored, so the shop must not go on
        return 503, str(error)
    return 200, "thank you"


def serve(client: Client, port: int) -> ThreadingHTTPServer:
    """Return a server of the shop."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            order = json.loads(self.rfile.read(int(self.headers["content-length"])))
            status, text = checkout(client, order)
            self.send_response(status)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    return ThreadingHTTPServer(("127.0.0.1", port), Handler)


def main(url: str, spool: str) -> None:
    """Serve until Ctrl-C; then what is recorded is sent."""
    with Client(url, spool) as client, serve(client, 8000) as server:
        print(f"{datetime.now(timezone.utc):%H:%M} open for business; {client.waiting()} sales wait to be sent")
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
