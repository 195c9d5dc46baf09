/**
 * Questions of an agent: for permission, for a form, for a visit to a page elsewhere.
 *
 * Each is a card above the input until it is answered here, answered by somebody else, or taken
 * back. Only what was offered is answered, and nothing is answered by itself. A tap that comes just
 * when the card appears was meant for something else and does not count.
 */

import { fill, h, link, put } from "./dom.js";
import { drawForm } from "./forms.js";
import { asText, inertLine, objects, webAddress } from "./text.js";
import { pre } from "./content.js";
import { drawDeed } from "./tool.js";

const TOO_EARLY = 500;
const FROM_NOW_ON = () => h("small", {}, "From now on:");

/** Show a card until it is settled; `draw(settle)` returns its parts. */
function card(dock, signal, withdrawn, { title, ...drawing }) {
  return new Promise((resolve) => {
    const heading = h("h2", { class: "question", tabindex: "-1" }, inertLine(title));
    const props = { class: "card early", role: "group", "aria-label": inertLine(title) };
    const element = h("section", props, heading);
    const settle = (answer, isForced = false) => {
      if (!isForced && element.classList.contains("early")) return;
      element.remove();
      resolve(answer);
    };
    signal.addEventListener("abort", () => settle(withdrawn, true), { once: true });
    if (signal.aborted) {
      settle(withdrawn, true);
      return;
    }
    put(element, drawing.draw(settle));
    dock.append(element);
    setTimeout(() => element.classList.remove("early"), TOO_EARLY);
  });
}

function button(words, act, kind = null) {
  return h("button", { type: "button", class: kind, onclick: act }, inertLine(words));
}

/** Ask for permission. `call` is the tool call as it is known, joined with the question's. */
export function askPermission(dock, params, call, signal) {
  const cancelled = { outcome: { outcome: "cancelled" } };
  const options = objects(params.options).filter((each) => typeof each.optionId === "string");
  const choose = (settle) => (option) =>
    button(
      option.name || option.optionId,
      () => settle({ outcome: { outcome: "selected", optionId: option.optionId } }),
      /^reject/.test(option.kind) ? "reject" : "allow",
    );
  return card(dock, signal, cancelled, {
    title: params.title || "The agent asks for permission",
    draw: (settle) => {
      const lasting = options.filter((option) => /_always$/.test(option.kind));
      const once = options.filter((option) => !lasting.includes(option));
      return [
        params.description && h("p", {}, params.description),
        call?.title &&
          call.title !== params.title &&
          h("p", { class: "faint" }, inertLine(call.title)),
        h("div", { class: "deed" }, subject(params.subject, call)),
        h("div", { class: "buttons" }, once.map(choose(settle))),
        lasting.length > 0 &&
          h("div", { class: "buttons always" }, FROM_NOW_ON(), lasting.map(choose(settle))),
        once.length === 0 &&
          h("div", { class: "buttons" }, button("Neither", () => settle(cancelled))),
      ];
    },
  });
}

function subject(what, call) {
  if (what?.type === "command")
    return [
      h("div", { class: "command" }, pre(asText(what.command), "Command")),
      h("div", { class: "path" }, String(what.cwd ?? "")),
    ];
  if (call) return drawDeed(call);
  return what ? pre(asText(what), "Subject") : null;
}

/** Ask what an agent wants to know. */
export function askElicitation(dock, params, signal) {
  const cancelled = { action: "cancel" };
  const title = params.message || "The agent asks";
  if (params.mode === "form")
    return card(dock, signal, cancelled, { title, draw: (settle) => form(params, settle) });
  if (params.mode === "url")
    return card(dock, signal, cancelled, { title, draw: (settle) => visit(params, settle) });
  return Promise.resolve({ action: "decline" });
}

function form({ requestedSchema }, settle) {
  const fields = drawForm(requestedSchema);
  const element = h(
    "form",
    {
      onsubmit: (event) => {
        event.preventDefault();
        settle({ action: "accept", content: fields.read() });
      },
    },
    requestedSchema?.title && h("h3", {}, inertLine(requestedSchema.title)),
    requestedSchema?.description && h("p", {}, requestedSchema.description),
    fields.elements,
    h(
      "div",
      { class: "buttons" },
      fields.isWhole && h("button", { type: "submit", class: "allow" }, "Answer"),
      button("Decline", () => settle({ action: "decline" }), "reject"),
    ),
  );
  return element;
}

function visit({ url }, settle) {
  const decline = button("Decline", () => settle({ action: "decline" }), "reject");
  const address = webAddress(url);
  if (address === null)
    return [
      pre(String(url), "Address"),
      h("p", { class: "warning" }, "This is no address of the web; it is not opened."),
      h("div", { class: "buttons" }, decline),
    ];
  const anchor = link(address.href);
  fill(anchor, `Open ${address.host}`);
  anchor.classList.add("button");
  anchor.addEventListener("click", (event) => {
    const before = anchor.isConnected;
    settle({ action: "accept" });
    if (before && anchor.isConnected) event.preventDefault(); // too early: not meant
  });
  return [
    h("p", {}, "The agent wants you to visit this page:"),
    pre(address.href, "Address"),
    h("div", { class: "buttons" }, anchor, decline),
  ];
}
