/**
 * A connection to the agent over Streamable HTTP: messages are sent by POST and arrive on streams.
 *
 * Streams are read with `fetch`, because only `fetch` can send the token and the ids in headers.
 * The server numbers its events and keeps the connection for a while if the network is cut. A
 * broken stream is requested again from the last event, and a POST that may have arrived is
 * repeated under its number, so a phone that slept loses nothing. Browsers repeat requests too,
 * unchanged; so even the first request for a stream names the last event that was seen: none.
 * `onLost` is called once, when the connection has ended for good.
 */

import { SseParser } from "./sse_parser.js";

const SILENT_AFTER = 60_000; // the connection's stream sends a keep-alive every 25 seconds
const SESSION_SILENT_AFTER = 110_000; // the streams of sessions send one every 50 seconds
const STALE_AFTER = 26_000; // the limit when the device wakes up
const HEAD_TIMEOUT = 4_000; // the server responds at once, so the socket must be dead
const POST_TIMEOUT = 20_000;
const HOLD_TIMEOUT = 5_000;
const FIRST_PAUSE = 250;
const MAX_PAUSE = 8_000;
const AGAIN = new Set([408, 409, 425, 429, 500, 502, 503, 504]);

/** Why a connection ended or was refused; `status` is the HTTP status, 0 without a response. */
export class Refused extends Error {
  constructor(message, status = 0, code = "") {
    super(message);
    this.status = status;
    this.code = code;
    this.isReceived = false; // whether the server counted the message, so it is not sent again
  }
}

export class HttpTransport {
  /** Calls `onMessage(message)`, `onState(isConnected)` and `onLost(reason)`. */
  constructor(path, token, { onMessage, onState, onLost }) {
    this.path = path;
    this.token = token;
    this.onMessage = onMessage;
    this.onState = onState;
    this.onLost = onLost;
    this.id = null;
    this.version = null;
    this.number = 0;
    this.outbox = [];
    this.isPosting = false;
    this.streams = new Map();
    this.cursors = new Map(); // the last event of each stream that was closed
    this.away = new Set();
    this.waits = new Set();
    this.isOver = false;
    this.timer = setInterval(() => this.abortSilentStreams(), 5_000);
  }

  headers(session, more = {}) {
    const headers = { ...more };
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    if (this.id) headers["Acp-Connection-Id"] = this.id;
    if (this.version) headers["Acp-Protocol-Version"] = String(this.version);
    if (session) headers["Acp-Session-Id"] = encodeHeader(session);
    return headers;
  }

  /** Create the connection by sending the first message; returns its response. */
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

  /** Send a message, which may belong to a session; calls `refused` if it was rejected. */
  send(message, session, refused = () => {}) {
    this.number += 1;
    this.outbox.push({ number: this.number, body: JSON.stringify(message), session, refused });
    if (!this.isPosting) this.post();
  }

  /** Whether all sent messages have arrived. */
  get isSent() {
    return this.outbox.length === 0;
  }

  /** Start reading the stream of a session; resolves when it is open. */
  subscribe(session) {
    let stream = this.streams.get(session);
    if (stream === undefined) {
      stream = new Stream(this, session);
      this.streams.set(session, stream);
      stream.run();
    }
    return stream.opened;
  }

  /** Close the stream of a session. */
  unsubscribe(session) {
    const stream = this.streams.get(session);
    if (stream === undefined) return;
    stream.stop();
    this.streams.delete(session);
    this.cursors.set(session, stream.cursor);
  }

  /** Abort streams that have been silent for too long; all, if the connection's is. */
  abortSilentStreams(silence = SILENT_AFTER) {
    const isGone = (this.streams.get("")?.silence ?? 0) > silence;
    for (const stream of this.streams.values())
      if (isGone || stream.silence > SESSION_SILENT_AFTER) stream.abort.abort();
  }

  /** Make the next attempts now instead of later. */
  retryNow() {
    this.abortSilentStreams(STALE_AFTER);
    for (const wake of [...this.waits]) wake();
  }

