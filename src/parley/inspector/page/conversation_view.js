/** The conversation as a person would see it; each entry leads to its frames. */

import { fill, h } from "./shared/dom.js";
import { Markdown } from "./shared/markdown.js";
import { shortLine } from "./shared/text.js";

const NAMES = {
  user: "User", agent: "Agent", thought: "Thought", tool: "Tool call", plan: "Plan",
  error: "Error", other: "Other",
};
const MARKDOWN = new Set(["user", "agent", "thought"]);
const MAX_ENTRIES = 500;
const MAX_TITLE = 200;

export class ConversationView {
  /** Show a conversation in an element. `go` has `toRow(number)` and `toSession(id)`. */
  constructor(element, go) {
    this.element = element;
    this.go = go;
    this.clear();
  }

  clear() {
    this.drawn = []; // the source of each entry that is shown
    this.limit = MAX_ENTRIES;
    this.list = h("div", { class: "entries" });
    this.head = h("div", {});
    fill(this.element, this.head, this.list);
  }

  show(conversation) {
    this.conversation = conversation;
    const { sessions, session, state, entries } = conversation;
    const hidden = Math.max(0, entries.length - this.limit);
    fill(this.head, this.sessionSelect(sessions, session), state && h("p", { class: "faint" }, `State: ${state}`),
      entries.length === 0 && h("p", { class: "faint" }, "No prompt or update has been sent in this session."),
      hidden > 0 && h("button", { type: "button", onclick: () => this.showEarlier() }, `Show earlier entries (${hidden})`));
    this.drawEntries(entries.slice(hidden));
  }

  showEarlier() {
    this.limit += MAX_ENTRIES;
    this.show(this.conversation);
  }

  /** Draw the entries that differ from those that are shown. */
  drawEntries(entries) {
    const sources = entries.map((entry) => JSON.stringify(entry));
    let same = 0;
    while (same < this.drawn.length && this.drawn[same] === sources[same]) same += 1;
    while (this.list.children.length > same) this.list.lastChild.remove();
    this.list.append(...entries.slice(same).map((entry) => this.entry(entry)));
    this.drawn = sources;
  }

  sessionSelect(sessions, current) {
    if (sessions.length === 0) return h("p", { class: "faint" }, "There is no session yet.");
    const options = sessions.map(({ id, title }) => h("option", {}, shortLine(title || id, MAX_TITLE)));
    const select = h("select", { id: "session-select" }, options);
    select.selectedIndex = sessions.findIndex(({ id }) => id === current);
    select.addEventListener("change", () => this.go.toSession(sessions[select.selectedIndex].id));
    return h("div", { class: "field" }, h("label", { for: "session-select" }, "Session"), select);
  }

  entry({ kind, title, status, text, rows }) {
    const name = NAMES[kind] ?? NAMES.other;
    const words = [name, title && title !== name && `: ${shortLine(title, MAX_TITLE)}`, status && ` [${shortLine(status, MAX_TITLE)}]`];
    const body = h("div", { class: "entry-text" });
    if (MARKDOWN.has(kind)) {
      body.classList.add("markdown");
      new Markdown(body).append(text);
    } else if (text) body.append(h("pre", {}, text));
    const label = rows.length === 1 ? `Frame #${rows[0]}` : `${rows.length} frames from #${rows[0]}`;
    const button = rows.length > 0 && h("button", { type: "button", class: "small", onclick: () => this.go.toRow(rows[0]) }, label);
    const heading = h("div", { class: "entry-head" }, h("h3", {}, words.filter(Boolean)), button);
    return h("article", { class: `inspected ${kind in NAMES ? kind : "other"}` }, heading, body);
  }
}
