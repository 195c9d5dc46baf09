/**
 * JSON-RPC with the agent: calls that wait for responses, and requests of the agent.
 */

import { HttpTransport, Refused } from "./http_transport.js";
import { describeError } from "./text.js";

const METHOD_NOT_FOUND = -32601;
const INTERNAL_ERROR = -32603;

/** An error response of the agent. */
export class CallFailed extends Error {
  constructor(error) {
    super(describeError(error) || "The agent rejected the request");
    this.code = error.code;
    this.data = error.data;
  }
}

export class Peer {
  /**
   * `onNotification(method, params)` is called with notifications. `onRequest(method, params,
   * signal)` returns the result of a request, or undefined for unknown methods; the signal aborts
   * when the agent cancels the request.
   */
  constructor(path, token, { onNotification, onRequest, onState, onLost }) {
    this.onNotification = onNotification;
    this.onRequest = onRequest;
    this.lastId = 0;
    this.calls = new Map();
    this.questions = new Map();
    this.transport = new HttpTransport(path, token, {
      onMessage: (message) => this.onMessage(message),
      onState,
      onLost: (reason) => {
        this.fail(reason);
        onLost(reason);
      },
    });
  }

  async initialize(params) {
    const response = await this.transport.initialize(this.message("initialize", params));
    if (response.error) throw new CallFailed(response.error);
    return response.result ?? {};
  }

  message(method, params) {
    this.lastId += 1;
    return { jsonrpc: "2.0", id: this.lastId, method, params };
  }

  /** Send a request and return its result. */
  request(method, params, session) {
    const message = this.message(method, params);
    return new Promise((resolve, reject) => {
      this.calls.set(message.id, { resolve, reject });
      this.transport.send(message, session, (refused) => {
        this.calls.delete(message.id);
        reject(refused);
      });
    });
  }

  /** Send a notification. */
  notify(method, params, session) {
    this.transport.send({ jsonrpc: "2.0", method, params }, session);
  }

  close() {
    this.transport.close();
    this.fail(new Refused("The connection was closed"));
  }

  fail(reason) {
    for (const { reject } of this.calls.values()) reject(reason);
    this.calls.clear();
    for (const question of this.questions.values()) question.abort();
    this.questions.clear();
  }

  onMessage(message) {
    if (message === null || typeof message !== "object") return;
    const { id, method, params } = message;
    if (typeof method !== "string") this.onResponse(message);
    else if (id !== undefined && id !== null) this.respond(id, method, params ?? {});
    else if (method === "$/cancel_request") this.questions.get(params?.requestId)?.abort();
    else this.onNotification(method, params ?? {});
  }

  onResponse({ id, result, error }) {
    const call = this.calls.get(id);
    if (call === undefined) return;
    this.calls.delete(id);
    if (error) call.reject(new CallFailed(error));
    else call.resolve(result ?? {});
  }

  async respond(id, method, params) {
    const question = new AbortController();
    this.questions.set(id, question);
    const response = { jsonrpc: "2.0", id };
    try {
      const result = await this.onRequest(method, params, question.signal);
      if (result === undefined)
        response.error = { code: METHOD_NOT_FOUND, message: "Method not found" };
      else response.result = result;
    } catch (error) {
      const message = `The question cannot be shown: ${error.message}`;
      response.error = { code: INTERNAL_ERROR, message };
    }
    this.questions.delete(id);
    const session = typeof params.sessionId === "string" ? params.sessionId : undefined;
    if (!this.transport.isOver) this.transport.send(response, session);
  }
}
