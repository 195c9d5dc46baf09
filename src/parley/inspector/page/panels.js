/** The tabs with what there is to see beside the timeline. On a phone they open as a sheet. */

import { fill, h } from "./shared/dom.js";
import { LatestRequest, recordingUrl } from "./api.js";
import { CapabilitiesView } from "./capabilities_view.js";
import { ConversationView } from "./conversation_view.js";
import { DetailView } from "./detail_view.js";
import { ProcessView } from "./process_view.js";

const NAMES = { detail: "Detail", conversation: "Conversation", capabilities: "Capabilities", process: "Process" };
const REFRESH_AFTER = 1_000; // milliseconds

export class Panels {
  /** Use the elements of the page. `go` has `toRow(number)`, `filter(query)` and `changed()`. */
  constructor({ tabs, panel, body }, go) {
    this.panel = panel;
    this.body = body;
    this.name = "detail";
    this.isOpen = false;
    this.recording = null;
    this.number = 0;
    this.session = "";
    this.timer = null;
    this.drawTabs(tabs);
    this.views = this.makeViews(body, go);
    this.requests = Object.fromEntries(Object.keys(NAMES).map((name) => [name, this.requestFor(name)]));
    this.changed = go.changed;
    this.choose("detail", false);
  }

  drawTabs(tabs) {
    this.tabs = Object.fromEntries(
      Object.entries(NAMES).map(([name, words]) => {
        const props = { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "panel" };
        return [name, h("button", { ...props, onclick: () => this.choose(name) }, words)];
      }),
    );
    tabs.append(...Object.values(this.tabs));
    tabs.addEventListener("keydown", (event) => this.moveTab(event));
  }

  makeViews(body, go) {
    const views = {};
    const classes = {
      detail: DetailView, conversation: ConversationView, capabilities: CapabilitiesView, process: ProcessView,
    };
    for (const [name, View] of Object.entries(classes)) {
      const element = h("div", { class: `view ${name}` });
      body.append(element);
      views[name] = new View(element, { ...go, toSession: (id) => this.toSession(id) });
      views[name].element = element;
      views[name].error = h("p", { class: "error", role: "alert" });
    }
    return views;
  }

  requestFor(name) {
    const view = this.views[name];
    const done = (value) => {
      view.error.remove();
      if (name === "detail") view.show(this.recording, value);
      else view.show(value);
    };
    return new LatestRequest(done, (error) => {
      fill(view.error, error.message);
      view.element.prepend(view.error);
    });
  }

  /** Show another recording, or none. */
  use(recording) {
    this.recording = recording;
    this.number = 0;
    this.session = "";
    for (const [name, view] of Object.entries(this.views)) {
      this.requests[name].cancel();
      view.error.remove();
      view.clear();
    }
    if (recording !== null) this.load();
  }

  /** Show a frame in the detail tab. */
  showRow(number) {
    this.number = number;
    if (this.name === "detail") this.body.scrollTop = 0;
    if (this.name === "detail" && this.isOpen) this.load();
  }

  /** Show a tab; it is opened where it covers the timeline. */
  choose(name, isOpened = true) {
    this.name = name;
    for (const [each, tab] of Object.entries(this.tabs)) {
      const isChosen = each === name;
      tab.setAttribute("aria-selected", String(isChosen));
      tab.tabIndex = isChosen ? 0 : -1;
      this.views[each].element.hidden = !isChosen;
    }
    this.panel.setAttribute("role", "tabpanel");
    this.panel.setAttribute("aria-labelledby", `tab-${name}`);
    this.body.scrollTop = 0;
    if (isOpened) this.setOpen(true);
  }

  setOpen(isOpen) {
    this.isOpen = isOpen;
    document.body.classList.toggle("panel-open", isOpen);
    if (isOpen) this.load();
    this.changed();
  }

  moveTab(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const names = Object.keys(NAMES);
    const next = names[(names.indexOf(this.name) + step + names.length) % names.length];
    this.choose(next);
    this.tabs[next].focus();
  }

  toSession(id) {
    this.session = id;
    this.load();
  }

  /** Look again, soon, since the recording has grown. */
  refresh() {
    if (this.timer !== null || this.name === "detail" || !this.isOpen) return;
    this.timer = setTimeout(() => {
      this.timer = null;
      if (this.name !== "detail" && this.isOpen) this.load();
    }, REFRESH_AFTER);
  }

  load() {
    if (this.recording === null) return;
    const { key } = this.recording;
    if (this.name !== "detail") {
      const query = this.name === "conversation" && this.session !== "" ? { session: this.session } : {};
      this.requests[this.name].get(recordingUrl(key, this.name, query));
    } else if (this.number > 0) this.requests.detail.get(recordingUrl(key, `rows/${this.number}`));
  }
}
