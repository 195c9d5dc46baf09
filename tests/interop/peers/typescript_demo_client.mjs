// A client on the official TypeScript SDK that tries the demo agent.
// `typescript_demo_client.mjs VERSION CWD COMMAND…` starts the agent, does what `demo/tour.py`
// tells, and prints what it saw as JSON.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { text as readAll } from "node:stream/consumers";
import { unstableSdk } from "./typescript_sdk.mjs";

const version = Number(process.argv[2]);
const cwd = process.argv[3];
const [command, ...rest] = process.argv.slice(4);
const acp = await unstableSdk(version);
const methods = acp.methods.agent;
const { prompts } = JSON.parse(readFileSync(new URL("demo.json", import.meta.url), "utf8"));
const choices = ["yes", "no", undefined];
const forms = [{ action: "accept", content: { name: "Ada" } }, { action: "decline" }, { action: "cancel" }];
const terminals = new Map();
const events = new EventTarget();
let seen = begin();

function begin() {
  return { updates: [], asked: [] };
}

function said() {
  return seen.updates
    .filter((update) => update.sessionUpdate === "agent_message_chunk")
    .map((update) => update.content.text);
}

function onUpdate({ params: { update } }) {
  seen.updates.push(update);
  if (update.state === "idle") events.dispatchEvent(new Event("idle"));
  if (said().join("") === "waiting to be cancelled") events.dispatchEvent(new Event("waiting"));
}

function onPermission({ params: { toolCall, subject, title, options } }) {
  seen.asked.push(version === 2 ? { permission: subject, title, options } : { permission: toolCall, options });
  const optionId = choices.shift();
  return { outcome: optionId ? { outcome: "selected", optionId } : { outcome: "cancelled" } };
}

function onForm({ params: { message, requestedSchema } }) {
  seen.asked.push({ form: requestedSchema, message });
  return forms.shift();
}

function onRead({ params: { path } }) {
  seen.asked.push({ read: path });
  return { content: readFileSync(path, "utf8") };
}

function onWrite({ params: { path, content } }) {
  seen.asked.push({ write: path });
  writeFileSync(path, content);
  return {};
}

function onCreate({ params: { command, args } }) {
  seen.asked.push({ run: [command, ...args] });
  const terminalId = `terminal-${terminals.size}`;
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  terminals.set(terminalId, { exit: once(child, "exit"), output: readAll(child.stdout) });
  return { terminalId };
}

async function onWait({ params: { terminalId } }) {
  return { exitCode: (await terminals.get(terminalId).exit)[0] };
}

async function onOutput({ params: { terminalId } }) {
  return { output: await terminals.get(terminalId).output, truncated: false };
}

function onRelease({ params: { terminalId } }) {
  seen.asked.push({ release: terminalId });
  return {};
}

// The SDK handles an update some microtasks after its arrival.
const handled = () => new Promise(setImmediate);

async function turn(agent, sessionId, text, options) {
  seen = begin();
  const turn = seen;
  const idle = version === 2 ? once(events, "idle") : undefined;
  const prompt = [{ type: "text", text }];
  try {
    const answer = await agent.request(methods.session.prompt, { sessionId, prompt }, options);
    if (version === 2) {
      await idle;
      turn.accepted = answer.messageId;
      turn.end = turn.updates.at(-1).stopReason;
    } else turn.end = answer.stopReason;
  } catch ({ code, message, data }) {
    turn.end = { code, message, data };
  }
  await handled();
  return turn;
}

async function ask(agent, sessionId, text) {
  await turn(agent, sessionId, text);
  return said().join("");
}

async function newSession(agent) {
  return (await agent.request(methods.session.new, { cwd, mcpServers: [] })).sessionId;
}

async function stopped(agent, sessionId, stop, options) {
  const waiting = once(events, "waiting");
  const ended = turn(agent, sessionId, "slow", options);
  await waiting;
  await stop({ sessionId });
  return await ended;
}

async function listed(agent) {
  const { sessions } = await agent.request(methods.session.list, { cwd });
  return sessions.filter((session) => session.cwd === cwd).map((session) => session.sessionId);
}

