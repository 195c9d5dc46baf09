/**
 * The timeline: one row for each frame. The chunks of a message are folded into the first one.
 *
 * Rows are known by their numbers; the rows that can be seen are those that fit the filter and are
 * not folded. New rows are added at the end, which stays in view unless the reader has scrolled up.
 */

import { fill, h } from "./shared/dom.js";
import { inertLine } from "./shared/text.js";
import { formatCount, formatDuration, formatSize, formatTime } from "./format.js";
import { CANCELLED, ERROR, INVALID, SLOW, UNANSWERED } from "./rows.js";
import { VirtualList } from "./virtual_list.js";

const COLUMNS = [
  ["time", "Time"], ["direction", "From"], ["kind", "Kind"], ["method", "Method"], ["id", "ID"],
  ["session", "Session"], ["summary", "Summary"], ["marks", "State"], ["latency", "Latency"],
  ["size", "Size"],
];
const ARROWS = { client: "→", agent: "←", stderr: "⚑", event: "•" };
const KINDS = new Set(
  "request response error notification batch invalid text event".split(" "),
);
const MARKS = [
  [ERROR, "error", "✕ error"],
  [INVALID, "invalid", "! invalid"],
  [CANCELLED, "cancelled", "⊘ cancelled"],
  [UNANSWERED, "unanswered", "… no response"],
  [SLOW, "slow", "◷ slow"],
];
const SESSION_CHARS = 8;
const MAX_CHARS = 200;

/** Return elements that name in words what stands out about a row. */
export function marks(flags) {
  return MARKS.filter(([flag]) => flags & flag).map(([, name, words]) =>
    h("span", { class: `mark ${name}` }, words),
  );
}

/** Return what kind of row it is; of a line of text, where it is from. */
export function kindName(row) {
  return row.kind === "text" ? row.source : row.kind;
}

/** Return a method with the kind of its session update. */
export function methodName(row) {
  return [row.method, row.update].filter(Boolean).join(" ");
}

export class Timeline {
  /** Show rows in an element. `view` has `selected(number)`, `opened()` and `followed(isOn)`. */
  constructor(element, view) {
    this.element = element;
    this.view = view;
    this.table = null;
    this.isFollowing = true;
    const names = COLUMNS.map(([name, words]) =>
      h("span", { class: name, role: "columnheader" }, words),
    );
    element.append(
      h("div", { role: "rowgroup" }, h("div", { class: "row head", role: "row", "aria-rowindex": 1 }, names)),
    );
    element.setAttribute("aria-colcount", String(COLUMNS.length));
    this.list = new VirtualList(element, {
      makeRow: () => this.makeRow(),
      drawRow: (row, index) => this.drawRow(row, this.visible[index]),
      scrolled: () => this.scrolled(),
    });
    this.cells = new WeakMap();
    this.clear(null);
    element.addEventListener("click", (event) => this.clicked(event));
    element.addEventListener("dblclick", () => this.view.opened());
    this.followEnd = this.followEnd.bind(this);
    new ResizeObserver(this.followEnd).observe(element);
    this.noteReader(this.list.viewport);
  }

  /**
   * Stop following as soon as the reader begins to scroll: with many new rows a second, the scroll
   * event itself would come after the next ones have moved the view to the end again.
   */
  noteReader(viewport) {
    const stop = () => this.setFollowing(false);
    viewport.addEventListener("wheel", ({ deltaY }) => deltaY < 0 && stop(), { passive: true });
    viewport.addEventListener("touchmove", stop, { passive: true });
    viewport.addEventListener("pointerdown", ({ target }) => target === viewport && stop());
  }

  /** Show another table, or none. */
  clear(table) {
    this.table = table;
    this.selected = 0;
    this.match = 0;
    this.expanded = new Set();
    this.matched = null; // for each number whether it fits the filter; null without a filter
    this.rebuild();
  }

  /** Show the rows that have been added to the table. */
  rowsAdded() {
    this.extend();
    this.resize();
    this.followEnd();
  }

  /** Show rows of the table that have changed. */
  rowsChanged() {
    this.list.redraw();
  }

  /** Show only the rows in some ranges of numbers, or all. */
  filter(ranges) {
    const anchor = this.selected || this.visible[Math.floor(this.list.top / this.list.rowHeight)];
    this.matched = ranges === null ? null : new Uint8Array(this.table.length + 1);
    for (const [first, last] of ranges ?? []) this.matched.fill(1, first, last + 1);
    this.rebuild();
    if (this.isFollowing) this.followEnd();
    else if (anchor) this.list.center(Math.min(this.count - 1, this.place(anchor)));
  }

  /** Compute which rows can be seen. */
  rebuild() {
    this.visible = new Uint32Array(1_024);
    this.count = 0;
    this.examined = 0;
    this.extend();
    this.resize();
    this.list.redraw();
  }

  extend() {
    const length = this.table?.length ?? 0;
    for (let number = this.examined + 1; number <= length; number += 1) {
      if (!this.isVisible(number)) continue;
      if (this.count === this.visible.length) {
        const larger = new Uint32Array(this.count * 2);
        larger.set(this.visible);
        this.visible = larger;
      }
      this.visible[this.count] = number;
      this.count += 1;
    }
    this.examined = length;
  }

  isVisible(number) {
    if (this.matched !== null && !this.matched[number]) return false;
    const message = this.table.foldedInto(number);
    if (message === 0 || this.expanded.has(message)) return true;
    return this.matched !== null && !this.matched[message];
  }

