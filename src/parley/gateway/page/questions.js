/**
 * Questions of an agent: for permission, for information, and to open a web page.
 *
 * One question is shown at a time, as a card above the input, until the user answers it here or
 * elsewhere or the agent withdraws it; the others wait. Only the offered answers are possible, and
 * nothing is answered automatically. A guard protects each card against clicks that were meant for
 * something else (`click_guard.js`). The agent's own text about a question is marked and bounded;
 * the action itself is next to the buttons.
 */

import { contentText, pre } from "./content.js";
import { beforePaint, fill, h, link, put } from "./dom.js";
import { drawForm } from "./forms.js";
import { ClickGuard } from "./click_guard.js";
import {
  asText, cut, objects, shortLine, textOrNull, webAddress, withoutFences,
} from "./text.js";
import { drawAction } from "./tool_call.js";

const MAX_OPTIONS = 12;
const MAX_NAME = 60;
const MAX_SAID = 1_000;
const FROM_NOW_ON = () => h("small", {}, "From now on:");

/** The questions of one session: shows the first of them. */
export class QuestionDock {
  /** `agent` is the server's name for the agent, not the agent's own. */
  constructor(agent) {
    this.asker = shortLine(agent, MAX_NAME);
    this.count = h("p", { class: "faint waiting", role: "status" });
    this.count.hidden = true;
    this.element = h("div", { class: "dock" }, this.count);
    this.waiting = [];
    this.shown = null;
    this.showNext = this.showNext.bind(this);
  }

  /** Queue a card, and show it until it is settled; `draw(settle)` returns its parts. */
  ask(signal, withdrawn, { title, draw }) {
    return new Promise((resolve) => {
      const question = { title, draw, resolve };
      signal.addEventListener("abort", () => this.end(question, withdrawn), { once: true });
      if (signal.aborted) {
        resolve(withdrawn);
        return;
      }
      this.waiting.push(question);
      beforePaint(this.showNext);
    });
  }

  end(question, answer) {
    if (this.shown === question) {
      question.guard?.end();
      question.element?.remove();
      this.shown = null;
    }
    this.waiting = this.waiting.filter((each) => each !== question);
    question.resolve(answer);
    beforePaint(this.showNext); // thousands may end at once, but only one more card is drawn
  }

  showNext() {
    if (this.shown === null && this.waiting.length > 0) this.show(this.waiting[0]);
    const more = this.waiting.length - 1;
    this.count.hidden = more < 1;
    if (more > 0) fill(this.count, `${more} more waiting`);
  }

  show(question) {
    this.shown = question;
    const heading = h("h2", { class: "question", tabindex: "-1" }, question.title);
    const props = { class: "card early", role: "group", "aria-label": question.title };
    question.element = h("section", props, heading);
    const settle = (answer) => {
      if (question.guard.isOpen) this.end(question, answer);
    };
    try {
      put(question.element, question.draw(settle), COVERED());
    } catch (error) {
      this.end(question, Promise.reject(error));
      return;
    }
    this.element.append(question.element);
    for (const action of question.element.querySelectorAll(".action")) watchOverflow(action);
    question.guard = new ClickGuard(question.element);
  }
}

const COVERED = () =>
  h("p", { class: "faint when-covered" }, "Move the pointer off the buttons, then choose.");

/** Mark an action of which not everything is visible. */
function watchOverflow(action) {
  const look = () => {
    const { scrollHeight, clientHeight, scrollTop } = action;
    action.classList.toggle("overflows", scrollHeight > clientHeight + scrollTop + 2);
  };
  action.addEventListener("scroll", look, { passive: true });
  requestAnimationFrame(look);
}

/** Return the rows of buttons, which stay visible. */
function choices(...rows) {
  return h("div", { class: "choices" }, rows);
}

function button(words, act, kind = null) {
  return h("button", { type: "button", class: kind, onclick: act }, shortLine(words, MAX_NAME));
}

/** Return the agent's own text about a question, marked as such; null if there is none. */
function agentStatement(...texts) {
  const said = [...new Set(texts.map(textOrNull).filter(Boolean))];
  if (said.length === 0) return null;
  const [shown, left] = cut(said.join("\n"), MAX_SAID);
  return h(
    "div",
    { class: "statement" },
    h("small", { class: "faint" }, "The agent says:"),
    h("blockquote", { tabindex: "0" }, shown),
    left > 0 && h("p", { class: "warning" }, `${left} more characters are not shown`),
  );
}

