"""The features of an agent follow from the handlers that its program registers."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import Any

import msgspec
import pytest

import parley
from parley.agent import (
    Agent,
    AgentConnection,
    AgentFeatures,
    AgentSession,
    ClientFeatures,
    Login,
    MemoryStore,
    Turn,
)
from parley.errors import AuthRequired, InvalidParams, LocalProtocolError, MethodNotFound
from parley.peer import Limits, RequestContext, TraceContext
from parley.schema import v2
from parley.schema.base import Method, Unknown
from parley.schema.v2 import methods

from .agent_clients import connected_client, connected_raw_client, counting_agent


async def test_an_agent_says_who_it_is() -> None:
    agent = Agent("hello", title="Hello!", version="1.2", meta={"a": 1})
    async with connected_client(agent) as client:
        assert client.adapter.agent.info == v2.Implementation(
            name="hello", title="Hello!", version="1.2"
        )
        assert client.adapter.agent.meta == {"a": 1}


@pytest.mark.requirement("V2-INIT-16")
async def test_an_agent_without_a_prompt_handler_has_no_sessions() -> None:
    async with connected_client(Agent("mute")) as client:
        assert not client.adapter.agent.features.sessions
        params = v2.NewSessionRequest(cwd="/project")
        with pytest.raises(MethodNotFound):
            await client.adapter.peer.request(methods.NEW_SESSION, params)


@pytest.mark.requirement("V2-INIT-14")
async def test_what_a_program_claims_is_offered() -> None:
    claimed = AgentFeatures(image=True, mcp_http=True, fork=True, meta={"_x": {}})
    async with connected_client(counting_agent(claimed)) as client:
        features = client.adapter.agent.features
        assert (features.image, features.mcp_http, features.fork) == (True, True, True)
        assert (features.audio, features.providers, features.auth_status) == (False, False, False)
        assert features.meta == {"_x": {}}


def guarded() -> tuple[Agent, set[str]]:
    """An agent that wants a login, and who is logged in."""
    agent, users = counting_agent(), set[str]()

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        if not users:
            raise AuthRequired()

    @agent.login("browser", name="Log in with a browser")
    async def log_in(login: Login) -> None:
        users.add(login.method_id)

    @agent.logout
    async def log_out(connection: AgentConnection) -> None:
        users.clear()

    agent.terminal_login("terminal", name="In a terminal", args=["login"], env={"A": "1"})
    return agent, users


@pytest.mark.requirement("V2-AUTH-01", "V2-AUTH-04", "V2-AUTH-10", "V2-AUTH-11", "V1-AUTH-19")
async def test_a_login_opens_the_door_and_a_logout_closes_it() -> None:
    agent, _ = guarded()
    async with connected_client(agent) as client:
        with pytest.raises(AuthRequired):
            await client.new()
        await client.request(methods.LOGIN_AUTH, v2.LoginAuthRequest(method_id="browser"))
        await client.new()
        await client.request(methods.LOGOUT_AUTH, v2.LogoutAuthRequest())
        with pytest.raises(AuthRequired):
            await client.new()


@pytest.mark.requirement("V2-AUTH-07", "V1-AUTH-10")
async def test_a_login_in_a_terminal_is_offered_to_who_has_one() -> None:
    agent, _ = guarded()
    async with connected_client(agent) as client:
        browser = v2.AuthMethodAgent(method_id="browser", name="Log in with a browser")
        assert client.adapter.agent.auth_methods == [browser]
    async with connected_client(agent, features=ClientFeatures(terminal_login=True)) as client:
        terminal = client.adapter.agent.auth_methods[1]
        assert terminal == v2.AuthMethodTerminal(
            method_id="terminal",
            name="In a terminal",
            args=["login"],
            env=[v2.EnvVariable(name="A", value="1")],
        )


@pytest.mark.requirement("V2-AUTH-09", "V1-AUTH-05", "V1-INIT-22")
@pytest.mark.parametrize("method_id", ["nope", "terminal"])
async def test_a_login_that_does_not_exist_here_is_refused(method_id: str) -> None:
    agent, users = guarded()
    async with connected_client(agent, features=ClientFeatures(terminal_login=True)) as client:
        params = v2.LoginAuthRequest(method_id=method_id)
        with pytest.raises(InvalidParams):
            await client.adapter.peer.request(methods.LOGIN_AUTH, params)
    assert not users


@pytest.mark.requirement("V2-ELIC-03")
async def test_a_login_may_ask_the_user_on_behalf_of_its_request() -> None:
    agent, responses, questions = Agent("asker"), list[Any](), list[Any]()

    @agent.login("form", name="With a form")
    async def log_in(login: Login) -> None:
        form = {"account": v2.StringPropertySchema()}
        responses.append(await login.elicit("Which account?", form))
        page = await login.elicit_url("Go on there", "https://example.com")
        await page.complete()

    @agent.logout
    async def log_out(connection: AgentConnection) -> None:
        pass

    async def respond(params: Any, request: RequestContext) -> v2.CreateElicitationResponse:
        questions.append(params)
        return v2.ElicitationDeclineAction()

    features = ClientFeatures(form_elicitation=True, url_elicitation=True)
    requests = {methods.CREATE_ELICITATION.name: respond}
    async with connected_client(agent, features=features, requests=requests) as client:
        await client.request(methods.LOGIN_AUTH, v2.LoginAuthRequest(method_id="form"))
    form, page = questions
    assert responses == [v2.ElicitationDeclineAction()]
    assert form.request_id == page.request_id
    assert form.request_id is not None
    assert (form.session_id, page.session_id) == (None, None)


async def test_the_state_of_the_login_and_its_changes_are_reported() -> None:
    agent = counting_agent()
    status = v2.AuthStatusResponse(state="authenticated")

    @agent.auth_status
    async def report_status(connection: AgentConnection) -> v2.AuthStatusResponse:
        return status

    @agent.request("_report")
    async def report(params: Any, connection: AgentConnection) -> None:
        await connection.report_auth_status(status)

    async with connected_raw_client(agent) as client:
        response = await client.initialize()
        assert response["result"]["capabilities"]["auth"] == {"status": {}}
        assert (await client.call("auth/status", {}))["result"] == {"state": "authenticated"}
        (note,), _ = await client.until(client.send("_report", {}))
        assert note["method"] == "auth/status_update"
        assert note["params"] == {"state": "authenticated"}


async def test_providers_are_listed_set_and_disabled() -> None:
    agent = counting_agent()
    main = v2.ProviderInfo(provider_id="main", supported=["openai"], required=False)
    providers = {"main": main}

    @agent.list_providers
    async def list_them(connection: AgentConnection) -> list[v2.ProviderInfo]:
        return list(providers.values())

    @agent.set_provider
    async def set_one(params: v2.SetProviderRequest, connection: AgentConnection) -> None:
        current = v2.ProviderCurrentConfig(api_type=params.api_type, base_url=params.base_url)
        providers["main"] = msgspec.structs.replace(providers["main"], current=current)

    @agent.disable_provider
    async def disable_one(provider_id: str, connection: AgentConnection) -> None:
        providers["main"] = msgspec.structs.replace(providers["main"], current=None)

    async with connected_client(agent) as client:
        assert client.adapter.agent.features.providers
        for id, fits in (("main", True), ("other", False)):
            params = v2.SetProviderRequest(
                provider_id=id, api_type="openai", base_url="https://example.com"
            )
            if fits:
                await client.request(methods.SET_PROVIDER, params)
            else:
                with pytest.raises(InvalidParams):
                    await client.request(methods.SET_PROVIDER, params)
        response = await client.request(methods.LIST_PROVIDERS, v2.ListProvidersRequest())
        assert response.providers == list(providers.values())
        assert response.providers[0].current is not None
        await client.request(
            methods.DISABLE_PROVIDER, v2.DisableProviderRequest(provider_id="main")
        )
        assert providers["main"].current is None


class Greeting(msgspec.Struct):
    name: str


def custom(name: str, kind: Any) -> Method[Any, Any]:
    return Method(name=name, to="agent", kind=kind, params=Any, result=Any)


@pytest.mark.requirement("V2-SDK-04", "V2-EXT-05", "V2-EXT-06")
async def test_methods_of_ones_own_get_typed_params_and_the_connection() -> None:
    agent, received = counting_agent(), asyncio.Queue[Any]()

    @agent.request("_hello/greet")
    async def greet(params: Greeting, connection: AgentConnection) -> dict[str, str]:
        assert connection.client_info is not None
        return {"greeting": f"Hello {params.name} of {connection.client_info.name}"}

    @agent.notification("_hello/heard")
    async def receive(params: Any, connection: AgentConnection) -> None:
        received.put_nowait(params)

    async with connected_client(agent) as client:
        request = custom("_hello/greet", "request")
        assert await client.request(request, {"name": "Ada"}) == {"greeting": "Hello Ada of test"}
        with pytest.raises(InvalidParams):
            await client.request(request, {"name": 1})
        with pytest.raises(MethodNotFound):
            await client.request(custom("_hello/bye", "request"), {})
        await client.adapter.notify(custom("_hello/bye", "notification"), {})
        await client.adapter.notify(custom("_hello/heard", "notification"), {"a": [1]})
        assert await received.get() == {"a": [1]}


def test_a_function_is_registered_once_and_named_rightly() -> None:
    agent = counting_agent()

    async def other(turn: Turn) -> None: ...
    async def respond(params: Any, connection: AgentConnection) -> None: ...

    with pytest.raises(LocalProtocolError, match="already"):
        agent.prompt(other)
    with pytest.raises(LocalProtocolError, match="underscore"):
        agent.request("hello")
    agent.request("_hello")(respond)
    with pytest.raises(LocalProtocolError, match="already"):
        agent.request("_hello")
    agent.terminal_login("terminal", name="In a terminal")
    with pytest.raises(LocalProtocolError, match="already"):
        agent.terminal_login("terminal", name="In a terminal")


def test_a_function_has_to_be_asynchronous() -> None:
    class Handler:
        async def __call__(self, turn: Turn) -> None: ...

    def plain(turn: Turn) -> None: ...

    agent = Agent("plain")
    for register in (agent.prompt, agent.request("_x"), agent.login("x", name="X")):
        with pytest.raises(TypeError, match="async def"):
            register(plain)  # type: ignore[type-var, arg-type]
    agent.prompt(Handler())


async def no_parameters() -> None: ...


REGISTERED: dict[str, Callable[[Agent], Callable[..., Any]]] = {
    "prompt(turn)": lambda agent: agent.prompt,
    "open_session(session)": lambda agent: agent.open_session,
    "close_session(session)": lambda agent: agent.close_session,
    "set_config_option(session, config_id, value)": lambda agent: agent.set_config_option,
    "command(turn, argument)": lambda agent: agent.command("x", description="X"),
    "login(login)": lambda agent: agent.login("x", name="X"),
    "logout(connection)": lambda agent: agent.logout,
    "auth_status(connection)": lambda agent: agent.auth_status,
    "list_providers(connection)": lambda agent: agent.list_providers,
    "set_provider(request, connection)": lambda agent: agent.set_provider,
    "disable_provider(provider_id, connection)": lambda agent: agent.disable_provider,
    "request(params, connection)": lambda agent: agent.request("_x"),
    "notification(params, connection)": lambda agent: agent.notification("_x"),
}


@pytest.mark.parametrize("called", REGISTERED)
def test_a_function_with_other_parameters_is_refused_when_it_is_registered(called: str) -> None:
    name, _, parameters = called.partition("(")
    with pytest.raises(TypeError) as refused:
        REGISTERED[called](Agent("x"))(no_parameters)
    expected = f"@agent.{name} calls its function as no_parameters({parameters}, which"
    assert str(refused.value).startswith(expected)


def test_every_decorator_of_an_agent_checks_its_function() -> None:
    not_decorators = {"asgi", "option", "run", "serve", "terminal_login"}
    methods_of_agents = {
        name for name, value in vars(Agent).items() if callable(value) and not name.startswith("_")
    }
    assert {each.partition("(")[0] for each in REGISTERED} == methods_of_agents - not_decorators


def test_a_decorator_without_its_method_is_explained() -> None:
    with pytest.raises(TypeError, match=r'takes a method name, such as @agent.request\("_example'):
        Agent("x").request(no_parameters)  # type: ignore[arg-type]


async def test_params_are_read_as_the_annotation_says_whatever_is_called() -> None:
    class Greeter:
        async def __call__(self, params: Greeting, connection: AgentConnection) -> str:
            return params.name

    async def greet(extra: str, params: Greeting, connection: AgentConnection) -> str:
        return extra + params.name

    async def first(*arguments: Any) -> Any:
        return arguments[0]["name"]

    agent = Agent("greeter")
    agent.request("_object")(Greeter())
    agent.request("_partial")(partial(greet, "Mrs "))
    agent.request("_any")(first)
    async with connected_client(agent) as client:
        messages = [
            await client.request(custom(name, "request"), {"name": "Ada"})
            for name in ("_object", "_partial", "_any")
        ]
    assert messages == ["Ada", "Mrs Ada", "Ada"]


def test_a_program_that_lacks_a_function_which_another_needs_does_not_start() -> None:
    with_login = counting_agent()
    with_login.terminal_login("terminal", name="In a terminal")
    with pytest.raises(LocalProtocolError, match="logout"):
        with_login.run()
    with_provider = counting_agent()

    @with_provider.disable_provider
    async def disable_one(provider_id: str, connection: AgentConnection) -> None: ...

    with pytest.raises(LocalProtocolError, match="list, set and disable"):
        with_provider.run()


@pytest.mark.requirement("V2-CFG-02", "V2-CFG-05", "V1-CONF-16", "V1-CONF-18", "V1-CONF-21")
async def test_an_option_is_set_and_all_of_them_come_back() -> None:
    agent = counting_agent()
    values = [v2.SessionConfigSelectOption(value=each, name=each) for each in ("fast", "good")]
    group = v2.SessionConfigSelectGroup(group_id="all", name="All", options=values)
    model = v2.SessionConfigSelect(
        config_id="model", name="Model", current_value="fast", options=[group]
    )
    loud = v2.SessionConfigBoolean(config_id="loud", name="Loud", current_value=False)
    changes: list[tuple[str, str | bool]] = []

    @agent.open_session
    async def prepare(session: AgentSession) -> None:
        await session.set_config_options([model, loud])

    @agent.set_config_option
    async def change(session: AgentSession, config_id: str, value: str | bool) -> None:
        changes.append((config_id, session.option(config_id)))
        if value is True and session.option("model") == "fast":
            raise InvalidParams("Not with the fast model")

    async with connected_client(agent) as client:
        session = await client.new()

        async def set_option(id: str, value: str | bool) -> dict[str, str | bool]:
            kind: Any = v2.SetSessionConfigValueRequest
            if isinstance(value, bool):
                kind = v2.SetSessionConfigBooleanRequest
            params = kind(session_id=session, config_id=id, value=value)
            response = await client.request(methods.SET_SESSION_CONFIG_OPTION, params)
            options = [each for each in response.config_options if not isinstance(each, Unknown)]
            return {each.config_id: each.current_value for each in options}

        for id, value in (("nope", "x"), ("model", "bad"), ("model", True), ("loud", "x")):
            with pytest.raises(InvalidParams):
                await set_option(id, value)
        with pytest.raises(InvalidParams, match="no option 'nope'; choose from model, loud"):
            await set_option("nope", "x")
        with pytest.raises(InvalidParams, match="fast model"):
            await set_option("loud", True)
        assert await set_option("model", "good") == {"model": "good", "loud": False}
        assert await set_option("loud", True) == {"model": "good", "loud": True}
        assert changes == [("loud", True), ("model", "good"), ("loud", True)]


class Noting:
    """A tracer that notes the methods that it encloses."""

    def __init__(self) -> None:
        self.inbound_methods: list[str] = []
        self.outbound_methods: list[str] = []

    @contextmanager
    def inbound(self, method: str, trace: TraceContext | None) -> Generator[None]:
        self.inbound_methods.append(method)
        yield

    @contextmanager
    def outbound(self, method: str) -> Generator[TraceContext | None]:
        self.outbound_methods.append(method)
        yield None


@pytest.mark.parametrize("version", [1, 2])
async def test_an_agent_is_traced_and_observed_on_each_connection(version: int) -> None:
    tracer, seen = Noting(), list[str]()
    agent = Agent("traced", tracer=tracer, observer=lambda direction, frame: seen.append(direction))

    @agent.prompt
    async def reply(turn: Turn) -> None:
        await turn.ask_permission("May I?")

    for _ in range(2):
        async with parley.connect(agent, versions=(version,)) as client:
            await (await client.new_session()).prompt("Hello")
    assert tracer.inbound_methods == ["initialize", "session/new", "session/prompt"] * 2
    assert tracer.outbound_methods == ["session/request_permission"] * 2
    assert {"inbound", "outbound"} == set(seen)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"observer": lambda: None}, "observer= calls its function as <lambda>(direction, frame)"),
        ({"response_meta": 5}, "response_meta= takes a function, not int"),
        ({"title": 5}, "title= must be a string, not int"),
        ({"version": 1}, "version= must be a string, not int"),
        ({"features": {}}, "features= must be an AgentFeatures, not dict"),
        ({"store": "x"}, "store= takes an object with the methods of SessionStore (list, get"),
        ({"store": MemoryStore}, "store= takes an object with the methods of SessionStore"),
        ({"limits": {}}, "limits= must be a parley.peer.Limits, not dict"),
        ({"meta": []}, "meta= must be a dict, not list"),
        ({"versions": 1}, "versions= takes a list of protocol versions, not int"),
        ({"max_sessions": True}, "max_sessions= must be a whole number, not bool"),
        ({"cancel_timeout": "5"}, "cancel_timeout= must be a number of seconds, not str"),
    ],
)
def test_a_setting_of_the_wrong_type_is_refused_by_name(options: Any, problem: str) -> None:
    with pytest.raises(TypeError) as refused:
        Agent("x", **options)
    assert str(refused.value).startswith(problem)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"versions": ()}, "versions= takes some of 1, 2, not ()"),
        ({"versions": (2, 3)}, "versions= takes some of 1, 2, not (2, 3)"),
        ({"max_sessions": 0}, "max_sessions= must be at least 1"),
        ({"cancel_timeout": -1}, "cancel_timeout= must not be negative"),
    ],
)
def test_a_setting_that_is_out_of_range_is_refused_by_name(options: Any, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(problem)}$"):
        Agent("x", **options)


def test_the_settings_of_an_agent_are_fixed_when_it_is_created() -> None:
    store = MemoryStore()
    agent = Agent("x", title="X", version="2", store=store)
    assert (agent.name, agent.title, agent.version, agent.store) == ("x", "X", "2", store)
    assert agent.features == AgentFeatures()
    for name in ("name", "title", "version", "features", "store"):
        with pytest.raises(AttributeError):
            setattr(agent, name, None)


async def test_the_limits_of_an_agent_are_those_of_its_connections() -> None:
    async with connected_raw_client(Agent("x", limits=Limits(depth=4))) as client:
        response = await client.call("initialize", {"a": {"b": {"c": {"d": {}}}}})
        assert response["error"]["code"] == -32600
