/**
 * The sessions of one agent, and the connection to it, which is replaced when it is lost.
 *
 * `http_transport.js` handles short interruptions. When the server has ended the connection, a new
 * one is made here, and the session is opened again with its history. A prompt that was being sent
 * returns to the input unless it is in the session, and a note says if a turn was interrupted.
 */

import { AgentConnection } from "./agent.js";
import { Conversation } from "./conversation.js";
import { CallFailed } from "./peer.js";
import { agentPath, saveLocation } from "./tab_state.js";
import { shortLine } from "./text.js";

const MAX_BACKGROUND = 2; // a browser has six connections to a server of HTTP/1.1
const MAX_EARLY = 1_000;
const MAX_PAUSE = 10_000;
const UNAUTHORIZED = new Set([401, 403]);

export class SessionManager {
  /** `events`: changed(), moved(), refused(reason), restore(words). */
  constructor(token, about, events) {
    this.token = token;
    this.about = about;
    this.events = events;
    this.agent = null;
    this.location = {};
    this.current = null;
    this.failure = null; // the conversation that is shown while there is no session
    this.conversations = new Map();
    this.background = new Set(); // sessions that still work after the user has left them
    this.early = [];
    this.troubles = []; // the errors since the last prompt that was accepted
    this.isConnected = false;
    this.isOpening = false;
    this.run = 0;
    this.wake = () => {};
  }

  /** Connect to an agent and open a session, or a new one if none is given. */
  async enter(location) {
    this.leave();
    // Only names that the server has listed become part of a URL.
    const isKnown = this.about.agents.includes(location.agent);
    const { agent, session, ...rest } = location;
    const kept = isKnown || !agent ? { session, ...rest } : {};
    this.location = { cwd: this.about.cwd, ...kept, agent: isKnown ? agent : this.about.agents[0] };
    await this.open([]);
    if (agent && !isKnown) {
      this.shown?.note(`This server has no agent "${shortLine(agent, 80)}".`, "warning");
    }
  }

  /** Close the connection. */
  leave() {
    this.run += 1;
    this.wake();
    this.agent?.close();
    this.agent = null;
    this.conversations.clear();
    this.background.clear();
    this.current = null;
    this.failure = null;
    this.early = [];
  }

  /** Retry at once: the device is awake, or the network is back. */
  retryNow() {
    this.agent?.transport.retryNow();
    this.wake();
  }

  async open(unsent, wasRunning = false) {
    this.run += 1;
    const { run } = this;
    this.isOpening = true;
    for (let attempt = 0; run === this.run; attempt += 1) {
      this.events.changed();
      try {
        await this.attempt(run);
        break;
      } catch (error) {
        if (run !== this.run) return;
        if (!(await this.waitToRetry(error, attempt))) return;
      }
    }
    if (run !== this.run) return;
    this.isOpening = false;
    this.isConnected = true;
    if (this.current !== null) this.reconcile(unsent, wasRunning);
    this.events.changed();
  }

  async attempt(run) {
    const path = agentPath(this.location.agent);
    const agent = new AgentConnection(path, this.token, this.agentEvents(run));
    await agent.connect();
    if (run !== this.run) {
      agent.close();
      return;
    }
    this.agent = agent;
    this.conversations.clear();
    this.background.clear();
    try {
      if (this.location.session) await this.openSession(this.location);
      else await this.newSession(this.location.cwd);
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error;
      this.fail(error);
    }
  }