/** Ask for permission; `call` is the known tool call, merged with the one of the question. */
export function askPermission(dock, params, call, signal) {
  const cancelled = { outcome: { outcome: "cancelled" } };
  const all = objects(params.options).filter((each) => typeof each.optionId === "string");
  const options = all.slice(0, MAX_OPTIONS);
  const choose = (settle) => (option) => {
    const isRejection = /^reject/.test(textOrNull(option.kind) ?? "");
    const name = textOrNull(option.name) || option.optionId;
    const act = () => settle({ outcome: { outcome: "selected", optionId: option.optionId } });
    const [sign, kind] = isRejection ? ["\u2717", "reject"] : ["\u2713", "allow"];
    return button(`${sign} ${name}`, act, kind);
  };
  return dock.ask(signal, cancelled, {
    title: `${dock.asker} asks for permission`,
    draw: (settle) => {
      const lasting = options.filter((option) => /_always$/.test(textOrNull(option.kind) ?? ""));
      const once = options.filter((option) => !lasting.includes(option));
      const contents = objects(call?.content).filter((each) => each.type === "content");
      return [
        agentStatement(
          withoutFences(params.title ?? ""), params.description, withoutFences(call?.title ?? ""),
          ...contents.slice(0, MAX_OPTIONS).map((each) => contentText(each.content)),
        ),
        h("div", { class: "action" }, subject(params.subject, call)),
        all.length > options.length &&
          h("p", { class: "warning" }, `${all.length - options.length} more choices are not shown`),
        choices(
          once.length > 0 && h("div", { class: "buttons" }, once.map(choose(settle))),
          lasting.length > 0 &&
            h("div", { class: "buttons always" }, FROM_NOW_ON(), lasting.map(choose(settle))),
          once.length === 0 &&
            h("div", { class: "buttons" }, button("Dismiss", () => settle(cancelled))),
        ),
      ];
    },
  });
}

function subject(what, call) {
  if (what?.type === "command")
    return [
      h("div", { class: "command" }, pre(asText(what.command), "Command")),
      textOrNull(what.cwd) && h("div", { class: "path" }, what.cwd),
    ];
  if (call) return drawAction(call);
  return what ? pre(asText(what), "Subject") : null;
}

/** Ask for information. */
export function askElicitation(dock, params, signal) {
  const cancelled = { action: "cancel" };
  if (params.mode === "form")
    return dock.ask(signal, cancelled, {
      title: `${dock.asker} asks for information`,
      draw: (settle) => form(params, settle),
    });
  if (params.mode === "url")
    return dock.ask(signal, cancelled, {
      title: `${dock.asker} asks you to open a web page`,
      draw: (settle) => visit(params, settle),
    });
  return Promise.resolve({ action: "decline" });
}

function form({ message, requestedSchema }, settle) {
  const fields = drawForm(requestedSchema);
  return h(
    "form",
    {
      onsubmit: (event) => {
        event.preventDefault();
        settle({ action: "accept", content: fields.read() });
      },
    },
    agentStatement(message, requestedSchema?.title, requestedSchema?.description),
    h("div", { class: "action" }, fields.elements),
    choices(
      h(
        "div",
        { class: "buttons" },
        fields.isWhole && h("button", { type: "submit", class: "allow" }, "Answer"),
        button("Decline", () => settle({ action: "decline" }), "reject"),
      ),
    ),
  );
}

function visit({ message, url }, settle) {
  const decline = button("Decline", () => settle({ action: "decline" }), "reject");
  const address = webAddress(url);
  if (address === null)
    return [
      agentStatement(message),
      h("div", { class: "action" }, pre(asText(url), "Address")),
      h("p", { class: "warning" }, "This is not a web address, so it cannot be opened."),
      choices(h("div", { class: "buttons" }, decline)),
    ];
  const anchor = link(address.href);
  fill(anchor, `Open ${shortLine(address.host, MAX_NAME)}`);
  anchor.classList.add("button");
  anchor.addEventListener("click", (event) => {
    const before = anchor.isConnected;
    settle({ action: "accept" });
    if (before && anchor.isConnected) event.preventDefault(); // too early to be intended
  });
  return [
    agentStatement(message),
    h("div", { class: "action" }, pre(address.href, "Address")),
    choices(h("div", { class: "buttons" }, anchor, decline)),
  ];
}