  resize() {
    this.element.setAttribute("aria-rowcount", String(this.count + 1));
    this.list.resize(this.count);
  }

  /** Return the index of the first visible row whose number is at least this one. */
  place(number) {
    let low = 0;
    for (let high = this.count; low < high; ) {
      const middle = (low + high) >> 1;
      if (this.visible[middle] < number) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  makeRow() {
    const cells = Object.fromEntries(
      COLUMNS.map(([name]) => [name, h("span", { class: name, role: "gridcell" })]),
    );
    const element = h("div", { role: "row" }, Object.values(cells));
    this.cells.set(element, cells);
    return element;
  }

  drawRow(element, number) {
    const row = this.table.row(number);
    const cells = this.cells.get(element);
    const isSelected = number === this.selected;
    element.id = `row-${number}`;
    element.className = rowClass(row, isSelected, number === this.match);
    element.setAttribute("aria-rowindex", String(this.place(number) + 2));
    element.setAttribute("aria-selected", String(isSelected));
    fill(cells.time, formatTime(row.at));
    fill(cells.direction, ARROWS[row.source] ?? "", h("span", { class: "source" }, ` ${row.source}`));
    fill(cells.kind, kindName(row));
    const method = h("span", { class: row.update && "before-update" }, line(row.method));
    fill(cells.method, method, row.update && ` ${line(row.update)}`);
    fill(cells.id, line(row.id));
    fill(cells.session, line(row.session.slice(-SESSION_CHARS)));
    fill(cells.summary, this.fold(row), line(row.summary));
    fill(cells.marks, marks(row.flags));
    fill(cells.latency, formatDuration(row.latency));
    fill(cells.size, formatSize(row.size));
  }

  fold(row) {
    if (row.chunks < 2) return null;
    const isOpen = this.expanded.has(row.number);
    const words = `${isOpen ? "▾" : "▸"} ${formatCount(row.chunks, "chunk")}`;
    return h("span", { class: "fold", role: "button", "aria-expanded": String(isOpen) }, words);
  }

  clicked(event) {
    const index = this.list.indexOf(event.target);
    if (index < 0) return;
    const number = this.visible[index];
    if (event.target.closest(".fold")) this.toggle(number);
    else {
      this.select(number);
      this.view.opened();
    }
  }

  /** Select a row, and show it. */
  select(number) {
    const row = this.table?.row(number) ?? null;
    if (row === null) return;
    const message = this.table.foldedInto(number);
    if (message !== 0 && !this.isVisible(number)) this.toggle(message, true);
    this.selected = number;
    this.match = row.match;
    this.element.setAttribute("aria-activedescendant", `row-${number}`);
    const index = this.place(number);
    if (index < this.count) this.list.reveal(index);
    this.setFollowing(false);
    this.list.redraw();
    this.view.selected(number);
  }

  /** Select the row some rows further down, or up. */
  move(by) {
    if (this.count === 0) return;
    const start = this.selected ? this.place(this.selected) : by > 0 ? -1 : this.count;
    this.select(this.visible[Math.max(0, Math.min(this.count - 1, start + by))]);
  }

  /** The number of rows that fit into the view. */
  get page() {
    return Math.max(1, Math.floor(this.list.height / this.list.rowHeight) - 1);
  }

  /** Select the next visible row with an error, or the previous one; return whether there is one. */
  moveToError(step) {
    const start = this.selected ? this.place(this.selected) : step > 0 ? -1 : this.count;
    for (let at = start + step; at >= 0 && at < this.count; at += step) {
      if (!(this.table.flags(this.visible[at]) & (ERROR | INVALID))) continue;
      this.select(this.visible[at]);
      return true;
    }
    return false;
  }

  /** Unfold or fold the chunks of the message that begins with a row. */
  toggle(number, isOpen = !this.expanded.has(number)) {
    const row = this.table?.row(number) ?? null;
    if (row === null || row.chunks < 2 || isOpen === this.expanded.has(number)) return;
    if (isOpen) this.expanded.add(number);
    else this.expanded.delete(number);
    this.setFollowing(false);
    this.rebuild();
  }

  /** Unfold the message of the selected row, or fold it. */
  toggleSelected(isOpen) {
    const first = this.table?.foldedInto(this.selected) || this.selected;
    if (!isOpen && this.expanded.has(first)) this.select(first);
    this.toggle(first, isOpen);
  }

  /** Keep the end in view, or stop doing so. */
  setFollowing(isOn) {
    if (isOn !== this.isFollowing) {
      this.isFollowing = isOn;
      this.view.followed(isOn);
    }
    this.followEnd();
  }

  followEnd() {
    if (this.isFollowing) this.list.scrollToEnd();
  }

  /** Follow if the reader has scrolled to the end, else stop following. */
  scrolled() {
    this.setFollowing(this.list.isAtEnd);
  }
}

function line(text) {
  return inertLine(text.slice(0, MAX_CHARS));
}

function rowClass(row, isSelected, isMatch) {
  const kind = KINDS.has(row.kind) ? row.kind : "unknown";
  const names = MARKS.filter(([flag]) => row.flags & flag).map(([, name]) => `is-${name}`);
  if (Object.hasOwn(ARROWS, row.source)) names.push(`from-${row.source}`);
  if (isSelected) names.push("selected");
  if (isMatch) names.push("match");
  return ["row", kind, ...names].join(" ");
}
