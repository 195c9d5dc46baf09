/**
 * What an agent of version 1 says about a session, in version 2's words.
 *
 * The page speaks version 2 and knows nothing of version 1 but this. What version 1 does not say is
 * made up: which chunks are one message, and the states of a turn.
 */

import { patchOf } from "./diff.js";
import { asText, objects, textOrNull } from "./text.js";

const MODE = "parley-mode";

let lastMessage = 0;

/** Make up the id of a message. */
export function newMessageId() {
  lastMessage += 1;
  return `page-${lastMessage}`;
}

/** One session whose agent speaks version 1. */
export class Lifting {
  constructor() {
    this.role = null;
    this.messageId = null;
    this.options = [];
    this.modes = null;
    this.isInTurn = false;
  }

  /** Return the updates of version 2 that say the same. */
  lift(update) {
    const kind = update.sessionUpdate;
    if (/_message_chunk$|^agent_thought_chunk$/.test(kind)) return this.chunk(update, kind);
    this.role = null;
    switch (kind) {
      case "tool_call":
      case "tool_call_update":
        return [{ ...liftTool(update), sessionUpdate: "tool_call_update" }];
      case "plan":
        return [planned({ type: "items", planId: "main", entries: update.entries })];
      case "current_mode_update":
        if (this.modes !== null) this.modes.currentModeId = update.currentModeId;
        return [this.optionsUpdate()];
      case "config_option_update":
        this.options = objects(update.configOptions).map(liftOption);
        return [this.optionsUpdate()];
      default:
        return [update];
    }
  }

  chunk(update, kind) {
    if (kind === "user_message_chunk" && this.isInTurn) return []; // it repeats what was sent
    if (kind !== this.role || (update.messageId && update.messageId !== this.given)) {
      this.role = kind;
      this.messageId = update.messageId || newMessageId();
    }
    this.given = update.messageId || this.given;
    return [{ ...update, messageId: this.messageId }];
  }

  /** Learn the options from the answer that opened the session. */
  opened(result) {
    this.modes = result.modes ?? null;
    this.options = objects(result.configOptions).map(liftOption);
    return this.allOptions();
  }

  allOptions() {
    const { modes } = this;
    if (modes === null || this.options.some((option) => option.category === "mode"))
      return this.options;
    const options = objects(modes.availableModes).map(({ id, name, description }) => ({
      value: id,
      name,
      description,
    }));
    const mode = { configId: MODE, name: "Mode", category: "mode", type: "select", options };
    return [{ ...mode, currentValue: modes.currentModeId }, ...this.options];
  }

  optionsUpdate() {
    return { sessionUpdate: "config_option_update", configOptions: this.allOptions() };
  }

  /** Return method and params that set an option. */
  setting(sessionId, option, value) {
    if (option.configId === MODE) return ["session/set_mode", { sessionId, modeId: value }];
    const params = { sessionId, configId: option.configId, value };
    if (option.type === "boolean") params.type = "boolean";
    return ["session/set_config_option", params];
  }

  /** Learn from its answer; returns all options. */
  set(option, value, result) {
    if (option.configId === MODE) this.modes.currentModeId = value;
    else if (Array.isArray(result.configOptions))
      this.options = objects(result.configOptions).map(liftOption);
    return this.allOptions();
  }

  beginTurn() {
    this.role = null;
    this.isInTurn = true;
  }

  endTurn() {
    this.role = null;
    this.isInTurn = false;
  }
}

function planned(plan) {
  return { sessionUpdate: "plan_update", plan };
}

function liftOption({ id, options, ...rest }) {
  const lifted = { configId: id, ...rest };
  if (Array.isArray(options))
    lifted.options = options.map((each) => (each.group ? { groupId: each.group, ...each } : each));
  return lifted;
}

/** Return a tool call with the content that version 2 has. */
export function liftTool(call) {
  if (!Array.isArray(call.content)) return call;
  return { ...call, content: call.content.map(liftContent) };
}

function liftContent(content) {
  if (content?.type !== "diff" || content.changes !== undefined) return content;
  const path = asText(content.path ?? "");
  const oldText = textOrNull(content.oldText);
  const operation = oldText === null ? "add" : "modify";
  const text = patchOf(path, oldText, textOrNull(content.newText) ?? "");
  const patch = { format: "git_patch", text: text ?? "" };
  return { type: "diff", changes: [{ operation, path }], patch, isTooLarge: text === null };
}

/** Return a question for permission as version 2 puts it. */
export function liftPermission({ toolCall, ...rest }) {
  const subject = { type: "tool_call", toolCall: liftTool(toolCall ?? {}) };
  return { title: toolCall?.title ?? "May I do this?", ...rest, subject };
}
