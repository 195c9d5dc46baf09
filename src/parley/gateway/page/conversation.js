/**
 * One session on the page: its messages, tool calls and plans, in the order in which they began.
 */

import { drawContent, pre } from "./content.js";
import { fill, folded, h } from "./dom.js";
import { Markdown } from "./markdown.js";
import { QuestionDock, askElicitation, askPermission } from "./questions.js";
import { asText, cut, describeError, inertLine, objects, shortLine, textOrNull } from "./text.js";
import { TerminalView, ToolCard, merge } from "./tool_call.js";

const BOXES = { completed: "\u2611", in_progress: "\u25b8", cancelled: "\u2013" };
const MAX_ENTRIES = 1_000;
const MAX_STEPS = 200;
const MAX_NOTE = 10_000;
const ENDS = {
  max_tokens: "The answer was cut off at the token limit.",
  max_turn_requests: "The agent has stopped: it reached its limit of requests.",
  refusal: "The agent refused. It will not remember this prompt or its response.",
  cancelled: "Cancelled.",
  error: "The turn failed.",
};

export class Conversation {
  /**
   * `agent` is the server's name for the agent. `changed()` is called when the title, state,
   * options or questions change, `moved()` when the conversation grows.
   */
  constructor(agent, changed, moved) {
    this.changed = changed;
    this.moved = moved;
    this.log = h("div", { class: "log" });
    this.dock = new QuestionDock(agent);
    this.title = null;
    this.options = [];
    this.commands = [];
    this.state = "idle";
    this.usage = null;
    this.trouble = null; // why the last turn failed
    this.isObserver = false;
    this.entries = new Map();
    this.terminals = new Map();
    this.pending = []; // prompts that the agent has not confirmed
    this.questions = new Set();
  }

  get isRunning() {
    return this.state === "running" || this.state === "requires_action";
  }

  add(element) {
    this.log.append(element);
    if (this.log.childElementCount > MAX_ENTRIES) this.forgetFirst();
    this.moved();
    return element;
  }

  /** Remove the oldest entry from the page, so that the page does not grow without limit. */
  forgetFirst() {
    if (this.forgotten === undefined) {
      this.forgotten = h("p", { class: "entry note" }, "Earlier entries are not shown.");
      this.log.prepend(this.forgotten);
    }
    const oldest = this.forgotten.nextElementSibling;
    oldest.remove();
    // Entries are kept in the order in which they began, so it is among the first.
    for (const [key, view] of this.entries) {
      if ((view.root ?? view.element ?? view) !== oldest) continue;
      this.entries.delete(key);
      break;
    }
  }

  /** Add a note of the page. */
  note(words, kind = "note") {
    const role = kind === "error" ? "alert" : null;
    return this.add(h("p", { class: `entry ${kind}`, role }, cut(words, MAX_NOTE)[0]));
  }

  /** Show a prompt of the user; returns a function to call when it is accepted or rejected. */
  addPrompt(words) {
    const element = this.add(this.bubble(words));
    element.classList.add("pending");
    const said = { words, element };
    this.pending.push(said);
    return (messageId) => {
      this.pending = this.pending.filter((each) => each !== said);
      element.classList.remove("pending");
      const known = messageId && this.entries.get(`user_message ${messageId}`);
      if (!messageId || (known && known.element !== element)) element.remove();
      else this.entries.set(`user_message ${messageId}`, new UserMessage(element));
    };
  }

  bubble(words) {
    const inner = h("div", { class: "words" }, words);
    return h("article", { class: "entry user", "aria-label": "You" }, inner);
  }

  /** Handle a session update; an unknown one is shown as JSON. */
  update(update) {
    try {
      this.take(update);
    } catch {
      this.note("An update from the agent could not be read.", "note");
    }
    this.moved();
  }

  take(update) {
    const kind = asText(update.sessionUpdate);
    const message = /^(user_message|agent_message|agent_thought)(_chunk)?$/.exec(kind);
    if (message !== null) this.message(message[1], update, message[2] !== undefined);
    else if (Object.hasOwn(UPDATES, kind)) UPDATES[kind].call(this, update);
    else this.unknown(kind, update);
  }

