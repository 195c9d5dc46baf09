"""Sessions in version 2 types, independent of the protocol version that the peer speaks.

Adapters, which send a program's messages and call its handlers:

- `_adapter.py`: the interface of an adapter, and the choice of one by the negotiated version
- `_checked_adapter.py`: wraps an adapter to check custom values before they are sent
- `_response_meta.py`: adds a program's `_meta` to the responses that it sends
- `_v2_adapter.py`: version 2 connections, which need no translation
- `_v1_initialize.py`: `initialize` in version 1, and the adapters for the resulting connection
- `_v1_adapter.py`: what both version 1 adapters share: applying the translation table
- `_v1_agent_adapter.py`: serves version 1 clients; the response to a prompt waits for its turn
- `_v1_client_adapter.py`: talks to version 1 agents; generates the updates that version 1 lacks

Translation between the versions, for the adapters and for sessions of other programs:

- `_v1_method_translations.py`: the translation table: the params and results of each method, for
  example `session/load` in version 1, which is `session/resume` with replay in version 2
- `_v1_session_upgrader.py`: the updates and responses of a session, from version 1 to 2
- `_v1_session_downgrader.py`: the updates and responses of a session, from version 2 to 1
- `_v1_tool_call_downgrader.py`: tool calls and terminals, from version 2 to 1
- `_v1_capabilities.py`: capabilities from and to version 1
- `_config_options.py`: config options, and version 1's modes
- `_content_blocks.py`: content blocks
- `_diffs.py`: version 2's patches from and to version 1's pairs of texts
- `_reencode.py`: types whose JSON is the same in both versions

Sessions of other programs:

- `_dialect.py`: method names, types and conversions of a connection, for proxies
- `frame_replay.py`: recorded frames as updates and transcripts
- `_session_follower.py`: a live session, for clients that attach to it

Conversations and what belongs to them:

- `_transcript.py`: the state of a conversation, folded from its updates
- `_transcript_entries.py`: its messages, tool calls, terminals, compactions and subagents
- `_capabilities.py`: what each side offers, as flags that do not depend on the version
- `_mcp_capabilities.py`: MCP capabilities in an `initialize` response that is passed on as bytes
- `_forms.py`: validation of submitted forms
- `_validation.py`: checks of the arguments that a program passes
"""
