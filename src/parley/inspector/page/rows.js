/**
 * The rows of a recording, in columns: 100,000 of them take some 20 MB, and as many objects would
 * take several times that.
 */

export const ERROR = 1;
export const SLOW = 2;
export const CANCELLED = 4;
export const UNANSWERED = 8;
export const INVALID = 16;

const FIRST_CAPACITY = 4_096;
const NUMBERS = ["at", "size", "latency"];
const COUNTS = ["match", "message", "chunks", "batch"];
const REPEATED = ["source", "kind", "method", "session", "update"];
const TEXTS = ["id", "summary"];
const ORDER = [
  "number", "at", "source", "kind", "method", "id", "session", "update", "size", "latency",
  "summary", "flags", "match", "message", "chunks", "batch",
];
const INDEX = Object.fromEntries(ORDER.map((name, index) => [name, index]));

/** Return a row that came as an array as an object. */
export function rowObject(row) {
  return Object.fromEntries(ORDER.map((name, index) => [name, row[index]]));
}

export class RowTable {
  constructor() {
    this.length = 0;
    this.known = new Map(); // texts that many rows share
    this.columns = { flags: new Uint8Array(FIRST_CAPACITY) };
    for (const name of NUMBERS) this.columns[name] = new Float64Array(FIRST_CAPACITY);
    for (const name of COUNTS) this.columns[name] = new Uint32Array(FIRST_CAPACITY);
    for (const name of [...REPEATED, ...TEXTS]) this.columns[name] = [];
  }

  /** Add rows, or replace those that are there. */
  put(rows) {
    for (const row of rows) {
      const number = row[INDEX.number];
      if (number > this.length + 1) throw new Error(`row ${this.length + 1} is missing`);
      if (number > this.length) this.length = number;
      if (number > this.columns.flags.length) this.grow();
      this.set(number - 1, row);
    }
  }

  grow() {
    for (const name of ["flags", ...NUMBERS, ...COUNTS]) {
      const column = this.columns[name];
      const larger = new column.constructor(column.length * 2);
      larger.set(column);
      this.columns[name] = larger;
    }
  }

  set(at, row) {
    const { columns } = this;
    columns.flags[at] = row[INDEX.flags];
    for (const name of NUMBERS) columns[name][at] = row[INDEX[name]] ?? NaN;
    for (const name of COUNTS) columns[name][at] = row[INDEX[name]];
    for (const name of REPEATED) columns[name][at] = this.shared(row[INDEX[name]]);
    for (const name of TEXTS) columns[name][at] = row[INDEX[name]];
  }

  shared(text) {
    const known = this.known.get(text);
    if (known !== undefined) return known;
    this.known.set(text, text);
    return text;
  }

  /** Return a row as an object, or null if it has not arrived. */
  row(number) {
    if (!(number >= 1 && number <= this.length)) return null;
    const row = { number };
    for (const name of ORDER.slice(1)) row[name] = this.columns[name][number - 1];
    return row;
  }

  flags(number) {
    return this.columns.flags[number - 1];
  }

  /** Return the number of the first chunk if a row is a later chunk of a message, else 0. */
  foldedInto(number) {
    const message = this.columns.message[number - 1];
    return message === number ? 0 : message;
  }
}
