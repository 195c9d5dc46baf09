/**
 * Tool calls: a card for each, with its input, output, changes and terminals.
 */

import { Terminal } from "./ansi.js";
import { drawContent, pre } from "./content.js";
import { drawDiff } from "./diff.js";
import { beforePaint, fill, folded, h } from "./dom.js";
import {
  asText, cut, inertLine, objects, shortLine, textOrNull, withoutFences,
} from "./text.js";

const SIGNS = {
  pending: "\u25cb", in_progress: "\u25d4", paused: "\u25d1", completed: "\u2713", failed: "\u2717",
  cancelled: "\u2013",
};
const MAX_LOCATIONS = 20;
const MAX_CONTENT = 10;
const MAX_KEPT = 200;
const MAX_DIFFS = 10;
const MAX_TITLE = 200;
const MAX_OPENED = 5;
const MAX_INPUT = 2_000;
const MAX_OUTPUT = 100_000;
const OUTPUT_KEYS = [
  "formatted_output", "aggregated_output", "output", "text", "content", "result",
];
const COMMAND_COPIES = ["commands", "parsed_cmd", "parsedCmd"];
const COMMAND_KEYS = [
  "command", "cmd", "script", "code", "shell", "bash", "program", "executable", "argv", "args",
  "url",
];
const FIELDS = ["title", "name", "kind", "status", "content", "locations", "rawInput", "rawOutput"];

/** Merge an update into a tool call; null clears a field, an absent field is kept. */
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
  return signal ? `killed by ${inertLine(signal)}` : `exit code ${asText(exitCode ?? "unknown")}`;
}

function unpacked(base64) {
  try {
    return Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

export class ToolCard {
  /** `terminal(id)` returns the view of a terminal; `moved()` is called when the card grows. */
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
    fill(this.title, titleOf(call), kind(call));
    if (update.content !== undefined && objects(call.content).some(isWorthSeeing)) this.unfold();
    else if (update.rawOutput !== undefined && commandOutput(call) !== null) this.unfold();
    this.redraw();
  }

  /** Append content. */
  append(content) {
    this.call.content = [...objects(this.call.content), content].slice(-MAX_KEPT);
    if (isWorthSeeing(content)) this.unfold();
    this.redraw();
  }

  /** Unfold the card; folds the oldest of many that were unfolded automatically. */
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

  /** Draw the card if it is unfolded; there may be thousands that are not. */
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
      drawCommandOutput(call, this.moved),
      raw("Input", call.rawInput),
      raw("Output", call.rawOutput),
    );
    this.moved();
  }
}

const opened = new Set(); // cards that were unfolded automatically, the oldest first

function isWorthSeeing(content) {
  return content?.type === "diff" || content?.type === "terminal";
}

function kind(call) {
  if (!call.kind || call.kind === "other") return null;
  return h("small", { class: "faint" }, ` ${shortLine(call.kind, 40)}`);
}

/** Return the locations of a call, except those that its changes name. */
function located(locations, diffs = []) {
  const named = new Set(diffs.flatMap(({ changes }) => objects(changes)).map(({ path }) => path));
  const all = objects(locations).filter(({ path }) => !named.has(path));
  const left = all.length - MAX_LOCATIONS;
  return [
    all.slice(0, MAX_LOCATIONS).map(({ path, line }) =>
      h("div", {}, Number.isInteger(line) ? `${asText(path)}:${line}` : asText(path)),
    ),
    left > 0 && h("p", { class: "warning" }, `${left} more locations are not shown`),
  ];
}

/** Return the title of a call on one line; the name of the tool if it has none. */
function titleOf(call) {
  return shortLine(withoutFences(call.title || call.name || "Tool"), MAX_TITLE) || "Tool";
}

/**
 * Return the output of a command that is only in the raw output of its call; null for other calls.
 *
 * Agents have no common format for it; these are the usual ones: a text, content blocks, and an
 * object with the output under a usual name or with `stdout` and `stderr`.
 */
function commandOutput(call) {
  const isCommand = call.kind === "execute" || commandOf(call.rawInput ?? null) !== null;
  if (!isCommand || objects(call.content).length > 0) return null;
  return outputText(call.rawOutput) || null;
}

