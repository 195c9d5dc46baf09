/**
 * The sessions of one connection, and the connection through all its interruptions.
 *
 * A short interruption is a matter of `remote.js`. When the server no longer knows the connection,
 * a new one is made here and the session is opened again, with what was said in it. What was being
 * sent comes back into the input unless the session has it, and that a turn has ended is told.
 */

import { Agent } from "./agent.js";
import { Conversation } from "./conversation.js";
import { CallFailed } from "./peer.js";
import { agentPath, savePlace } from "./place.js";
import { shortLine } from "./text.js";

const MAX_BACKGROUND = 2; // a browser has six connections to a server of HTTP/1.1
const MAX_EARLY = 1_000;
const MAX_PAUSE = 10_000;
const FOR_GOOD = new Set([401, 403]);

export class Room {
  /** `events`: changed(), moved(), refused(reason), restore(words). */
  constructor(token, about, events) {
    this.token = token;
    this.about = about;
    this.events = events;
    this.agent = null;
    this.place = {};
    this.current = null;
    this.failure = null; // what is shown while there is no session
    this.conversations = new Map();
    this.background = new Set(); // sessions that were left while they worked
    this.early = [];
    this.troubles = []; // what went wrong since something last went well
    this.isThere = false;
    this.isOpening = false;
    this.run = 0;
    this.wake = () => {};
  }

  /** Go to an agent and a session; without a session, to a new one. */
  async enter(place) {
    this.leave();
    // Only a name that the server has listed becomes part of an address.
    const isKnown = this.about.agents.includes(place.agent);
    const { agent, session, ...rest } = place;
    const kept = isKnown || !agent ? { session, ...rest } : {};
    this.place = { cwd: this.about.cwd, ...kept, agent: isKnown ? agent : this.about.agents[0] };
    await this.open([]);
    if (agent && !isKnown) {
      this.shown?.note(`There is no agent "${shortLine(agent, 80)}" here.`, "warning");
    }
  }

  /** End the connection. */
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

