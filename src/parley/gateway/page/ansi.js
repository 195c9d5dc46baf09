/**
 * What a command writes to its terminal, as lines with colours and nothing else.
 *
 * Colours, carriage return, backspace, tab, newline and the clearing of a line are kept. Every
 * other sequence is dropped whole, also when it is cut between two pieces. Lines, and their number,
 * are bounded: the newest stay.
 */

import { beforePaint, h } from "./dom.js";

const MAX_LINES = 2_000;
const LINE_CHARS = 2_000;
const HELD_CHARS = 4_096;
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/g;
const END = "\\u0007\\u0018\\u001a\\x1b\\u009c";
const OPEN = "(?:\\x1b[\\]PX^_]|[\\u0090\\u0098\\u009d-\\u009f])";
const SEQUENCE = /(?:\x1b\[|\u009b)([0-9:;<=>?]*)[ -/]*([@-~])/y;
const STRING = new RegExp(`${OPEN}[^${END}]*(?:\\x1b\\\\?|[${END}])`, "y");
const OTHER = /\x1b[ -/]*[0-~]/y;
const UNFINISHED = new RegExp(
  `(?:(?:\\x1b\\[|\\u009b)[0-9:;<=>?]*[ -/]*|${OPEN}[^${END}]*\\x1b?|\\x1b[ -/]*)$`,
  "y",
);
const PLAIN = Object.freeze({});

export class Terminal {
  /** Show output in an element; `moved` is called when it has grown. */
  constructor(element, moved = () => {}) {
    this.element = element;
    this.moved = moved;
    this.clear();
  }

  /** Forget everything. */
  clear() {
    this.lines = []; // finished, not yet on the page
    this.shown = 0;
    this.dropped = 0;
    this.cells = [];
    this.column = 0;
    this.style = PLAIN;
    this.held = "";
    this.element.replaceChildren();
    this.last = null;
  }

  /** Take more output. */
  write(words) {
    const source = this.held + words;
    this.held = "";
    for (let at = 0; at < source.length; ) {
      CONTROL.lastIndex = at;
      const found = CONTROL.exec(source);
      const end = found === null ? source.length : found.index;
      this.print(source.slice(at, end));
      at = found === null ? end : this.control(source, end);
    }
    beforePaint(() => this.draw());
  }

  control(source, at) {
    const character = source[at];
    if (character === "\n") this.newline();
    else if (character === "\r") this.column = 0;
    else if (character === "\b") this.column = Math.max(0, this.column - 1);
    else if (character === "\t") this.print(" ".repeat(8 - (this.column % 8)));
    else if (character === "\x1b" || character >= "\u0080") return this.sequence(source, at);
    return at + 1;
  }

  sequence(source, at) {
    SEQUENCE.lastIndex = STRING.lastIndex = OTHER.lastIndex = UNFINISHED.lastIndex = at;
    const found = SEQUENCE.exec(source);
    if (found !== null) {
      if (found[2] === "m") this.style = styled(this.style, found[1]);
      if (found[2] === "K") this.erase(found[1]);
      return SEQUENCE.lastIndex;
    }
    if (UNFINISHED.test(source) && source.length - at < HELD_CHARS) {
      this.held = source.slice(at);
      return source.length;
    }
    if (STRING.test(source)) return STRING.lastIndex;
    if (OTHER.test(source)) return OTHER.lastIndex;
    return at + 1;
  }

  print(words) {
    for (const character of words) {
      if (this.column < LINE_CHARS) this.cells[this.column] = [character, this.style];
      this.column += 1;
    }
  }

  erase(what) {
    if (what === "2") this.cells = [];
    else if (what === "1") this.cells.fill([" ", PLAIN], 0, this.column + 1);
    else if (what === "" || what === "0") this.cells = this.cells.slice(0, this.column);
  }

  newline() {
    this.lines.push(this.cells);
    this.cells = [];
    this.column = 0;
    if (this.lines.length > MAX_LINES) {
      this.lines.shift();
      this.dropped += 1;
    }
  }

  draw() {
    this.last?.remove();
    for (const cells of this.lines) this.element.append(row(cells, "\n"));
    this.shown += this.lines.length;
    this.lines = [];
    while (this.shown > MAX_LINES) {
      this.element.firstChild.remove();
      this.shown -= 1;
      this.dropped += 1;
    }
    this.last = row(this.cells, "");
    this.element.append(this.last);
    this.moved();
  }
}

function row(cells, end) {
  const element = h("span");
  let words = "";
  let style = PLAIN;
  const flush = () => {
    if (words !== "") element.append(run(words, style));
    words = "";
  };
  for (let at = 0; at < cells.length; at += 1) {
    const [character, its] = cells[at] ?? [" ", PLAIN];
    if (its !== style) flush();
    style = its;
    words += character;
  }
  flush();
  element.append(end);
  return element;
}

function run(words, style) {
  if (style === PLAIN) return h("span", {}, words);
  const names = ["bold", "dim", "italic", "underline", "reverse"].filter((name) => style[name]);
  if (typeof style.fg === "number") names.push(`fg${style.fg}`);
  if (typeof style.bg === "number") names.push(`bg${style.bg}`);
  return h(
    "span",
    {
      class: names.join(" ") || null,
      color: Array.isArray(style.fg) ? style.fg : null,
      background: Array.isArray(style.bg) ? style.bg : null,
    },
    words,
  );
}

const SWITCHES = {
  1: { bold: true }, 2: { dim: true }, 3: { italic: true }, 4: { underline: true },
  7: { reverse: true }, 22: { bold: false, dim: false }, 23: { italic: false },
  24: { underline: false }, 27: { reverse: false }, 39: { fg: null }, 49: { bg: null },
};

function styled(style, parameters) {
  const codes = parameters.slice(0, 64).split(/[;:]/).map(Number);
  let result = { ...style };
  while (codes.length > 0) {
    const code = codes.shift();
    if (code === 0) result = {};
    else if (code in SWITCHES) Object.assign(result, SWITCHES[code]);
    else if (code === 38) result.fg = extended(codes);
    else if (code === 48) result.bg = extended(codes);
    else if (code >= 30 && code < 38) result.fg = code - 30;
    else if (code >= 90 && code < 98) result.fg = code - 82;
    else if (code >= 40 && code < 48) result.bg = code - 40;
    else if (code >= 100 && code < 108) result.bg = code - 92;
  }
  return Object.values(result).some((value) => value !== null && value !== false) ? result : PLAIN;
}

function extended(codes) {
  const kind = codes.shift();
  if (kind === 2) return codes.splice(0, 3).map((each) => each || 0);
  const number = kind === 5 ? codes.shift() : -1;
  if (!(number >= 0 && number < 256)) return null;
  if (number < 16) return number;
  if (number > 231) return Array(3).fill(8 + 10 * (number - 232));
  const level = (each) => (each === 0 ? 0 : 55 + 40 * each);
  const index = number - 16;
  return [Math.floor(index / 36), Math.floor(index / 6) % 6, index % 6].map(level);
}
