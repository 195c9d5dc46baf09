/** The process of the agent: how it was started, what it wrote to stderr, and how it ended. */

import { fill, h } from "./shared/dom.js";
import { Terminal } from "./shared/ansi.js";
import { facts } from "./detail_view.js";
import { formatDuration, formatMoment, formatSize, formatTime } from "./format.js";
import { rowObject } from "./rows.js";

export class ProcessView {
  /** Show a process in an element. `go` has `toRow(number)` and `filter(query)`. */
  constructor(element, go) {
    this.element = element;
    this.go = go;
  }

  clear() {
    fill(this.element);
  }

  show(found) {
    const { command, cwd, pid, agent_pid: agentPid, started_at: started, bytes } = found;
    const state = found.is_live ? "running" : found.exit ?? "ended, but how is not recorded";
    fill(
      this.element,
      facts([
        ["Command", h("code", {}, command.join(" "))],
        ["Directory", h("code", {}, cwd)],
        ["State", state],
        ["Started", formatMoment(started)],
        ["Duration", formatDuration(found.duration ?? NaN)],
        agentPid !== null && ["Agent process", String(agentPid)],
        pid !== null && ["Recorded by", `process ${pid}`],
        ["Frames", (found.frames ?? 0).toLocaleString("en")],
        ["Bytes", `client ${formatSize(bytes.client)}, agent ${formatSize(bytes.agent)}, stderr ${formatSize(bytes.stderr)}`],
      ]),
      found.lost_bytes > 0 && h("p", { class: "mark-line error" }, `✕ ${formatSize(found.lost_bytes)} are not in the recording`),
      this.masked(found.masked),
      this.events(found.events),
      this.stderr(found),
    );
  }

  masked(masked) {
    if (masked.length === 0) return null;
    const items = masked.map(({ what, source, times }) =>
      h("li", {}, h("code", {}, what), ` from ${source}, ${times === 1 ? "once" : `${times} times`}`));
    return h("section", {}, h("h3", {}, "Masked secrets"), h("ul", {}, items));
  }

  events(events) {
    if (events.length === 0) return null;
    const items = events.map(rowObject).map(({ number, at, method, summary }) =>
      h("li", {}, h("button", { type: "button", class: "small", onclick: () => this.go.toRow(number) }, `#${number}`),
        ` ${formatTime(at)} ${method}: ${summary}`));
    return h("section", {}, h("h3", {}, "Events"), h("ul", { class: "events" }, items));
  }

  stderr({ stderr, stderr_bytes: size }) {
    const output = h("pre", { class: "terminal", tabindex: 0, role: "log", "aria-label": "stderr" });
    if (stderr === "") return h("section", {}, h("h3", {}, "stderr"), h("p", { class: "faint" }, "The agent wrote nothing to stderr."));
    new Terminal(output).write(stderr);
    const isCut = size > new TextEncoder().encode(stderr).length;
    return h("section", {}, h("h3", {}, "stderr"),
      h("p", { class: "faint" }, `${formatSize(size)}${isCut ? "; the end is shown" : ""} `,
        h("button", { type: "button", class: "small", onclick: () => this.go.filter("from:stderr") }, "Filter")), output);
  }
}