async function load(agent, sessionId) {
  const session = { sessionId, cwd, mcpServers: [] };
  if (version === 1) return await agent.request(methods.session.load, session);
  return await agent.request(methods.session.resume, { ...session, replayFrom: { type: "start" } });
}

async function sessions(agent) {
  const sessionId = await newSession(agent);
  const session = { sessionId, cwd, mcpServers: [] };
  await turn(agent, sessionId, "tool");
  const report = { is_listed: (await listed(agent)).includes(sessionId) };
  await agent.request(methods.session.close, { sessionId });
  seen = begin();
  await load(agent, sessionId);
  await handled();
  report.loaded = seen.updates;
  await agent.request(methods.session.close, { sessionId });
  seen = begin();
  await agent.request(methods.session.resume, session);
  await handled();
  report.resumed = seen.updates;
  report.after_resume = await ask(agent, sessionId, "still there");
  const close = (session) => agent.request(methods.session.close, session);
  report.closed = (await stopped(agent, await newSession(agent), close)).end;
  const fork = (await agent.request(methods.session.fork, session)).sessionId;
  report.forked = { is_another: fork !== sessionId, said: await ask(agent, fork, "another way") };
  await agent.request(methods.session.close, { sessionId: fork });
  await agent.request(methods.session.delete, { sessionId });
  report.is_listed_after_delete = (await listed(agent)).includes(sessionId);
  report.load_after_delete = await load(agent, sessionId).catch((error) => error.code);
  return report;
}

async function initialize(agent) {
  const elicitation = { form: {} };
  const fs = { readTextFile: true, writeTextFile: true };
  const clientInfo = { name: "demo-client", version: "1.0" };
  const body =
    version === 2
      ? { info: clientInfo, capabilities: { elicitation } }
      : { clientInfo, clientCapabilities: { fs, terminal: true, elicitation } };
  return await agent.request(methods.initialize, { protocolVersion: version, ...body });
}

async function tour(agent) {
  Object.assign(report, { initialize: await initialize(agent), turns: {} });
  const sessionId = await newSession(agent);
  for (const prompt of prompts) report.turns[prompt] = await turn(agent, sessionId, prompt);
  report.turns.slow = await stopped(agent, sessionId, (session) => agent.notify(methods.session.cancel, session));
  if (version === 1) {
    const abort = new AbortController();
    const options = { cancellationSignal: abort.signal };
    report.withdrawn = (await stopped(agent, sessionId, () => abort.abort(), options)).end;
  }
  await turn(agent, sessionId, "flood 300");
  report.flood = said();
  report.sessions = await sessions(agent);
  const crash = { sessionId: await newSession(agent), prompt: [{ type: "text", text: "crash" }] };
  isCrashing = true;
  await agent.request(methods.session.prompt, crash);
  await exit; // in version 2 the prompt may be accepted before
}

const report = {};
let isCrashing = false;
const child = spawn(command, rest, { stdio: ["pipe", "pipe", "inherit"] });
const exit = once(child, "exit");
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
const { session, elicitation, fs, terminal } = acp.methods.client;
const client = acp
  .client({ name: "demo-client" })
  .onNotification(session.update, onUpdate)
  .onRequest(session.requestPermission, onPermission)
  .onRequest(elicitation.create, onForm)
  .onRequest("_demo/value", (params) => params, () => {
    seen.asked.push({ method: "_demo/value" });
    return { value: 7 };
  });
if (version === 1)
  client
    .onRequest(fs.readTextFile, onRead)
    .onRequest(fs.writeTextFile, onWrite)
    .onRequest(terminal.create, onCreate)
    .onRequest(terminal.waitForExit, onWait)
    .onRequest(terminal.output, onOutput)
    .onRequest(terminal.release, onRelease);
try {
  await client.connectWith(stream, tour);
} catch (error) {
  if (!isCrashing) throw error; // else the connection was closed by that
}
report.exit = (await exit)[0];
console.log(JSON.stringify(report));
