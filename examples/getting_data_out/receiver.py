"""A receiver of Quarterhour's webhooks: checks each signature, and prints each notification once.

Run it with the file that the creation of the subscription answered, and a port: ``python receiver.py erp.json 9000``.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

from standardwebhooks import Webhook, WebhookVerificationError

SECRET = json.loads(Path(sys.argv[1]).read_text("utf-8"))["secret"]
DONE: set[str] = set()
"""The ids of notifications that are done with. Keep them in your database, together with what you do."""


class Receiver(BaseHTTPRequestHandler):
    """Takes deliveries."""

    def do_POST(self) -> None:
        """Check a delivery, and answer before any work that takes long."""
        body = self.rfile.read(int(self.headers["content-length"]))
        try:
            content = Webhook(SECRET).verify(body, dict(self.headers))
        except WebhookVerificationError as error:
            self.send_error(401, str(error))
            return
        id_ = self.headers["webhook-id"]
        if id_ not in DONE:
            DONE.add(id_)
            print(content["type"], json.dumps(content["data"]), flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing else."""


HTTPServer(("127.0.0.1", int(sys.argv[2])), Receiver).serve_forever()
