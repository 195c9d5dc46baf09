// The agent under test, on the official TypeScript SDK; the same program as acp_agent.py.
import { readFileSync, writeFileSync } from "node:fs";
import { Readable, Writable } from "node:stream";
import { parseArgs } from "node:util";
import acp from "./sdk.mjs";

const { values } = parseArgs({ options: { report: { type: "string", default: "/dev/null" } } });
const filler = " the quick brown fox jumps over the lazy dog, again.";
let mark = begin();

// What is said is made beforehand, which is none of the SDK's work.
function texts(count) {
  return Array.from({ length: count }, (_, number) => String(number).padStart(8, "0") + filler);
}

function begin() {
  return { cpu: process.cpuUsage(), wall: performance.now() };
}

function writeReport() {
  const { user, system } = process.cpuUsage(mark.cpu);
  const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync("/proc/self/status", "utf8"))[1]) * 1024;
  const wall = (performance.now() - mark.wall) / 1e3;
  writeFileSync(values.report, JSON.stringify({ cpu: (user + system) / 1e6, wall, peak }));
}

async function sendUpdates(client, sessionId, said) {
  for (const text of said) {
    await client.notify(acp.methods.client.session.update, {
      sessionId,
      update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
    });
  }
}

const { agent } = acp.methods;
acp
  .agent({ name: "bench" })
  .onRequest(agent.initialize, () => ({ protocolVersion: acp.PROTOCOL_VERSION, agentCapabilities: {} }))
  .onRequest(agent.session.new, () => {
    mark = begin();
    return { sessionId: "bench" };
  })
  .onRequest(agent.session.setMode, () => ({}))
  .onRequest(agent.session.prompt, async ({ params, client }) => {
    const text = params.prompt[0].text;
    if (text.startsWith("updates ")) {
      const said = texts(Number(text.split(" ")[1]));
      mark = begin();
      await sendUpdates(client, params.sessionId, said);
    }
    writeReport();
    return { stopReason: "end_turn" };
  })
  .connect(
    acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin), {
      maxMessageBytes: 128 << 20,
    }),
  );
