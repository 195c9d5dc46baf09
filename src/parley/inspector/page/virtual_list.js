/**
 * A list of any length, of which only the rows in view exist.
 *
 * All rows have the height `--row-height`. The elements of the rows are used again and stay in the
 * order in which they are seen; scrolling draws only the rows that come into view.
 */

import { beforePaint, h } from "./shared/dom.js";

const MAX_HEIGHT = 15_000_000; // browsers limit the height of an element
const MARGIN = 4;

export class VirtualList {
  /**
   * Show a list in an element. `makeRow` makes an element, `drawRow` draws an index of the list in
   * it, and `scrolled` is called after the reader has scrolled.
   */
  constructor(element, { makeRow, drawRow, scrolled }) {
    this.makeRow = makeRow;
    this.drawRow = drawRow;
    this.scrolled = scrolled;
    this.count = 0;
    this.ownTop = 0;
    this.slots = []; // {element, index}; index is -1 for what must be drawn again
    this.window = h("div", { class: "window", role: "rowgroup" });
    this.spacer = h("div", { class: "spacer", role: "presentation" }, this.window);
    this.viewport = h("div", { class: "viewport", role: "presentation", tabindex: -1 }, this.spacer);
    element.append(this.viewport);
    this.render = this.render.bind(this);
    this.viewport.addEventListener("scroll", () => this.moved(), { passive: true });
    new ResizeObserver(() => this.measure()).observe(this.viewport);
    this.measure();
  }

  moved() {
    beforePaint(this.render);
    if (this.viewport.scrollTop !== this.ownTop) this.scrolled();
  }

  measure() {
    const style = getComputedStyle(this.viewport);
    this.rowHeight = parseFloat(style.getPropertyValue("--row-height")) || 26;
    this.height = this.viewport.clientHeight;
    this.redraw();
  }

  /** Set the number of rows; those that are drawn stay as they are. */
  resize(count) {
    this.count = count;
    beforePaint(this.render);
  }

  /** Draw all rows in view again. */
  redraw() {
    for (const slot of this.slots) slot.index = -1;
    beforePaint(this.render);
  }

  get total() {
    return this.count * this.rowHeight;
  }

  /** How far can be scrolled, in pixels of rows and in pixels of the element. */
  get ranges() {
    const shown = Math.min(this.total, MAX_HEIGHT);
    return [Math.max(0, this.total - this.height), Math.max(0, shown - this.height)];
  }

  /** The position of the view among the rows, in pixels. */
  get top() {
    const [rows, element] = this.ranges;
    return element === 0 ? 0 : Math.min(rows, (this.viewport.scrollTop * rows) / element);
  }

  scrollTo(top) {
    const [rows, element] = this.ranges;
    this.grow();
    this.viewport.scrollTop = rows === 0 ? 0 : (Math.max(0, top) * element) / rows;
    this.ownTop = this.viewport.scrollTop; // not where the reader has scrolled to
    beforePaint(this.render);
  }

  scrollToEnd() {
    this.scrollTo(this.ranges[0]);
  }

  /** Scroll as little as is needed to show a row. */
  reveal(index) {
    const start = index * this.rowHeight;
    if (start < this.top) this.scrollTo(start);
    else if (start + this.rowHeight > this.top + this.height)
      this.scrollTo(start + this.rowHeight - this.height);
  }

  /** Scroll a row to the middle, unless it can be seen. */
  center(index) {
    const start = index * this.rowHeight;
    if (start < this.top || start + this.rowHeight > this.top + this.height)
      this.scrollTo(start - (this.height - this.rowHeight) / 2);
  }

  get isAtEnd() {
    return this.top >= this.ranges[0] - this.rowHeight;
  }

  /** Return the index that an element in the list shows, or -1. */
  indexOf(element) {
    const found = this.slots.find((slot) => slot.element.contains(element));
    return found === undefined ? -1 : found.index;
  }

  grow() {
    const height = `${Math.min(this.total, MAX_HEIGHT)}px`;
    if (this.spacer.style.height !== height) this.spacer.style.height = height;
  }

  render() {
    this.grow();
    const { top } = this;
    const fitting = Math.ceil(this.height / this.rowHeight) + 2 * MARGIN;
    const first = Math.max(0, Math.floor(top / this.rowHeight) - MARGIN);
    const count = Math.max(0, Math.min(fitting, this.count - first));
    this.rotate(first, count);
    for (let at = 0; at < count; at += 1) {
      const slot = this.slots[at];
      if (slot.index === first + at) continue;
      slot.index = first + at;
      this.drawRow(slot.element, slot.index);
    }
    const offset = first * this.rowHeight - top + this.viewport.scrollTop;
    this.window.style.transform = `translateY(${offset}px)`;
  }

  /** Bring the elements of rows that stay in view to their places. */
  rotate(first, count) {
    const shift = first - (this.slots[0]?.index ?? first);
    if (this.slots[0]?.index >= 0 && Math.abs(shift) < this.slots.length) {
      if (shift > 0) this.move(this.slots.splice(0, shift), null);
      else if (shift < 0) this.move(this.slots.splice(shift), this.slots[0]);
    }
    while (this.slots.length < count) {
      const element = this.makeRow();
      this.slots.push({ element, index: -1 });
      this.window.append(element);
    }
    for (const { element } of this.slots.splice(count)) element.remove();
  }

  move(slots, before) {
    const elements = slots.map((slot) => slot.element);
    if (before === null) {
      this.window.append(...elements);
      this.slots.push(...slots);
    } else {
      before.element.before(...elements);
      this.slots.unshift(...slots);
    }
  }
}
