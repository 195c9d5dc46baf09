/**
 * Markdown that comes in pieces.
 *
 * What is finished is drawn once and not looked at again; the last block is drawn anew with each
 * frame. Code that is open is appended to, and a list loses its finished items to the page, so that
 * a long answer costs no more per piece than a short one. Paragraphs and lines that are longer than
 * anybody reads are cut, to bound the time that one frame takes.
 */

import { closes, code, draw, drawItem, list, outdented, outline } from "./blocks.js";
import { beforePaint, h, text } from "./dom.js";

const SLICE_CHARS = 32_768;
const LINE_CHARS = 2_000;
const BLOCK_CHARS = 8_000;
const MAX_CHARS = 1_000_000;

export class Markdown {
  /** Show text in an element; `moved` is called when it has grown. */
  constructor(element, moved = () => {}) {
    this.element = element;
    this.moved = moved;
    this.waiting = "";
    this.taken = 0;
    this.lines = []; // those of the last block
    this.partial = ""; // the last line, as far as it has come
    this.open = null; // what shows them
    this.fence = null; // code whose end has not come
    this.list = null; // a list that has lost items to the page
    this.isOver = false;
    this.step = this.step.bind(this);
  }

  /** Take more text. */
  append(words) {
    this.waiting += words;
    if (!this.isOver) beforePaint(this.step);
  }

  step() {
    if (this.isOver) return;
    const slice = this.waiting.slice(0, Math.min(SLICE_CHARS, MAX_CHARS - this.taken));
    this.waiting = this.waiting.slice(slice.length);
    this.taken += slice.length;
    this.take(slice);
    this.draw();
    this.moved();
    if (this.taken >= MAX_CHARS && this.waiting !== "") this.stop();
    else if (this.waiting !== "") beforePaint(this.step);
  }

  stop() {
    this.isOver = true;
    this.waiting = "";
    this.element.append(h("p", { class: "faint" }, "\u2026 The rest is too long to be shown."));
  }

  take(slice) {
    const pieces = (this.partial + slice).replace(/\r\n/g, "\n").split("\n");
    this.partial = pieces.pop();
    for (const piece of pieces) this.line(piece);
    while (this.partial.length > LINE_CHARS) {
      this.line(this.partial.slice(0, LINE_CHARS));
      this.partial = this.partial.slice(LINE_CHARS);
    }
    if (this.fence === null) this.freeze();
    else this.flushCode();
  }

  line(line) {
    for (let at = 0; at === 0 || at < line.length; at += LINE_CHARS) {
      const part = line.slice(at, at + LINE_CHARS);
      if (this.fence !== null) this.codeLine(part);
      else this.lines.push(part);
    }
  }

  codeLine(line) {
    if (closes(line, this.fence.mark)) {
      this.flushCode();
      this.fence.rest.remove();
      this.fence = null;
    } else {
      this.fence.lines.push(outdented(line, this.fence.indent));
    }
  }

  flushCode() {
    const { lines, rest } = this.fence;
    if (lines.length > 0) rest.before(text(`${lines.join("\n")}\n`));
    this.fence.lines = [];
  }

  /** Draw for good what nothing can change any more. */
  freeze() {
    for (;;) {
      const blocks = outline(this.lines);
      if (blocks.length === 0) {
        this.lines = this.lines.slice(-1);
        return;
      }
      const last = blocks[blocks.length - 1];
      for (const block of blocks.slice(0, -1)) this.finish(block);
      if (last.kind === "fence") {
        this.beginCode(last);
        if (this.fence !== null || this.lines.length === 0) return;
        continue;
      }
      if (last.kind === "list") this.finishItems(last);
      else this.lines = this.lines.slice(last.start);
      if (!this.isTooLong()) return;
      const [first] = outline(this.lines);
      this.finish(first);
      this.lines = first.kind === "table" ? this.lines.slice(first.start, first.start + 2) : [];
      return;
    }
  }

  isTooLong() {
    return this.lines.reduce((sum, line) => sum + line.length + 1, 0) > BLOCK_CHARS;
  }

  finish(block) {
    if (block === undefined) return;
    if (block.kind === "list" && this.continues(block)) this.addItems(block.items);
    else this.add(draw(this.lines, block));
    this.list = null;
  }

  finishItems(block) {
    if (!this.continues(block)) {
      if (block.items.length === 1) {
        this.list = null;
        this.lines = this.lines.slice(block.start);
        return;
      }
      this.list = { sort: block.sort, element: list(block) };
      this.add(this.list.element);
    }
    const last = block.items[block.items.length - 1];
    this.addItems(block.items.slice(0, -1));
    this.lines = this.lines.slice(last.start);
  }

  continues(block) {
    return this.list !== null && this.list.sort === block.sort && block.start === 0;
  }

  addItems(items) {
    this.removeOpen();
    for (const item of items) this.list.element.append(drawItem(this.lines, item, 0));
  }

  add(node) {
    this.removeOpen();
    this.element.append(node);
  }

  beginCode(block) {
    const { lines } = this;
    this.lines = [];
    this.list = null;
    const pre = code("", block.language);
    this.add(pre);
    const rest = text("");
    pre.firstChild.append(rest);
    this.fence = { mark: block.mark, indent: block.indent, lines: [], rest };
    for (let at = block.start + 1; at < lines.length; at += 1) {
      if (this.fence === null) {
        this.lines = lines.slice(at);
        return;
      }
      this.codeLine(lines[at]);
    }
    if (this.fence !== null) this.flushCode();
  }

  removeOpen() {
    for (const node of this.open ?? []) node.remove();
    this.open = null;
  }

  /** Show the last block as it seems to become. */
  draw() {
    if (this.fence !== null) {
      const isClosing = /^ {0,3}[`~]+$/.test(this.partial);
      this.fence.rest.data = isClosing ? "" : text(this.partial).data;
      return;
    }
    this.removeOpen();
    const lines = this.partial === "" ? this.lines : [...this.lines, this.partial];
    const blocks = /^ {0,3}[`~]{1,}$/.test(this.partial) ? outline(this.lines) : outline(lines);
    this.open = [];
    for (const block of blocks) {
      if (block.kind === "list" && this.continues(block)) {
        for (const item of block.items) this.show(this.list.element, drawItem(lines, item, 0));
      } else {
        this.show(this.element, draw(lines, block));
      }
    }
  }

  show(parent, node) {
    parent.append(node);
    this.open.push(node);
  }
}
