// The client under test, on the official TypeScript SDK's sessions; with --v2 on its version 2.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { parseArgs } from "node:util";
import { load } from "./sdk.mjs";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { "warm-up": { type: "string", default: "1" }, v2: { type: "boolean", default: false } },
});
const [, count, command, ...rest] = positionals;
const acp = await load(values.v2 ? "/experimental/v2" : "");
const info = { name: "bench", version: "1" };
const hello = values.v2 ? { protocolVersion: 2, info } : { protocolVersion: 1, clientCapabilities: {} };

async function flood(session, expected) {
  const seen = { count: 0, disordered: 0, last: "" };
  const cpu = process.cpuUsage();
  const wall = performance.now();
  const answer = session.prompt(`updates ${expected}`);
  for (;;) {
    const message = await session.nextUpdate();
    if (message.kind === "stop") break;
    const { sessionUpdate, content } = message.update;
    if (sessionUpdate !== "agent_message_chunk" || content.type !== "text") continue;
    if (content.text <= seen.last) seen.disordered++;
    seen.last = content.text;
    seen.count++;
  }
  await answer;
  const { user, system } = process.cpuUsage(cpu);
  const seconds = (performance.now() - wall) / 1e3;
  if (seen.count !== expected) throw new Error(`${seen.count} updates instead of ${expected}`);
  return { cpu: (user + system) / 1e6 / expected, wall: seconds / expected, disordered: seen.disordered };
}

const child = spawn(command, rest, { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
await acp.client({ name: "bench" }).connectWith(stream, async (agent) => {
  await agent.request("initialize", hello);
  const session = await agent.buildSession("/").start();
  await flood(session, Number(values["warm-up"]));
  const figures = await flood(session, Number(count));
  const answer = session.prompt("report");
  while ((await session.nextUpdate()).kind !== "stop");
  await answer;
  console.log(JSON.stringify(figures));
});
child.stdin.end();
child.kill();
