/**
 * Harmless text, as in `parley/_display_text.py`; a test compares the two.
 *
 * Control characters become symbols that can be seen. Invisible characters, which can make one
 * command look like another, become U+FFFD, except where they are part of ordinary writing.
 */

const MAX_REASON = 1_000;
const HIDDEN = [
  [0x00ad, 0x00ad], [0x034f, 0x034f], [0x061c, 0x061c], [0x115f, 0x1160], [0x17b4, 0x17b5],
  [0x180b, 0x180f], [0x200b, 0x200f], [0x2028, 0x202e], [0x2060, 0x206f], [0x2800, 0x2800],
  [0x3164, 0x3164], [0xfe00, 0xfe0f], [0xfeff, 0xfeff], [0xffa0, 0xffa0], [0xfff0, 0xfffb],
  [0x13430, 0x1343f], [0x1bca0, 0x1bca3], [0x1d173, 0x1d17a], [0xe0000, 0xe0fff],
];
const JOINED = [[0x0600, 0x10ffff]];
const SYMBOLS = [[0xa9, 0xa9], [0xae, 0xae], [0x203c, 0x3299], [0x1f000, 0x1faff]];
const IDEOGRAPHS = [[0x3400, 0x9fff], [0xf900, 0xfaff], [0x20000, 0x3ffff]];
const MONGOLIAN = [[0x1820, 0x18aa]];

const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
const INVISIBLE = invisible("", "");
const INVISIBLE_IN_PIECE = invisible("|^", "|$");

/** Return a pattern for meaningless invisible characters; see `_display_text.py`. */
function invisible(start, end) {
  const [hidden, joined, symbols, ideographs, mongolian] =
    [HIDDEN, JOINED, SYMBOLS, IDEOGRAPHS, MONGOLIAN].map(classOf);
  const kept = [
    `(?:(?<=\\ufe0f)|(?<=[${joined}])(?<![${hidden}])${start})[\\u200c\\u200d]` +
      `(?:(?=[${joined}])(?![${hidden}])${end})`,
    `(?:(?<=[${symbols}])(?<![${hidden}])${start})[\\ufe0e\\ufe0f]`,
    "(?<=[0-9#*])\\ufe0f(?=\\u20e3)",
    `(?:(?<=[${ideographs}])${start})[\\ufe00-\\ufe02\\u{e0100}-\\u{e01ef}]`,
    `(?:(?<=[${mongolian}])${start})[\\u180b-\\u180d\\u180f]`,
  ];
  return new RegExp(`(?!${kept.join("|")})[${hidden}]`, "gu");
}

function classOf(ranges) {
  const escaped = (code) => `\\u{${code.toString(16)}}`;
  return ranges.map(([first, last]) => `${escaped(first)}-${escaped(last)}`).join("");
}

/** Return text in which nothing is invisible or obeyed; it may be a piece of a stream. */
export function inert(text) {
  return shown(text, INVISIBLE_IN_PIECE);
}

/** Return the same on one line, of a text that is complete. */
export function inertLine(text) {
  return shown(text, INVISIBLE).split(/\s+/).filter(Boolean).join(" ");
}

function shown(text, pattern) {
  return asText(text).replace(/\r\n/g, "\n").replace(CONTROL, symbol).replace(pattern, "\ufffd");
}

function symbol(character) {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return "\u241b" + String.fromCharCode(code - 0x40);
}

/** Return an address if it may be opened: http or https, and nothing else. */
export function webAddress(text) {
  try {
    const url = new URL(String(text).trim());
    return url.protocol === "http:" || url.protocol === "https:" ? url : null;
  } catch {
    return null;
  }
}

/** Return the objects in what should be a list of them. */
export function objects(value) {
  if (!Array.isArray(value)) return [];
  return value.filter((each) => each !== null && typeof each === "object");
}

/** Return the beginning of a text that is too long to be shown, and how much is left out. */
export function cut(text, most) {
  text = asText(text);
  return text.length <= most ? [text, 0] : [text.slice(0, most), text.length - most];
}

/**
 * Return any value of JSON as text for people. `String` would throw for `{"toString": 1}`, with
 * which an agent could stop the page from being drawn.
 */
export function asText(value) {
  if (typeof value === "string") return value;
  return JSON.stringify(value, null, 2) ?? "";
}

/**
 * Return the message of an error with the reason in its data: the data itself if it is a text, else
 * its `details`, `message` or `reason`.
 */
export function describeError(error) {
  const message = textOrNull(error?.message) ?? "";
  const data = error?.data;
  const reasons = [data, data?.details, data?.message, data?.reason].map(textOrNull);
  const reason = reasons.find((each) => each && !message.includes(each));
  return reason ? [message, cut(reason, MAX_REASON)[0]].filter(Boolean).join(": ") : message;
}

/** Return a title without the fences and backticks of Markdown, which some agents put around it. */
export function withoutFences(title) {
  if (typeof title !== "string") return title;
  return title
    .replace(/^\s*```[\w+-]*[ \t]*\n?/, "")
    .replace(/\n?```\s*$/, "")
    .replace(/^\s*`([^`]+)`\s*$/, "$1");
}

/** Return a text, or null for anything else. */
export function textOrNull(value) {
  return typeof value === "string" ? value : null;
}

/** Return the beginning of a text on one line, for a place that has no room for more. */
export function shortLine(text, most) {
  const [start, left] = cut(text, most);
  return inertLine(start) + (left > 0 ? "\u2026" : "");
}
