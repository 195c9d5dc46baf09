/** One frame in detail: what it is, what is wrong with it, what belongs to it, and its text. */

import { fill, h, put } from "./shared/dom.js";
import { get, recordingUrl } from "./api.js";
import { formatDuration, formatMoment, formatSize, formatTime } from "./format.js";
import { jsonTree, parseJson } from "./json_view.js";
import { rowObject } from "./rows.js";
import { kindName, marks, methodName } from "./timeline.js";

const MAX_TREE_CHARS = 8_000_000;
const FROM = { client: "the client", agent: "the agent", stderr: "stderr", event: "the recording" };

export class DetailView {
  /** Show frames in an element. `go` has `toRow(number)` and `filter(query)`. */
  constructor(element, go) {
    this.element = element;
    this.go = go;
    this.isRaw = false;
    this.clear();
  }

  clear() {
    this.frame = null;
    fill(this.element, h("p", { class: "faint" }, "Select a row to see its frame."));
  }

  failed(error) {
    fill(this.element, h("p", { class: "error", role: "alert" }, error.message));
  }

  /** Show a frame of a recording. */
  show(recording, frame) {
    this.recording = recording;
    this.frame = frame;
    this.text = frame.text;
    this.next = frame.next_offset;
    this.body = h("div", { class: "frame-text" });
    const row = (this.row = rowObject(frame.row));
    fill(
      this.element,
      h("h2", {}, `#${row.number} ${kindName(row)} `, h("span", { class: "method" }, methodName(row))),
      row.flags > 0 && h("p", { class: "row-marks" }, marks(row.flags)),
      this.problems(frame.violations ?? []),
      this.facts(row),
      this.links(row, frame.match && rowObject(frame.match)),
      describeType(frame.type),
      frame.meta !== null && section("_meta", jsonTree(frame.meta)),
      frame.trace && section("Trace", facts(Object.entries(frame.trace))),
      this.buttons(),
      this.body,
    );
    this.drawText();
  }

  problems(violations) {
    if (violations.length === 0) return null;
    const words = violations.length === 1 ? "1 violation of the schema" : `${violations.length} violations of the schema`;
    return h(
      "section",
      { class: "violations", "aria-label": "Violations" },
      h("h3", {}, `! ${words}`),
      violations.map(({ path, expected, received, doc }) =>
        h("div", { class: "violation" }, facts([["At", h("code", {}, path)], ["Expected", expected],
          ["Received", h("code", {}, received)]]), doc && h("p", { class: "doc" }, doc)),
      ),
    );
  }

  facts(row) {
    const started = this.recording.started_at;
    return facts([
      ["Time", `${formatTime(row.at)} s (${formatMoment(started + row.at)})`],
      ["From", FROM[row.source] ?? row.source],
      row.id !== "" && ["ID", [h("code", {}, row.id), " ", this.filterButton("id", row.id)]],
      row.session !== "" && ["Session", [h("code", {}, row.session), " ", this.filterButton("session", row.session)]],
      row.method !== "" && ["Method", [h("code", {}, row.method), " ", this.filterButton("method", row.method)]],
      ["Size", `${formatSize(row.size)}${row.size >= 1000 ? ` (${row.size.toLocaleString("en")} bytes)` : ""}`],
      Number.isFinite(row.latency) && ["Latency", formatDuration(row.latency)],
    ]);
  }

