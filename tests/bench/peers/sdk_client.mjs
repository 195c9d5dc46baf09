// The client under test, on the official TypeScript SDK; the same program as acp_client.py.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { parseArgs } from "node:util";
import acp from "./sdk.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { "warm-up": { type: "string", default: "1" } },
});
const [work, count, command, ...rest] = positionals;
let seen;

function begin(expected) {
  seen = { count: 0, disordered: 0, last: "", expected };
  seen.complete = new Promise((resolve) => (seen.resolve = resolve));
}

async function onUpdate({ params }) {
  const { sessionUpdate, content } = params.update;
  if (sessionUpdate !== "agent_message_chunk" || content.type !== "text") throw new Error("unexpected");
  const text = content.text;
  if (text <= seen.last) seen.disordered++;
  seen.last = text;
  if (++seen.count === seen.expected) seen.resolve();
}

function cpuSeconds(since) {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1e6;
}

async function flood(agent, count) {
  begin(count);
  const cpu = process.cpuUsage();
  const wall = performance.now();
  const prompt = [{ type: "text", text: `updates ${count}` }];
  await agent.request(acp.methods.agent.session.prompt, { sessionId: "bench", prompt });
  await seen.complete;
  const seconds = (performance.now() - wall) / 1e3;
  return { cpu: cpuSeconds(cpu) / count, wall: seconds / count, disordered: seen.disordered };
}

async function roundTrips(agent, count) {
  const times = [];
  const cpu = process.cpuUsage();
  for (let number = 0; number < count; number++) {
    const start = performance.now();
    await agent.request(acp.methods.agent.session.setMode, { sessionId: "bench", modeId: "ask" });
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  return { cpu: cpuSeconds(cpu) / count, p50: times[count >> 1] / 1e3 };
}

const child = spawn(command, rest, { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
await acp
  .client({ name: "bench" })
  .onNotification(acp.methods.client.session.update, onUpdate)
  .connectWith(stream, async (agent) => {
    await agent.request(acp.methods.agent.initialize, { protocolVersion: 1, clientCapabilities: {} });
    await agent.request(acp.methods.agent.session.new, { cwd: "/", mcpServers: [] });
    const run = { flood, "round-trips": roundTrips }[work];
    await run(agent, Number(values["warm-up"]));
    const figures = await run(agent, Number(count));
    console.log(JSON.stringify({ ...figures, resident: process.memoryUsage().rss }));
  });
child.stdin.end();
child.kill();