  /** Close the connection, on the server too. */
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
    this.onLost(reason);
  }

  /** Record whether a part is disconnected, and report when the whole state changes. */
  mark(part, isAway) {
    const before = this.away.size;
    if (isAway) this.away.add(part);
    else this.away.delete(part);
    const isConnected = this.away.size === 0;
    if (!this.isOver && (before === 0) !== isConnected) this.onState(isConnected);
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

  /** Wait before the next attempt, or until `retryNow`. */
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
      if (problem !== null && isLate && !problem.isReceived) {
        this.mark("post", true);
        await this.pause(attempt);
        attempt += 1;
        continue;
      }
      this.mark("post", false);
      attempt = 0;
      if (problem !== null && [401, 403, 404, 410].includes(problem.status)) {
        this.lose(problem); // unsent messages stay in the outbox
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
  constructor(transport, session) {
    this.transport = transport;
    this.session = session;
    this.cursor = transport.cursors.get(session) ?? 0;
    this.heardAt = Date.now();
    this.abort = new AbortController();
    this.isOver = false;
    this.held = []; // messages of other streams that must not overtake this one
    this.opened = new Promise((resolve) => {
      this.resolveOpened = resolve;
    });
  }

  stop() {
    this.isOver = true;
    this.abort.abort();
    this.resolveOpened();
    this.release(Infinity);
    this.transport.mark(this, false);
  }

  get silence() {
    return Date.now() - this.heardAt;
  }

  async run() {
    for (let attempt = 0; !this.isOver; attempt += 1) {
      const problem = await this.read(() => {
        attempt = 0;
      });
      this.resolveOpened();
      if (this.isOver) return;
      if (problem !== null && problem.status !== 0 && !AGAIN.has(problem.status)) {
        this.refused(problem);
        return;
      }
      this.transport.mark(this, true);
      await this.transport.pause(attempt);
    }
  }

  refused(problem) {
    if (problem.code === "unknown_session") {
      this.transport.unsubscribe(this.session); // it is closed, or not known before it is loaded
    } else {
      this.transport.lose(problem);
    }
  }

  /** Read until the stream ends; returns why it could not be opened, else null. */
  async read(begun) {
    const { transport } = this;
    this.abort = new AbortController();
    this.heardAt = Date.now();
    const more = { Accept: "text/event-stream", "Last-Event-ID": String(this.cursor) };
    const timer = setTimeout(() => this.abort.abort(), HEAD_TIMEOUT);
    try {
      const { signal } = this.abort;
      const made = transport.headers(this.session, more);
      const response = await transport.fetch("GET", made, undefined, { signal });
      clearTimeout(timer);
      if (response.status !== 200) return await refusal(response);
      begun();
      this.resolveOpened();
      transport.mark(this, false);
      await this.take(response.body.getReader());
    } catch {
      // the network was cut, or we aborted the request
    } finally {
      clearTimeout(timer);
    }
    return null;
  }

  async take(reader) {
    const events = new SseParser();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      this.heardAt = Date.now();
      for (const event of events.feed(value)) this.event(event);
    }
  }

  event({ id, after, data }) {
    const number = /^\d+$/.test(id) ? Number(id) : 0;
    if (number !== 0 && number <= this.cursor) return; // received before the cut
    const [seen, session] = after;
    const other = session === undefined ? undefined : this.transport.streams.get(session);
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
    if (this.transport.isOver) return;
    let message;
    try {
      message = JSON.parse(data);
    } catch {
      return; // without an id there is nothing to respond to
    }
    try {
      this.transport.onMessage(message);
    } catch (error) {
      reportError(error); // the stream continues
    }
  }
}

/** Return the error of a response. */
async function refusal(response) {
  let error;
  try {
    ({ error } = await response.json());
  } catch {
    // not from the gateway but from a proxy in between
  }
  const words = error?.message ?? `The server answered ${response.status}`;
  const refused = new Refused(String(words), response.status, error?.code);
  refused.isReceived = response.headers.has("Parley-Message");
  return refused;
}

/** Encode a session id as the bytes of a header. */
function encodeHeader(name) {
  return String.fromCharCode(...new TextEncoder().encode(name));
}
