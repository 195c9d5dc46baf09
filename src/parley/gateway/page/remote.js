/**
 * A connection to the agent over Streamable HTTP: messages out by POST, messages in by streams.
 *
 * Streams are read with `fetch`, because only that can send the token and the ids in headers. The
 * server is a Parley: it numbers its events and waits a while for those who were cut off. A stream
 * that breaks is asked for again behind the last event, a POST that may have arrived is repeated
 * under its number, so a phone that slept goes on where it was. A browser repeats requests by
 * itself too, as they are; so even the first one for a stream says what was seen: nothing. What
 * ends a connection for good is told once, to `lost`.
 */

import { Events } from "./events.js";

const SILENT_AFTER = 60_000; // the connection's stream says every 25 seconds that it is there
const SESSION_SILENT_AFTER = 110_000; // those of sessions every 50 seconds
const STALE_AFTER = 26_000; // what is too long for somebody who has just come back
const HEAD_TIMEOUT = 4_000; // the server begins to answer at once; a socket may be dead
const POST_TIMEOUT = 20_000;
const HOLD_TIMEOUT = 5_000;
const FIRST_PAUSE = 250;
const MAX_PAUSE = 8_000;
const AGAIN = new Set([408, 409, 425, 429, 500, 502, 503, 504]);

/** What ended a connection, or refused it; `status` is HTTP's, 0 when the server said nothing. */
export class Refused extends Error {
  constructor(message, status = 0, code = "") {
    super(message);
    this.status = status;
    this.code = code;
    this.isHad = false; // whether a message that is refused counts, and is not to be sent again
  }
}

export class Remote {
  /** `heard(message)`, `state(isThere)` and `lost(reason)` are called as it goes. */
  constructor(path, token, { heard, state, lost }) {
    this.path = path;
    this.token = token;
    this.heard = heard;
    this.state = state;
    this.lost = lost;
    this.id = null;
    this.version = null;
    this.number = 0;
    this.outbox = [];
    this.isPosting = false;
    this.streams = new Map();
    this.cursors = new Map(); // the last event of streams that were let go of
    this.away = new Set();
    this.waits = new Set();
    this.isOver = false;
    this.timer = setInterval(() => this.look(), 5_000);
  }

  headers(session, more = {}) {
    const headers = { ...more };
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    if (this.id) headers["Acp-Connection-Id"] = this.id;
    if (this.version) headers["Acp-Protocol-Version"] = String(this.version);
    if (session) headers["Acp-Session-Id"] = bytes(session);
    return headers;
  }

  /** Make the connection with the first message; returns its answer. */
  async initialize(message) {
    const headers = { "Content-Type": "application/json", "Parley-Resume": "1" };
    let response;
    try {
      response = await this.fetch("POST", this.headers(null, headers), JSON.stringify(message));
    } catch {
      throw new Refused("The server cannot be reached");
    }
    if (response.status !== 200) throw await refusal(response);
    this.id = response.headers.get("Acp-Connection-Id");
    const answer = await response.json();
    this.version = answer.result?.protocolVersion;
    this.subscribe("");
    return answer;
  }

  /** Send a message, which may belong to a session; `refused` learns that it was not taken. */
  send(message, session, refused = () => {}) {
    this.number += 1;
    this.outbox.push({ number: this.number, body: JSON.stringify(message), session, refused });
    if (!this.isPosting) this.post();
  }

  /** Tell whether everything that was sent has arrived. */
  get isSent() {
    return this.outbox.length === 0;
  }

  /** Read the stream of a session from now on; resolves when it is open. */
  subscribe(session) {
    let stream = this.streams.get(session);
    if (stream === undefined) {
      stream = new Stream(this, session);
      this.streams.set(session, stream);
      stream.run();
    }
    return stream.opened;
  }

  /** Let go of the stream of a session. */
  unsubscribe(session) {
    const stream = this.streams.get(session);
    if (stream === undefined) return;
    stream.stop();
    this.streams.delete(session);
    this.cursors.set(session, stream.cursor);
  }

  /** Give up streams that have been silent for too long: all, if it is the connection's. */
  look(silence = SILENT_AFTER) {
    const isGone = (this.streams.get("")?.silence ?? 0) > silence;
    for (const stream of this.streams.values())
      if (isGone || stream.silence > SESSION_SILENT_AFTER) stream.abort.abort();
  }

  /** Do now what would be tried again later. */
  hurry() {
    this.look(STALE_AFTER);
    for (const wake of [...this.waits]) wake();
  }

  /** End the connection here and there. */
  close() {
    const { id } = this;
    this.stop();
    if (id) this.fetch("DELETE", this.headers(), undefined, { keepalive: true }).catch(() => {});
  }

  stop() {
    this.isOver = true;
    clearInterval(this.timer);
    for (const stream of this.streams.values()) stream.stop();
    for (const wake of [...this.waits]) wake();
  }

  lose(reason) {
    if (this.isOver) return;
    this.stop();
    this.lost(reason);
  }

  /** Remember who is cut off, and tell when that changes. */
  mark(part, isAway) {
    const before = this.away.size;
    if (isAway) this.away.add(part);
    else this.away.delete(part);
    if (!this.isOver && (before === 0) !== (this.away.size === 0)) this.state(this.away.size === 0);
  }

  fetch(method, headers, body, more = {}) {
    return fetch(this.path, {
      method,
      headers,
      body,
      cache: "no-store",
      credentials: "same-origin",
      redirect: "error",
      referrerPolicy: "no-referrer",
      ...more,
    });
  }

