/**
 * Text of an agent made harmless, as `parley/inert.py` does it.
 *
 * Control characters become symbols that can be seen. So do the characters that turn the direction
 * of text around or have no width, which can make a command look like another one.
 */

const CONTROLS = "\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f";
const DIRECTIONS = "\\u061c\\u200e\\u200f\\u202a-\\u202e\\u2066-\\u2069";
const WIDTHLESS = "\\u200b\\u2060\\ufeff";
const HIDDEN = new RegExp(`[${CONTROLS}${DIRECTIONS}${WIDTHLESS}]`, "g");

/** Return text in which nothing is hidden and nothing is obeyed. */
export function inert(text) {
  return String(text).replace(/\r\n/g, "\n").replace(HIDDEN, symbol);
}

/** Return the same on one line. */
export function inertLine(text) {
  return inert(text).split(/\s+/).filter(Boolean).join(" ");
}

function symbol(character) {
  const code = character.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  if (code < 0xa0) return "\u241b" + String.fromCharCode(code - 0x40);
  return "\ufffd";
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
  text = String(text);
  return text.length <= most ? [text, 0] : [text.slice(0, most), text.length - most];
}

/** Return any value as text for people. */
export function asText(value) {
  if (typeof value === "string") return value;
  try {
    return JSON.stringify(value, null, 2) ?? String(value);
  } catch {
    return String(value);
  }
}
