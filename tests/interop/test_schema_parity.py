"""Our types say what the JSON Schemas of the official TypeScript package say, both ways.

What differs on purpose is listed here with its reason; a reason that is no longer needed fails the
test too. Types of what left the schema or never was in it are listed by name.
"""

from __future__ import annotations

import copy
import importlib
import re
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from tests.schema_types import exported_types, type_stabilities

from parley.schema.base import Method, MethodTable

from .json_schema import Node, definitions
from .parity import Parity

RPC = "an envelope of JSON-RPC, which `parley.rpc` reads"
EXTENSION = "the params and results of extension methods are any JSON"
EXCLUDED: dict[str, str] = {
    **dict.fromkeys(("AgentRequest", "AgentResponse", "AgentNotification"), RPC),
    **dict.fromkeys(("ClientRequest", "ClientResponse", "ClientNotification"), RPC),
    **dict.fromkeys(("ProxyRequest", "ProxyResponse", "ProxyNotification"), RPC),
    **dict.fromkeys(("ExtRequest", "ExtResponse", "ExtNotification"), EXTENSION),
    "ErrorStopReason": "its one field stands in `IdleStateUpdate`, with the stop reasons",
}

# Names of ours that no definition has, beside the classes for the variants of unions.
OURS: dict[int, dict[str, str]] = {
    1: {
        "IdleStopReason": "the words for `IdleStateUpdate.stopReason`, which the schema spells out"
    },
    2: {"StopReason": "the words for `IdleStateUpdate.stopReason`, which the schema spells out"},
}

# What left the schema, and proposals that never were in it.
FORMER: dict[int, set[str]] = {
    version: set(
        f"""
        AcceptNesNotification ClientNesCapabilities CloseNesRequest CloseNesResponse
        NesCapabilities NesContextCapabilities NesDiagnostic NesDiagnosticSeverity
        NesDiagnosticsCapabilities NesDocumentDidChangeCapabilities NesDocumentDidCloseCapabilities
        NesDocumentDidFocusCapabilities NesDocumentDidOpenCapabilities
        NesDocumentDidSaveCapabilities NesDocumentEventCapabilities NesEditHistoryCapabilities
        NesEditHistoryEntry NesEditSuggestion NesEventCapabilities NesExcerpt NesJumpCapabilities
        NesJumpSuggestion NesOpenFile NesOpenFilesCapabilities NesRecentFile
        NesRecentFilesCapabilities NesRejectReason NesRelatedSnippet NesRelatedSnippetsCapabilities
        NesRenameCapabilities NesRenameSuggestion NesRepository NesSearchAndReplaceCapabilities
        NesSearchAndReplaceSuggestion NesSuggestContext NesSuggestion NesSuggestionId NesTextEdit
        NesTriggerKind NesUserAction NesUserActionsCapabilities RejectNesNotification
        StartNesRequest StartNesResponse SuggestNesRequest SuggestNesResponse
        DidChangeDocumentNotification DidCloseDocumentNotification DidFocusDocumentNotification
        DidOpenDocumentNotification DidSaveDocumentNotification TextDocumentContentChangeEvent
        TextDocumentSyncKind Position PositionEncodingKind Range WorkspaceFolder
        ConnectMcpRequest ConnectMcpResponse DisconnectMcpRequest DisconnectMcpResponse
        McpConnectionId MessageMcpConnectionNotification MessageMcpConnectionRequest
        MessageMcpConnectionResponse
        WorkspaceActiveDocumentCapabilities WorkspaceActiveDocumentRequest
        WorkspaceActiveDocumentResponse WorkspaceCapabilities WorkspaceDocument
        WorkspaceOpenDocumentsCapabilities WorkspaceOpenDocumentsRequest
        WorkspaceOpenDocumentsResponse WorkspaceRecentDocumentsCapabilities
        WorkspaceRecentDocumentsRequest WorkspaceRecentDocumentsResponse
        NesActionSuggestion {"GeneralCapabilities" if version == 1 else ""}
        {"LoadSessionRequest LoadSessionResponse" if version == 2 else ""}
        """.split()
    )
    for version in (1, 2)
}

PROPOSAL = re.compile("Workspace(?!Folder)")
"""Matches the names of the types that never were in the schema."""

