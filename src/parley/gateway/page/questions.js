/**
 * Questions of an agent: for permission, for a form, for a visit to a page elsewhere.
 *
 * One is shown at a time, as a card above the input, until it is answered here, answered by
 * somebody else, or taken back; the others wait. Only what was offered is answered, and nothing is
 * answered by itself. Each card has a guard of its own against clicks that were meant for something
 * else (`guard.js`). What the agent says about a question is marked as its words and bounded; what
 * it is really about stands next to the buttons.
 */

import { contentText, pre } from "./content.js";
import { beforePaint, fill, h, link, put } from "./dom.js";
import { drawForm } from "./forms.js";
import { Guard } from "./guard.js";
import { asText, cut, objects, shortLine, textOrNull, webAddress } from "./text.js";
import { drawDeed } from "./tool.js";

const MAX_OPTIONS = 12;
const MAX_NAME = 60;
const MAX_SAID = 1_000;
const FROM_NOW_ON = () => h("small", {}, "From now on:");

/** The questions of one session: shows the first of them. */
export class QuestionDock {
  /** `agent` is what the server calls the agent, not what the agent calls itself. */
  constructor(agent) {
    this.asker = shortLine(agent, MAX_NAME);
    this.count = h("p", { class: "faint waiting", role: "status" });
    this.count.hidden = true;
    this.element = h("div", { class: "dock" }, this.count);
    this.waiting = [];
    this.shown = null;
    this.showNext = this.showNext.bind(this);
  }

  /** Show a card in its turn, until it is settled; `draw(settle)` returns its parts. */
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
    beforePaint(this.showNext); // thousands may end at once, and only one more card is drawn
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
    for (const deed of question.element.querySelectorAll(".deed")) watchOverflow(deed);
    question.guard = new Guard(question.element);
  }
}

const COVERED = () =>
  h("p", { class: "faint when-covered" }, "Move the pointer off the buttons first, then choose.");

/** Say so where not everything that matters can be seen. */
function watchOverflow(deed) {
  const look = () =>
    deed.classList.toggle("overflows", deed.scrollHeight > deed.clientHeight + deed.scrollTop + 2);
  deed.addEventListener("scroll", look, { passive: true });
  requestAnimationFrame(look);
}

/** Return the rows of buttons, which stay in sight. */
function choices(...rows) {
  return h("div", { class: "choices" }, rows);
}

function button(words, act, kind = null) {
  return h("button", { type: "button", class: kind, onclick: act }, shortLine(words, MAX_NAME));
}

/** Return the agent's own words about a question, marked as such; null if it has said nothing. */
function saying(...texts) {
  const said = [...new Set(texts.map(textOrNull).filter(Boolean))];
  if (said.length === 0) return null;
  const [shown, left] = cut(said.join("\n"), MAX_SAID);
  return h(
    "div",
    { class: "says" },
    h("small", { class: "faint" }, "The agent says:"),
    h("blockquote", { tabindex: "0" }, shown),
    left > 0 && h("p", { class: "warning" }, `${left} more characters are not shown`),
  );
}

/** Ask for permission. `call` is the tool call as it is known, joined with the question's. */
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
        saying(
          params.title, params.description, call?.title,
          ...contents.slice(0, MAX_OPTIONS).map((each) => contentText(each.content)),
        ),
        h("div", { class: "deed" }, subject(params.subject, call)),
        all.length > options.length &&
          h("p", { class: "warning" }, `${all.length - options.length} more choices are not shown`),
        choices(
          once.length > 0 && h("div", { class: "buttons" }, once.map(choose(settle))),
          lasting.length > 0 &&
            h("div", { class: "buttons always" }, FROM_NOW_ON(), lasting.map(choose(settle))),
          once.length === 0 &&
            h("div", { class: "buttons" }, button("Neither", () => settle(cancelled))),
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
  if (call) return drawDeed(call);
  return what ? pre(asText(what), "Subject") : null;
}

/** Ask what an agent wants to know. */
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
    saying(message, requestedSchema?.title, requestedSchema?.description),
    h("div", { class: "deed" }, fields.elements),
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
      saying(message),
      h("div", { class: "deed" }, pre(asText(url), "Address")),
      h("p", { class: "warning" }, "This is no address of the web; it is not opened."),
      choices(h("div", { class: "buttons" }, decline)),
    ];
  const anchor = link(address.href);
  fill(anchor, `Open ${shortLine(address.host, MAX_NAME)}`);
  anchor.classList.add("button");
  anchor.addEventListener("click", (event) => {
    const before = anchor.isConnected;
    settle({ action: "accept" });
    if (before && anchor.isConnected) event.preventDefault(); // too early: not meant
  });
  return [
    saying(message),
    h("div", { class: "deed" }, pre(address.href, "Address")),
    choices(h("div", { class: "buttons" }, anchor, decline)),
  ];
}
