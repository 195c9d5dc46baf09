// The remote agent under test, on the official TypeScript SDK; the same program as parley_remote_server.py.
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import acp, { load } from "./sdk.mjs";

const { AcpServer } = await load("/experimental/server");
const node = await load("/experimental/node");
const ws = createRequire(new URL("../../../.venvs/ws/package.json", import.meta.url)).resolve("ws");
const { WebSocketServer } = (await import(pathToFileURL(ws).href)).default;
const filler = " the quick brown fox jumps over the lazy dog, again.";
const any = (params) => params;

function makeAgent() {
  const { agent } = acp.methods;
  return acp
    .agent({ name: "bench" })
    .onRequest(agent.initialize, () => ({ protocolVersion: acp.PROTOCOL_VERSION, agentCapabilities: {} }))
    .onRequest(agent.session.new, () => ({ sessionId: "bench" }))
    .onRequest(agent.session.prompt, async ({ params, client }) => {
      const count = Number(params.prompt[0].text.split(" ")[1]);
      const said = Array.from({ length: count }, (_, number) => String(number).padStart(8, "0") + filler);
      for (const text of said) {
        await client.notify(acp.methods.client.session.update, {
          sessionId: params.sessionId,
          update: { sessionUpdate: "agent_message_chunk", content: { type: "text", text } },
        });
      }
      return { stopReason: "end_turn" };
    })
    .onRequest("_bench/echo", any, ({ params }) => params)
    .onRequest("_bench/cpu", any, () => {
      const { user, system } = process.cpuUsage();
      return { seconds: (user + system) / 1e6 };
    });
}

const server = new AcpServer({ createAgent: makeAgent });
const handle = node.createNodeHttpHandler(server);
const http = createServer((request, response) => handle(request, response));
http.on("upgrade", node.createNodeWebSocketUpgradeHandler(server, new WebSocketServer({ noServer: true })));
http.listen(0, "127.0.0.1", () => process.stdout.write(`http://127.0.0.1:${http.address().port}/acp\n`));
process.stdin.on("end", () => process.exit(0)).resume();
