// Finds the official TypeScript SDK where environments.py installed it.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const prefix = new URL("../../../.venvs/npm/package.json", import.meta.url);

export async function load(entry = "") {
  const path = createRequire(prefix).resolve(`@agentclientprotocol/sdk${entry}`);
  return import(pathToFileURL(path).href);
}

export default await load();
