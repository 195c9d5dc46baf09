/**
 * JSON-RPC with the agent: calls that wait for answers, and questions that are answered.
 */

import { Refused, Remote } from "./remote.js";
import { asText } from "./text.js";

const UNKNOWN = { code: -32601, message: "Method not found" };
const INTERNAL = -32603;

/** The agent said no. */
export class CallFailed extends Error {
  constructor({ code, message, data }) {
    super(asText(message ?? "The agent refused"));
    this.code = code;
    this.data = data;
  }
}

export class Peer {
  /**
   * `told(method, params)` learns notifications; `asked(method, params, signal)` answers requests,
   * or returns undefined for those that it does not know; the signal says that it is too late.
   */
  constructor(path, token, { told, asked, state, lost }) {
    this.told = told;
    this.asked = asked;
    this.lastId = 0;
    this.calls = new Map();
    this.questions = new Map();
    this.remote = new Remote(path, token, {
      heard: (message) => this.heard(message),
      state,
      lost: (reason) => {
        this.fail(reason);
        lost(reason);
      },
    });
  }

  async initialize(params) {
    const answer = await this.remote.initialize(this.message("initialize", params));
    if (answer.error) throw new CallFailed(answer.error);
    return answer.result ?? {};
  }

  message(method, params) {
    this.lastId += 1;
    return { jsonrpc: "2.0", id: this.lastId, method, params };
  }

  /** Call a method of the agent's. */
  request(method, params, session) {
    const message = this.message(method, params);
    return new Promise((resolve, reject) => {
      this.calls.set(message.id, { resolve, reject });
      this.remote.send(message, session, (refused) => {
        this.calls.delete(message.id);
        reject(refused);
      });
    });
  }

  /** Tell the agent something. */
  notify(method, params, session) {
    this.remote.send({ jsonrpc: "2.0", method, params }, session);
  }

  close() {
    this.remote.close();
    this.fail(new Refused("The connection was closed"));
  }

  fail(reason) {
    for (const { reject } of this.calls.values()) reject(reason);
    this.calls.clear();
    for (const question of this.questions.values()) question.abort();
    this.questions.clear();
  }

  heard(message) {
    if (message === null || typeof message !== "object") return;
    const { id, method, params } = message;
    if (typeof method !== "string") this.answered(message);
    else if (id !== undefined && id !== null) this.answer(id, method, params ?? {});
    else if (method === "$/cancel_request") this.questions.get(params?.requestId)?.abort();
    else this.told(method, params ?? {});
  }

  answered({ id, result, error }) {
    const call = this.calls.get(id);
    if (call === undefined) return;
    this.calls.delete(id);
    if (error) call.reject(new CallFailed(error));
    else call.resolve(result ?? {});
  }

  async answer(id, method, params) {
    const question = new AbortController();
    this.questions.set(id, question);
    const reply = { jsonrpc: "2.0", id };
    try {
      const result = await this.asked(method, params, question.signal);
      if (result === undefined) reply.error = UNKNOWN;
      else reply.result = result;
    } catch (error) {
      reply.error = { code: INTERNAL, message: `The question cannot be shown: ${error.message}` };
    }
    this.questions.delete(id);
    const session = typeof params.sessionId === "string" ? params.sessionId : undefined;
    if (!this.remote.isOver) this.remote.send(reply, session);
  }
}
