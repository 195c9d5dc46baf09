/**
 * Changes of files: what an agent calls a patch, and one made of a text before and after.
 */

import { h } from "./dom.js";
import { asText, cut, objects, textOrNull } from "./text.js";

const CONTEXT = 3;
const MAX_CELLS = 250_000;
const MAX_CHARS = 100_000;
const MAX_LINES = 1_000;
const MAX_LINE = 2_000;
const MAX_CHANGES = 50;
const MAX_COMPARED = 1_000_000;
const SIGNS = { add: "+", delete: "\u2212", modify: "~", move: "\u2192", copy: "\u21d2" };

/** Return the element that shows a change of files. */
export function drawDiff(diff) {
  const changes = objects(diff.changes);
  const more = changes.length - MAX_CHANGES;
  const [words, left] = cut(diff.patch?.text ?? "", MAX_CHARS);
  const lines = words.trimEnd().split("\n");
  const leftLines = lines.length - MAX_LINES;
  return h(
    "div",
    { class: "diff" },
    changes.slice(0, MAX_CHANGES).map((change) => h("div", { class: "path" }, named(change))),
    more > 0 && h("p", { class: "warning" }, `${more} more changed files are not shown`),
    words !== "" &&
      h("pre", { tabindex: "0", "aria-label": "Changes" }, lines.slice(0, MAX_LINES).map(line)),
    words === "" &&
      !diff.isTooLarge &&
      changes.some(hasText) &&
      h("p", { class: "warning" }, "The agent does not show what it changes there."),
    diff.isTooLarge && h("p", { class: "warning" }, "This change is too large to be shown"),
    leftLines > 0 && h("p", { class: "warning" }, `${leftLines} more lines are not shown`),
    left > 0 && h("p", { class: "warning" }, `${left} more characters are not shown`),
  );
}

/** Return whether a change is more than its operation and its paths. */
function hasText({ operation }) {
  return !["delete", "move", "copy"].includes(operation);
}

function named(change) {
  const operation = textOrNull(change.operation) ?? "";
  const sign = Object.hasOwn(SIGNS, operation) ? SIGNS[operation] : "?";
  const old = change.oldPath ? `${asText(change.oldPath)} \u2192 ` : "";
  const mark = h("span", { class: "sign", title: asText(change.operation) }, sign);
  return [mark, ` ${old}${asText(change.path)}`];
}

function line(words) {
  if (words.length > MAX_LINE) words = `${words.slice(0, MAX_LINE)}\u2026`;
  const first = words[0];
  const isHead = /^(?:diff --git |index |--- |\+\+\+ |@@ |new |deleted |rename |similarity )/;
  let kind = null;
  if (isHead.test(words)) kind = "head";
  else if (first === "+") kind = "added";
  else if (first === "-") kind = "removed";
  return h("span", { class: kind }, `${words}\n`);
}

/** Return a patch that makes one text of another; null if they are too long to be compared. */
export function patchOf(path, before, after) {
  if ((before?.length ?? 0) + (after?.length ?? 0) > MAX_COMPARED) return null;
  const old = split(before);
  const now = split(after);
  const steps = compare(old, now);
  return [`--- ${before === null ? "/dev/null" : path}`, `+++ ${path}`, ...hunks(steps)].join("\n");
}

function split(words) {
  if (words === null || words === undefined || words === "") return [];
  const lines = words.split("\n");
  if (lines[lines.length - 1] === "") lines.pop();
  else lines[lines.length - 1] += "\n\\ No newline at end of file";
  return lines;
}

/** Return the lines of both texts in their order, each with a sign. */
function compare(old, now) {
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (
    end < old.length - start &&
    end < now.length - start &&
    old[old.length - 1 - end] === now[now.length - 1 - end]
  )
    end += 1;
  const same = (lines) => lines.map((each) => [" ", each]);
  return [
    ...same(old.slice(0, start)),
    ...middle(old.slice(start, old.length - end), now.slice(start, now.length - end)),
    ...same(old.slice(old.length - end)),
  ];
}

function middle(old, now) {
  const all = () => [...old.map((each) => ["-", each]), ...now.map((each) => ["+", each])];
  if (old.length * now.length > MAX_CELLS || old.length === 0 || now.length === 0) return all();
  const width = now.length + 1;
  const longest = new Uint32Array((old.length + 1) * width);
  for (let i = old.length - 1; i >= 0; i -= 1)
    for (let j = now.length - 1; j >= 0; j -= 1)
      longest[i * width + j] =
        old[i] === now[j]
          ? longest[(i + 1) * width + j + 1] + 1
          : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
  const steps = [];
  let [i, j] = [0, 0];
  while (i < old.length && j < now.length) {
    if (old[i] === now[j]) {
      steps.push([" ", old[i]]);
      i += 1;
      j += 1;
    } else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) {
      steps.push(["-", old[i++]]);
    } else {
      steps.push(["+", now[j++]]);
    }
  }
  while (i < old.length) steps.push(["-", old[i++]]);
  while (j < now.length) steps.push(["+", now[j++]]);
  return steps;
}

function hunks(steps) {
  const near = new Uint8Array(steps.length);
  steps.forEach(([sign], at) => {
    if (sign !== " ") near.fill(1, Math.max(0, at - CONTEXT), at + CONTEXT + 1);
  });
  const lines = [];
  let [old, now] = [1, 1];
  for (let at = 0; at < steps.length; at += 1) {
    const [sign, words] = steps[at];
    if (near[at] && !near[at - 1]) lines.push(`@@ -${old} +${now} @@`);
    if (near[at]) lines.push(`${sign}${words}`);
    if (sign !== "+") old += 1;
    if (sign !== "-") now += 1;
  }
  return lines;
}