NES = "next edit suggestions and position encodings left the schema and are still served"
EDITOR = "the client's editor state is a proposal"
OLD_NES = "an older form of next edit suggestions, which is still read"
SCOPE = "of the two ids either may be there; one that is wrong or null reads as absent"
DOCUMENTED = "the text of the specification gives the default"
WHOLE_ERROR = "an MCP error is kept with everything that came with it"
DIFFERENCES: dict[int, dict[str, str]] = {
    1: {
        "AgentCapabilities.nes: there": NES,
        "AgentCapabilities.positionEncoding: there": NES,
        "ClientCapabilities.nes: there": NES,
        "ClientCapabilities.positionEncodings: there": NES,
        "ClientCapabilities.general: there": OLD_NES,
        "ClientCapabilities.workspace: there": EDITOR,
        "InitializeRequest.general: there": OLD_NES,
        "InitializeProxyRequest.general: there": OLD_NES,
        "InitializeResponse.positionEncoding: there": OLD_NES,
        "InitializeProxyResponse.positionEncoding: there": OLD_NES,
        "CreateElicitationRequest<form>.requestId: leniency": SCOPE,
        "CreateElicitationRequest<form>.sessionId: leniency": SCOPE,
        "CreateElicitationRequest<form>.sessionId: nullable": SCOPE,
        "CreateElicitationRequest<url>.requestId: leniency": SCOPE,
        "CreateElicitationRequest<url>.sessionId: leniency": SCOPE,
        "CreateElicitationRequest<url>.sessionId: nullable": SCOPE,
        "ElicitationContentValue: type": "a larger integer is a number, and kept exact here",
        "MessageMcpResponse<Error>.error: type": WHOLE_ERROR,
        "SessionUpdate<tool_call>.kind: default": DOCUMENTED,
        "SessionUpdate<tool_call>.status: default": DOCUMENTED,
        "SessionUpdate: open": "agents are ahead of the schema; people should see what they say",
        "StopReason: type": "an agent may be ahead of the schema; its turn ends all the same",
        "StringFormat: type": "the text of the specification forbids to refuse other formats",
    },
    2: {
        "AgentCapabilities.nes: there": NES,
        "AgentCapabilities.positionEncoding: there": NES,
        "ClientCapabilities.nes: there": NES,
        "ClientCapabilities.positionEncodings: there": NES,
        "ClientCapabilities.workspace: there": EDITOR,
        "CreateElicitationRequest<form>.requestId: nullable": SCOPE,
        "CreateElicitationRequest<form>.sessionId: nullable": SCOPE,
        "CreateElicitationRequest<url>.requestId: nullable": SCOPE,
        "CreateElicitationRequest<url>.sessionId: nullable": SCOPE,
        "MessageMcpResponse<Error>.error: type": WHOLE_ERROR,
        "SessionConfigSelectGroup.options: type": "lenient, so an empty list is read all the same",
    },
}

Change: TypeAlias = Callable[[dict[str, Any]], object]

both_versions = pytest.mark.parametrize("version", [1, 2])


def compare(version: int, change: Change = len) -> Parity:
    """Compare everything, with a change made to the unstable schema first."""
    stable = definitions(version, "schema.json")
    unstable = copy.deepcopy(definitions(version, "schema.unstable.json"))
    change(unstable)
    parity = Parity(stable, unstable, exported_types(version), type_stabilities(version))
    parity.compare(name for name in unstable if name not in EXCLUDED)
    return parity


def table(version: int) -> MethodTable:
    found: MethodTable = importlib.import_module(f"parley.schema.v{version}.methods").TABLE
    return found


@both_versions
def test_every_definition_has_a_type_of_its_name(version: int) -> None:
    parity = compare(version)
    wanted = parity.unstable.nodes.keys() - EXCLUDED.keys()
    assert [name for name in sorted(wanted) if parity.ours(name) is None] == []
    assert EXCLUDED.keys() - parity.unstable.nodes.keys() == set()


@both_versions
def test_the_docstring_of_a_type_states_its_stability(version: int) -> None:
    parity = compare(version)
    wanted = parity.unstable.nodes.keys() - EXCLUDED.keys()
    stated = {
        word: {name for name, stability in parity.stabilities.items() if stability == word}
        for word in ("stable", "unstable", "former", "proposal")
    }
    assert wanted & stated["stable"] == wanted & parity.stable.nodes.keys()
    assert wanted & stated["unstable"] == wanted - parity.stable.nodes.keys()
    assert stated["former"] | stated["proposal"] == FORMER[version]
    assert stated["proposal"] == {name for name in FORMER[version] if PROPOSAL.match(name)}


@both_versions
def test_no_type_is_ours_alone(version: int) -> None:
    parity = compare(version)
    explained = FORMER[version] | OURS[version].keys()
    explained |= {cls.__name__ for cls in parity.variant_classes}
    types = parity.types.keys()
    assert sorted(types - parity.unstable.nodes.keys() - explained) == []
    assert sorted((FORMER[version] | OURS[version].keys()) - types) == []


@both_versions
def test_every_type_says_what_its_definition_says(version: int) -> None:
    parity = compare(version)
    expected = DIFFERENCES[version]
    found = {difference.partition(": schema ")[0]: difference for difference in parity.differences}
    assert [found[key] for key in sorted(found.keys() - expected.keys())] == []
    assert sorted(expected.keys() - found.keys()) == []


