/**
 * The agent as the page knows it: in version 2's words, whichever version it speaks.
 */

import { CallFailed, Peer } from "./peer.js";
import { Lifting, liftPermission, newMessageId } from "./lift.js";
import { objects } from "./text.js";

const US = { name: "parley-page", title: "Parley in a browser", version: "1" };
const ELICITATION = { form: {}, url: {} };
const AUTH_REQUIRED = -32000;

export class Agent {
  /** `events`: update(session, update), permission, elicit, completed, state, lost. */
  constructor(path, token, events) {
    this.events = events;
    this.liftings = new Map();
    this.peer = new Peer(path, token, {
      told: (method, params) => this.told(method, params),
      asked: (method, params, signal) => this.asked(method, params, signal),
      state: events.state,
      lost: events.lost,
    });
  }

  async connect() {
    const result = await this.peer.initialize({
      protocolVersion: 2,
      info: US,
      capabilities: { elicitation: ELICITATION },
      clientInfo: US,
      clientCapabilities: {
        fs: { readTextFile: false, writeTextFile: false },
        terminal: false,
        session: { compaction: {}, notices: {}, configOptions: { boolean: {} } },
        elicitation: ELICITATION,
      },
    });
    // Some agents say 2 and then speak version 1. Earlier drafts of version 2 have no `info`.
    const isEcho = Boolean(result.agentCapabilities) && !result.info;
    this.isFirst = result.protocolVersion !== 2 || isEcho;
    this.info = result.info ?? result.agentInfo ?? { name: "agent" };
    this.authMethods = objects(result.authMethods);
    const first = result.agentCapabilities ?? {};
    const sessions = first.sessionCapabilities ?? {};
    this.canList = !this.isFirst || Boolean(sessions.list);
    this.canOpen = !this.isFirst || first.loadSession === true || Boolean(sessions.resume);
    this.canClose = !this.isFirst || Boolean(sessions.close);
    this.canLoad = !this.isFirst || first.loadSession === true;
  }

  get remote() {
    return this.peer.remote;
  }

  close() {
    this.peer.close();
  }

  /** Open a new session in a directory. */
  async newSession(cwd) {
    const result = await this.peer.request("session/new", { cwd, mcpServers: [] });
    this.remote.subscribe(result.sessionId);
    return { sessionId: result.sessionId, ...this.opened(result.sessionId, result) };
  }

  /** Open a session that there is, with what was said in it. */
  async openSession(sessionId, cwd, role) {
    await this.remote.subscribe(sessionId);
    if (this.isFirst) this.liftings.set(sessionId, new Lifting());
    const params = { sessionId, cwd, mcpServers: [] };
    if (role === "observer") params._meta = { parley: { role } };
    const method = this.isFirst && this.canLoad ? "session/load" : "session/resume";
    if (!this.isFirst) params.replayFrom = { type: "start" };
    const result = await this.peer.request(method, params, sessionId);
    this.remote.subscribe(sessionId);
    return { sessionId, ...this.opened(sessionId, result) };
  }

  opened(sessionId, result) {
    const commands = objects(result.availableCommands);
    if (!this.isFirst) return { options: objects(result.configOptions), commands };
    return { options: this.lifting(sessionId).opened(result), commands };
  }

  lifting(sessionId) {
    let lifting = this.liftings.get(sessionId);
    if (lifting === undefined) {
      lifting = new Lifting();
      this.liftings.set(sessionId, lifting);
    }
    return lifting;
  }

  /** Leave a session: it can be opened again, and goes on for those who are still there. */
  async leaveSession(sessionId) {
    try {
      if (this.canClose) await this.peer.request("session/close", { sessionId }, sessionId);
    } catch {
      // it is gone already
    }
    this.remote.unsubscribe(sessionId);
    this.liftings.delete(sessionId);
  }

  /** Return a page of the sessions that the agent knows. */
  list(cursor) {
    return this.peer.request("session/list", cursor ? { cursor } : {});
  }

  /** Say something; resolves with the message's id when the agent has taken it. */
  async prompt(sessionId, words) {
    const params = { sessionId, prompt: [{ type: "text", text: words }] };
    if (!this.isFirst) {
      const { messageId } = await this.peer.request("session/prompt", params, sessionId);
      return messageId;
    }
    const messageId = newMessageId();
    const lifting = this.lifting(sessionId);
    const tell = (update) => this.events.update(sessionId, update);
    lifting.beginTurn();
    tell({ sessionUpdate: "user_message", messageId, content: params.prompt });
    tell({ sessionUpdate: "state_update", state: "running" });
    this.peer.request("session/prompt", params, sessionId).then(
      ({ stopReason }) => {
        lifting.endTurn();
        tell({ sessionUpdate: "state_update", state: "idle", stopReason });
      },
      (error) => {
        lifting.endTurn();
        if (error instanceof CallFailed)
          tell({ sessionUpdate: "state_update", state: "idle", stopReason: "error", error });
      },
    );
    return messageId;
  }

  cancel(sessionId) {
    this.peer.notify("session/cancel", { sessionId }, sessionId);
  }

  /** Set an option; returns all of them as they are then. */
  async setOption(sessionId, option, value) {
    if (this.isFirst) {
      const lifting = this.lifting(sessionId);
      const [method, params] = lifting.setting(sessionId, option, value);
      return lifting.set(option, value, await this.peer.request(method, params, sessionId));
    }
    const type = option.type === "boolean" ? "boolean" : "id";
    const params = { sessionId, configId: option.configId, type, value };
    const method = "session/set_config_option";
    return objects((await this.peer.request(method, params, sessionId)).configOptions);
  }

  /** Return the ways to log in that work from here. */
  get logins() {
    return this.authMethods
      .filter((method) => (method.type ?? "agent") === "agent")
      .map((method) => ({ ...method, methodId: method.methodId ?? method.id }));
  }

  login(methodId) {
    return this.peer.request(this.isFirst ? "authenticate" : "auth/login", { methodId });
  }

  static needsLogin(error) {
    return error instanceof CallFailed && error.code === AUTH_REQUIRED;
  }

  told(method, params) {
    if (method === "elicitation/complete") this.events.completed(params.elicitationId);
    const { sessionId, update } = params;
    if (method !== "session/update" || update === null || typeof update !== "object") return;
    const updates = this.isFirst ? this.lifting(sessionId).lift(update) : [update];
    for (const each of updates) this.events.update(sessionId, each);
  }

  asked(method, params, signal) {
    if (method === "session/request_permission")
      return this.events.permission(this.isFirst ? liftPermission(params) : params, signal);
    if (method === "elicitation/create") return this.events.elicit(params, signal);
    return undefined;
  }
}
