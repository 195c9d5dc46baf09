// A twin of the demo agent on the official TypeScript SDK: `typescript_demo_agent.mjs VERSION`.
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { unstableSdk } from "./typescript_sdk.mjs";

const version = Number(process.argv[2]);
const acp = await unstableSdk(version);
const { agent, client } = acp.methods;
const { commands } = JSON.parse(readFileSync(new URL("demo.json", import.meta.url), "utf8"));
const info = { name: "demo-twin", version: "1.0" };
const options = [
  { optionId: "yes", name: "Yes", kind: "allow_once" },
  { optionId: "no", name: "No", kind: "reject_once" },
];
const form = { type: "object", properties: { name: { type: "string" } }, required: ["name"] };
const steps = ["Look around", "Make a plan", "Follow it"];
const sessions = new Map();
let peer;
let made = 0;

const text = (words) => ({ type: "text", text: words });
const newId = (kind) => `${kind}-${++made}`;

function open(cwd, told) {
  const session = { id: newId("session"), cwd, told };
  sessions.set(session.id, session);
  return { sessionId: session.id };
}

function find(id) {
  const session = sessions.get(id);
  if (!session) throw new acp.RequestError(-32002, "Resource not found", { sessionId: id });
  return session;
}

async function tell(session, update) {
  await peer.notify(client.session.update, { sessionId: session.id, update });
}

async function send(session, update) {
  session.told.push(update);
  await tell(session, update);
}

async function say(session, words) {
  const content = text(words);
  await send(session, { sessionUpdate: "agent_message_chunk", messageId: session.message, content });
}

async function begin(session, call) {
  session.call = newId("call");
  const sessionUpdate = version === 1 ? "tool_call" : "tool_call_update";
  await send(session, { sessionUpdate, toolCallId: session.call, ...call });
}

async function change(session, call) {
  await send(session, { sessionUpdate: "tool_call_update", toolCallId: session.call, ...call });
}

async function state(session, state) {
  if (version === 2) await tell(session, { sessionUpdate: "state_update", ...state });
}

async function asking(session, method, params) {
  await state(session, { state: "requires_action" });
  const answer = await peer.request(method, { sessionId: session.id, ...params });
  await state(session, { state: "running" });
  return answer;
}

const prompts = {
  async help(session) {
    await say(session, commands.join(" "));
  },
  async fs(session, name) {
    if (version === 2) return await say(session, "fs: the client does not offer fs/read_text_file");
    const file = { sessionId: session.id, path: `${session.cwd}/${name}` };
    const { content } = await peer.request(client.fs.readTextFile, file);
    const copy = { ...file, path: `${file.path}.out`, content: content.toUpperCase() };
    await peer.request(client.fs.writeTextFile, copy);
    await say(session, `read:${content}`);
  },
  async term(session) {
    if (version === 2) return await say(session, "term: the client does not offer terminal/create");
    const terminal = await peer.createTerminal({ sessionId: session.id, command: "echo", args: ["hi"] });
    const { exitCode } = await terminal.waitForExit();
    const { output } = await terminal.currentOutput();
    await terminal.release();
    await say(session, `term:${exitCode}:${output}`);
  },
  async perm(session) {
    const title = "Do something that needs permission";
    await begin(session, { title, kind: "other", status: "pending", rawInput: { harm: "none" } });
    const toolCall = { toolCallId: session.call, title };
    const question = version === 1 ? { toolCall } : { title: "May I?", subject: { type: "tool_call", toolCall } };
    const answer = await asking(session, client.session.requestPermission, { ...question, options });
    const { outcome, ...rest } = answer.outcome;
    await change(session, { status: rest.optionId === "yes" ? "completed" : "failed" });
    await say(session, `perm:${JSON.stringify({ outcome, ...rest })}`);
  },
  async elicit(session) {
    const question = { mode: "form", message: "What is your name?", requestedSchema: form };
    const { action, ...rest } = await asking(session, client.elicitation.create, question);
    await say(session, `elicit:${JSON.stringify({ action, ...rest })}`);
  },
  async plan(session) {
    for (let done = 0; done <= steps.length; done++) {
      const status = (number) => (number < done ? "completed" : number === done ? "in_progress" : "pending");
      const entries = steps.map((content, number) => ({ content, priority: "medium", status: status(number) }));
      if (version === 1) await send(session, { sessionUpdate: "plan", entries });
      else await send(session, { sessionUpdate: "plan_update", plan: { type: "items", planId: "main", entries } });
    }
    await say(session, "plan:done");
  },
  async tool(session) {
    await begin(session, { title: "Count to three", kind: "think", status: "in_progress", rawInput: { to: 3 } });
    const content = [];
    for (const word of ["one", "two", "three"]) {
      content.push({ type: "content", content: text(word) });
      await change(session, { content: [...content] });
    }
    await change(session, { status: "completed", rawOutput: { count: 3 } });
    await say(session, "tool:done");
  },
  async diff(session) {
    const path = `${session.cwd}/demo.txt`;
    await begin(session, { title: "Edit demo.txt", kind: "edit", status: "in_progress", locations: [{ path }] });
    const [oldText, newText] = ["Hello\nold world\n", "Hello\nnew world\n"];
    const lines = "@@ -1,2 +1,2 @@\n Hello\n-old world\n+new world\n";
    const patch = { format: "git_patch", text: `diff --git ${path} ${path}\n--- ${path}\n+++ ${path}\n${lines}` };
    const changes = [{ operation: "modify", path, fileType: "text" }];
    const content = version === 1 ? { type: "diff", path, oldText, newText } : { type: "diff", changes, patch };
    await change(session, { status: "completed", content: [content] });
    await say(session, "diff:done");
  },
  async slow(session) {
    const cancelled = new Promise((resolve) => (session.cancel = resolve));
    await say(session, "waiting to be cancelled");
    await cancelled;
    return "cancelled";
  },
  async flood(session, count) {
    for (let number = 0; number < Number(count); number++) await say(session, `chunk ${number}`);
  },
  async ext(session) {
    await say(session, `ext:${JSON.stringify(await peer.request("_demo/value", {}))}`);
  },
  async boom() {
    throw new acp.RequestError(-32050, "Boom", { detail: 42 });
  },
  async crash() {
    process.exit(3);
  },
  async commands(session) {
    const type = version === 2 ? { type: "command" } : {};
    const availableCommands = commands.map((name) => ({ ...type, name, description: `does ${name}` }));
    await tell(session, { sessionUpdate: "available_commands_update", availableCommands });
    await say(session, `commands:${commands.join(",")}`);
  },
};

