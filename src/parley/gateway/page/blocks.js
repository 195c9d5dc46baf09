/**
 * Markdown as blocks: where each begins and ends, and the nodes that show it.
 *
 * `outline` decides by whole lines alone, `draw` makes nodes of one block. What is nested is read
 * with the same two functions, up to a depth; below that it is text.
 */

import { h } from "./dom.js";
import { inline } from "./inline.js";

export const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([^`]*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const RULE = /^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?/;
const ITEM = /^( {0,3})([-+*]|\d{1,9}[.)])([ \t]+|$)/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;
const DIVIDER = /^ {0,3}\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$/;
const TASK = /^\[([ xX])\][ \t]+/;
const INDENTED = /^(?: {4}|\t)/;
const MAX_DEPTH = 8;

/** Return the blocks of some lines: kind, start, end, and what drawing needs to know. */
export function outline(lines) {
  const found = [];
  for (let at = 0; at < lines.length; ) {
    if (isBlank(lines[at])) {
      at += 1;
      continue;
    }
    const block = begin(lines, at);
    found.push(block);
    at = block.end;
  }
  return found;
}

/** Return the nodes of some lines. */
export function render(lines, depth = 0) {
  if (depth > MAX_DEPTH) return [h("p", {}, lines.join("\n"))];
  return outline(lines).map((block) => draw(lines, block, depth));
}

/** Return the element that shows a block. */
export function draw(lines, block, depth = 0) {
  const own = lines.slice(block.start, block.end);
  switch (block.kind) {
    case "fence":
      return code(dedented(own.slice(1, block.isClosed ? -1 : undefined), block), block.language);
    case "indented":
      return code(own.map((line) => line.replace(INDENTED, "")).join("\n").trimEnd(), "");
    case "heading":
      return h(`h${Math.min(block.level + 1, 6)}`, {}, inline(block.words));
    case "rule":
      return h("hr");
    case "quote":
      return h("blockquote", {}, render(own.map((line) => line.replace(QUOTE, "")), depth + 1));
    case "list":
      return put(list(block), lines, block, depth);
    case "table":
      return table(own);
    default:
      return h("p", {}, inline(own.map((line) => line.trimStart()).join("\n").trimEnd()));
  }
}

/** Return the empty element of a list. */
export function list(block) {
  if (!block.isOrdered) return h("ul");
  return h("ol", { start: block.number === 1 ? null : block.number });
}

/** Return the element of one item. */
export function drawItem(lines, item, depth) {
  const own = lines.slice(item.start, item.end);
  const inner = own.map((line, index) =>
    index === 0 ? line.slice(item.indent) : outdented(line, item.indent),
  );
  const task = TASK.exec(inner[0]);
  if (task !== null) inner[0] = inner[0].slice(task[0].length);
  const nodes = render(inner, depth + 1);
  // An item of one paragraph needs no paragraph.
  const isTight = nodes.filter((node) => node.localName === "p").length < 2;
  const children = isTight
    ? nodes.flatMap((node) => (node.localName === "p" ? [...node.childNodes] : [node]))
    : nodes;
  return h("li", {}, task && `${task[1] === " " ? "\u2610" : "\u2611"} `, children);
}

function put(element, lines, block, depth) {
  for (const item of block.items) element.append(drawItem(lines, item, depth));
  return element;
}

function begin(lines, start) {
  const line = lines[start];
  const fence = FENCE.exec(line);
  if (fence !== null) return fenced(lines, start, fence);
  if (INDENTED.test(line)) return { kind: "indented", start, end: whileIndented(lines, start) };
  const heading = HEADING.exec(line);
  if (heading !== null) {
    const [, marks, words] = heading;
    return { kind: "heading", level: marks.length, words: words ?? "", start, end: start + 1 };
  }
  if (RULE.test(line)) return { kind: "rule", start, end: start + 1 };
  if (QUOTE.test(line)) return { kind: "quote", start, end: whileQuoted(lines, start) };
  if (ITEM.test(line)) return listed(lines, start);
  const divider = lines[start + 1];
  if (line.includes("|") && divider !== undefined && divider.includes("-") && DIVIDER.test(divider))
    return { kind: "table", start, end: whileRows(lines, start + 2) };
  return paragraph(lines, start);
}

function paragraph(lines, start) {
  let end = start + 1;
  while (end < lines.length && !isBlank(lines[end])) {
    const underline = UNDERLINE.exec(lines[end]);
    if (underline !== null) {
      const words = lines.slice(start, end).join("\n").trim();
      const level = underline[1][0] === "=" ? 1 : 2;
      return { kind: "heading", level, words, start, end: end + 1 };
    }
    if (interrupts(lines[end])) break;
    end += 1;
  }
  return { kind: "paragraph", start, end };
}

/** Tell whether a line begins something else although a paragraph is not over. */
function interrupts(line) {
  if (FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line)) return true;
  const item = ITEM.exec(line);
  return item !== null && item[3] !== "" && (!/\d/.test(item[2]) || /^1[.)]/.test(item[2]));
}

function fenced(lines, start, [, mark, info]) {
  const indent = indentOf(lines[start]);
  const language = (info.trim().split(/\s+/)[0] ?? "").slice(0, 40);
  for (let at = start + 1; at < lines.length; at += 1) {
    if (closes(lines[at], mark))
      return { kind: "fence", mark, indent, language, isClosed: true, start, end: at + 1 };
  }
  return { kind: "fence", mark, indent, language, isClosed: false, start, end: lines.length };
}

/** Tell whether a line ends code that began with these marks. */
export function closes(line, mark) {
  const found = FENCE.exec(line);
  return found !== null && found[2] === "" && found[1].startsWith(mark);
}

function listed(lines, start) {
  const first = ITEM.exec(lines[start]);
  const sort = first[2].slice(-1);
  const items = [];
  let at = start;
  while (at < lines.length) {
    const found = ITEM.exec(lines[at]);
    if (found === null || found[2].slice(-1) !== sort || RULE.test(lines[at])) break;
    const indent = found[0].length > found[1].length + found[2].length + 4 || found[3] === ""
      ? found[1].length + found[2].length + 1
      : found[0].length;
    const end = itemEnd(lines, at + 1, indent);
    items.push({ start: at, end, indent });
    at = end;
  }
  const end = items[items.length - 1].end;
  const isOrdered = /\d/.test(first[2]);
  return { kind: "list", sort, isOrdered, number: parseInt(first[2], 10), items, start, end };
}

/** Return the line behind an item: what is indented belongs to it, or follows without a gap. */
function itemEnd(lines, at, indent) {
  let isApart = false;
  for (; at < lines.length; at += 1) {
    if (isBlank(lines[at])) {
      isApart = true;
    } else if (indentOf(lines[at]) >= indent) {
      isApart = false;
    } else if (isApart || ITEM.test(lines[at]) || interrupts(lines[at])) {
      break;
    }
  }
  return at;
}

function whileQuoted(lines, at) {
  const goesOn = (line) => !isBlank(line) && (QUOTE.test(line) || !interrupts(line));
  while (at < lines.length && goesOn(lines[at])) at += 1;
  return at;
}

function whileIndented(lines, at) {
  let end = at;
  for (; at < lines.length && (isBlank(lines[at]) || INDENTED.test(lines[at])); at += 1)
    if (!isBlank(lines[at])) end = at + 1;
  return end;
}

function whileRows(lines, at) {
  while (at < lines.length && !isBlank(lines[at]) && !interrupts(lines[at])) at += 1;
  return Math.min(at, lines.length);
}

function table([head, , ...rows]) {
  const width = cells(head).length;
  const row = (line, tag, scope) =>
    h("tr", {}, cells(line).slice(0, width).map((cell) => h(tag, { scope }, inline(cell))));
  return h(
    "div",
    { class: "table", tabindex: "0", role: "group", "aria-label": "Table" },
    h(
      "table",
      {},
      h("thead", {}, row(head, "th", "col")),
      h("tbody", {}, rows.map((each) => row(each, "td"))),
    ),
  );
}

function cells(line) {
  const inner = line.trim().replace(/^\|/, "").replace(/(^|[^\\])\|$/, "$1");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));
}

/** Return the element of code. */
export function code(words, language) {
  const inner = h("code", { "data-language": language || null }, words);
  return h("pre", { class: "code", tabindex: "0", "aria-label": language || "code" }, inner);
}

function dedented(lines, block) {
  return lines.map((line) => `${outdented(line, block.indent)}\n`).join("");
}

/** Remove at most so many blanks from the beginning of a line. */
export function outdented(line, indent) {
  return line.slice(Math.min(indentOf(line), indent));
}

function indentOf(line) {
  return line.length - line.trimStart().length;
}

function isBlank(line) {
  return line.trim() === "";
}
