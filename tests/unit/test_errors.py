"""The tree of exceptions, the table of codes, and what each says."""

from __future__ import annotations

import re
import typing

import pytest
from msgspec import UNSET

from parley import errors
from parley.errors import (
    AcpError,
    AuthRequired,
    BudgetSpent,
    ConnectFailed,
    ConnectionClosed,
    InternalError,
    InvalidParams,
    InvalidRequest,
    JournalError,
    LocalProtocolError,
    MalformedValue,
    MethodNotFound,
    ModelFailed,
    OptionRefused,
    Overloaded,
    ParseError,
    ProcessExited,
    ProtocolError,
    RemoteProtocolError,
    RequestCancelled,
    RequestError,
    ResourceNotFound,
    TransportError,
    Unsupported,
    UnsupportedProtocolVersion,
    VersionMismatch,
    as_request_error,
    request_error,
)
from parley.schema.v1 import errors as v1_errors
from parley.schema.v2 import errors as v2_errors

CODES: dict[type[RequestError], int] = {
    ParseError: -32700,
    InvalidRequest: -32600,
    MethodNotFound: -32601,
    InvalidParams: -32602,
    InternalError: -32603,
    AuthRequired: -32000,
    ResourceNotFound: -32002,
    Overloaded: -32005,
    BudgetSpent: -32006,
    UnsupportedProtocolVersion: -32022,
    RequestCancelled: -32800,
}


@pytest.mark.parametrize(
    ("kind", "parent"),
    [
        (ProtocolError, AcpError),
        (MalformedValue, ProtocolError),
        (LocalProtocolError, ProtocolError),
        (RemoteProtocolError, ProtocolError),
        (TransportError, AcpError),
        (ConnectFailed, TransportError),
        (ConnectionClosed, TransportError),
        (ProcessExited, ConnectionClosed),
        (RequestError, AcpError),
        (VersionMismatch, AcpError),
        (Unsupported, AcpError),
        (JournalError, AcpError),
        (ModelFailed, AcpError),
        (OptionRefused, AcpError),
        *((kind, RequestError) for kind in CODES),
    ],
)
def test_who_must_act_is_told_by_the_parent(kind: type, parent: type) -> None:
    assert kind.__bases__ == (parent,)


def test_the_tree_in_the_docstring_names_every_exception() -> None:
    assert errors.__doc__ is not None
    tree = errors.__doc__.split("```")[1]
    named = set(re.findall(r"\b[A-Z]\w+[a-z]\b", re.sub(r"\([^)]*\)", "", tree)))
    exported = {name for name in errors.__all__ if isinstance(getattr(errors, name), type)}
    assert named == exported


@pytest.mark.parametrize(("kind", "code"), CODES.items())
def test_a_known_code_arrives_as_its_class(kind: type[RequestError], code: int) -> None:
    error = request_error(code, "why", {"a": 1})
    assert type(error) is kind
    assert (error.code, error.message, error.data) == (code, "why", {"a": 1})
    assert str(error) == f"why ({code})"


@pytest.mark.parametrize(("kind", "code"), CODES.items())
def test_a_known_error_has_a_code_and_a_text_of_its_own(
    kind: type[RequestError], code: int
) -> None:
    error = kind()
    assert (error.code, error.message, error.data) == (code, kind.text, UNSET)
    assert error.message
    assert "\n" not in error.message


def test_an_unknown_code_arrives_as_it_is() -> None:
    error = request_error(-31999, "odd")
    assert type(error) is RequestError
    assert (error.code, error.message, error.data) == (-31999, "odd", UNSET)


def test_an_empty_text_and_null_data_are_kept() -> None:
    error = request_error(-32603, "", None)
    assert (error.message, error.data) == ("", None)


def test_a_code_can_be_given_without_changing_the_class() -> None:
    assert RequestError("odd", code=5).code == 5
    assert RequestError().code == RequestError.code == -32603


