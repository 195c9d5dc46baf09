/** The API of the server; the docstring of `_app.py` describes it. */

export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** Exchange the token in the address for a cookie. The token leaves the address in any case. */
export async function login() {
  const token = location.hash.slice(1);
  if (token === "") return;
  history.replaceState(null, "", location.pathname + location.search);
  await request("api/login", {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ token }),
  });
}

/** Return the address of something that belongs to a recording. */
export function recordingUrl(key, path, query = {}) {
  const parameters = new URLSearchParams(query).toString();
  const question = parameters && `?${parameters}`;
  return `api/recordings/${encodeURIComponent(key)}/${path}${question}`;
}

/** Get a value as JSON. */
export async function get(url, signal) {
  return (await request(url, { signal })).json();
}

async function request(url, options) {
  let response;
  try {
    response = await fetch(url, { cache: "no-store", redirect: "error", ...options });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ApiError(0, "The inspector cannot be reached. Is parley inspect still running?");
  }
  if (response.ok) return response;
  throw new ApiError(response.status, await reasonOf(response));
}

async function reasonOf(response) {
  try {
    const { error } = await response.json();
    if (typeof error?.message === "string") return error.message;
  } catch {
    // It is not from the inspector.
  }
  return `The inspector responded with status ${response.status}.`;
}

/**
 * Gets a value again and again, one request at a time: while one is under way, only the last of
 * the others is remembered.
 */
export class LatestRequest {
  /** Pass each value to `done`, and each error to `failed`. */
  constructor(done, failed) {
    this.done = done;
    this.failed = failed;
    this.next = null;
    this.abort = null;
    this.current = null;
  }

  /** Get an address; one that is under way for another address is given up. */
  get(url) {
    this.next = url;
    if (this.abort === null) this.run();
    else if (this.current !== url) this.abort.abort();
  }

  /** Give up what is under way. */
  cancel() {
    this.next = null;
    this.abort?.abort();
  }

  async run() {
    while (this.next !== null) {
      this.current = this.next;
      this.next = null;
      this.abort = new AbortController();
      const { signal } = this.abort;
      try {
        const value = await get(this.current, signal);
        if (!signal.aborted) this.done(value);
      } catch (error) {
        if (!signal.aborted) this.failed(error);
      }
    }
    this.abort = null;
  }
}

/**
 * Server-sent events, as long as the page is visible. Browsers open six connections to a server,
 * for all tabs together, so that hidden tabs must not keep theirs.
 */
export class EventStream {
  /**
   * Open the stream. `url` returns the address from which to resume; `handlers` take the data of
   * each kind of event; `connected` is called with whether the stream is open.
   */
  constructor(url, handlers, connected) {
    this.url = url;
    this.handlers = handlers;
    this.connected = connected;
    this.source = null;
    this.isClosed = false;
    this.toggle = this.toggle.bind(this);
    document.addEventListener("visibilitychange", this.toggle);
    this.toggle();
  }

  close() {
    this.isClosed = true;
    document.removeEventListener("visibilitychange", this.toggle);
    this.toggle();
  }

  toggle() {
    const isWanted = !this.isClosed && !document.hidden;
    if (isWanted && this.source === null) this.open();
    else if (!isWanted) this.stop();
  }

  open() {
    this.source = new EventSource(this.url());
    for (const [name, handle] of Object.entries(this.handlers))
      this.source.addEventListener(name, ({ data }) => handle(JSON.parse(data)));
    this.source.addEventListener("open", () => this.connected(true));
    this.source.addEventListener("error", () => this.connected(false));
  }

  stop() {
    this.source?.close();
    this.source = null;
  }
}
