// An agent on the official TypeScript SDK that makes suggestions of all kinds, and keeps what its client says.
// What the user asks for by hand is answered with all that came, as the text of an edit.
import { Readable, Writable } from "node:stream";
import { nesSdk } from "./typescript_sdk.mjs";

const acp = await nesSdk();
const { initialize, nes, document } = acp.methods.agent;
const sessionId = "nes-1";
const heard = [];
const events = { didOpen: {}, didChange: { syncKind: "incremental" }, didClose: {}, didSave: {}, didFocus: {} };
const context = { editHistory: { maxCount: 1 }, userActions: { maxCount: 1 }, openFiles: {}, diagnostics: {} };
const asked = new Set();

function hear(name) {
  return ({ params }) => void heard.push([name, params]);
}

function begin({ params: { clientCapabilities } }) {
  heard.push(["initialize", { nes: clientCapabilities.nes, encodings: clientCapabilities.positionEncodings }]);
  const agentCapabilities = { nes: { events: { document: events }, context }, positionEncoding: "utf-16" };
  return { protocolVersion: 1, agentInfo: { name: "interop-nes", version: "1.0" }, agentCapabilities };
}

// Each of the first four lines has one suggestion, the fifth has none for ever.
function suggestions({ uri, position }) {
  const place = { start: position, end: position };
  const edit = { kind: "edit", uri, edits: [{ range: place, newText: "one" }], cursorPosition: position };
  const jump = { kind: "jump", uri, position: { line: 0, character: 0 } };
  const rename = { kind: "rename", uri, position, newName: "two" };
  const replace = { kind: "searchAndReplace", uri, search: "a", replace: "b" };
  const found = [edit, jump, rename, replace][position.line];
  if (found === undefined || asked.has(position.line)) return [];
  asked.add(position.line);
  return [{ id: `line ${position.line}`, ...found }];
}

async function suggest({ params, signal }) {
  heard.push(["suggest", params]);
  const { uri, position } = params;
  if (params.triggerKind === "manual") {
    const edits = [{ range: { start: position, end: position }, newText: JSON.stringify(heard) }];
    return { suggestions: [{ id: `heard ${heard.length}`, kind: "edit", uri, edits }] };
  }
  if (position.line === 4) {
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    heard.push(["aborted", {}]);
  }
  return { suggestions: suggestions(params) };
}

const stream = acp.ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin));
const agent = acp
  .agent({ name: "interop-nes" })
  .onRequest(initialize, begin)
  .onRequest(nes.start, ({ params }) => {
    heard.push(["start", params]);
    return { sessionId };
  })
  .onRequest(nes.suggest, suggest)
  .onRequest(nes.close, () => ({}))
  .onNotification(nes.accept, hear("accept"))
  .onNotification(nes.reject, hear("reject"));
for (const [name, method] of Object.entries(document)) agent.onNotification(method, hear(name));
await agent.connect(stream).closed;
