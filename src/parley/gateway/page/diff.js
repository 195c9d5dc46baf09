/**
 * Changes to files, with their patch.
 */

import { h } from "./dom.js";
import { asText, cut, objects, textOrNull } from "./text.js";

const MAX_CHARS = 100_000;
const MAX_LINES = 1_000;
const MAX_LINE = 2_000;
const MAX_CHANGES = 50;
const NO_NEWLINE = /^\\ /; // "\ No newline at end of file" says nothing about the change
const NEW_FILE = /^(?:@@ -0,0 |new file mode|--- \/dev\/null)/m;
const SIGNS = { add: "+", delete: "\u2212", modify: "~", move: "\u2192", copy: "\u21d2" };

/** Return the element that shows a change of files. */
export function drawDiff(diff) {
  const changes = objects(diff.changes);
  const more = changes.length - MAX_CHANGES;
  const [words, left] = cut(diff.patch?.text ?? "", MAX_CHARS);
  const lines = words.trimEnd().split("\n").filter((each) => !NO_NEWLINE.test(each));
  const leftLines = lines.length - MAX_LINES;
  return h(
    "div",
    { class: "diff" },
    shownChanges(changes, words).map((change) => h("div", { class: "path" }, named(change))),
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

/** Return the changes to list; the only one of a patch for a new file is an added file. */
function shownChanges(changes, patch) {
  const isNew = changes.length === 1 && changes[0].operation === "modify" && NEW_FILE.test(patch);
  return isNew ? [{ ...changes[0], operation: "add" }] : changes.slice(0, MAX_CHANGES);
}

/** Return whether a change has more to show than its operation and its paths. */
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