  /** Wait before the next attempt; returns false if there is none. */
  async waitToRetry(error, attempt) {
    const { status } = error;
    this.isConnected = false;
    if (UNAUTHORIZED.has(status) || error instanceof CallFailed || status === undefined) {
      this.isOpening = false;
      if (UNAUTHORIZED.has(status)) this.events.refused(error.message);
      else this.fail(error);
      return false;
    }
    this.events.changed();
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.min(MAX_PAUSE, 500 * 2 ** Math.min(attempt, 8)));
      this.wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    return true;
  }

  /** Show in an empty conversation why the session cannot be opened. */
  fail(error) {
    const conversation = this.conversation();
    this.current = null;
    this.failure = conversation;
    if (AgentConnection.needsLogin(error)) {
      conversation.note("The agent requires you to log in.", "warning");
      this.events.logins(conversation, this.agent.logins);
    } else {
      conversation.note(`The session cannot be opened: ${error.message}`, "error");
    }
    this.isOpening = false;
    this.events.changed();
  }

  /** Log in, and connect again. */
  async login(methodId) {
    await this.agent.login(methodId);
    this.failure = null;
    await this.enter(this.location);
  }

  conversation() {
    const { agent } = this.location;
    return new Conversation(agent, () => this.events.changed(), () => this.events.moved());
  }

  async newSession(cwd) {
    const opened = await this.agent.newSession(cwd);
    const conversation = this.conversation();
    this.show(opened.sessionId, conversation, { agent: this.location.agent, cwd });
    this.fill(conversation, opened);
  }

  async openSession({ session, cwd, role }) {
    const known = this.conversations.get(session);
    if (known !== undefined) {
      this.show(session, known, { agent: this.location.agent, cwd, role });
      return;
    }
    const conversation = this.conversation();
    conversation.isObserver = role === "observer";
    this.conversations.set(session, conversation);
    try {
      const opened = await this.agent.openSession(session, cwd, role);
      this.show(session, conversation, { agent: this.location.agent, cwd, role });
      this.fill(conversation, opened);
    } catch (error) {
      this.conversations.delete(session);
      throw error;
    }
  }

  fill(conversation, { options, commands }) {
    conversation.options = options;
    if (commands.length > 0) conversation.commands = commands;
    this.events.changed();
  }

  show(session, conversation, location) {
    this.conversations.set(session, conversation);
    this.background.delete(session);
    this.current = conversation;
    this.failure = null;
    this.location = { ...location, session };
    saveLocation(this.location);
    const early = this.early.filter((each) => each.session === session);
    this.early = this.early.filter((each) => each.session !== session);
    for (const { update } of early) conversation.update(update);
    this.events.changed();
  }

  /** Switch to another agent, if no session of this one is working. */
  async switchAgent(location) {
    if ([...this.conversations.values()].some((each) => each.isRunning))
      throw new Error("A session of this agent is still working. Wait for it, or stop it.");
    await this.enter(location);
  }

  /** Switch to another session of this agent; a working session continues in the background. */
  async switchTo(location) {
    const before = this.location.session;
    const left = this.current;
    if (left?.isRunning && this.background.size >= MAX_BACKGROUND)
      throw new Error("Other sessions are still working. Wait for one, or stop it.");
    if (location.session) await this.openSession({ cwd: this.about.cwd, ...location });
    else await this.newSession(location.cwd);
    if (left === null || left === this.current) return;
    if (left.isRunning) this.background.add(before);
    else await this.drop(before);
  }

  async drop(session) {
    this.conversations.delete(session);
    this.background.delete(session);
    await this.agent.leaveSession(session);
  }

  /** Send a prompt in the current session. */
  async prompt(text) {
    const { current, agent, location } = this;
    const confirm = current.addPrompt(text);
    try {
      confirm(await agent.prompt(location.session, text));
      this.troubles = [];
    } catch (error) {
      if (agent.transport.isOver) return; // `reconcile` restores it when the session is open again
      confirm(null);
      const trouble = `The prompt was not accepted: ${error.message}`;
      this.troubles.push(trouble); // the connection may end too
      current.note(trouble, "error");
      this.events.restore(text);
    }
  }

  /** Cancel the agent's work, and withdraw open questions. */
  cancel() {
    if (this.current !== null) this.agent.cancel(this.location.session);
    this.shown?.withdraw();
  }

  async setOption(option, value) {
    const { current } = this;
    current.options = await this.agent.setOption(this.location.session, option, value);
    this.events.changed();
  }

  reconcile(unsent, wasRunning) {
    const { current } = this;
    const sent = [...current.log.querySelectorAll(".user .words")].map((each) => each.textContent);
    for (const words of unsent) if (!sent.slice(-3).includes(words)) this.events.restore(words);
    for (const trouble of this.troubles.splice(0)) current.note(trouble, "error");
    if (wasRunning && !current.isRunning)
      current.note("The connection was lost, and the agent's work was interrupted.", "warning");
  }

  agentEvents(run) {
    const ifCurrent = (act) => (...rest) => (run === this.run ? act(...rest) : undefined);
    return {
      update: ifCurrent((session, update) => this.update(session, update)),
      permission: ifCurrent((params, signal) =>
        this.find(params)?.permission(params, signal) ?? { outcome: { outcome: "cancelled" } },
      ),
      elicit: ifCurrent((params, signal) =>
        this.find(params)?.elicit(params, signal) ?? { action: "cancel" },
      ),
      completed: ifCurrent((id) => this.conversations.forEach((each) => each.completed(id))),
      onState: ifCurrent((isConnected) => {
        this.isConnected = isConnected;
        this.events.changed();
      }),
      onLost: ifCurrent((reason) => this.onLost(reason)),
    };
  }

  /** The conversation that the page shows: the session, or the reason why there is none. */
  get shown() {
    return this.current ?? this.failure;
  }

  /** Return the conversation in which to ask a question; undefined for observers. */
  find({ sessionId }) {
    const isInSession = sessionId !== undefined && sessionId !== null;
    if (!isInSession && this.shown === null) this.failure = this.conversation();
    const conversation = isInSession ? this.conversations.get(sessionId) : this.shown;
    return conversation?.isObserver ? undefined : conversation;
  }

  update(session, update) {
    const conversation = this.conversations.get(session);
    if (conversation === undefined) {
      if (this.early.length < MAX_EARLY) this.early.push({ session, update });
      return;
    }
    conversation.update(update);
    if (this.background.has(session) && !conversation.isRunning) this.drop(session);
  }

  onLost(reason) {
    this.isConnected = false;
    if (UNAUTHORIZED.has(reason.status)) {
      this.events.refused(reason.message);
      return;
    }
    const { current } = this;
    if (current?.trouble) this.troubles.push(current.trouble);
    this.open(current?.pending.map(({ words }) => words) ?? [], current?.isRunning);
  }
}
