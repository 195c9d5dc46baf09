/**
 * The input of the user, with completion of the agent's `/` commands.
 */

import { fill, h } from "./dom.js";
import { inertLine } from "./text.js";

const MAX_SHOWN = 50;

export class Composer {
  /** Calls `send(text)` and `stop()`; `form` is the form of the page. */
  constructor(form, { send, stop }) {
    this.form = form;
    this.input = form.querySelector("textarea");
    this.list = form.querySelector("[role=listbox]");
    this.sendButton = form.querySelector(".send");
    this.stopButton = form.querySelector(".stop");
    this.send = send;
    this.commands = [];
    this.offered = [];
    this.chosen = 0;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.submit();
    });
    this.stopButton.addEventListener("click", stop);
    this.input.addEventListener("input", () => this.changed());
    this.input.addEventListener("keydown", (event) => this.key(event));
    this.input.addEventListener("blur", () => this.offer([]));
  }

  /** Show whether the user can send or stop. */
  show({ canSend, isRunning, commands, hint }) {
    this.commands = commands;
    this.input.disabled = !canSend && !isRunning;
    this.canSend = canSend;
    this.sendButton.disabled = !canSend;
    this.stopButton.hidden = !isRunning;
    this.input.placeholder = hint;
  }

  /** Insert text into the input, before its present text. */
  restore(words) {
    this.input.value = [words, this.input.value].filter(Boolean).join("\n");
    this.changed();
  }

  submit() {
    const words = this.input.value;
    if (!this.canSend || words.trim() === "") return;
    this.input.value = "";
    this.changed();
    this.send(words);
  }

  changed() {
    const { input } = this;
    input.rows = Math.min(8, input.value.split("\n").length);
    const found = /^\/(\S*)$/.exec(input.value);
    const start = found?.[1].toLowerCase();
    this.offer(found === null ? [] : this.commands.filter(({ name }) => matches(name, start)));
  }

  offer(commands) {
    this.offered = commands.slice(0, MAX_SHOWN);
    this.chosen = 0;
    this.list.hidden = this.offered.length === 0;
    this.input.setAttribute("aria-expanded", String(!this.list.hidden));
    this.drawOffer();
  }

  drawOffer() {
    fill(
      this.list,
      this.offered.map(({ name, description }, index) =>
        h(
          "li",
          {
            id: `command-${index}`,
            role: "option",
            "aria-selected": String(index === this.chosen),
            onpointerdown: (event) => event.preventDefault(),
            onclick: () => this.choose(index),
          },
          h("strong", {}, `/${inertLine(name)}`),
          " ",
          h("span", { class: "faint" }, inertLine(description ?? "")),
        ),
      ),
    );
    const isOpen = this.offered.length > 0;
    if (isOpen) this.input.setAttribute("aria-activedescendant", `command-${this.chosen}`);
    else this.input.removeAttribute("aria-activedescendant");
    this.list.children[this.chosen]?.scrollIntoView({ block: "nearest" });
  }

  choose(index) {
    const command = this.offered[index];
    this.input.value = `/${command.name} `;
    this.input.focus();
    this.changed();
    if (command.input?.hint) this.input.placeholder = inertLine(command.input.hint);
  }

  key(event) {
    if (event.isComposing) return;
    if (this.offered.length > 0 && this.keyInList(event)) {
      event.preventDefault();
      return;
    }
    // On a phone Enter is the only key for a new line; there is a button to send.
    const isPhone = matchMedia("(pointer: coarse)").matches;
    if (event.key === "Enter" && !event.shiftKey && (!isPhone || event.ctrlKey)) {
      event.preventDefault();
      this.submit();
    } else if (event.key === "Escape" && !this.stopButton.hidden) {
      this.stopButton.focus();
    }
  }

  keyInList({ key }) {
    const { length } = this.offered;
    const isWhole = this.input.value === `/${this.offered[this.chosen].name}`;
    if (key === "ArrowDown") this.chosen = (this.chosen + 1) % length;
    else if (key === "ArrowUp") this.chosen = (this.chosen + length - 1) % length;
    else if (key === "Escape") this.offer([]);
    else if (key === "Tab" || (key === "Enter" && !isWhole)) {
      this.choose(this.chosen);
      return true;
    } else return false;
    this.drawOffer();
    return true;
  }
}

function matches(name, start) {
  return typeof name === "string" && name.toLowerCase().includes(start);
}
