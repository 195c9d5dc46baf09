// The official TypeScript SDK, where tests/peers.py has installed it, in one version of the protocol.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const installed = createRequire(new URL("../../../.venvs/npm/package.json", import.meta.url));

export async function sdk(version) {
  const name = "@agentclientprotocol/sdk" + (version === 2 ? "/experimental/v2" : "");
  return await import(pathToFileURL(installed.resolve(name)).href);
}

export const error = { code: -32050, message: "It went off", data: { detail: 42 } };
