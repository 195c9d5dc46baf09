/**
 * A parser of server-sent events.
 *
 * Besides the standard fields there is `after`: a number and a session. The event with that number
 * on the session's stream must be handled first.
 */

export class SseParser {
  constructor() {
    this.decoder = new TextDecoder();
    this.rest = [];
    this.lastId = "";
    this.reset();
  }

  reset() {
    this.data = [];
    this.after = [];
  }

  /** Add bytes, and return the events that they complete. */
  feed(bytes) {
    const words = this.decoder.decode(bytes, { stream: true });
    const lines = words.split("\n");
    // The rest is joined once, when its line is complete: a long one comes in many pieces.
    this.rest.push(lines.shift());
    const events = [];
    for (const line of lines) {
      this.line(this.rest.join(""), events);
      this.rest = [line];
    }
    return events;
  }

  line(line, events) {
    if (line.endsWith("\r")) line = line.slice(0, -1);
    if (line === "") {
      if (this.data.length > 0)
        events.push({ id: this.lastId, after: this.after, data: this.data.join("\n") });
      this.reset();
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (name === "data") this.data.push(value);
    else if (name === "id") this.lastId = value;
    else if (name === "after") this.after = readAfter(value);
  }
}

function readAfter(value) {
  const blank = value.indexOf(" ");
  const number = Number(value.slice(0, blank));
  return blank > 0 && Number.isInteger(number) ? [number, value.slice(blank + 1)] : [];
}
