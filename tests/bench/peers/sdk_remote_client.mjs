// The client under test, on the official TypeScript SDK; the same program as parley_remote_client.py.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import acp, { load } from "./sdk.mjs";

const [work, count, warmUp, url] = process.argv.slice(2);

async function open() {
  if (!url.startsWith("ws")) return (await load("/experimental/http-client")).createHttpStream(url);
  const ws = createRequire(new URL("../../../.venvs/ws/package.json", import.meta.url)).resolve("ws");
  const { WebSocket } = (await import(pathToFileURL(ws).href)).default;
  return (await load("/experimental/ws-client")).createWebSocketStream(url, { WebSocket });
}

async function serverSeconds(agent) {
  return (await agent.request("_bench/cpu", {})).seconds;
}

function seconds(since) {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1e6;
}

async function flood(agent, session, expected) {
  const seen = { count: 0, disordered: 0, last: "" };
  const begin = await serverSeconds(agent);
  const cpu = process.cpuUsage();
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
  const client = seconds(cpu) / expected;
  const server = ((await serverSeconds(agent)) - begin) / expected;
  if (seen.count !== expected) throw new Error(`${seen.count} updates instead of ${expected}`);
  return { client, server, disordered: seen.disordered };
}

async function echo(agent, session, expected) {
  const times = [];
  const begin = await serverSeconds(agent);
  const cpu = process.cpuUsage();
  for (let number = 0; number < expected; number++) {
    const start = performance.now();
    await agent.request("_bench/echo", { text: String(number) });
    times.push((performance.now() - start) / 1e3);
  }
  const client = seconds(cpu) / expected;
  const server = ((await serverSeconds(agent)) - begin) / expected;
  return { client, server, p50: times.sort((a, b) => a - b)[expected >> 1] };
}

const act = { updates: flood, requests: echo }[work];
await acp.client({ name: "bench" }).connectWith(await open(), async (agent) => {
  await agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
  const session = await agent.buildSession("/").start();
  await act(agent, session, Number(warmUp));
  console.log(JSON.stringify(await act(agent, session, Number(count))));
});
process.exit(0);
