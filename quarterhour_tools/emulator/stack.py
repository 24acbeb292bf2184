"""The whole system in one process: the template's tables, S3 bucket and queues on an engine, and its functions."""

import json
import os
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final, TextIO
from uuid import UUID, uuid4, uuid5

from quarterhour.aws.items import to_item
from quarterhour.model import clock, exact_json
from quarterhour.model.errors import InvalidError, SettingsError
from quarterhour.model.periods import Calendar
from quarterhour.model.quarter_hours import GRACE
from quarterhour.registry.settings.settings import Settings, first_version, settings_of
from quarterhour_tools.emulator.authorizer import MACHINE, JwtAuthorizer, UnauthorizedError, bearer, is_signed
from quarterhour_tools.emulator.context import Context, ends_page, function_arn
from quarterhour_tools.emulator.direct import (
    ACCOUNT,
    REGION,
    EmbeddedBucket,
    create_bucket,
    create_queue,
    create_schedule,
)
from quarterhour_tools.emulator.engines import Engine, environment, open_engine
from quarterhour_tools.emulator.faults import Faults, Killed
from quarterhour_tools.emulator.http_api import (
    Request,
    Response,
    event,
    message,
    path_parameters,
    response,
    template_path,
)
from quarterhour_tools.emulator.loading import load
from quarterhour_tools.emulator.pump import Pump
from quarterhour_tools.emulator.queue_pump import QueuePump
from quarterhour_tools.emulator.schedules import Schedule, actual_schedule, create_request
from quarterhour_tools.emulator.standard_output import STANDARD_OUTPUT
from quarterhour_tools.emulator.state_machines import StateMachines
from quarterhour_tools.emulator.template import (
    REF,
    TEMPLATE,
    Function,
    QueueLimits,
    Route,
    Template,
    notifications_request,
    table_request,
)
from quarterhour_tools.errors import ToolError

if TYPE_CHECKING:
    from quarterhour_tools.emulator.event_source import EventSource

_REQUESTS: Final = UUID(int=0)
"""The namespace of the ids of requests."""
# Never closed: the functions' logger keeps it for the life of the process.
_NOWHERE: Final = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115


class DiedError(Exception):
    """A function's process ended during an invocation."""


