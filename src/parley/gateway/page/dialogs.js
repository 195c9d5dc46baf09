/**
 * Dialogs: the list of sessions, and the options of a session.
 */

import { fill, h } from "./dom.js";
import { asText, cut, inertLine, objects, shortLine } from "./text.js";

const MAX_OPTIONS = 100;
const MAX_VALUES = 500;
const MAX_SESSIONS = 200;
const SHOWN_WORDS = 60;
const SHOWN_ID = 8;
const SHOWN_HINT = 500;

/** Show the options of a session; calls `set(option, value)`, which rejects if it fails. */
export function drawOptions(element, options, set) {
  fill(
    element,
    options.length === 0 && h("p", { class: "faint" }, "This agent has no options."),
    options
      .slice(0, MAX_OPTIONS)
      .map((option, index) => drawOption(option, `option-${index}`, set)),
    options.length > MAX_OPTIONS &&
      h("p", { class: "warning" }, `${options.length - MAX_OPTIONS} more options are not shown`),
  );
}

function drawOption(option, id, set) {
  const words = option.description && cut(option.description, SHOWN_HINT)[0];
  const hint = words && h("small", { class: "faint" }, words);
  const name = h("label", { for: id }, shortLine(option.name || option.configId, SHOWN_WORDS));
  if (option.type === "boolean") {
    const box = h("input", { id, type: "checkbox", checked: option.currentValue === true });
    box.addEventListener("change", () => set(option, box.checked));
    return h("div", { class: "field inline" }, box, name, hint);
  }
  if (option.type !== "select")
    return h("div", { class: "field faint" }, name, " cannot be set here");
  const values = [];
  const item = (each) => {
    if (values.length >= MAX_VALUES) return null;
    values.push(each.value);
    const title = each.description && cut(each.description, SHOWN_HINT)[0];
    return h("option", { title }, shortLine(each.name || each.value, SHOWN_WORDS));
  };
  const items = objects(option.options).slice(0, MAX_VALUES).map((each) => {
    if (!Array.isArray(each.options)) return item(each);
    const group = h("optgroup", {}, objects(each.options).slice(0, MAX_VALUES).map(item));
    group.label = shortLine(each.name || each.groupId || "", SHOWN_WORDS);
    return group;
  });
  const select = h("select", { id }, items);
  select.selectedIndex = values.indexOf(option.currentValue);
  select.addEventListener("change", () => set(option, values[select.selectedIndex]));
  return h("div", { class: "field" }, name, select, hint);
}

/** The list of sessions, page by page. */
export class SessionList {
  /**
   * `load(cursor)` returns a page. `open(session)` is called with the chosen session. `begin(id)`
   * returns the first prompt of a session, if it is known.
   */
  constructor(element, { load, open, begin }) {
    this.element = element;
    this.load = load;
    this.open = open;
    this.begin = begin;
  }

  async show(current) {
    this.current = current;
    this.list = h("ul", { class: "sessions" });
    fill(this.element, this.list);
    await this.more(null);
  }

  async more(cursor) {
    const { list } = this;
    const state = h("p", { class: "faint", role: "status" }, "Loading\u2026");
    this.element.append(state);
    try {
      const { sessions, nextCursor } = await this.load(cursor);
      state.remove();
      for (const session of objects(sessions).slice(0, MAX_SESSIONS))
        list.append(this.item(session));
      if (list.children.length === 0)
        this.element.append(h("p", { class: "faint" }, "There are no sessions yet."));
      if (nextCursor) this.element.append(this.further(nextCursor));
    } catch (error) {
      fill(state, `The sessions cannot be listed: ${error.message}`);
    }
  }

  further(cursor) {
    const button = h("button", { type: "button" }, "More");
    button.addEventListener("click", () => {
      button.remove();
      this.more(cursor);
    });
    return button;
  }

  /** Return the title of a session, else the start of its first prompt, else the end of its id. */
  name(session) {
    if (session.title) return shortLine(session.title, SHOWN_HINT);
    const [words, rest] = cut(inertLine(this.begin(session.sessionId) ?? ""), SHOWN_WORDS);
    if (words) return words + (rest > 0 ? "\u2026" : "");
    return inertLine(`Session \u2026${asText(session.sessionId).slice(-SHOWN_ID)}`);
  }

  where({ cwd }) {
    return shortLine(cwd ?? "", SHOWN_HINT);
  }

  item(session) {
    const isCurrent = session.sessionId === this.current;
    return h(
      "li",
      {},
      h(
        "button",
        {
          type: "button",
          class: "session",
          "aria-current": isCurrent ? "true" : null,
          onclick: () => this.open(session),
        },
        h("span", {}, this.name(session)),
        h("small", { class: "faint" }, [when(session.updatedAt), " ", this.where(session)]),
      ),
    );
  }
}

function when(stamp) {
  const date = new Date(typeof stamp === "string" ? stamp : NaN);
  return Number.isNaN(date.getTime()) ? "" : date.toLocaleString();
}
