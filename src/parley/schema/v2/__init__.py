"""The types of protocol version 2, one module per topic.

`v2.X` is the type `X`, whatever its stability. A type outside the stable schema may change or
disappear; its docstring starts with its stability. `Unstable:` types are in the draft schema,
`Former:` types were removed from it, `Proposal:` types were never in it. An unstable field of a
stable type is marked `Unstable[...]`, and a union such as `SessionUpdate` includes its unstable
members. Unstable types that are the same in both versions are defined in `parley.schema.drafts`.

The methods are in `v2.methods`, JSON-RPC envelopes in `parley.rpc`.

Spec: https://agentclientprotocol.com/protocol/v2/schema
"""

from __future__ import annotations

from parley.schema.drafts.auth_status import *
from parley.schema.drafts.documents import *
from parley.schema.drafts.mcp import *
from parley.schema.drafts.nes import *
from parley.schema.drafts.providers import *
from parley.schema.drafts.proxy import *
from parley.schema.drafts.sessions import *
from parley.schema.drafts.workspace import *

from .auth import *
from .cancel import *
from .capabilities import *
from .commands import *
from .config import *
from .content import *
from .elicitation import *
from .errors import *
from .ids import *
from .initialize import *
from .mcp import *
from .nes import *
from .permission import *
from .plan import *
from .prompt import *
from .session import *
from .state import *
from .subagents import *
from .terminal import *
from .tools import *
from .updates import *
