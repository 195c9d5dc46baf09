/**
 * Markdown within a paragraph: emphasis, code, links.
 *
 * One pass from left to right, with a stack of what is open. Links lead to the web alone and say
 * where; pictures and HTML are shown as they were written.
 */

import { h, link, text } from "./dom.js";

const SPECIAL = /[\\`*_~[\]!<&h]/g;
const ESCAPED = /[!-/:-@[-`{-~]/;
const BARE = /https?:\/\/[^\s<>"'`]+/y;
const ANGLE = /<(https?:\/\/[^\s<>]+)>/y;
const ADDRESS = "<[^<>\\n]*>|[^\\s()<>]*(?:\\([^\\s()]*\\)[^\\s()<>]*)*";
const TITLE = "\"[^\"]*\"|'[^']*'";
const TARGET = new RegExp(`\\(\\s*(${ADDRESS})(?:\\s+(?:${TITLE}))?\\s*\\)`, "y");
const TAGS = { "**": "strong", __: "strong", "*": "em", _: "em", "~~": "del" };
const MAX_DEPTH = 16;

/** Return the nodes of a paragraph. */
export function inline(source) {
  return new Scanner(source).run();
}

class Scanner {
  constructor(source) {
    this.source = source;
    this.at = 0;
    this.frames = [{ mark: "", nodes: [], plain: "" }];
    this.unclosed = new Set(); // lengths of backticks that nothing closes
  }

  run() {
    const { source } = this;
    while (this.at < source.length) {
      SPECIAL.lastIndex = this.at;
      const found = SPECIAL.exec(source);
      const end = found === null ? source.length : found.index;
      this.say(source.slice(this.at, end));
      this.at = end;
      if (found !== null) this.special(found[0]);
    }
    while (this.frames.length > 1) this.flatten();
    this.flush();
    return this.frames[0].nodes;
  }

  get top() {
    return this.frames[this.frames.length - 1];
  }

  say(words) {
    this.top.plain += words;
  }

  /** Make a node of the words that were said. */
  flush() {
    const { top } = this;
    if (top.plain !== "") {
      top.nodes.push(...broken(top.plain));
      top.plain = "";
    }
  }

  node(...nodes) {
    this.flush();
    this.top.nodes.push(...nodes.flat());
  }

  special(character) {
    if (character === "\\") this.escape();
    else if (character === "`") this.code();
    else if (character === "[") this.open("[");
    else if (character === "]") this.closeLink();
    else if (character === "!") this.picture();
    else if (character === "<" || character === "h") this.address(character);
    else if (character === "&") this.say(this.take(1));
    else this.emphasis(character);
  }

  take(length) {
    const taken = this.source.slice(this.at, this.at + length);
    this.at += length;
    return taken;
  }

  escape() {
    const next = this.source[this.at + 1] ?? "";
    if (ESCAPED.test(next)) {
      this.say(next);
      this.at += 2;
    } else {
      this.say(this.take(1));
    }
  }

  code() {
    let length = 1;
    while (this.source[this.at + length] === "`") length += 1;
    const start = this.at + length;
    const end = this.unclosed.has(length) ? -1 : closing(this.source, start, length);
    if (end < 0) {
      this.unclosed.add(length);
      this.say(this.take(length));
      return;
    }
    let inner = this.source.slice(start, end).replace(/\n/g, " ");
    if (/^ .* $/.test(inner) && inner.trim() !== "") inner = inner.slice(1, -1);
    this.node(h("code", {}, inner));
    this.at = end + length;
  }

  picture() {
    // The source of a picture is shown: nothing is loaded because an agent says so.
    if (this.source[this.at + 1] === "[") {
      const end = this.source.indexOf("]", this.at);
      TARGET.lastIndex = end + 1;
      const target = end < 0 ? null : TARGET.exec(this.source);
      if (target !== null) {
        this.say(this.take(TARGET.lastIndex - this.at));
        return;
      }
    }
    this.say(this.take(1));
  }

  address(character) {
    const pattern = character === "<" ? ANGLE : BARE;
    pattern.lastIndex = this.at;
    const before = this.source[this.at - 1] ?? " ";
    const found = /[\w/]/.test(before) && character === "h" ? null : pattern.exec(this.source);
    if (found === null || this.isInLink()) {
      this.say(this.take(1));
      return;
    }
    const address = character === "<" ? found[1] : trimmed(found[0]);
    const made = link(address);
    if (made === null) {
      this.say(this.take(1));
      return;
    }
    this.node(made);
    this.at += character === "<" ? found[0].length : address.length;
  }

  isInLink() {
    return this.frames.some((frame) => frame.mark === "[");
  }

  emphasis(character) {
    let length = 1;
    while (this.source[this.at + length] === character) length += 1;
    const before = this.source[this.at - 1] ?? " ";
    const after = this.source[this.at + length] ?? " ";
    const isWord = character === "_" && /\w/.test(before) && /\w/.test(after);
    if (isWord || (character === "~" && length < 2)) {
      this.say(this.take(length));
      return;
    }
    this.at += length;
    let left = length;
    for (let mark; !/\s/.test(before) && (mark = this.innermost(character, left)); ) {
      this.close(mark);
      left -= mark.length;
    }
    while (left > 0) {
      const mark = character.repeat(Math.min(left, 2));
      if (!/\s/.test(after) && mark in TAGS) this.open(mark, false);
      else this.say(mark);
      left -= mark.length;
    }
  }

  /** Return the mark that was opened last with a character, if so many of it close it. */
  innermost(character, left) {
    for (let index = this.frames.length - 1; index > 0; index -= 1) {
      const { mark } = this.frames[index];
      if (mark === "[") return null;
      if (mark[0] === character) return mark.length <= left ? mark : null;
    }
    return null;
  }

  open(mark, moves = true) {
    if (moves) this.at += mark.length;
    if (this.frames.length > MAX_DEPTH) {
      this.say(mark);
      return;
    }
    this.flush();
    this.frames.push({ mark, nodes: [], plain: "" });
  }

  close(mark) {
    while (this.top.mark !== mark) this.flatten();
    this.flush();
    const { nodes } = this.frames.pop();
    this.top.nodes.push(h(TAGS[mark], {}, nodes));
  }

  /** Turn what was never closed into the words that it is. */
  flatten() {
    this.flush();
    const { mark, nodes } = this.frames.pop();
    this.say(mark);
    this.flush();
    this.top.nodes.push(...nodes);
  }

  closeLink() {
    if (!this.frames.some((frame) => frame.mark === "[")) {
      this.say(this.take(1));
      return;
    }
    TARGET.lastIndex = this.at + 1;
    const target = TARGET.exec(this.source);
    while (this.top.mark !== "[") this.flatten();
    this.flush();
    const made =
      target === null ? null : link(target[1].replace(/^<|>$/g, ""), this.top.nodes.slice());
    if (made === null) {
      this.flatten();
      this.say(target === null ? this.take(1) : this.take(TARGET.lastIndex - this.at));
      return;
    }
    this.frames.pop();
    this.node(made);
    this.at = TARGET.lastIndex;
  }
}

function closing(source, start, length) {
  const runs = /`+/g;
  runs.lastIndex = start;
  for (let found = runs.exec(source); found !== null; found = runs.exec(source)) {
    if (found[0].length === length) return found.index;
  }
  return -1;
}

/** Leave out of an address what rather ends the sentence. */
function trimmed(address) {
  address = address.replace(/[.,:;!?*_~]+$/, "");
  const opened = address.split("(").length;
  return address.endsWith(")") && address.split(")").length > opened
    ? address.slice(0, -1)
    : address;
}

/** Return words with their hard line breaks. */
function broken(words) {
  const parts = words.split(/(?: {2,}|\\)\n/);
  return parts.flatMap((part, index) => (index === 0 ? [text(part)] : [h("br"), text(part)]));
}