def described(name: str, node: Node) -> tuple[str, str, str]:
    """Return the method of a definition, its kind, and whether this is its params or result."""
    kind = "notification" if name.endswith("Notification") else "request"
    return node["x-method"], kind, "result" if name.endswith("Response") else "params"


@both_versions
def test_every_method_of_the_schema_has_its_row(version: int) -> None:
    parity = compare(version)
    rows: dict[tuple[str, str], Method[Any, Any]] = {
        (row.name, row.kind): row for row in table(version).methods
    }
    sides = {"protocol": {"either"}, "proxy": {"either", "agent"}}
    for name, node in parity.unstable.nodes.items():
        if "x-method" not in node:
            continue
        method, kind, part = described(name, node)
        row = rows[method, kind]
        assert getattr(row, part) == parity.ours(name), name
        assert row.to in sides.get(node["x-side"], {node["x-side"]}), name
        assert row.stability == ("stable" if name in parity.stable.nodes else "unstable"), name


@both_versions
def test_every_row_is_a_method_of_the_schema(version: int) -> None:
    nodes = definitions(version, "schema.unstable.json")
    methods = {described(name, node)[:2] for name, node in nodes.items() if "x-method" in node}
    assert {(row.name, row.kind) for row in table(version).methods} == methods


def drop(name: str, key: str) -> Change:
    return lambda defs: defs[name]["properties"].pop(key)


def put(name: str, key: str, **node: Any) -> Change:
    return lambda defs: defs[name]["properties"].setdefault(key, {}).update(node)


def require(name: str, *keys: str) -> Change:
    return lambda defs: defs[name].update(required=list(keys))


def retype(name: str, kind: str) -> Change:
    return lambda defs: defs[name].update(type=kind)


def drop_variant(name: str, index: int) -> Change:
    return lambda defs: alternatives_of(defs[name]).pop(index)


def add_variant(name: str, node: Node) -> Change:
    return lambda defs: alternatives_of(defs[name]).append(node)


def alternatives_of(node: Node) -> list[Any]:
    found: list[Any] = node["oneOf" if "oneOf" in node else "anyOf"]
    return found


@pytest.mark.parametrize(
    ("change", "noticed"),
    [
        (drop("TextContent", "text"), "ContentBlock<text>.text: there"),
        (put("TextContent", "colour", type="string"), "ContentBlock<text>.colour: there"),
        (put("TextContent", "text", type="boolean"), "ContentBlock<text>.text: type"),
        (put("TextContent", "text", type=["string", "null"]), "ContentBlock<text>.text: nullable"),
        (put("TextContent", "text", minLength=1), "ContentBlock<text>.text: type"),
        (require("TextContent", "annotations"), "ContentBlock<text>.annotations: required"),
        (require("TextContent", "annotations"), "ContentBlock<text>.text: required"),
        (
            put("ContentChunk", "messageId", **{"x-deserialize-default-on-null": True}),
            "ContentChunk.messageId: leniency",
        ),
        (
            put("PlanEntry", "content", **{"x-deserialize-default-on-error": True}),
            "PlanEntry.content: leniency",
        ),
        (
            put("Annotations", "audience", **{"x-deserialize-skip-invalid-items": False}),
            "Annotations.audience: leniency",
        ),
        (
            put("Annotations", "lastModified", **{"x-deserialize-default-on-error": False}),
            "Annotations.lastModified: leniency",
        ),
        (put("Annotations", "lastModified", default="now"), "Annotations.lastModified: default"),
        (put("Annotations", "audience", items={"type": "string"}), "Annotations.audience: type"),
        (put("UsageUpdate", "used", format="uint32"), "SessionUpdate<usage_update>.used: type"),
        (put("Implementation", "_meta", additionalProperties={}), None),
        (put("Implementation", "_meta", type="string"), "Implementation._meta: type"),
        (drop_variant("Role", 0), "Role: type"),
        (add_variant("RequestId", {"type": "boolean"}), "RequestId: type"),
        (retype("SessionId", "integer"), "SessionId: type"),
        (drop_variant("MultiSelectItems", 0), "MultiSelectItems: tags"),
        (drop_variant("MultiSelectItems", 1), "MultiSelectItems: open"),
        (drop_variant("MultiSelectItems", 2), "MultiSelectItems: members"),
        (drop_variant("ContentBlock", 0), "ContentBlock: tags"),
    ],
)
@both_versions
def test_a_change_of_the_schema_is_noticed(
    version: int, change: Change, noticed: str | None
) -> None:
    found = {*compare(version, change).differences} - {*compare(version).differences}
    if noticed is None:
        assert found == set()
    else:
        assert any(difference.startswith(noticed) for difference in found), found