  unknown(kind, update) {
    const part = folded(`Unknown update: ${inertLine(kind)}`, pre(asText(update)));
    this.add(h("div", { class: "entry faint" }, part));
  }

  message(role, { messageId, content }, isChunk) {
    const key = `${role} ${messageId}`;
    let view = this.entries.get(key);
    if (view === undefined) {
      view = this.newMessage(role, content);
      this.entries.set(key, view);
    }
    if (isChunk) view.append(content);
    else if (content !== undefined) view.replace(objects(content));
  }

  newMessage(role, content) {
    if (role === "agent_message") return new AgentMessage(this);
    if (role === "agent_thought") return new Thought(this);
    const said = this.pending.find(({ words }) => isText(content, words));
    if (said === undefined) return new UserMessage(this.add(this.bubble("")));
    this.pending = this.pending.filter((each) => each !== said);
    said.element.classList.remove("pending");
    return new UserMessage(said.element);
  }

  tool(id) {
    const key = `tool ${id}`;
    let view = this.entries.get(key);
    if (view === undefined) {
      view = new ToolCard(id, (terminal) => this.terminal(terminal), this.moved);
      this.entries.set(key, view);
      this.add(view.element);
    }
    return view;
  }

  terminal(id) {
    let view = this.terminals.get(id);
    if (view === undefined) {
      view = new TerminalView(() => this.moved());
      this.terminals.set(id, view);
    }
    return view;
  }

  plan(plan) {
    const key = `plan ${plan.planId}`;
    let element = this.entries.get(key);
    if (element === undefined) {
      element = this.add(h("section", { class: "entry plan", "aria-label": "Plan" }));
      this.entries.set(key, element);
    }
    fill(element, h("h2", {}, "Plan"), drawPlan(plan));
  }

  setState({ state, stopReason, error }) {
    const before = this.state;
    this.state = textOrNull(state) ?? "idle";
    for (const view of this.entries.values()) view.settle?.(this.isRunning);
    const isEnd = state === "idle" && before !== "idle" && Object.hasOwn(ENDS, stopReason ?? "");
    const words = isEnd && ENDS[stopReason];
    const reason = words && describeError(error);
    const said = reason ? `${words} ${inertLine(reason)}` : words;
    if (words) this.note(said, stopReason);
    this.trouble = stopReason === "error" ? said : null;
    this.changed();
  }

  async ask(asking, signal) {
    const own = new AbortController();
    const question = { abort: () => own.abort() };
    this.questions.add(question);
    this.changed();
    try {
      return await asking(AbortSignal.any([signal, own.signal]));
    } finally {
      this.questions.delete(question);
      this.changed();
    }
  }

  /** Ask for permission; resolves with the response. */
  permission(params, signal) {
    const subject = params.subject;
    const patch = subject?.type === "tool_call" ? subject.toolCall : null;
    let call = null;
    if (patch?.toolCallId !== undefined) {
      const card = this.tool(patch.toolCallId);
      card.update(patch);
      call = merge({}, card.call);
    }
    return this.ask((both) => askPermission(this.dock, params, call, both), signal);
  }

  /** Ask for information; resolves with the response. */
  async elicit(params, signal) {
    const answer = await this.ask((both) => askElicitation(this.dock, params, both), signal);
    if (params.mode === "url" && answer.action === "accept") {
      const note = this.note("Waiting for you to finish on that page.");
      this.entries.set(`visit ${params.elicitationId}`, note);
    }
    return answer;
  }

  completed(elicitationId) {
    const element = this.entries.get(`visit ${elicitationId}`);
    if (element) fill(element, "Done. The agent has what it needs from that page.");
  }

  /** Withdraw all open questions, because the user has cancelled. */
  withdraw() {
    for (const question of this.questions) question.abort();
  }
}

