"""The endpoint that a deployment is rehearsed against: moto in a separate process. Prints its port, then serves.

One request at a time, as moto's transactions know nothing of threads. Adjusted as the emulator's: moto alone
refuses the insertions of the ledger.
"""

from moto.awslambda.models import LambdaBackend
from moto.cloudformation.parsing import NULL_MODELS
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server

from quarterhour_tools.emulator.embedded import adjusted

# Its event source mappings would run each record in a container, and empty the stream.
LambdaBackend.send_dynamodb_items = lambda *_: b""  # type: ignore[method-assign]

# It makes no alarms, and so cannot make a dashboard that shows some.
NULL_MODELS.append("AWS::CloudWatch::Dashboard")
# It makes no aliases, and so cannot permit anybody to invoke one.
NULL_MODELS.append("AWS::Lambda::Permission")

server = make_server("127.0.0.1", 0, DomainDispatcherApplication(create_backend_app))
print(server.port, flush=True)  # noqa: T201 - it is what this program tells
with adjusted:
    server.serve_forever()
