// An editor on the official TypeScript SDK that takes whatever is suggested, and prints the text that comes of it as JSON.
// `typescript_nes_editor.mjs COMMAND…` starts the agent.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import { nesSdk } from "./typescript_sdk.mjs";

const [command, ...rest] = process.argv.slice(2);
const acp = await nesSdk();
const { initialize, nes, document } = acp.methods.agent;
const uri = "file:///w/steps.py";
const names = ["fetch", "parse", "check", "store", "close"];
const lines = names.flatMap((name) => [`log.debug("😀", ${name})`, `${name}(files)`, ""]);
const at = (line, character) => ({ line, character });

async function edit(agent) {
  const clientCapabilities = { nes: {}, positionEncodings: ["utf-16"] };
  acp.zInitializeResponse.parse(await agent.request(initialize, { protocolVersion: 1, clientCapabilities }));
  const { sessionId } = acp.validate.zStartNesResponse.parse(await agent.request(nes.start, {}));
  const tell = (method, params) => agent.notify(method, { sessionId, uri, ...params });
  let version = 1;
  const change = async (range, text) => {
    const line = lines[range.start.line];
    lines[range.start.line] = line.slice(0, range.start.character) + text + line.slice(range.end.character);
    await tell(document.didChange, { version: ++version, contentChanges: [{ range, text }] });
  };
  await tell(document.didOpen, { languageId: "python", version, text: lines.join("\n") });
  for (const line of [0, 3]) await change({ start: at(line, 4), end: at(line, 9) }, "info");
  const rules = [];
  while (lines.some((line) => line.includes("debug"))) {
    const params = { sessionId, uri, version, position: at(3, 8), triggerKind: "manual" };
    const { suggestions } = acp.validate.zSuggestNesResponse.parse(await agent.request(nes.suggest, params));
    if (!suggestions.length) continue; // a busy machine leaves the engine no time
    const [{ id, edits, _meta }] = suggestions;
    rules.push(_meta.parley.rule);
    for (const { range, newText } of edits.toReversed()) await change(range, newText);
    await agent.notify(nes.accept, { sessionId, id });
  }
  await agent.request(nes.close, { sessionId });
  return { lines, rules };
}

const child = spawn(command, rest, { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
console.log(JSON.stringify(await acp.client({ name: "interop-editor" }).connectWith(stream, edit)));
child.stdin.end();
child.kill();
