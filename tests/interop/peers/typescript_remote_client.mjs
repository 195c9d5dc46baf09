// A client on the official TypeScript SDK over HTTP or WebSocket: `typescript_remote_client.mjs VERSION URL`.
// It prints what it saw as JSON.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { sdk } from "./typescript_sdk.mjs";

const load = async (home, name) => {
  const require = createRequire(new URL(`../../../.venvs/${home}/package.json`, import.meta.url));
  return await import(pathToFileURL(require.resolve(name)).href);
};
const version = Number(process.argv[2]);
const url = process.argv[3];
const acp = await sdk(version);
const methods = acp.methods.agent;
const sessions = new Map();
let permission = "";

function of(sessionId) {
  if (!sessions.has(sessionId)) sessions.set(sessionId, { text: "", idle: () => {}, said: () => {} });
  return sessions.get(sessionId);
}

function onUpdate({ params: { sessionId, update } }) {
  const session = of(sessionId);
  if (update.sessionUpdate === "agent_message_chunk") session.text += update.content.text;
  if (update.sessionUpdate === "agent_message") for (const each of update.content) session.text += each.text;
  if (update.sessionUpdate === "agent_message_chunk") session.said();
  if (update.sessionUpdate === "state_update" && update.state === "idle") session.idle(update.stopReason);
}

function onPermission({ params }) {
  permission = params.options[0].optionId;
  return { outcome: { outcome: "selected", optionId: permission } };
}

async function turn(agent, sessionId, text) {
  const session = of(sessionId);
  session.text = "";
  const idle = new Promise((resolve) => (session.idle = resolve));
  const answer = await agent.request(methods.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
  const reason = version === 1 ? answer.stopReason : await idle;
  await new Promise((resolve) => setTimeout(resolve, 20)); // updates are handled after the answer
  return { reason, text: session.text };
}

async function cancelled(agent, sessionId) {
  const said = new Promise((resolve) => (of(sessionId).said = resolve));
  const running = turn(agent, sessionId, "wait");
  await said;
  await agent.notify(methods.session.cancel, { sessionId });
  return (await running).reason;
}

async function again(agent, sessionId) {
  await turn(agent, sessionId, "flood 3");
  await agent.request(methods.session.close, { sessionId });
  of(sessionId).text = "";
  const where = { sessionId, cwd: "/", mcpServers: [] };
  if (version === 1) await agent.request(methods.session.load, where);
  else await agent.request(methods.session.resume, { ...where, replayFrom: { type: "start" } });
  await new Promise((resolve) => setTimeout(resolve, 20));
  return of(sessionId).text;
}

async function report(agent) {
  const info = { name: "interop-client", version: "1.0" };
  const body = version === 2 ? { info, capabilities: {} } : { clientCapabilities: {} };
  const answer = await agent.request(methods.initialize, { protocolVersion: version, ...body });
  const open = async () => (await agent.request(methods.session.new, { cwd: "/", mcpServers: [] })).sessionId;
  const first = await open();
  const flood = await turn(agent, first, "flood 1000");
  const ask = await turn(agent, first, "ask");
  const cancel = await cancelled(agent, first);
  const big = await turn(agent, first, "big 1000000");
  const measure = await turn(agent, first, `measure ${"y".repeat(999992)}`);
  const second = await open();
  const both = await Promise.all([turn(agent, first, "flood 300"), turn(agent, second, "flood 400")]);
  const refused = await agent.request("_demo/nothing", {}).catch((error) => error.code);
  return {
    version: answer.protocolVersion,
    flood: flood.text.split(" ").filter(Boolean).map(Number),
    end: flood.reason,
    ask: [permission, ask.text],
    cancel,
    big: big.text.length,
    measure: measure.text,
    both: both.map(({ text }) => text.split(" ").length - 1),
    refused,
    again: await again(agent, await open()),
  };
}

const client = acp
  .client({ name: "interop-client" })
  .onNotification(acp.methods.client.session.update, onUpdate)
  .onRequest(acp.methods.client.session.requestPermission, onPermission);
let stream;
if (url.startsWith("ws")) {
  const { createWebSocketStream } = await load("npm", "@agentclientprotocol/sdk/experimental/ws-client");
  const { WebSocket } = (await load("ws", "ws")).default;
  stream = createWebSocketStream(url, { WebSocket });
} else {
  const { createHttpStream } = await load("npm", "@agentclientprotocol/sdk/experimental/http-client");
  stream = createHttpStream(url);
}
console.log(JSON.stringify(await client.connectWith(stream, report)));
process.exit(0);
