/**
 * The only module that creates nodes.
 *
 * Strings become text nodes with harmless text. Only the listed attributes can be set: none is
 * interpreted as script or style, and none loads anything. Addresses go through `link`.
 */

import { inert, webAddress } from "./text.js";

const TAGS = new Set(
  ("a article blockquote br button code del details div em fieldset form h1 h2 h3 h4 h5 h6 hr " +
    "input label legend li ol optgroup option p pre section select small span strong summary " +
    "table tbody td th thead tr ul").split(" "),
);
const ATTRIBUTES = new Set(
  ("autocomplete checked class for id inputmode max maxlength min minlength placeholder required " +
    "role scope start step tabindex title type").split(" "),
);

/** Make an element. Children are nodes, strings, lists of them, or nothing. */
export function h(tag, props, ...children) {
  if (!TAGS.has(tag)) throw new Error(`no ${tag} is made here`);
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props ?? {})) set(element, name, value);
  put(element, ...children);
  return element;
}

/** Append children to an element. */
export function put(element, ...children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : text(child));
  }
  return element;
}

/** Replace what is in an element. */
export function fill(element, ...children) {
  element.replaceChildren();
  return put(element, ...children);
}

/** Make a text node. */
export function text(value) {
  return document.createTextNode(inert(value));
}

function set(element, name, value) {
  if (value === null || value === undefined || value === false) return;
  if (typeof value === "function" && /^on[a-z]+$/.test(name)) {
    element.addEventListener(name.slice(2), value);
  } else if (ATTRIBUTES.has(name) || /^(aria|data)-[a-z-]+$/.test(name)) {
    element.setAttribute(name, value === true ? "" : inert(value));
  } else if (name === "value") {
    element.value = inert(value);
  } else if (name === "color" || name === "background") {
    element.style[name === "color" ? "color" : "backgroundColor"] = rgb(value);
  } else {
    throw new Error(`no attribute ${name} is set here`);
  }
}

function rgb([red, green, blue]) {
  return `rgb(${red & 255}, ${green & 255}, ${blue & 255})`;
}

/**
 * Make a link that says where it leads, or return null if the address is not one of the web.
 *
 * `words` are the nodes to click on; without them the whole address is shown.
 */
export function link(address, words) {
  const url = webAddress(address);
  if (url === null) return null;
  const anchor = h("a", {}, words ?? url.href);
  anchor.href = url.href;
  anchor.rel = "noopener noreferrer nofollow";
  anchor.target = "_blank";
  return words === undefined ? anchor : [anchor, h("small", { class: "host" }, ` (${url.host})`)];
}

/** Make an element that the user can unfold. */
export function folded(summary, ...children) {
  return h("details", {}, h("summary", {}, summary), ...children);
}

let painting = null;
const waiting = new Set();

/** Call a function before the next frame is painted, once. */
export function beforePaint(task) {
  waiting.add(task);
  if (painting !== null) return;
  const run = () => {
    painting = null;
    const tasks = [...waiting];
    waiting.clear();
    for (const each of tasks) {
      try {
        each();
      } catch (error) {
        reportError(error); // and draw the others
      }
    }
  };
  // A hidden page is not painted, but it is kept up to date.
  painting = document.hidden ? setTimeout(run, 250) : requestAnimationFrame(run);
}

document.addEventListener("visibilitychange", () => {
  if (painting === null) return;
  painting = null; // what was asked for in the other state may never come
  const tasks = [...waiting];
  waiting.clear();
  for (const each of tasks) beforePaint(each);
});
