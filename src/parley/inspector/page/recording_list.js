/** The list of recordings, newest first; those that are still being recorded are marked. */

import { fill, h } from "./shared/dom.js";
import { shortLine } from "./shared/text.js";
import { formatCount, formatMoment, formatSize } from "./format.js";

const MAX_NAME = 80;

/** Return what a recording is called. */
export function recordingName({ name, key, hop }) {
  return shortLine([name || key, hop].filter(Boolean).join(" · "), MAX_NAME);
}

/** Return what is known about a recording on one line. */
export function recordingState({ is_live: isLive, exit, frames, bytes }) {
  const state = isLive ? "live" : exit ?? "ended";
  return [state, frames !== null && formatCount(frames, "frame"), formatSize(bytes)]
    .filter(Boolean)
    .join(", ");
}

/** Draw the recordings as buttons; `open` takes the key of the one that is picked. */
export function drawRecordings(element, recordings, current, open) {
  if (recordings.length === 0) {
    const command = h("code", {}, "parley tap -- COMMAND");
    fill(element, h("p", { class: "faint" }, "There are no recordings yet. Make one with ", command, "."));
    return;
  }
  const focused = element.contains(document.activeElement) ? document.activeElement.dataset.key : null;
  fill(element, h("ul", {}, recordings.map((each) => h("li", {}, recordingButton(each, current, open)))));
  if (focused !== null)
    [...element.querySelectorAll("button")].find(({ dataset }) => dataset.key === focused)?.focus();
}

function recordingButton(recording, current, open) {
  const { key, is_live: isLive, started_at: started, command, exit } = recording;
  const hasFailed = !isLive && exit !== null && exit !== "exit code 0";
  return h(
    "button",
    {
      type: "button",
      "data-key": key,
      "aria-current": key === current ? "true" : null,
      class: [isLive && "live", hasFailed && "failed"].filter(Boolean).join(" "),
      title: shortLine(command.join(" "), 500),
      onclick: () => open(key),
    },
    h("span", { class: "name" }, isLive && h("span", { class: "live-mark" }, "● Live "), recordingName(recording)),
    h("span", { class: "faint" }, formatMoment(started)),
    h("span", { class: "faint" }, hasFailed && "✕ ", recordingState(recording)),
  );
}
