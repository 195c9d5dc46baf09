// An agent on the official TypeScript SDK for the conversation: `typescript_agent.mjs VERSION`.
import { readFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { error, sdk } from "./typescript_sdk.mjs";

const version = Number(process.argv[2]);
const acp = await sdk(version);
const { agent } = acp.methods;
const sessionId = "session-1";
const info = { name: "interop-agent", version: "1.0" };
const options = [
  { optionId: "yes", name: "Yes", kind: "allow_once" },
  { optionId: "no", name: "No", kind: "reject_once" },
];
let note = "";
let withdrawn = 0;
let turns = 0;
let cancelled;
const hasBeenCancelled = new Promise((resolve) => (cancelled = resolve));

async function send(client, update) {
  await client.notify("session/update", { sessionId, update });
}

async function say(client, text) {
  const message = version === 2 ? { messageId: "agent-1" } : {};
  const content = { type: "text", text };
  await send(client, { sessionUpdate: "agent_message_chunk", ...message, content });
}

async function ask(client) {
  const toolCall = { toolCallId: "call-1", title: "Write" };
  let question = { toolCall };
  if (version === 2) question = { title: "May I write?", subject: { type: "tool_call", toolCall } };
  else await send(client, { sessionUpdate: "tool_call", ...toolCall, kind: "edit", status: "pending" });
  const answer = await client.request("session/request_permission", { sessionId, ...question, options });
  return answer.outcome.optionId;
}

async function act(client, text) {
  const [word, rest] = text.split(/ (.*)/s);
  if (word === "updates") {
    const path = new URL(`updates_v${version}.json`, import.meta.url);
    for (const update of JSON.parse(readFileSync(path, "utf8"))) await send(client, update);
  } else if (word === "flood") {
    for (let number = 0; number < Number(rest); number++) await say(client, `chunk ${number}`);
  } else if (word === "perm") {
    await say(client, `perm:${await ask(client)}`);
  } else if (word === "fs") {
    const file = await client.request("fs/read_text_file", { sessionId, path: rest, line: 2, limit: 1 });
    await say(client, `read:${file.content}`);
  } else if (word === "slow") {
    await say(client, "started");
    await hasBeenCancelled;
    return "cancelled";
  } else if (word === "ext") {
    await client.notify("_demo/noted", { text: note });
    await say(client, `ext:${(await client.request("_demo/value", {})).value}`);
  } else if (word === "unknown") {
    const refused = await client.request("_demo/nothing", {}).catch((reason) => reason);
    await say(client, `unknown:${refused.code}`);
  }
  return "end_turn";
}

async function turn(client, text) {
  await send(client, { sessionUpdate: "state_update", state: "running" });
  const stopReason = await act(client, text);
  await send(client, { sessionUpdate: "state_update", state: "idle", stopReason });
}

async function prompt({ params, client }) {
  const { text } = params.prompt[0];
  if (text === "boom") throw new acp.RequestError(error.code, error.message, error.data);
  if (version === 1) return { stopReason: await act(client, text) };
  const messageId = `user-${turns++}`;
  await send(client, { sessionUpdate: "user_message", messageId, content: params.prompt });
  setImmediate(() => turn(client, text));
  return { messageId };
}

async function wait({ client, signal }) {
  const withdrawal = new Promise((_, reject) => {
    signal.addEventListener("abort", () => {
      withdrawn++;
      reject(acp.RequestError.requestCancelled());
    });
  });
  await client.notify("_demo/waiting", {});
  return await withdrawal;
}

const any = (params) => params;
acp
  .agent(info)
  .onRequest(agent.initialize, () =>
    version === 2 ? { protocolVersion: 2, info } : { protocolVersion: 1, agentInfo: info },
  )
  .onRequest(agent.session.new, () => ({ sessionId }))
  .onRequest(agent.session.prompt, prompt)
  .onRequest("_demo/double", any, ({ params }) => ({ value: 2 * params.value }))
  .onRequest("_demo/wait", any, wait)
  .onRequest("_demo/withdrawn", any, () => ({ count: withdrawn }))
  .onNotification(agent.session.cancel, () => cancelled())
  .onNotification("_demo/note", any, ({ params }) => {
    note = params.text;
  })
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
