/**
 * JSON as a tree whose objects and lists can be folded. It is text, whatever is in it.
 *
 * Members are made when they are first seen, and a limited number of them at a time, so that
 * neither a large value nor a deep one stops the page.
 */

import { h, put } from "./shared/dom.js";
import { cut } from "./shared/text.js";

const MAX_MEMBERS = 200;
const MAX_OPEN_DEPTH = 4;
const MAX_OPEN_NODES = 400;
const MAX_STRING_CHARS = 4_000;

/** A number that this language cannot represent, or would write in another way. */
class ExactNumber {
  constructor(source) {
    this.source = source;
  }
}

/** Parse JSON; numbers keep their exact text if the browser supports this. */
export function parseJson(text) {
  const exact = (key, value, context) =>
    typeof value === "number" && context?.source !== undefined && context.source !== String(value)
      ? new ExactNumber(context.source)
      : value;
  try {
    return JSON.parse(text, exact);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    return JSON.parse(text); // nested too deeply for a function to look at
  }
}

/** Return an element with a tree of a value. */
export function jsonTree(value) {
  const budget = { nodes: MAX_OPEN_NODES };
  return h("div", { class: "json" }, node([], value, 0, budget));
}

function node(label, value, depth, budget) {
  budget.nodes -= 1;
  const members = membersOf(value);
  if (members === null) return h("div", { class: "leaf" }, label, scalar(value));
  const [start, end] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  if (members.length === 0) return h("div", { class: "leaf" }, label, `${start}${end}`);
  const noun = Array.isArray(value) ? "item" : "member";
  const count = `${members.length} ${noun}${members.length === 1 ? "" : "s"}`;
  const body = h("div", { class: "members" });
  const details = h(
    "details",
    {},
    h("summary", {}, label, h("span", { class: "bracket" }, start),
      h("span", { class: "count" }, ` ${count} `), h("span", { class: "bracket closed" }, end)),
    body,
  );
  const isDrawn = { value: false };
  const draw = () => {
    if (isDrawn.value) return;
    isDrawn.value = true;
    addMembers(body, members, 0, { depth, budget, isList: Array.isArray(value) });
    details.append(h("div", { class: "bracket end" }, end));
  };
  if (depth < MAX_OPEN_DEPTH && budget.nodes > Math.min(members.length, MAX_MEMBERS)) {
    details.open = true;
    draw();
  }
  details.addEventListener("toggle", () => details.open && draw());
  return details;
}

function membersOf(value) {
  if (value === null || typeof value !== "object" || value instanceof ExactNumber) return null;
  return Object.entries(value);
}

function addMembers(body, members, start, { depth, budget, isList }) {
  const end = Math.min(members.length, start + MAX_MEMBERS);
  for (const [key, value] of members.slice(start, end)) {
    const name = isList ? `${key}` : JSON.stringify(cut(key, MAX_STRING_CHARS)[0]);
    const label = h("span", { class: isList ? "index" : "key" }, name);
    put(body, node([label, ": "], value, depth + 1, budget));
  }
  if (end === members.length) return;
  const words = `Show more (${(members.length - end).toLocaleString("en")} left)`;
  const more = h("button", { type: "button" }, words);
  more.addEventListener("click", () => {
    more.remove();
    addMembers(body, members, end, { depth, budget, isList });
  });
  body.append(more);
}

function scalar(value) {
  if (value instanceof ExactNumber) return h("span", { class: "number" }, value.source);
  if (typeof value !== "string") return h("span", { class: typeof value }, JSON.stringify(value));
  const [start, left] = cut(value, MAX_STRING_CHARS);
  const shown = h("span", { class: "string" }, JSON.stringify(start));
  if (left === 0) return shown;
  const more = h("button", { type: "button" }, `Show all ${value.length.toLocaleString("en")} characters`);
  more.addEventListener("click", () => {
    shown.replaceWith(h("span", { class: "string" }, JSON.stringify(value)));
    more.remove();
  });
  return [shown, " ", more];
}
