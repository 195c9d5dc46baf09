/**
 * Content blocks of messages and tool calls. Nothing is loaded or played.
 */

import { folded, h, link } from "./dom.js";
import { Markdown } from "./markdown.js";
import { asText, cut, inertLine, shortLine } from "./text.js";

const MAX_CHARS = 100_000;

/** Return the element that shows a block of content. */
export function drawContent(block) {
  switch (block?.type) {
    case "text": {
      const element = h("div", { class: "markdown" });
      new Markdown(element).append(asText(block.text ?? ""));
      return element;
    }
    case "image":
    case "audio":
      return h("p", { class: "faint" }, `[${kindOf(block)}, ${size(block.data)}]`);
    case "resource_link":
      return h("p", {}, "\u2197 ", linked(block.uri, block.title || block.name || block.uri));
    case "resource": {
      const { uri, text, blob } = block.resource ?? {};
      if (typeof text === "string") return folded(inertLine(uri ?? "resource"), pre(text));
      return h("p", { class: "faint" }, `[${inertLine(uri ?? "resource")}, ${size(blob)}]`);
    }
    default:
      return folded(`Unknown content: ${inertLine(block?.type ?? "")}`, pre(asText(block)));
  }
}

/** Return the text of a block, or a label for it. */
export function contentText(block) {
  if (block?.type === "text") return asText(block.text ?? "");
  return `[${shortLine(block?.type ?? "unknown", 40)}]`;
}

/** Return text in a box of its own, unformatted. */
export function pre(words, label = "text") {
  const [shown, left] = cut(words, MAX_CHARS);
  return [
    h("pre", { tabindex: "0", "aria-label": label }, shown),
    left > 0 && h("p", { class: "warning" }, `${left} more characters are not shown`),
  ];
}

function kindOf({ type, mimeType }) {
  return `${type}: ${shortLine(mimeType ?? "", 80)}`;
}

function linked(address, words) {
  const host = ` (${asText(address)})`;
  const plain = () => [h("span", {}, words), h("small", { class: "host" }, host)];
  return link(address, [words]) ?? plain();
}

function size(base64) {
  const bytes = Math.floor((typeof base64 === "string" ? base64.length : 0) * 0.75);
  return bytes < 1000 ? `${bytes} bytes` : `${Math.round(bytes / 1000)} kB`;
}