@pytest.mark.parametrize("codes", [v1_errors.ErrorCode, v2_errors.ErrorCode])
def test_every_code_of_the_protocol_has_a_class(codes: object) -> None:
    named = typing.get_args(typing.get_args(codes)[0])
    assert len(named) > 7
    assert set(named) <= set(CODES.values())


def test_a_malformed_value_says_where_and_what() -> None:
    error = MalformedValue("params.prompt[2].text", "expected string")
    assert (error.path, error.problem) == ("params.prompt[2].text", "expected string")
    assert str(error) == "params.prompt[2].text: expected string"


@pytest.mark.parametrize(
    ("code", "stderr", "text"),
    [
        (0, "", "agent exited with code 0"),
        (3, " \n", "agent exited with code 3"),
        (-9, "", "agent was killed by signal 9"),
        (1, "one\ntwo\n", "agent exited with code 1; stderr:\none\ntwo"),
    ],
)
def test_a_process_that_has_ended_says_how(code: int, stderr: str, text: str) -> None:
    error = ProcessExited("agent", code, stderr)
    assert str(error) == text
    assert (error.command, error.code, error.stderr) == ("agent", code, stderr)


def test_the_peer_is_told_what_was_refused_and_what_it_does_not_offer() -> None:
    refused = InvalidParams("No")
    assert as_request_error(refused) is refused
    missing = as_request_error(Unsupported("the client shows no forms"))
    assert isinstance(missing, InvalidRequest)
    assert missing.message == "the client shows no forms"


def test_the_text_of_a_request_error_names_the_place_and_has_the_details() -> None:
    error = InvalidParams(data={"problem": "params.cwd: expected string", "hint": "Send a path"})
    assert str(error) == "Invalid params (-32602): params.cwd: expected string; Send a path"
    error.method, error.peer = "session/new", "painter"
    assert str(error).startswith("painter: session/new: Invalid params (-32602): params.cwd")
    assert error.message == "Invalid params"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (UNSET, "No (-32603)"),
        (None, "No (-32603)"),
        ("why", "No (-32603): why"),
        ({"details": "why", "message": "why"}, "No (-32603): why"),
        ({"details": "No"}, "No (-32603)"),
        ({"details": 5, "other": "x"}, "No (-32603)"),
        ({"details": "\x1b[31mred\nline\u202e"}, "No (-32603): ␛[31mred line\ufffd"),
        (["why"], "No (-32603)"),
        ({"error": {"message": "why", "code": 3}}, "No (-32603): why"),
        ({"details": ["why", {"reason": "because"}, 5]}, "No (-32603): why; because"),
        ({"error": {"error": {"error": {"message": "why"}}}}, "No (-32603)"),
        ({"details": "x" * 10_000}, f"No (-32603): {'x' * 499}…"),
    ],
    ids=[
        "unset",
        "null",
        "text",
        "twice",
        "message",
        "other",
        "controls",
        "list",
        "object",
        "several",
        "deep",
        "long",
    ],
)
def test_the_details_in_the_text_are_one_bounded_line(data: object, text: str) -> None:
    assert str(InternalError("No", data)) == text
    assert InternalError("No", data).description == text.replace(" (-32603)", "")


def test_the_text_of_an_exited_process_has_the_last_lines_of_stderr() -> None:
    written = "".join(f"line {number}\n" for number in range(100)) + "\x1b[31mlast\n"
    error = ProcessExited("agent", 1, written)
    assert str(error).splitlines()[0] == "agent exited with code 1; stderr:"
    shown = str(error).splitlines()[1:]
    assert (len(shown), shown[0], shown[-1]) == (20, "line 81", "last")
    assert error.stderr == written
    assert len(str(ProcessExited("agent", 1, "x" * 100_000))) < 5000


def test_the_text_of_an_exited_process_has_its_errors_rather_than_its_log() -> None:
    log = "".join(f"line {number}\n" for number in range(30))
    error = ProcessExited("agent", 1, f"{log}\x1b[31merror: disk full\x1b[0m\n{log}")
    assert str(error) == "agent exited with code 1; stderr:\nerror: disk full"
