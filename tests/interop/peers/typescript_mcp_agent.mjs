// An agent on the official TypeScript SDK that calls the tools of its client: `typescript_mcp_agent.mjs VERSION`.
import { Readable, Writable } from "node:stream";
import { unstableSdk } from "./typescript_sdk.mjs";

const version = Number(process.argv[2]);
const acp = await unstableSdk(version);
const { agent } = acp.methods;
const sessionId = "session-1";
const info = { name: "interop-agent", version: "1.0" };
const caller = new acp.McpOverAcpCaller({ clientInfo: info });
let servers = [];
let turns = 0;

async function say(client, text) {
  const message = version === 2 ? { messageId: "agent-1" } : {};
  const content = { type: "text", text };
  const update = { sessionUpdate: "agent_message_chunk", ...message, content };
  await client.notify("session/update", { sessionId, update });
}

async function act(client) {
  const { serverId } = servers.find((server) => server.type === "acp");
  const heard = [];
  const params = (name) => ({ name, arguments: { left: 2, right: 3 }, _meta: { progressToken: 1 } });
  const onNotification = (note) => {
    heard.push(note.params.message);
    void caller.request(client, serverId, "tools/call", params("go_on"));
  };
  const listed = await caller.request(client, serverId, "tools/list");
  const added = await caller.request(client, serverId, "tools/call", params("add"), { onNotification });
  const refused = await caller.request(client, serverId, "tools/call", params("refuse"));
  const unknown = await caller.request(client, "nobody", "tools/list").catch((error) => error.code);
  const tools = listed.result.tools.map((tool) => tool.name);
  await say(client, JSON.stringify({ tools, heard, added: added.result.structuredContent, refused, unknown }));
}

async function prompt({ params, client }) {
  if (version === 1) {
    await act(client);
    return { stopReason: "end_turn" };
  }
  const messageId = `user-${turns++}`;
  setImmediate(async () => {
    const state = (rest) => client.notify("session/update", { sessionId, update: { sessionUpdate: "state_update", ...rest } });
    await state({ state: "running" });
    await act(client);
    await state({ state: "idle", stopReason: "end_turn" });
  });
  return { messageId };
}

function initialize() {
  if (version === 2) {
    return { protocolVersion: 2, info, capabilities: { session: { mcp: { acp: {} } } } };
  }
  return { protocolVersion: 1, agentInfo: info, agentCapabilities: { mcpCapabilities: { acp: true } } };
}

const stream = acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));
const connection = acp
  .agent({ name: "interop-agent" })
  .onRequest(agent.initialize, initialize)
  .onRequest(agent.session.new, ({ params }) => {
    servers = params.mcpServers;
    return { sessionId };
  })
  .onRequest(agent.session.prompt, prompt)
  .onNotification(agent.mcp.message, caller.handleNotification)
  .connect(stream);
await connection.closed;
