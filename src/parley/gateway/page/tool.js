/**
 * What an agent does: a card for each tool call, with its changes and its terminals.
 */

import { Terminal } from "./ansi.js";
import { drawContent, pre } from "./content.js";
import { drawDiff } from "./diff.js";
import { beforePaint, fill, folded, h } from "./dom.js";
import { asText, cut, inertLine, objects, shortLine, textOrNull } from "./text.js";

const SIGNS = {
  pending: "\u25cb", in_progress: "\u25d4", paused: "\u25d1", completed: "\u2713", failed: "\u2717",
  cancelled: "\u2013",
};
const MAX_PLACES = 20;
const MAX_CONTENT = 10;
const MAX_KEPT = 200;
const MAX_DIFFS = 10;
const MAX_TITLE = 200;
const MAX_OPENED = 5;
const COMMAND_KEYS = [
  "command", "cmd", "script", "code", "shell", "bash", "program", "executable", "argv", "args",
  "url",
];
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
    if (command !== undefined) fill(this.head, command ? `$ ${cut(command, 2_000)[0]}` : "");
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
  return signal ? `ended by ${inertLine(signal)}` : `exit code ${asText(exitCode ?? "unknown")}`;
}

function unpacked(base64) {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

export class ToolCard {
  /** `terminal(id)` finds the view of a terminal; `moved()` is called when it has grown. */
  constructor(id, terminal, moved = () => {}) {
    this.call = { toolCallId: id };
    this.terminal = terminal;
    this.moved = moved;
    this.draw = this.draw.bind(this);
    this.sign = h("span", { class: "sign" });
    this.title = h("span", { class: "title" });
    this.body = h("div", { class: "body" });
    this.element = h(
      "details",
      { class: "tool entry", ontoggle: () => this.draw() },
      h("summary", {}, this.sign, " ", this.title),
      this.body,
    );
  }

  update(update) {
    const { call } = this;
    merge(call, update);
    const status = textOrNull(call.status) ?? "pending";
    this.element.dataset.status = Object.hasOwn(SIGNS, status) ? status : "other";
    fill(this.sign, h("span", { role: "img", "aria-label": status }, SIGNS[status] ?? "?"));
    fill(this.title, shortLine(call.title || call.name || "Tool", MAX_TITLE), kind(call));
    if (update.content !== undefined && objects(call.content).some(isWorthSeeing)) this.unfold();
    this.redraw();
  }

  /** Append content. */
  append(content) {
    this.call.content = [...objects(this.call.content), content].slice(-MAX_KEPT);
    if (isWorthSeeing(content)) this.unfold();
    this.redraw();
  }

  /** Show the card's content; only a few are unfolded at a time, unless the user does it. */
  unfold() {
    this.element.open = true;
    opened.delete(this.element);
    opened.add(this.element);
    const [oldest] = opened;
    if (opened.size <= MAX_OPENED) return;
    opened.delete(oldest);
    oldest.open = false;
  }

  redraw() {
    beforePaint(this.draw);
  }

  /** Draw what is unfolded, and nothing else: there may be thousands of cards. */
  draw() {
    const { call, body } = this;
    if (!this.element.open) {
      body.replaceChildren();
      return;
    }
    const contents = objects(call.content);
    const left = contents.length - MAX_CONTENT;
    fill(
      body,
      h("div", { class: "path" }, located(call.locations)),
      left > 0 && h("p", { class: "warning" }, `${left} earlier parts are not shown`),
      h(
        "div",
        { class: "content" },
        contents.slice(-MAX_CONTENT).map((each) => drawToolContent(each, this.terminal)),
      ),
      raw("Input", call.rawInput),
      raw("Output", call.rawOutput),
    );
    this.moved();
  }
}

const opened = new Set(); // cards that were unfolded by themselves, the oldest first

function isWorthSeeing(content) {
  return content?.type === "diff" || content?.type === "terminal";
}

function kind(call) {
  if (!call.kind || call.kind === "other") return null;
  return h("small", { class: "faint" }, ` ${shortLine(call.kind, 40)}`);
}

/** Return the places of a call, but for those that its changes name. */
function located(locations, diffs = []) {
  const named = new Set(diffs.flatMap(({ changes }) => objects(changes)).map(({ path }) => path));
  const all = objects(locations).filter(({ path }) => !named.has(path));
  const left = all.length - MAX_PLACES;
  return [
    all.slice(0, MAX_PLACES).map(({ path, line }) =>
      h("div", {}, Number.isInteger(line) ? `${asText(path)}:${line}` : asText(path)),
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
  const input = call.rawInput ?? null;
  const diffs = objects(call.content).filter((each) => each.type === "diff");
  const command = commandOf(input);
  const left = diffs.length - MAX_DIFFS;
  const isKnown = input !== null || diffs.length > 0;
  return [
    command !== null && h("div", { class: "command" }, pre(command, "Command")),
    input !== null && [h("small", {}, "Input"), pre(asText(input), "Input")],
    diffs.slice(0, MAX_DIFFS).map(drawDiff),
    left > 0 && h("p", { class: "warning" }, `${left} more changes are not shown`),
    h("div", { class: "path" }, located(call.locations, diffs)),
    !isKnown && h("p", { class: "warning" }, "The agent does not show what exactly it will do."),
  ];
}

/** Return what an input would run, if it says so under one of the usual names. */
function commandOf(input) {
  if (input === null || typeof input !== "object" || Array.isArray(input)) return null;
  const found = COMMAND_KEYS.filter((key) => Object.hasOwn(input, key));
  if (found.length === 0) return null;
  const words = (value) => (Array.isArray(value) ? value.map(asText).join(" ") : asText(value));
  return found.map((key) => words(input[key])).join("\n");
}
