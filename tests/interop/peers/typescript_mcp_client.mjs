// A client on the official TypeScript SDK that has an MCP server, which our agent calls.
// `typescript_mcp_client.mjs VERSION COMMAND…` starts the agent and prints what it saw as JSON.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { unstableSdk } from "./typescript_sdk.mjs";

const version = Number(process.argv[2]);
const [command, ...rest] = process.argv.slice(3);
const acp = await unstableSdk(version);
const methods = acp.methods.agent;
const events = new EventTarget();
const asked = [];
const said = [];
const cacheable = { resultType: "complete", ttlMs: 0, cacheScope: "private" };

async function serve(request) {
  asked.push(request.method);
  if (request.method === "server/discover") {
    return { result: { supportedVersions: ["2026-07-28"], capabilities: { tools: {} }, ...cacheable } };
  } else if (request.method === "tools/list") {
    const tools = ["add", "refuse"].map((name) => ({ name, inputSchema: { type: "object" } }));
    return { result: { tools, ...cacheable } };
  } else if (request.params.name === "refuse") {
    return { error: { code: -32050, message: "Not today" } };
  }
  const progressToken = request.params._meta?.progressToken;
  if (progressToken !== undefined) {
    await request.notify("notifications/progress", { progressToken, progress: 1, message: "half" });
  }
  const { left, right } = request.params.arguments;
  return { result: { content: [{ type: "text", text: `${left + right}` }], resultType: "complete" } };
}

function onUpdate({ params: { update } }) {
  if (update.sessionUpdate.endsWith("_chunk")) said.push(update.content.text);
  if (update.sessionUpdate === "state_update" && update.state === "idle") events.dispatchEvent(new Event("idle"));
}

async function report(agent, server) {
  const info = { name: "interop-client", version: "1.0" };
  const body = version === 2 ? { info, capabilities: {} } : { clientCapabilities: {} };
  await agent.request(methods.initialize, { protocolVersion: version, ...body });
  const params = { cwd: "/", mcpServers: [server.declaration] };
  const { sessionId } = await agent.request(methods.session.new, params);
  const idle = version === 2 ? once(events, "idle") : undefined;
  await agent.request(methods.session.prompt, { sessionId, prompt: [{ type: "text", text: "go" }] });
  await idle;
  await new Promise(setImmediate); // the SDK handles an update some microtasks after its arrival
  return { asked, said };
}

const provider = new acp.McpOverAcpProvider();
const child = spawn(command, rest, { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const client = acp
  .client({ name: "interop-client" })
  .onNotification(acp.methods.client.session.update, onUpdate)
  .onRequest(acp.methods.client.mcp.message, provider.handleRequest);
const told = await client.connectWith(stream, (agent) =>
  report(agent, provider.registerServer(agent, { name: "desk", handler: serve })),
);
console.log(JSON.stringify(told));
child.stdin.end();
child.kill();
