/**
 * What an agent does: a card for each tool call, with its changes and its terminals.
 */

import { Terminal } from "./ansi.js";
import { drawContent, pre } from "./content.js";
import { drawDiff } from "./diff.js";
import { fill, folded, h } from "./dom.js";
import { asText, inertLine, objects } from "./text.js";

const SIGNS = {
  pending: "\u25cb", in_progress: "\u25d4", paused: "\u25d1", completed: "\u2713", failed: "\u2717",
  cancelled: "\u2013",
};
const MAX_PLACES = 50;
const FIELDS = ["title", "name", "kind", "status", "content", "locations", "rawInput", "rawOutput"];

/** Take over what an update says of a tool call; null clears, absent keeps. */
export function merge(call, update) {
  for (const field of FIELDS) if (update[field] !== undefined) call[field] = update[field];
  return call;
}

/** A terminal that the agent runs. */
export class TerminalView {
  constructor(moved) {
    this.head = h("div", { class: "command" });
    this.foot = h("div", { class: "faint" });
    const output = h("pre", { class: "terminal", tabindex: "0", "aria-label": "Output" });
    this.element = h("div", { class: "terminal-box" }, this.head, output, this.foot);
    this.terminal = new Terminal(output, moved);
    this.decoder = new TextDecoder();
  }

  update({ command, cwd, output, exitStatus }) {
    if (command !== undefined) fill(this.head, command ? `$ ${command}` : "");
    if (cwd) this.head.title = inertLine(cwd);
    if (output !== undefined) {
      this.terminal.clear();
      this.decoder = new TextDecoder();
      if (output?.data) this.write(output.data);
    }
    if (exitStatus !== undefined) fill(this.foot, exitStatus ? ended(exitStatus) : "");
  }

  write(data) {
    this.terminal.write(this.decoder.decode(unpacked(data), { stream: true }));
  }
}

function ended({ exitCode, signal }) {
  return signal ? `ended by ${inertLine(signal)}` : `exit code ${exitCode ?? "unknown"}`;
}

function unpacked(base64) {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

export class ToolCard {
  /** `terminal(id)` finds the view of a terminal. */
  constructor(id, terminal) {
    this.call = { toolCallId: id };
    this.terminal = terminal;
    this.sign = h("span", { class: "sign" });
    this.title = h("span", { class: "title" });
    this.body = h("div", { class: "content" });
    this.more = h("div");
    this.places = h("div", { class: "path" });
    this.element = h(
      "details",
      { class: "tool entry" },
      h("summary", {}, this.sign, " ", this.title),
      h("div", { class: "body" }, this.places, this.body, this.more),
    );
  }

  update(update) {
    const { call } = this;
    merge(call, update);
    const status = call.status ?? "pending";
    this.element.dataset.status = Object.hasOwn(SIGNS, status) ? status : "other";
    fill(this.sign, h("span", { role: "img", "aria-label": status }, SIGNS[status] ?? "?"));
    fill(this.title, inertLine(call.title || call.name || "Tool"), kind(call));
    if (update.locations !== undefined) fill(this.places, located(call.locations));
    if (update.content !== undefined) {
      this.body.replaceChildren();
      for (const content of objects(call.content)) this.add(content);
    }
    if (update.rawInput !== undefined || update.rawOutput !== undefined)
      fill(this.more, raw("Input", call.rawInput), raw("Output", call.rawOutput));
  }

  /** Append content. */
  append(content) {
    this.call.content = [...objects(this.call.content), content];
    this.add(content);
  }

  add(content) {
    if (content?.type === "diff" || content?.type === "terminal") this.element.open = true;
    this.body.append(drawToolContent(content, this.terminal));
  }
}

function kind(call) {
  if (!call.kind || call.kind === "other") return null;
  return h("small", { class: "faint" }, ` ${inertLine(call.kind)}`);
}

/** Return the places of a call, but for those that its changes name. */
function located(locations, diffs = []) {
  const named = new Set(diffs.flatMap(({ changes }) => objects(changes)).map(({ path }) => path));
  const all = objects(locations).filter(({ path }) => !named.has(path));
  const left = all.length - MAX_PLACES;
  return [
    all.slice(0, MAX_PLACES).map(({ path, line }) =>
      h("div", {}, line ? `${path}:${line}` : String(path)),
    ),
    left > 0 && h("p", { class: "warning" }, `${left} more places are not shown`),
  ];
}

function raw(name, value) {
  if (value === undefined || value === null) return null;
  return folded(name, pre(asText(value), name));
}

function drawToolContent(content, terminal) {
  if (content?.type === "content") return drawContent(content.content);
  if (content?.type === "diff") return drawDiff(content);
  if (content?.type === "terminal") return terminal(content.terminalId).element;
  return folded("Something unknown", pre(asText(content)));
}

/**
 * Return what a tool call is really about to do: its command, its paths, its changes, its input.
 * The title is the agent's own word for it and is not enough to decide by.
 */
export function drawDeed(call) {
  const input = call.rawInput;
  const command = input && typeof input === "object" ? input.command ?? input.cmd : undefined;
  const diffs = objects(call.content).filter((each) => each.type === "diff");
  const others = objects(call.content).filter((each) => each.type === "content");
  const line = Array.isArray(command) ? command.map(asText).join(" ") : command;
  return [
    line !== undefined && h("div", { class: "command" }, pre(asText(line), "Command")),
    h("div", { class: "path" }, located(call.locations, diffs)),
    diffs.map(drawDiff),
    others.map((each) => drawContent(each.content)),
    input !== undefined &&
      input !== null &&
      h("div", {}, h("small", {}, "Input"), pre(asText(input), "Input")),
  ];
}