  /** Wait before the next attempt, or until somebody is in a hurry. */
  pause(attempt) {
    const most = Math.min(MAX_PAUSE, FIRST_PAUSE * 2 ** Math.min(attempt, 10));
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.waits.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, most * (0.5 + Math.random() / 2));
      this.waits.add(wake);
    });
  }

  async post() {
    this.isPosting = true;
    for (let attempt = 0; this.outbox.length > 0 && !this.isOver; ) {
      const [next] = this.outbox;
      const problem = await this.deliver(next);
      const isLate = problem?.status === 0 || AGAIN.has(problem?.status);
      if (problem !== null && isLate && !problem.isHad) {
        this.mark("post", true);
        await this.pause(attempt);
        attempt += 1;
        continue;
      }
      this.mark("post", false);
      attempt = 0;
      if (problem !== null && [401, 403, 404, 410].includes(problem.status)) {
        this.lose(problem); // what was not sent stays in the outbox: whoever shows it looks there
        break;
      }
      this.outbox.shift();
      if (problem !== null) next.refused(problem);
    }
    this.isPosting = false;
  }

  async deliver({ number, body, session }) {
    const headers = { "Content-Type": "application/json", "Parley-Message": String(number) };
    try {
      const signal = AbortSignal.timeout(POST_TIMEOUT);
      const made = this.headers(session, headers);
      const response = await this.fetch("POST", made, body, { signal });
      return response.ok ? null : await refusal(response);
    } catch {
      return new Refused("The server cannot be reached");
    }
  }
}

class Stream {
  constructor(remote, session) {
    this.remote = remote;
    this.session = session;
    this.cursor = remote.cursors.get(session) ?? 0;
    this.heardAt = Date.now();
    this.abort = new AbortController();
    this.isOver = false;
    this.held = []; // messages of another stream that must not overtake this one
    this.opened = new Promise((resolve) => {
      this.tellOpened = resolve;
    });
  }

  stop() {
    this.isOver = true;
    this.abort.abort();
    this.tellOpened();
    this.release(Infinity);
    this.remote.mark(this, false);
  }

  get silence() {
    return Date.now() - this.heardAt;
  }

  async run() {
    for (let attempt = 0; !this.isOver; attempt += 1) {
      const problem = await this.read(() => {
        attempt = 0;
      });
      this.tellOpened();
      if (this.isOver) return;
      if (problem !== null && problem.status !== 0 && !AGAIN.has(problem.status)) {
        this.refused(problem);
        return;
      }
      this.remote.mark(this, true);
      await this.remote.pause(attempt);
    }
  }

  refused(problem) {
    if (problem.code === "unknown_session") {
      this.remote.unsubscribe(this.session); // it is closed, or not known before it is loaded
    } else {
      this.remote.lose(problem);
    }
  }

  /** Read until the stream ends; returns why it could not be had, if so. */
  async read(begun) {
    const { remote } = this;
    this.abort = new AbortController();
    this.heardAt = Date.now();
    const more = { Accept: "text/event-stream", "Last-Event-ID": String(this.cursor) };
    const timer = setTimeout(() => this.abort.abort(), HEAD_TIMEOUT);
    try {
      const { signal } = this.abort;
      const made = remote.headers(this.session, more);
      const response = await remote.fetch("GET", made, undefined, { signal });
      clearTimeout(timer);
      if (response.status !== 200) return await refusal(response);
      begun();
      this.tellOpened();
      remote.mark(this, false);
      await this.take(response.body.getReader());
    } catch {
      // cut off, or given up by ourselves
    } finally {
      clearTimeout(timer);
    }
    return null;
  }

  async take(reader) {
    const events = new Events();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      this.heardAt = Date.now();
      for (const event of events.feed(value)) this.event(event);
    }
  }

  event({ id, after, data }) {
    const number = /^\d+$/.test(id) ? Number(id) : 0;
    if (number !== 0 && number <= this.cursor) return; // had before the cut
    const [seen, session] = after;
    const other = session === undefined ? undefined : this.remote.streams.get(session);
    if (other !== undefined && other.cursor < seen) other.hold(seen, data);
    else this.deliver(data);
    this.cursor = Math.max(this.cursor, number);
    this.release(this.cursor);
  }

  hold(seen, data) {
    const timer = setTimeout(() => this.release(seen), HOLD_TIMEOUT);
    this.held.push({ seen, data, timer });
  }

  release(cursor) {
    const ready = this.held.filter((each) => each.seen <= cursor);
    this.held = this.held.filter((each) => each.seen > cursor);
    for (const { data, timer } of ready) {
      clearTimeout(timer);
      this.deliver(data);
    }
  }

  deliver(data) {
    if (this.remote.isOver) return;
    let message;
    try {
      message = JSON.parse(data);
    } catch {
      return; // nothing that could be answered
    }
    try {
      this.remote.heard(message);
    } catch (error) {
      reportError(error); // the stream goes on
    }
  }
}

/** Read why the server said no. */
async function refusal(response) {
  let error;
  try {
    ({ error } = await response.json());
  } catch {
    // not ours: a proxy in front
  }
  const words = error?.message ?? `The server answered ${response.status}`;
  const refused = new Refused(String(words), response.status, error?.code);
  refused.isHad = response.headers.has("Parley-Message");
  return refused;
}

/** Write a name as the bytes of a header. */
function bytes(name) {
  return String.fromCharCode(...new TextEncoder().encode(name));
}