const UPDATES = {
  state_update: Conversation.prototype.setState,
  tool_call_update(update) {
    this.tool(update.toolCallId).update(update);
  },
  tool_call_content_chunk({ toolCallId, content }) {
    this.tool(toolCallId).append(content);
  },
  terminal_update(update) {
    this.terminal(update.terminalId).update(update);
  },
  terminal_output_chunk({ terminalId, data }) {
    this.terminal(terminalId).write(data);
  },
  plan_update({ plan }) {
    if (plan) this.plan(plan);
  },
  plan_removed({ planId }) {
    this.entries.get(`plan ${planId}`)?.remove();
    this.entries.delete(`plan ${planId}`);
  },
  available_commands_update({ availableCommands }) {
    this.commands = objects(availableCommands);
    this.changed();
  },
  config_option_update({ configOptions }) {
    this.options = objects(configOptions);
    this.changed();
  },
  session_info_update({ title }) {
    if (title !== undefined) this.title = textOrNull(title);
    this.changed();
  },
  usage_update({ used, size }) {
    const share = Math.round((100 * used) / size);
    this.usage = size > 0 && Number.isFinite(share) ? `${share} % of the context` : null;
    this.changed();
  },
  notice({ severity, title, description }) {
    const words = description ? `${asText(title)}: ${asText(description)}` : asText(title);
    this.note(words, ["warning", "error"].includes(severity) ? severity : "note");
  },
  compaction_update({ compactionId, status, error }) {
    const key = `compaction ${compactionId}`;
    if (!this.entries.has(key)) this.entries.set(key, this.note(""));
    const words = error ? `${asText(status)}: ${asText(error)}` : asText(status);
    fill(this.entries.get(key), `Compacting the conversation (${inertLine(words)})`);
  },
  compaction_summary_chunk() {},
};

function isText(content, words) {
  const blocks = Array.isArray(content) ? content : [content];
  return blocks.length === 1 && blocks[0]?.type === "text" && blocks[0].text === words;
}

function drawPlan(plan) {
  if (plan.type === "items")
    return h("ul", {}, objects(plan.entries).slice(0, MAX_STEPS).map(drawStep));
  if (plan.type === "markdown") return drawContent({ type: "text", text: plan.content });
  return pre(asText(plan.uri ?? plan));
}

function drawStep({ status, content }) {
  const named = asText(status);
  const box = h("span", { role: "img", "aria-label": named }, BOXES[named] ?? "\u2610");
  return h("li", { "data-status": named }, box, " ", shortLine(content ?? "", MAX_NOTE));
}

class UserMessage {
  constructor(element) {
    this.element = element;
    this.words = element.firstChild;
  }

  append(block) {
    this.words.append(block?.type === "text" ? h("span", {}, block.text) : drawContent(block));
  }

  replace(blocks) {
    this.words.replaceChildren();
    for (const block of blocks) this.append(block);
  }
}

class AgentMessage {
  constructor(conversation) {
    this.conversation = conversation;
    const isBusy = String(conversation.isRunning);
    const props = { class: "entry agent", "aria-label": "Agent", "aria-busy": isBusy };
    this.element = conversation.add(h("article", props));
    this.markdown = null;
  }

  /** Let a screen reader speak the message when it is complete. */
  settle(isRunning) {
    if (!isRunning) this.element.setAttribute("aria-busy", "false");
  }

  append(block) {
    if (block?.type !== "text") {
      this.markdown = null;
      this.element.append(drawContent(block));
      return;
    }
    if (this.markdown === null) {
      const part = h("div", { class: "markdown" });
      this.element.append(part);
      this.markdown = new Markdown(part, this.conversation.moved);
    }
    this.markdown.append(asText(block.text ?? ""));
  }

  replace(blocks) {
    this.markdown = null;
    this.element.replaceChildren();
    for (const block of blocks) this.append(block);
  }
}

class Thought extends AgentMessage {
  constructor(conversation) {
    super(conversation);
    const body = h("div", { class: "body" });
    const summary = h("summary", {}, "Thoughts");
    this.root = h("details", { class: "entry thought" }, summary, body);
    this.element.replaceWith(this.root);
    this.element = body;
  }
}
