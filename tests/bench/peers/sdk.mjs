// Finds the official TypeScript SDK where environments.py installed it.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const prefix = new URL("../../../.venvs/npm/package.json", import.meta.url);
const entry = createRequire(prefix).resolve("@agentclientprotocol/sdk");
const acp = await import(pathToFileURL(entry).href);
export default acp;
