// The agent under test, on the official TypeScript SDK's version 2; the same as acp_agent_v2.py.
import { writeFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { parseArgs } from "node:util";
import { load } from "./sdk.mjs";

const acp = await load("/experimental/v2");
const { values } = parseArgs({ options: { report: { type: "string", default: "/dev/null" } } });
const filler = " the quick brown fox jumps over the lazy dog, again.";
let mark = process.cpuUsage();
let turns = 0;

// What is said is made beforehand, which is none of the SDK's work.
function texts(count) {
  return Array.from({ length: count }, (_, number) => String(number).padStart(8, "0") + filler);
}

function writeReport() {
  const { user, system } = process.cpuUsage(mark);
  writeFileSync(values.report, JSON.stringify({ cpu: (user + system) / 1e6 }));
}

async function turn(client, sessionId, messageId, prompt) {
  const send = (update) => client.notify("session/update", { sessionId, update });
  const [word, count] = prompt[0].text.split(" ");
  const said = word === "updates" ? texts(Number(count)) : [];
  if (word === "updates") mark = process.cpuUsage();
  else writeReport();
  await send({ sessionUpdate: "user_message", messageId, content: prompt });
  await send({ sessionUpdate: "state_update", state: "running" });
  for (const text of said) {
    await send({
      sessionUpdate: "agent_message_chunk",
      messageId: `agent-${messageId}`,
      content: { type: "text", text },
    });
  }
  await send({ sessionUpdate: "state_update", state: "idle", stopReason: "end_turn" });
}

acp
  .agent({ name: "bench" })
  .onRequest("initialize", () => ({
    protocolVersion: 2,
    info: { name: "bench", version: "1" },
    capabilities: { session: {} },
  }))
  .onRequest("session/new", () => ({ sessionId: "bench" }))
  .onRequest("session/prompt", async ({ params, client }) => {
    const messageId = `user-${turns++}`;
    setImmediate(() => turn(client, params.sessionId, messageId, params.prompt));
    return { messageId };
  })
  .connect(acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
