// The official TypeScript SDK, where tests/peers.py has installed it, in one version of the protocol.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const installed = createRequire(new URL("../../../.venvs/npm/package.json", import.meta.url));

async function load(...path) {
  const name = ["@agentclientprotocol/sdk", ...path].join("/");
  return await import(pathToFileURL(installed.resolve(name)).href);
}

export async function sdk(version) {
  return version === 2 ? await load("experimental/v2") : await load();
}

// With what is only in the draft of the protocol.
export async function unstableSdk(version) {
  return version === 2 ? await load("experimental/v2/unstable") : await load("unstable");
}

// With next edit suggestions, which only version 1 has there.
export async function nesSdk() {
  return await load("experimental/nes");
}

export const error = { code: -32050, message: "It went off", data: { detail: 42 } };
