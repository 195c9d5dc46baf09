// An agent on the official TypeScript SDK behind HTTP and WebSocket: `typescript_server.mjs VERSION`.
// It prints its port. What a prompt says is what it does.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { sdk } from "./typescript_sdk.mjs";

const load = async (home, name) => {
  const require = createRequire(new URL(`../../../.venvs/${home}/package.json`, import.meta.url));
  return await import(pathToFileURL(require.resolve(name)).href);
};
const { AcpServer } = await load("npm", "@agentclientprotocol/sdk/experimental/server");
const node = await load("npm", "@agentclientprotocol/sdk/experimental/node");
const { WebSocketServer } = (await load("ws", "ws")).default;
const version = Number(process.argv[2]);
const acp = await sdk(version);
const methods = acp.methods.agent;

function makeAgent() {
  const histories = new Map([["old", ["one", "two", "three"]]]);
  const waits = new Map();
  let sessions = 0;
  let messages = 0;

  const send = (client, sessionId, update) => client.notify("session/update", { sessionId, update });
  const say = (client, sessionId, text) =>
    send(client, sessionId, {
      sessionUpdate: "agent_message_chunk",
      ...(version === 2 ? { messageId: `m-${messages}` } : {}),
      content: { type: "text", text },
    });

  async function act(client, sessionId, text) {
    const [word, rest] = text.split(" ");
    messages++;
    if (word === "flood") {
      for (let number = 0; number < Number(rest); number++) await say(client, sessionId, `${number} `);
    } else if (word === "big") {
      await say(client, sessionId, "x".repeat(Number(rest)));
    } else if (word === "measure") {
      await say(client, sessionId, String(text.length));
    } else if (word === "ask") {
      const toolCall = { toolCallId: "call-1", title: "Write" };
      const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
      const question =
        version === 2 ? { title: "May I?", subject: { type: "tool_call", toolCall } } : { toolCall };
      if (version === 1) await send(client, sessionId, { sessionUpdate: "tool_call", ...toolCall });
      const answer = await client.request("session/request_permission", { sessionId, ...question, options });
      await say(client, sessionId, answer.outcome.optionId ?? answer.outcome.outcome);
    } else if (word === "wait") {
      await say(client, sessionId, "waiting");
      await new Promise((resolve) => waits.set(sessionId, resolve));
      return "cancelled";
    }
    return "end_turn";
  }

  async function prompt({ params, client }) {
    const { sessionId } = params;
    const { text } = params.prompt[0];
    if (version === 1) return { stopReason: await act(client, sessionId, text) };
    const messageId = `user-${messages++}`;
    await send(client, sessionId, { sessionUpdate: "user_message", messageId, content: params.prompt });
    setImmediate(async () => {
      await send(client, sessionId, { sessionUpdate: "state_update", state: "running" });
      const stopReason = await act(client, sessionId, text);
      await send(client, sessionId, { sessionUpdate: "state_update", state: "idle", stopReason });
    });
    return { messageId };
  }

  async function replay({ params, client }) {
    const { sessionId } = params;
    for (const text of histories.get(sessionId) ?? []) {
      messages++;
      await say(client, sessionId, text);
    }
    return {};
  }

  const info = { name: "remote", version: "1.0" };
  const capabilities =
    version === 2 ? { session: { delete: {} } } : { loadSession: true, sessionCapabilities: { close: {} } };
  const agent = acp
    .agent(info)
    .onRequest(methods.initialize, () =>
      version === 2
        ? { protocolVersion: 2, info, capabilities }
        : { protocolVersion: 1, agentInfo: info, agentCapabilities: capabilities },
    )
    .onRequest(methods.session.new, () => ({ sessionId: `s-${++sessions}` }))
    .onRequest(methods.session.prompt, prompt)
    .onRequest(methods.session.close, () => ({}))
    .onNotification(methods.session.cancel, ({ params }) => waits.get(params.sessionId)?.());
  return agent.onRequest(version === 2 ? methods.session.resume : methods.session.load, replay);
}

const server = new AcpServer({ createAgent: makeAgent });
const handle = node.createNodeHttpHandler(server);
const http = createServer((request, response) => handle(request, response));
http.on("upgrade", node.createNodeWebSocketUpgradeHandler(server, new WebSocketServer({ noServer: true })));
http.listen(0, "127.0.0.1", () => process.stdout.write(`${http.address().port}\n`));
process.stdin.on("end", () => process.exit(0)).resume();
