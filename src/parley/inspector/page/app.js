/** The inspector: recordings, the timeline of one of them, and panels beside it. */

import { fill } from "./shared/dom.js";
import { EventStream, get, login, recordingUrl } from "./api.js";
import { formatCount } from "./format.js";
import { FilterField } from "./filter_field.js";
import { bindKeys } from "./keys.js";
import { Panels } from "./panels.js";
import { drawRecordings, recordingName, recordingState } from "./recording_list.js";
import { RecordingLoader } from "./recording_loader.js";
import { startTheme } from "./theme.js";
import { Timeline } from "./timeline.js";

const NARROW = matchMedia("(max-width: 799px)");
const $ = (id) => document.getElementById(id);

let recordings = [];
let loader = null; // of the recording that is shown
let problem = ""; // with the connection to the inspector, or with the recording

const timeline = new Timeline($("timeline"), {
  selected: (number) => {
    saveLocation({ row: number });
    panels.showRow(number);
  },
  opened: () => panels.choose("detail"),
  followed: (isOn) => $("follow").setAttribute("aria-pressed", String(isOn)),
});

const filter = new FilterField($("filter"), (ranges) => {
  timeline.filter(loader === null ? null : ranges);
  drawEmpty();
});

const panels = new Panels(
  { tabs: $("tabs"), panel: $("panel"), body: $("panel-body") },
  {
    toRow: (number) => {
      timeline.select(number);
      timeline.list.center(timeline.place(number));
      if (panels.name !== "detail" && NARROW.matches) panels.setOpen(false);
    },
    filter: (query) => {
      filter.set(query);
      if (NARROW.matches) panels.setOpen(false);
    },
    changed: () => {},
  },
);

async function start() {
  startTheme($("theme"));
  try {
    await login();
    recordings = await get("api/recordings");
  } catch (error) {
    showSignedOut(error);
    return;
  }
  $("workspace").hidden = false;
  setRecordingsOpen(!NARROW.matches);
  if (!NARROW.matches) panels.setOpen(true);
  const { key, row } = savedLocation();
  const found = recordings.find((each) => each.key === key) ?? recordings[0];
  if (found === undefined) drawList();
  else await show(found.key, found.key === key ? row : 0);
  new EventStream(() => "api/events", { recordings: takeRecordings }, (isConnected) => {
    problem = isConnected ? "" : "The inspector cannot be reached. Trying again…";
    drawStatus();
  });
  $("timeline").focus();
}

function showSignedOut(error) {
  const isRefused = error.status === 401 || error.status === 403;
  const words = "Open the address that parley inspect printed. It is valid until parley inspect ends.";
  fill($("signed-out-reason"), isRefused ? words : error.message);
  $("signed-out").hidden = false;
}

function takeRecordings(list) {
  recordings = list;
  drawList();
  drawStatus();
  if (loader === null && recordings.length > 0) show(recordings[0].key);
}

function current() {
  return recordings.find(({ key }) => key === loader?.key) ?? null;
}

/** Show a recording, and select one of its rows if a number is given. */
async function show(key, row = 0) {
  loader?.close();
  problem = "";
  const opened = new RecordingLoader(key, {
    rowsAdded: () => grown(() => timeline.rowsAdded()),
    rowsChanged: () => grown(() => timeline.rowsChanged()),
    connected: (isConnected) => {
      problem = isConnected ? "" : "The connection to the inspector was lost. Trying again…";
      drawStatus();
    },
    ended: (reason) => {
      problem = reason ?? "";
      drawStatus();
    },
    failed: (error) => {
      problem = error.message;
      drawStatus();
    },
  });
  loader = opened;
  saveLocation({ key, row });
  timeline.clear(loader.table);
  timeline.setFollowing(true);
  panels.use(current());
  filter.use(key);
  drawList();
  for (const [id, path] of [["share-html", "share.html"], ["share-jsonl", "export.jsonl"]])
    $(id).href = recordingUrl(key, path);
  await loader.load();
  if (loader === opened && row > 0) {
    timeline.select(row);
    timeline.list.center(timeline.place(row));
  }
}

/** Show that the recording has grown or changed. */
function grown(draw) {
  draw();
  filter.refresh();
  panels.refresh();
  drawStatus();
}

function drawList() {
  drawRecordings($("recordings"), recordings, loader?.key, (key) => {
    if (NARROW.matches) setRecordingsOpen(false);
    if (key !== loader?.key) show(key);
    $("timeline").focus();
  });
}

function drawStatus() {
  const recording = current();
  const name = recording === null ? "Parley inspector" : recordingName(recording);
  document.title = recording === null ? name : `${name} – Parley inspector`;
  fill($("title"), name);
  const frames = loader === null ? null : loader.table.length;
  const state = recording === null ? "" : recordingState({ ...recording, frames });
  const words = problem || (loader?.isLoading ? `Loading, ${formatCount(frames, "frame")}…` : state);
  // Screen readers read out each change, so the count of a live recording is not a status.
  if ($("status").textContent !== words) fill($("status"), words);
  $("status").classList.toggle("error", problem !== "");
  drawEmpty();
}

function drawEmpty() {
  const isEmpty = loader !== null && !loader.isLoading && timeline.count === 0;
  const words = filter.query === "" ? "Nothing has been recorded yet." : "No frame fits the filter.";
  fill($("no-rows"), isEmpty && words);
}

function setRecordingsOpen(isOpen) {
  document.body.classList.toggle("recordings-open", isOpen);
  $("toggle-recordings").setAttribute("aria-expanded", String(isOpen));
}

/** The recording and the row are in the address, so that reloading the page shows them again. */
function savedLocation() {
  const parameters = new URLSearchParams(location.search);
  return { key: parameters.get("recording"), row: Number(parameters.get("row")) || 0 };
}

function saveLocation({ key = loader?.key, row }) {
  const parameters = new URLSearchParams({ recording: key });
  if (row > 0) parameters.set("row", String(row));
  history.replaceState(null, "", `${location.pathname}?${parameters}`);
}

function nextError(step) {
  if (timeline.moveToError(step)) return;
  fill($("query-result"), step > 0 ? "No further errors" : "No earlier errors");
}

function closePanel() {
  if (NARROW.matches) panels.setOpen(false);
  $("timeline").focus();
}

$("toggle-recordings").addEventListener("click", () => {
  setRecordingsOpen(!document.body.classList.contains("recordings-open"));
});
$("follow").addEventListener("click", () => timeline.setFollowing(!timeline.isFollowing));
$("next-error").addEventListener("click", () => nextError(1));
$("close-panel").addEventListener("click", closePanel);
$("open-help").addEventListener("click", () => $("help").showModal());
$("help").querySelector(".close").addEventListener("click", () => $("help").close());

bindKeys({
  grid: $("timeline"),
  query: $("query"),
  move: (by) => timeline.move(by),
  page: () => timeline.page,
  fold: (isOpen) => timeline.toggleSelected(isOpen),
  open: () => {
    if (timeline.selected === 0) timeline.move(1);
    panels.choose("detail");
    $("panel").focus();
  },
  match: () => timeline.match > 0 && timeline.select(timeline.match),
  nextError,
  follow: () => timeline.setFollowing(!timeline.isFollowing),
  help: () => $("help").showModal(),
  leave: closePanel,
});

start();
