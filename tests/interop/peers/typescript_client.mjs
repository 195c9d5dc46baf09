// A client on the official TypeScript SDK for the conversation.
// `typescript_client.mjs VERSION COMMAND…` starts the agent and prints what it saw as JSON.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Readable, Writable } from "node:stream";
import { sdk } from "./typescript_sdk.mjs";

const version = Number(process.argv[2]);
const [command, ...rest] = process.argv.slice(3);
const acp = await sdk(version);
const methods = acp.methods.agent;
const events = new EventTarget();
let seen = begin();
let asked;
let sessionId;
const noted = [];

function begin() {
  return { updates: [], states: [], messages: [] };
}

function emit(name) {
  events.dispatchEvent(new Event(name));
}

function said() {
  return seen.updates
    .filter((update) => update.sessionUpdate === "agent_message_chunk" && "text" in update.content)
    .map((update) => update.content.text);
}

function onUpdate({ params: { update } }) {
  if (version === 2 && update.sessionUpdate === "user_message") seen.messages.push(update.messageId);
  else if (update.sessionUpdate === "state_update") {
    seen.states.push([update.state, update.stopReason].filter(Boolean).join(" "));
    if (update.state === "idle") {
      seen.stopReason = update.stopReason;
      emit("idle");
    }
  } else {
    seen.updates.push(update);
    if (said().at(-1) === "started") emit("started");
  }
}

function onPermission({ params }) {
  const toolCall = version === 2 ? params.subject.toolCall : params.toolCall;
  const options = params.options.map((option) => option.optionId);
  asked = { toolCallId: toolCall.toolCallId, options };
  return { outcome: { outcome: "selected", optionId: options[0] } };
}

function onRead({ params: { path, line, limit } }) {
  asked = { path, line, limit };
  return { content: "zweite Zeile 🦜\n" };
}

async function turn(agent, text) {
  seen = begin();
  const idle = once(events, "idle");
  const answer = await agent.request(methods.session.prompt, { sessionId, prompt: [{ type: "text", text }] });
  await new Promise(setImmediate); // the SDK handles an update some microtasks after its arrival
  if (version === 1) return answer.stopReason;
  await idle;
  seen.hasMessage = seen.messages.join() === answer.messageId;
  return seen.stopReason;
}

async function ask(agent, text) {
  await turn(agent, text);
  return said();
}

async function cancelled(agent) {
  const started = once(events, "started");
  const ended = turn(agent, "slow");
  await started;
  await agent.notify(methods.session.cancel, { sessionId });
  return await ended;
}

async function withdrawn(agent) {
  const abort = new AbortController();
  const waiting = once(events, "waiting");
  const call = failure(agent.request("_demo/wait", {}, { cancellationSignal: abort.signal }));
  await waiting;
  abort.abort();
  if ((await call).code !== -32800) throw new Error("not refused as cancelled");
  return (await agent.request("_demo/withdrawn", {})).count;
}

async function failure(call) {
  try {
    await call;
  } catch (error) {
    return { code: error.code, message: error.message, data: error.data };
  }
  throw new Error("that was not refused");
}

async function initialize(agent) {
  const info = { name: "interop-client", version: "1.0" };
  const clientCapabilities = { fs: { readTextFile: true, writeTextFile: false } };
  const body = version === 2 ? { info, capabilities: {} } : { clientCapabilities };
  const answer = await agent.request(methods.initialize, { protocolVersion: version, ...body });
  const session = await agent.request(methods.session.new, { cwd: "/", mcpServers: [] });
  sessionId = session.sessionId;
  return { version: answer.protocolVersion, name: (answer.info ?? answer.agentInfo).name };
}

async function report(agent) {
  const report = { initialize: await initialize(agent) };
  const end = await turn(agent, "updates");
  report.updates = seen.updates;
  if (version === 1) report.end = end;
  else Object.assign(report, { states: seen.states, has_message: seen.hasMessage });
  report.order = await ask(agent, "flood 300");
  report.permission = { said: await ask(agent, "perm"), asked };
  if (version === 1) report.file = { said: await ask(agent, "fs /notes/today.md"), asked };
  report.cancel = await cancelled(agent);
  await agent.notify("_demo/note", { text: "remember" });
  const { value } = await agent.request("_demo/double", { value: 21 });
  const said = await ask(agent, "ext");
  report.extension = { doubled: value, noted, said };
  report.withdrawn = await withdrawn(agent);
  const { code } = await failure(agent.request("_demo/nothing", {}));
  report.unknown = { code, said: await ask(agent, "unknown") };
  report.error = await failure(turn(agent, "boom"));
  return report;
}

const any = (params) => params;
const child = spawn(command, rest, { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const client = acp
  .client({ name: "interop-client" })
  .onNotification(acp.methods.client.session.update, onUpdate)
  .onRequest(acp.methods.client.session.requestPermission, onPermission)
  .onRequest("_demo/value", any, () => ({ value: 7 }))
  .onNotification("_demo/waiting", any, () => emit("waiting"))
  .onNotification("_demo/noted", any, ({ params }) => {
    noted.push(params.text);
  });
if (version === 1) client.onRequest(acp.methods.client.fs.readTextFile, onRead);
console.log(JSON.stringify(await client.connectWith(stream, report)));
child.stdin.end();
child.kill();