  /** Try at once what would be tried later: the phone is awake, the network is there. */
  hurry() {
    this.agent?.remote.hurry();
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
        if (!(await this.isWorthAnother(error, attempt))) return;
      }
    }
    if (run !== this.run) return;
    this.isOpening = false;
    this.isThere = true;
    if (this.current !== null) this.reconcile(unsent, wasRunning);
    this.events.changed();
  }

  async attempt(run) {
    const agent = new Agent(agentPath(this.place.agent), this.token, this.agentEvents(run));
    await agent.connect();
    if (run !== this.run) {
      agent.close();
      return;
    }
    this.agent = agent;
    this.conversations.clear();
    this.background.clear();
    try {
      if (this.place.session) await this.openSession(this.place);
      else await this.newSession(this.place.cwd);
    } catch (error) {
      if (!(error instanceof CallFailed)) throw error;
      this.fail(error);
    }
  }

  /** Wait for the next attempt; returns false where there is none. */
  async isWorthAnother(error, attempt) {
    const { status } = error;
    this.isThere = false;
    if (FOR_GOOD.has(status) || error instanceof CallFailed || status === undefined) {
      this.isOpening = false;
      if (FOR_GOOD.has(status)) this.events.refused(error.message);
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

  /** Say in an empty conversation why there is none. */
  fail(error) {
    const conversation = this.conversation();
    this.current = null;
    this.failure = conversation;
    if (Agent.needsLogin(error)) {
      conversation.note("The agent wants you to log in first.", "warning");
      this.events.logins(conversation, this.agent.logins);
    } else {
      conversation.note(`The session cannot be opened: ${error.message}`, "error");
    }
    this.isOpening = false;
    this.events.changed();
  }

  /** Log in and go on. */
  async login(methodId) {
    await this.agent.login(methodId);
    this.failure = null;
    await this.enter(this.place);
  }

  conversation() {
    const { agent } = this.place;
    return new Conversation(agent, () => this.events.changed(), () => this.events.moved());
  }

  async newSession(cwd) {
    const opened = await this.agent.newSession(cwd);
    const conversation = this.conversation();
    this.show(opened.sessionId, conversation, { agent: this.place.agent, cwd });
    this.fill(conversation, opened);
  }

  async openSession({ session, cwd, role }) {
    const known = this.conversations.get(session);
    if (known !== undefined) {
      this.show(session, known, { agent: this.place.agent, cwd, role });
      return;
    }
    const conversation = this.conversation();
    conversation.isObserver = role === "observer";
    this.conversations.set(session, conversation);
    try {
      const opened = await this.agent.openSession(session, cwd, role);
      this.show(session, conversation, { agent: this.place.agent, cwd, role });
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

  show(session, conversation, place) {
    this.conversations.set(session, conversation);
    this.background.delete(session);
    this.current = conversation;
    this.failure = null;
    this.place = { ...place, session };
    savePlace(this.place);
    const early = this.early.filter((each) => each.session === session);
    this.early = this.early.filter((each) => each.session !== session);
    for (const { update } of early) conversation.update(update);
    this.events.changed();
  }

  /** Go to another agent, if no session here is at work. */
  async switchAgent(place) {
    if ([...this.conversations.values()].some((each) => each.isRunning))
      throw new Error("A session of this agent is still working; wait for it, or stop it");
    await this.enter(place);
  }

  /** Go to another session of the same agent; one that works goes on in the background. */
  async switchTo(place) {
    const before = this.place.session;
    const left = this.current;
    if (left?.isRunning && this.background.size >= MAX_BACKGROUND)
      throw new Error("Other sessions are still working; wait for them, or stop one");
    if (place.session) await this.openSession({ cwd: this.about.cwd, ...place });
    else await this.newSession(place.cwd);
    if (left === null || left === this.current) return;
    if (left.isRunning) this.background.add(before);
    else await this.drop(before);
  }

  async drop(session) {
    this.conversations.delete(session);
    this.background.delete(session);
    await this.agent.leaveSession(session);
  }

  /** Say something in the current session. */
  async say(words) {
    const { current, agent, place } = this;
    const confirm = current.say(words);
    try {
      confirm(await agent.prompt(place.session, words));
      this.troubles = [];
    } catch (error) {
      if (agent.remote.isOver) return; // it comes back when the session is open again
      confirm(null);
      const trouble = `This was not taken: ${error.message}`;
      this.troubles.push(trouble); // the connection may end with it
      current.note(trouble, "error");
      this.events.restore(words);
    }
  }

  /** Stop what the agent does; open questions are withdrawn. */
  cancel() {
    if (this.current !== null) this.agent.cancel(this.place.session);
    this.shown?.withdraw();
  }

  async setOption(option, value) {
    const { current } = this;
    current.options = await this.agent.setOption(this.place.session, option, value);
    this.events.changed();
  }

  reconcile(unsent, wasRunning) {
    const { current } = this;
    const said = [...current.log.querySelectorAll(".user .words")].map((each) => each.textContent);
    for (const words of unsent) if (!said.slice(-3).includes(words)) this.events.restore(words);
    for (const trouble of this.troubles.splice(0)) current.note(trouble, "error");
    if (wasRunning && !current.isRunning)
      current.note("The connection was lost: what the agent was doing has ended.", "warning");
  }

  agentEvents(run) {
    const ofThis = (act) => (...rest) => (run === this.run ? act(...rest) : undefined);
    return {
      update: ofThis((session, update) => this.update(session, update)),
      permission: ofThis((params, signal) =>
        this.find(params)?.permission(params, signal) ?? { outcome: { outcome: "cancelled" } },
      ),
      elicit: ofThis((params, signal) =>
        this.find(params)?.elicit(params, signal) ?? { action: "cancel" },
      ),
      completed: ofThis((id) => this.conversations.forEach((each) => each.completed(id))),
      state: ofThis((isThere) => {
        this.isThere = isThere;
        this.events.changed();
      }),
      lost: ofThis((reason) => this.lost(reason)),
    };
  }

  /** What the page shows: a session, or why there is none. */
  get shown() {
    return this.current ?? this.failure;
  }

  /** Return the conversation that a question belongs to. */
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

  lost(reason) {
    this.isThere = false;
    if (FOR_GOOD.has(reason.status)) {
      this.events.refused(reason.message);
      return;
    }
    const { current } = this;
    if (current?.trouble) this.troubles.push(current.trouble);
    this.open(current?.pending.map(({ words }) => words) ?? [], current?.isRunning);
  }
}