function outputText(output) {
  if (typeof output === "string") return output;
  if (Array.isArray(output))
    return objects(output).map((each) => outputText(each.content ?? each)).join("");
  if (output === null || typeof output !== "object") return "";
  for (const key of OUTPUT_KEYS) {
    const text = output[key] === undefined ? "" : outputText(output[key]);
    if (text) return text;
  }
  return [output.stdout, output.stderr].map(textOrNull).filter(Boolean).join("\n");
}

function drawCommandOutput(call, moved) {
  const output = commandOutput(call);
  if (output === null) return null;
  const box = h("pre", { class: "terminal", tabindex: "0", "aria-label": "Output" });
  new Terminal(box, moved).write(output.slice(-MAX_OUTPUT));
  const left = output.length - MAX_OUTPUT;
  return [
    left > 0 && h("p", { class: "warning" }, `${left} earlier characters are not shown`),
    h("div", { class: "terminal-box" }, box),
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
  return folded("Unknown content", pre(asText(content)));
}

/**
 * Return what a tool call is about to do: its command, its input, its changes and its paths. The
 * title is only the agent's own name for it, and not enough to decide by.
 */
export function drawAction(call) {
  const input = call.rawInput ?? null;
  const diffs = objects(call.content).filter((each) => each.type === "diff");
  const command = commandOf(input);
  const left = diffs.length - MAX_DIFFS;
  const isKnown = input !== null || diffs.length > 0;
  return [
    command !== null && h("div", { class: "command" }, pre(command, "Command")),
    drawInput(input, command, diffs),
    diffs.slice(0, MAX_DIFFS).map(drawDiff),
    left > 0 && h("p", { class: "warning" }, `${left} more changes are not shown`),
    h("div", { class: "path" }, located(call.locations, diffs)),
    !isKnown && h("p", { class: "warning" }, "The agent does not show exactly what it will do."),
  ];
}

/**
 * Return the input of a call next to a question: without what the command repeats, folded if the
 * changes repeat all of it, and shortened if it is long.
 */
function drawInput(input, command, diffs) {
  const rest = command === null ? input : withoutCommand(input, command);
  if (rest === null) return null;
  if (isRepeatedBy(rest, diffs)) return folded("Input", pre(asText(rest), "Input"));
  const text = asText(rest);
  const [start, left] = cut(text, MAX_INPUT);
  return [
    h("small", {}, "Input"),
    pre(start, "Input"),
    left > 0 && h("p", { class: "warning" }, `${left} more characters are folded below`),
    left > 0 && folded("All of the input", pre(text, "All of the input")),
  ];
}

/** Return an input without what repeats the shown command; null if nothing is left. */
function withoutCommand(input, command) {
  const isRepeated = ([name, value]) =>
    COMMAND_KEYS.includes(name) ||
    (COMMAND_COPIES.includes(name) && commandsIn(value).every((each) => command.includes(each)));
  const rest = Object.entries(input).filter((each) => !isRepeated(each));
  return rest.length > 0 ? Object.fromEntries(rest) : null;
}

/** Return the commands in a copy: a text, an object such as `{"cmd": …}`, or a list of them. */
function commandsIn(value) {
  if (Array.isArray(value)) return value.flatMap(commandsIn);
  return [commandOf(value) ?? asText(value)];
}

/** Return whether the changes of a call show every value of its input. */
function isRepeatedBy(input, diffs) {
  if (diffs.length === 0) return false;
  const shown = new Set();
  for (const diff of diffs) {
    for (const { path, oldPath } of objects(diff.changes)) shown.add(path).add(oldPath);
    const lines = asText(diff.patch?.text ?? "").split("\n");
    for (const line of lines) shown.add(line.slice(1));
  }
  const isShown = (value) => {
    if (typeof value !== "string") return value === null || value === false;
    return value.split("\n").every((line) => line === "" || shown.has(line));
  };
  return leaves(input).every(isShown);
}

/** Return the values in a value of JSON that are neither lists nor objects. */
function leaves(value) {
  if (value === null || typeof value !== "object") return [value];
  return Object.values(value).flatMap(leaves);
}

/** Return the command in an input, if it is under one of the usual names. */
function commandOf(input) {
  if (input === null || typeof input !== "object" || Array.isArray(input)) return null;
  const found = COMMAND_KEYS.filter((key) => Object.hasOwn(input, key));
  if (found.length === 0) return null;
  const words = (value) => (Array.isArray(value) ? value.map(asText).join(" ") : asText(value));
  return [...new Set(found.map((key) => words(input[key])))].join("\n");
}
