/** The filter field, and buttons for common filters. The server decides which rows fit. */

import { fill, h } from "./shared/dom.js";
import { LatestRequest, recordingUrl } from "./api.js";

const CHIPS = [
  ["is:error", "Errors"], ["is:invalid", "Invalid"], ["is:unanswered", "No response"],
  ["is:cancelled", "Cancelled"], ["is:slow", "Slow"], ["-method:session/update", "No updates"],
];
const REPEAT_AFTER = 500; // milliseconds

export class FilterField {
  /** Use a form; `found` takes the ranges of the rows that fit, or null if there is no filter. */
  constructor(form, found) {
    this.found = found;
    this.input = form.querySelector("#query");
    this.result = form.querySelector("#query-result");
    this.key = null;
    this.timer = null;
    this.request = new LatestRequest(
      (result) => this.show(result),
      (error) => this.fail(error),
    );
    this.chips = CHIPS.map(([query, words]) => {
      const button = h("button", { type: "button", class: "chip", title: query, "aria-pressed": "false" }, words);
      button.addEventListener("click", () => this.toggle(query));
      return [query, button];
    });
    fill(form.querySelector("#chips"), this.chips.map(([, button]) => button));
    form.addEventListener("submit", (event) => event.preventDefault());
    this.input.addEventListener("input", () => this.changed());
  }

  get query() {
    return this.input.value.trim();
  }

  /** Filter another recording; the filter stays. */
  use(key) {
    this.key = key;
    this.request.cancel();
    this.stopTimer();
    this.changed();
  }

  set(query) {
    this.input.value = query;
    this.changed();
  }

  toggle(part) {
    const parts = this.query.split(/\s+/).filter(Boolean);
    const rest = parts.filter((each) => each !== part);
    this.set((rest.length < parts.length ? rest : [...parts, part]).join(" "));
  }

  changed() {
    const parts = this.query.split(/\s+/);
    for (const [part, button] of this.chips)
      button.setAttribute("aria-pressed", String(parts.includes(part)));
    if (this.query === "" || this.key === null) {
      this.request.cancel();
      this.input.removeAttribute("aria-invalid");
      fill(this.result);
      this.found(null);
    } else this.find();
  }

  find() {
    this.request.get(recordingUrl(this.key, "find", { q: this.query }));
  }

  /** Look again, soon, since rows have arrived or changed. */
  refresh() {
    if (this.query === "" || this.timer !== null) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      if (this.query !== "" && this.key !== null) this.find();
    }, REPEAT_AFTER);
  }

  stopTimer() {
    clearTimeout(this.timer);
    this.timer = null;
  }

  show({ ranges, count, total }) {
    this.input.removeAttribute("aria-invalid");
    this.result.classList.remove("error");
    fill(this.result, `${count.toLocaleString("en")} of ${total.toLocaleString("en")}`);
    this.found(ranges);
  }

  fail(error) {
    this.input.setAttribute("aria-invalid", "true");
    this.result.classList.add("error");
    fill(this.result, error.message);
  }
}