class Stack:
    """A deployment of the template on an engine; its data end with the engine.

    A stack is not thread-safe: several threads must take turns.
    """

    others_wait: Callable[[], bool] = staticmethod(lambda: False)
    """Whether other requests wait for the one that is answered; a server says so."""

    def __init__(  # noqa: PLR0913 - all but two are options
        self,
        template: Template,
        engine: Engine,
        *,
        plain: bool = False,
        expires: bool = True,
        anonymous: bool = True,
        logs: TextIO = _NOWHERE,
        faults: Faults | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Create the resources.

        ``plain``: name tables, S3 buckets and queues by their logical ids, as `sam local` does; only for an engine that
        holds no other stack. ``expires``: let the engine delete expired items, by the machine's clock. ``anonymous``,
        which may change: take a request without token and signature for a machine's; else it is refused. ``logs``
        receives the functions' logs. ``faults`` occur while a function runs; one that is killed raises ``DiedError``.
        ``variables`` are added to the environment of each function.
        """
        self.template = template
        self.engine = engine
        self.name = f"quarterhour-{uuid4().hex[:8]}"
        self._prefix = "" if plain else f"{self.name}-"
        self.anonymous = anonymous
        self._logs = logs
        self._faults = faults
        self.settings = Settings()
        """Those of finance, as the stack was opened with."""
        self._known: dict[tuple[str, str], str] = {}
        self._invocations = Counter[str]()
        self._dynamodb = engine.dynamodb()
        self._sqs = engine.sqs()
        self._create_queues()
        self._create_buckets()
        self._create_tables(expires=expires)
        self._create_rules()
        self._machines = self._state_machines()
        self.functions = template.functions(self._attribute)
        if variables:
            self.functions = {
                name: replace(one, environment={**one.environment, **variables}) for name, one in self.functions.items()
            }
        self._people = self._authorizer()
        self._open = {route: name for route, name in template.open_routes().items() if name in self.functions}
        self._modules: dict[str, ModuleType] = {}
        self.pumps = list(self._event_sources())
        self._scheduler = engine.scheduler()
        self._schedules = dict(self._create_schedules())

    def _event_sources(self) -> Iterator["EventSource"]:
        """Yield what delivers the records of streams, and the messages of queues, to the functions."""
        streams = self.engine.streams()
        for name, function in self.functions.items():
            for mapping in function.mappings:
                yield Pump(mapping, function_arn(name), partial(self.invoke, name), streams, self._sqs)
        for name, function in self.functions.items():
            for queue in function.queues:
                limits = self._limits(queue.queue)
                yield QueuePump(queue, limits, function_arn(name), partial(self.invoke, name), self._sqs)

    # ------------------------------------------------------------ for the tools

    def ref(self, resource: str) -> str:
        """Return the value of ``!Ref`` for a resource: the name of a table or S3 bucket, the URL of a queue."""
        return self._attribute(resource, REF)

    @property
    def dynamodb(self) -> Any:  # noqa: ANN401 - the stubs are no dependency
        """The tools' DynamoDB client."""
        return self._dynamodb

    @property
    def bucket(self) -> EmbeddedBucket:
        """The S3 bucket of the sealed reports; S3 is embedded, whatever the engine."""
        return EmbeddedBucket(self.ref("ReportBucket"))

    @property
    def grace(self) -> timedelta:
        """The time from the end of a quarter-hour until it may be sealed."""
        return GRACE

    @property
    def calendar(self) -> Calendar:
        """The calendar of now, by the settings that it was opened with."""
        return self.settings.calendars.at(clock.now())

    def write_settings(self, content: Mapping[str, Any]) -> None:
        """Write the settings before anything is recorded; raise ``ToolError`` with every problem in them."""
        try:
            items = first_version(exact_json.parse(json.dumps(content)), "deployment", clock.now())
        except InvalidError as error:
            raise ToolError(str(error)) from error
        for item in items:
            self._dynamodb.put_item(TableName=self.ref("EntityTable"), Item=to_item(item))
        self.settings = settings_of(items[0])

    def schedules(self) -> list[Schedule]:
        """Return the current schedules; the functions may change them."""
        return [
            actual_schedule(function, self._scheduler.get_schedule(Name=name))
            for name, function in self._schedules.items()
        ]

    def read_streams(self, now: datetime) -> None:
        """Queue all new stream records, and all messages of queues, for delivery."""
        for pump in self.pumps:
            pump.read(now)
        self.engine.forget_records({pump.mapping.stream for pump in self.pumps if isinstance(pump, Pump)})

    # ------------------------------------------------------------ invocations

    def invoke(self, name: str, event_: Mapping[str, Any], seconds: float | None = None) -> Any:  # noqa: ANN401
        """Invoke a function; return its result or raise its exception. ``seconds`` replaces its timeout.

        The executions that it starts end before this returns.
        """
        try:
            return self._invoke(name, event_, seconds)
        finally:
            self.complete_executions()

    def complete_executions(self) -> None:
        """Run the functions that the state machines invoke, until every execution has ended."""
        self._machines.complete(self._invoke)

    def _invoke(self, name: str, event_: Mapping[str, Any], seconds: float | None = None) -> Any:  # noqa: ANN401
        function = self.functions[name]
        allowed = function.timeout.total_seconds() if seconds is None else seconds
        # By function and in their order, as the positions of segments follow from them: each replay writes the same
        # bytes, however often the other functions run.
        self._invocations[name] += 1
        request_id = str(uuid5(_REQUESTS, f"{name} {self._invocations[name]}"))
        context = Context(name, function.memory, request_id, time.monotonic() + allowed, ends_page(event_, self))
        try:
            with (
                STANDARD_OUTPUT.logged(self._logs),
                self._faults.at_work() if self._faults else nullcontext(),
                self._environment(function),
            ):
                return self._handler(function)(event_, context)
        except Killed as death:
            if self._faults is None:
                raise
            self.cold_start(name)
            raise DiedError(f"{name} died at call {death}") from None
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
            traceback.print_exc(file=self._logs)
            raise

    def start(self) -> None:
        """Start every function; raise ``ToolError`` if one refuses its settings, which a parameter may have set."""
        try:
            with STANDARD_OUTPUT.logged(self._logs):
                for function in self.functions.values():
                    self._handler(function)
        except SettingsError as error:
            raise ToolError(str(error)) from error

    def answered_routes(self) -> dict[Route, str]:
        """Return the routes that functions answer, each with its function: those registered, or the template's.

        A greedy route of the template leads to many that its function registers.
        """
        routes = {}
        for function in self.functions.values():
            registered = getattr(self._module(function), "routes", None) if function.routes else None
            with self._environment(function):
                operations = registered.operations if registered else ()
            own = [Route(one.method, template_path(one.rule)) for one in operations]
            routes.update(dict.fromkeys(own or function.routes, function.name))
        return routes

    def cold_start(self, name: str) -> None:
        """End a function's process: its next invocation starts a new one."""
        self._modules.pop(name, None)

    def request(self, request: Request) -> Response:
        """Answer an HTTP request as the API does; one with a token, or to an open route, as the people's API does."""
        if self._matching(request, self._open):
            return self._routed(request, self._open, {})
        token = bearer(request)
        if token is None:
            if not self.is_machine(request):
                return message(401, "Unauthorized")
            return self._routed(request, self._routes, MACHINE)
        if self._people is None:
            return message(403, "Forbidden")
        try:
            authorized = self._people.authorize(token)
        except UnauthorizedError as error:
            print(f"refused a token: {error}", file=self._logs)
            return message(401, "Unauthorized")
        return self._routed(request, self.template.people_routes(), authorized)

    def is_machine(self, request: Request) -> bool:
        """Return whether a request without a token is a machine's. Its signature is not checked."""
        return self.anonymous or is_signed(request)

    def _routed(self, request: Request, routes: Mapping[Route, str], authorizer: Mapping[str, Any]) -> Response:
        for route in self._matching(request, routes):
            parameters = path_parameters(route, request.path) or {}
            return self._answer(routes[route], event(route, parameters, request, authorizer, clock.now()))
        return message(404, "Not Found")

    @staticmethod
    def _matching(request: Request, routes: Iterable[Route]) -> list[Route]:
        """Return the routes that a request matches; as in API Gateway, a full match precedes a greedy one."""
        found = [
            route
            for route in routes
            if route.method in {request.method, "ANY"} and path_parameters(route, request.path) is not None
        ]
        return sorted(found, key=lambda route: (route.path.endswith("+}"), -len(route.path)))

    def _authorizer(self) -> JwtAuthorizer | None:
        """Return the authorizer of people's tokens; ``None`` if the parameters name no issuer."""
        for authorizer in self.template.resources("AWS::ApiGatewayV2::Authorizer").values():
            jwt = self.template.resolve(authorizer["JwtConfiguration"], self._attribute)
            if jwt["Issuer"]:
                return JwtAuthorizer(jwt["Issuer"], tuple(jwt["Audience"]))
        return None

    @property
    def _routes(self) -> dict[Route, str]:
        return {route: name for name, function in self.functions.items() for route in function.routes}

    def _answer(self, name: str, event_: dict[str, Any]) -> Response:
        try:
            return response(self.invoke(name, event_))
        except Exception:  # noqa: BLE001 - API Gateway answers any exception of a function with 500
            return message(500, "Internal Server Error")

    # ------------------------------------------------------------ resources

    def _attribute(self, resource: str, name: str) -> str:
        """Return an attribute of a resource; for a resource that the emulator does not create, a made-up name."""
        return self._known.get((resource, name), f"{self.name}-{resource}-{name}")

    def _create_queues(self) -> None:
        for logical in self.template.deployed("AWS::SQS::Queue"):
            name = f"{self._prefix}{logical}"
            self._known[logical, REF] = create_queue(name)
            self._known[logical, "Arn"] = f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"

    def _create_buckets(self) -> None:
        for logical, properties in self.template.deployed("AWS::S3::Bucket").items():
            # Lower case, as in AWS; the links of an upper-case name would have another form.
            name = f"{self._prefix}{logical.lower()}" if self._prefix else logical
            create_bucket(name)
            self._known[logical, REF] = name
            self._known[logical, "Arn"] = f"arn:aws:s3:::{name}"
            given = {one: properties[one] for one in ("NotificationConfiguration",) if one in properties}
            if notifications := self.template.resolve(given, self._attribute).get("NotificationConfiguration"):
                request: Any = notifications_request(notifications)
                self.engine.s3().put_bucket_notification_configuration(Bucket=name, NotificationConfiguration=request)

    def _create_rules(self) -> None:
        """Create the rules that send events of the default bus to queues."""
        events = self.engine.events()
        for logical, properties in self.template.deployed("AWS::Events::Rule").items():
            rule = self.template.resolve(properties, self._attribute)
            name = f"{self._prefix}{logical}"
            events.put_rule(Name=name, EventPattern=json.dumps(rule["EventPattern"]))
            targets = [{"Id": one["Id"], "Arn": one["Arn"]} for one in rule["Targets"]]
            events.put_targets(Rule=name, Targets=targets)

    def _limits(self, queue: str) -> QueueLimits:
        """Return the limits of a queue by its ARN."""
        logical = next(name for (name, kind), arn in self._known.items() if kind == "Arn" and arn == queue)
        return self.template.queue_limits(logical, self._attribute)

    def _create_tables(self, *, expires: bool) -> None:
        for logical, properties in self.template.deployed("AWS::DynamoDB::Table").items():
            name = f"{self._prefix}{logical}"
            lifetime = properties.get("TimeToLiveSpecification") if expires else None
            made = self.engine.create_table(table_request(name, properties), lifetime)
            self._known[logical, REF] = name
            self._known[logical, "Arn"] = made["TableArn"]
            self._known[logical, "StreamArn"] = made.get("LatestStreamArn", "")

    def _create_schedules(self) -> Iterator[tuple[str, str]]:
        """Create the schedules of the functions; yield the name of each schedule and of its function."""
        role = f"arn:aws:iam::{ACCOUNT}:role/{self.name}"
        for function in self.functions.values():
            for timer in function.schedules:
                name = timer.name or f"{self.name}-{function.name}"
                request = create_request(name, timer.expression, function_arn(function.name), role)
                create_schedule(request)
                yield name, function.name

    def close(self) -> None:
        """End the executions; the embedded engine ends with its last user."""
        self._machines.close()

    def drop(self) -> None:
        """Delete the tables: an engine at a URL keeps running after the stack."""
        self.close()
        for logical in self.template.deployed("AWS::DynamoDB::Table"):
            self._dynamodb.delete_table(TableName=self.ref(logical))

    def _state_machines(self) -> StateMachines:
        """Return the state machines; their definitions hold ARNs of functions that no other stack has."""
        functions = {}
        for logical, name in self.template.function_names().items():
            arn = self._known[logical, "Arn"] = function_arn(f"{self.name}-{name}")
            functions[arn] = name
        machines = {
            f"arn:aws:states:{REGION}:{ACCOUNT}:stateMachine:{machine.name}": machine
            for machine in self.template.state_machines(self._attribute)
        }
        return StateMachines(machines, functions, ACCOUNT, REGION)

    # ------------------------------------------------------------ functions

    def _handler(self, function: Function) -> Any:  # noqa: ANN401 - a module may define anything
        return getattr(self._module(function), function.handler.rpartition(".")[2])

    def _environment(self, function: Function) -> AbstractContextManager[None]:
        """Return the environment of a function with rooms, which make clients at the first request for them."""
        routes = getattr(self._module(function), "routes", None)
        return nullcontext() if routes is None else environment(function.environment, shared=True, whole=False)

    def _module(self, function: Function) -> ModuleType:
        if function.name not in self._modules:
            self._modules[function.name] = load(function, f"{self.name}.{function.name}")
            STANDARD_OUTPUT.bind_loggers(self._logs)
        return self._modules[function.name]


@contextmanager
def open_stack(  # noqa: PLR0913 - all but two are options
    choice: str,
    parameters: Mapping[str, str | int] | None = None,
    *,
    s3_url: str = "",
    plain: bool = False,
    virtual: bool = False,
    executes: bool = True,
    anonymous: bool = True,
    logs: TextIO = _NOWHERE,
    faults: Faults | None = None,
    local_receivers: bool = False,
    settings: Mapping[str, Any] | None = None,
) -> Iterator[Stack]:
    """Open an engine and deploy the template on it for the length of the block.

    ``s3_url``: the address in the API's signed links. ``virtual``: the ledger's clock differs from the machine's, so
    the engine must not expire items. ``executes``: execute the state machines that functions start. ``plain``,
    ``anonymous``, ``logs`` and ``faults`` are as for ``Stack``. ``local_receivers``: webhooks may be sent to this
    machine, too, which no deployment on AWS allows. ``settings``: the content of the document, if there is one.
    """
    with open_engine(choice, s3_url, executes=executes) as engine:
        template = Template.load(TEMPLATE, parameters)
        variables = {
            "CONNECTIONS_URL": s3_url if template.holds("TakesIn") else "",
            "AWS_ENDPOINT_URL_DYNAMODB": engine.dynamodb_url,
            "AWS_ENDPOINT_URL_S3": s3_url,
            "QUARTERHOUR_WORKERS": "1" if engine.embedded else "",
            "QUARTERHOUR_LOCAL_RECEIVERS": "on" if local_receivers else "",
        }
        stack = Stack(
            template,
            engine,
            plain=plain,
            expires=not virtual,
            anonymous=anonymous,
            logs=logs,
            faults=faults,
            variables={name: value for name, value in variables.items() if value},
        )
        if settings:
            stack.write_settings(settings)
        try:
            yield stack
        finally:
            if engine.dynamodb_url:
                stack.drop()
            else:
                stack.close()
