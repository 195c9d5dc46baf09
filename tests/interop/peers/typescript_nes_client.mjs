// A client on the official TypeScript SDK that asks our agent for suggestions, and checks all it gets with the SDK's schema.
// `typescript_nes_client.mjs COMMAND…` starts the agent and prints what it saw as JSON.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { nesSdk } from "./typescript_sdk.mjs";

const [command, ...rest] = process.argv.slice(2);
const acp = await nesSdk();
const { initialize, nes, document } = acp.methods.agent;
const uri = "file:///w/a.py";
const at = (line, character) => ({ line, character });
const visibleRange = { start: at(0, 0), end: at(1, 0) };

async function report(agent) {
  const clientCapabilities = { nes: { jump: {}, rename: {}, searchAndReplace: {} }, positionEncodings: ["utf-16"] };
  const hello = acp.zInitializeResponse.parse(await agent.request(initialize, { protocolVersion: 1, clientCapabilities }));
  const { nes: offer, positionEncoding } = hello.agentCapabilities;
  const { sessionId } = acp.validate.zStartNesResponse.parse(await agent.request(nes.start, {}));
  const tell = (method, params) => agent.notify(method, { sessionId, uri, ...params });
  const ask = async (version, options) => {
    const params = { sessionId, uri, version, position: at(0, 3), triggerKind: "automatic" };
    return acp.validate.zSuggestNesResponse.parse(await agent.request(nes.suggest, params, options)).suggestions;
  };
  await tell(document.didOpen, { languageId: "python", version: 1, text: "😀é\nsecond\n" });
  await tell(document.didFocus, { version: 1, position: at(0, 0), visibleRange });
  const change = { range: { start: at(0, 2), end: at(0, 3) }, text: "edit" };
  await tell(document.didChange, { version: 2, contentChanges: [change] });
  const first = await ask(2);
  await agent.notify(nes.accept, { sessionId, id: first[0].id });
  await agent.notify(nes.reject, { sessionId, id: first[1].id, reason: "ignored" });
  await tell(document.didChange, { version: 3, contentChanges: [{ text: "wait" }] });
  const stop = new AbortController();
  const waiting = ask(3, { cancellationSignal: stop.signal }).catch((error) => error.code);
  setImmediate(() => stop.abort());
  const cancelled = await waiting;
  await tell(document.didSave);
  await tell(document.didChange, { version: 4, contentChanges: [{ text: "report" }] });
  const [told] = await ask(4);
  await tell(document.didClose);
  await agent.request(nes.close, { sessionId });
  const closed = await ask(4).catch((error) => error.code);
  return { offer, positionEncoding, first, cancelled, told: JSON.parse(told.edits[0].newText), closed };
}

const child = spawn(command, rest, { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
console.log(JSON.stringify(await acp.client({ name: "interop-client" }).connectWith(stream, report)));
child.stdin.end();
child.kill();
