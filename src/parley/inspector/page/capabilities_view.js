/** What both sides offered when they connected, and what was used. */

import { fill, h } from "./shared/dom.js";
import { facts } from "./detail_view.js";
import { jsonTree } from "./json_view.js";

const SIDES = { client: "Client", agent: "Agent" };

export class CapabilitiesView {
  /** Show capabilities in an element. `go` has `toRow(number)`. */
  constructor(element, go) {
    this.element = element;
    this.go = go;
  }

  clear() {
    fill(this.element);
  }

  show({ version, requested_version: requested, client, agent, rows, capabilities }) {
    const mistakes = capabilities.filter((each) => each.uses > 0 && !each.is_offered);
    fill(
      this.element,
      facts([
        ["Version", version === null ? "not agreed" : `${version}${requested !== null && requested !== version ? ` (the client requested ${requested})` : ""}`],
        ["Client", describePeer(client)],
        ["Agent", describePeer(agent)],
        rows.length > 0 && ["Frames", rows.map((number) => this.rowButton(number))],
      ]),
      mistakes.length > 0 && h("p", { class: "mark-line invalid" }, `! ${mistakes.length} used without being offered`),
      capabilities.length > 0 && this.table([...mistakes, ...capabilities.filter((each) => !mistakes.includes(each))]),
      peerTree("What the client sent", client),
      peerTree("What the agent sent", agent),
    );
  }

  table(capabilities) {
    const head = ["Side", "Capability", "Offered", "Used"].map((name) => h("th", { scope: "col" }, name));
    return h("div", { class: "table" }, h("table", {}, h("thead", {}, h("tr", {}, head)),
      h("tbody", {}, capabilities.map((each) => this.row(each)))));
  }

  row({ side, path, is_offered: isOffered, used, uses, methods }) {
    const isMistake = uses > 0 && !isOffered;
    const offered = isOffered ? "✓ yes" : isMistake ? "! no, but used" : "no";
    const times = uses === 0 ? "no" : uses === 1 ? "once " : `${uses.toLocaleString("en")} times `;
    const places = used.slice(0, 3).map((number) => this.rowButton(number));
    return h("tr", { class: isMistake && "mistake" }, h("td", {}, SIDES[side] ?? side),
      h("td", {}, h("code", {}, path), methods.length > 0 && h("div", { class: "faint" }, methods.join(", "))),
      h("td", {}, offered), h("td", {}, times, places));
  }

  rowButton(number) {
    return h("button", { type: "button", class: "small", "aria-label": `Frame ${number}`, onclick: () => this.go.toRow(number) }, `#${number}`);
  }
}

function describePeer(peer) {
  if (peer === null) return "unknown";
  return [peer.title || peer.name, peer.title && peer.name && `(${peer.name})`, peer.version].filter(Boolean).join(" ") || "unnamed";
}

function peerTree(title, peer) {
  return peer !== null && h("section", {}, h("h3", {}, title), jsonTree(peer.capabilities ?? null));
}