  filterButton(name, value) {
    const bare = value.replace(/^"/, "").split('"', 1)[0]; // the filter language has no escapes
    const query = bare === "" || /\s/.test(bare) ? `${name}:"${bare}"` : `${name}:${bare}`;
    const props = { type: "button", class: "small", "aria-label": `Filter ${query}`, title: query };
    return h("button", { ...props, onclick: () => this.go.filter(query) }, "Filter");
  }

  links(row, match) {
    const links = [];
    if (match) {
      const other = match.kind === "request" ? "Request" : "Response";
      links.push(this.rowButton(match.number, `${other} #${match.number}: ${match.summary}`));
    }
    if (row.message > 0 && row.message !== row.number)
      links.push(this.rowButton(row.message, `First chunk #${row.message}`));
    if (row.batch > 0) links.push(this.rowButton(row.batch, `Batch #${row.batch}`));
    return links.length > 0 && h("div", { class: "links" }, links);
  }

  rowButton(number, words) {
    return h("button", { type: "button", class: "to-row", onclick: () => this.go.toRow(number) }, words);
  }

  buttons() {
    const button = (words, isRaw) =>
      h("button", { type: "button", "aria-pressed": String(this.isRaw === isRaw), onclick: () => {
        this.isRaw = isRaw;
        this.show(this.recording, { ...this.frame, text: this.text, next_offset: this.next });
      } }, words);
    const copy = h("button", { type: "button", onclick: () => this.copy(copy) }, "Copy");
    return h("div", { class: "text-buttons", role: "group", "aria-label": "Text of the frame" },
      button("Formatted", false), button("Raw", true), copy);
  }

  async copy(button) {
    try {
      await navigator.clipboard.writeText(this.text);
      fill(button, "Copied");
    } catch {
      fill(button, "Could not copy");
    }
  }

  drawText() {
    const isWhole = this.next === null;
    if (!this.isRaw && !isWhole && this.text.length < MAX_TREE_CHARS) {
      fill(this.body, h("p", { class: "faint" }, "Loading…"));
      this.loadRest(this.frame);
      return;
    }
    const tree = this.isRaw || !isWhole ? null : this.tree();
    if (tree !== null) fill(this.body, tree);
    else this.drawRaw();
  }

  tree() {
    try {
      return jsonTree(parseJson(this.text));
    } catch {
      return null;
    }
  }

  drawRaw() {
    const note = this.isRaw ? null : this.next === null ? "This is not JSON." : "This is too large for a tree.";
    fill(this.body, note && h("p", { class: "faint" }, note),
      !this.frame.is_utf8 && h("p", { class: "warning" }, "These bytes are not UTF-8; the bad ones are shown as \ufffd."),
      h("pre", { class: "raw" }, this.text));
    if (this.next === null) return;
    const left = formatSize(this.frame.size - this.next);
    const more = h("button", { type: "button", onclick: () => this.loadMore(this.frame) }, `Load more (${left} left)`);
    put(this.body, more);
  }

  /** Load the rest of a frame that is still shown, to make a tree of it. */
  async loadRest(frame) {
    while (this.frame === frame && this.next !== null && this.text.length < MAX_TREE_CHARS)
      if (!(await this.loadPart(frame))) return;
    if (this.frame === frame) this.drawText();
  }

  async loadMore(frame) {
    if (await this.loadPart(frame)) this.drawRaw();
  }

  async loadPart(frame) {
    const url = recordingUrl(this.recording.key, `rows/${this.row.number}`, { offset: this.next });
    try {
      const part = await get(url);
      if (this.frame !== frame) return false;
      this.text += part.text;
      this.next = part.next_offset;
      return true;
    } catch (error) {
      if (this.frame === frame) put(this.body, h("p", { class: "error", role: "alert" }, error.message));
      return false;
    }
  }
}

function describeType(type) {
  if (!type) return null;
  const summary = h("summary", {}, "Type ", h("code", {}, type.name), ` of version ${type.version}`);
  return h("details", { class: "type" }, summary, h("p", { class: "doc" }, type.doc || "It has no documentation."));
}

function section(title, ...children) {
  return h("section", {}, h("h3", {}, title), children);
}

/** Return a list of names with their values; entries that are false are left out. */
export function facts(entries) {
  return h("table", { class: "facts" }, h("tbody", {}, entries.filter(Boolean).map(([name, value]) =>
    h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, value)))));
}
