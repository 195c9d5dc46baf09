/**
 * A connection to an agent: the requests of the page, and the events of the agent.
 *
 * It is always in version 2 of the protocol. If the agent speaks version 1, the server translates.
 */

import { CallFailed, Peer } from "./peer.js";
import { objects } from "./text.js";

const INFO = { name: "parley-page", title: "Parley in a browser", version: "1" };
const ELICITATION = { form: {}, url: {} };
const AUTH_REQUIRED = -32000;

export class AgentConnection {
  /** `events`: update(session, update), permission, elicit, completed, onState, onLost. */
  constructor(path, token, events) {
    this.events = events;
    this.peer = new Peer(path, token, {
      onNotification: (method, params) => this.onNotification(method, params),
      onRequest: (method, params, signal) => this.onRequest(method, params, signal),
      onState: events.onState,
      onLost: events.onLost,
    });
  }

  async connect() {
    const result = await this.peer.initialize({
      protocolVersion: 2,
      info: INFO,
      capabilities: { elicitation: ELICITATION },
      // An agent of version 1 gets the same params, and reads these two.
      clientInfo: INFO,
      clientCapabilities: {
        fs: { readTextFile: false, writeTextFile: false },
        terminal: false,
        session: { compaction: {}, notices: {}, configOptions: { boolean: {} } },
        elicitation: ELICITATION,
      },
      _meta: { parley: { onlyVersion: 2 } },
    });
    this.info = result.info ?? result.agentInfo ?? { name: "agent" };
    this.authMethods = objects(result.authMethods);
  }

  get transport() {
    return this.peer.transport;
  }

  close() {
    this.peer.close();
  }

  /** Open a new session in a directory. */
  async newSession(cwd) {
    const result = await this.peer.request("session/new", { cwd, mcpServers: [] });
    this.transport.subscribe(result.sessionId);
    return opened(result.sessionId, result);
  }

  /** Open an existing session and replay its conversation. */
  async openSession(sessionId, cwd, role) {
    await this.transport.subscribe(sessionId);
    const params = { sessionId, cwd, mcpServers: [], replayFrom: { type: "start" } };
    if (role === "observer") params._meta = { parley: { role } };
    const result = await this.peer.request("session/resume", params, sessionId);
    this.transport.subscribe(sessionId);
    return opened(sessionId, result);
  }

  /** Leave a session. It can be opened again, and continues for its other clients. */
  async leaveSession(sessionId) {
    try {
      await this.peer.request("session/close", { sessionId }, sessionId);
    } catch {
      // it has ended, or the agent does not close sessions
    }
    this.transport.unsubscribe(sessionId);
  }

  /** Return a page of the sessions that the agent knows. */
  list(cursor) {
    return this.peer.request("session/list", cursor ? { cursor } : {});
  }

  /** Send a prompt; resolves with the message's id when the agent has accepted it. */
  async prompt(sessionId, text) {
    const params = { sessionId, prompt: [{ type: "text", text }] };
    const { messageId } = await this.peer.request("session/prompt", params, sessionId);
    return messageId;
  }

  cancel(sessionId) {
    this.peer.notify("session/cancel", { sessionId }, sessionId);
  }

  /** Set an option, and return all options with their new values. */
  async setOption(sessionId, option, value) {
    const type = option.type === "boolean" ? "boolean" : "id";
    const params = { sessionId, configId: option.configId, type, value };
    const method = "session/set_config_option";
    return objects((await this.peer.request(method, params, sessionId)).configOptions);
  }

  /** Return the login methods that work in a browser. */
  get logins() {
    return this.authMethods.filter((method) => (method.type ?? "agent") === "agent");
  }

  login(methodId) {
    return this.peer.request("auth/login", { methodId });
  }

  static needsLogin(error) {
    return error instanceof CallFailed && error.code === AUTH_REQUIRED;
  }

  onNotification(method, params) {
    if (method === "elicitation/complete") this.events.completed(params.elicitationId);
    const { sessionId, update } = params;
    if (method !== "session/update" || update === null || typeof update !== "object") return;
    this.events.update(sessionId, update);
  }

  onRequest(method, params, signal) {
    if (method === "session/request_permission") return this.events.permission(params, signal);
    if (method === "elicitation/create") return this.events.elicit(params, signal);
    return undefined;
  }
}

function opened(sessionId, { configOptions, availableCommands }) {
  return { sessionId, options: objects(configOptions), commands: objects(availableCommands) };
}