async function act(session, words) {
  const [word, rest] = words.split(/ (.*)/s);
  session.message = newId("message");
  if (Object.hasOwn(prompts, word)) return (await prompts[word](session, rest)) ?? "end_turn";
  await say(session, `echo: ${words}`);
  return "end_turn";
}

async function turn(session, messageId, content) {
  await send(session, { sessionUpdate: "user_message", messageId, content });
  await state(session, { state: "running" });
  try {
    await state(session, { state: "idle", stopReason: await act(session, content[0].text) });
  } catch ({ code, message, data }) {
    await state(session, { state: "idle", stopReason: "error", error: { code, message, data } });
  }
}

async function prompt({ params }) {
  const session = find(params.sessionId);
  const messageId = newId("message");
  if (version === 2) {
    setImmediate(() => turn(session, messageId, params.prompt));
    return { messageId };
  }
  session.told.push({ sessionUpdate: "user_message_chunk", messageId, content: params.prompt[0] });
  return { stopReason: await act(session, params.prompt[0].text) };
}

function initialize() {
  const both = { delete: {}, fork: {} };
  if (version === 2) return { protocolVersion: 2, info, capabilities: { session: both } };
  const sessionCapabilities = { ...both, list: {}, resume: {}, close: {} };
  return { protocolVersion: 1, agentInfo: info, agentCapabilities: { loadSession: true, sessionCapabilities } };
}

async function replay(session) {
  for (const update of session.told) await tell(session, update);
}

async function resume({ params }) {
  const session = find(params.sessionId);
  if (params.replayFrom) await replay(session);
  await state(session, { state: "idle" });
  return {};
}

function list({ params: { cwd } }) {
  const known = [...sessions.values()].filter((session) => cwd == null || session.cwd === cwd);
  return { sessions: known.map((session) => ({ sessionId: session.id, cwd: session.cwd })) };
}

const app = acp
  .agent(info)
  .onRequest(agent.initialize, initialize)
  .onRequest(agent.session.new, ({ params }) => open(params.cwd, []))
  .onRequest(agent.session.list, list)
  .onRequest(agent.session.resume, resume)
  .onRequest(agent.session.fork, ({ params }) => open(params.cwd, [...find(params.sessionId).told]))
  .onRequest(agent.session.close, ({ params }) => (find(params.sessionId), {}))
  .onRequest(agent.session.delete, ({ params }) => (sessions.delete(params.sessionId), {}))
  .onRequest(agent.session.prompt, prompt)
  .onNotification(agent.session.cancel, ({ params }) => find(params.sessionId).cancel?.());
if (version === 1)
  app.onRequest(agent.session.load, async ({ params }) => {
    await replay(find(params.sessionId));
    return {};
  });
peer = app.connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin))).client;
