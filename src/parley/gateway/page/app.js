/**
 * The page: the door, where a token is asked for, and the room behind it.
 */

import { beforePaint, fill, h } from "./dom.js";
import { Composer } from "./composer.js";
import { SessionList, drawOptions } from "./dialogs.js";
import { place, saveToken, takeFragment, token } from "./place.js";
import { Room } from "./room.js";
import { shortLine } from "./text.js";

const NEAR_END = 80;
const LIST_TIMEOUT = 400;
const MAX_TITLE = 200;
const MAX_LOGINS = 20;
const $ = (id) => document.getElementById(id);

let room = null;
let isFollowing = true;

const composer = new Composer($("composer"), {
  send: (words) => {
    isFollowing = true;
    room.say(words);
  },
  stop: () => room.cancel(),
});

const sessionList = new SessionList($("session-list"), {
  load: (cursor) => room.agent.list(cursor),
  open: ({ sessionId, cwd }) => go({ session: sessionId, cwd: cwd || room.about.cwd }),
  begin: (id) => room.conversations.get(id)?.log.querySelector(".entry.user")?.textContent,
});

async function start() {
  const { hasToken } = takeFragment();
  if (!(await enter(token()))) $("token").focus();
  if (hasToken) warnOfToken();
}

/** Say that a token does not belong into an address: the browser has remembered it by now. */
function warnOfToken() {
  $("token-in-address").hidden = false;
}

/** Go in with a token; returns whether that was possible. */
async function enter(given) {
  let response;
  try {
    const headers = given ? { Authorization: `Bearer ${given}` } : {};
    response = await fetch("about.json", { headers, cache: "no-store", redirect: "error" });
  } catch {
    return knock("The server cannot be reached. Try again.");
  }
  if (response.status === 401) return knock(given ? "That token is not valid here." : "");
  if (!response.ok) return knock(`The server answered ${response.status}.`);
  const about = await response.json();
  saveToken(given);
  $("door").hidden = true;
  $("room").hidden = false;
  room = new Room(given, about, { changed, moved, refused, restore, logins });
  drawAgents(about.agents);
  $("cwd").value = about.cwd;
  await room.enter(place());
  return true;
}

/** Stand at the door. */
function knock(words) {
  fill($("door-words"), words);
  $("door").hidden = false;
  $("room").hidden = true;
  return false;
}

function refused(words) {
  room.leave();
  saveToken("");
  knock(words);
}

function restore(words) {
  composer.restore(words);
}

function logins(conversation, methods) {
  for (const { methodId, name, description } of methods.slice(0, MAX_LOGINS)) {
    const words = `Log in: ${shortLine(name || methodId, MAX_TITLE)}`;
    const button = h("button", { type: "button" }, words);
    button.addEventListener("click", async () => {
      try {
        await room.login(methodId);
      } catch (error) {
        conversation.note(`That did not work: ${error.message}`, "error");
      }
    });
    const hint = description && h("small", {}, description);
    conversation.add(h("p", { class: "entry" }, button, " ", hint));
  }
}

/** Show everything beside the conversation as it is now. */
function changed() {
  beforePaint(draw);
}

function draw() {
  drawComposer(); // first: whatever an agent sends, Stop is there
  const conversation = room.shown;
  showConversation(conversation);
  const name = room.agent?.info?.title || room.agent?.info?.name || "Parley";
  const title = shortLine(conversation?.title || name, MAX_TITLE);
  fill($("title"), title);
  document.title = title;
  const [words, kind] = status(room.current);
  fill($("status"), words);
  document.body.dataset.state = kind;
  if ($("options").open) showOptions();
}

function drawComposer() {
  const { current, shown } = room;
  const isRunning = current?.isRunning ?? false;
  const isAsked = (shown?.questions.size ?? 0) > 0;
  const waits = isRunning && room.agent?.isFirst;
  composer.show({
    canSend: current !== null && !current.isObserver && !room.isOpening && !waits,
    isRunning: (isRunning || isAsked) && !shown.isObserver,
    commands: current?.commands ?? [],
    hint: current?.isObserver ? "You look on" : "Message",
  });
}

function status(current) {
  if (current === null && room.shown?.questions.size > 0) return ["Waiting for you", "asks"];
  if (room.isOpening && room.agent === null) return ["Connecting\u2026", "away"];
  if (room.isOpening) return ["Connecting again\u2026", "away"];
  if (!room.isThere) return ["Cut off; trying again\u2026", "away"];
  if (current === null) return ["No session", "away"];
  if (current.questions.size > 0) return ["Waiting for you", "asks"];
  if (current.isRunning) return ["Working\u2026", "running"];
  const others = [...room.conversations.values()].filter((each) => each !== current);
  if (others.some((each) => each.questions.size > 0))
    return ["Another session waits for you", "asks"];
  const words = [current.isObserver ? "Looking on" : "Ready", current.usage];
  return [words.filter(Boolean).join(", "), "ready"];
}

function showConversation(conversation) {
  const log = $("log");
  if (log.firstChild === (conversation?.log ?? null)) return;
  log.replaceChildren();
  $("dock").replaceChildren();
  if (conversation === null) return;
  log.append(conversation.log);
  $("dock").append(conversation.dock.element);
  isFollowing = true;
  moved();
}

/** Follow the end of the conversation, unless the reader looks at something above. */
function moved() {
  if (isFollowing) beforePaint(scrollToEnd);
}

function scrollToEnd() {
  const log = $("log");
  log.scrollTop = log.scrollHeight;
}

$("log").addEventListener("scroll", () => {
  const log = $("log");
  isFollowing = log.scrollHeight - log.scrollTop - log.clientHeight < NEAR_END;
});
new ResizeObserver(moved).observe($("log"));

function drawAgents(agents) {
  $("agents").hidden = agents.length < 2;
  fill($("agent"), agents.map((name) => h("option", {}, name)));
}

/** Go to another session, of this agent or of another one. */
async function go(to) {
  const agent = to.agent ?? room.place.agent;
  try {
    const isHere = agent === room.place.agent && room.current !== null;
    await (isHere ? room.switchTo(to) : room.switchAgent({ ...to, agent }));
    $("sessions").close();
  } catch (error) {
    const words = `That cannot be opened: ${error.message}`;
    $("session-list").prepend(h("p", { class: "error", role: "alert" }, words));
  }
}

function showOptions() {
  if (document.activeElement?.closest("#option-list")) return; // the user is choosing
  drawOptions($("option-list"), room.current?.options ?? [], async (option, value) => {
    fill($("option-error"), "");
    document.activeElement?.blur();
    try {
      await room.setOption(option, value);
    } catch (error) {
      fill($("option-error"), `That cannot be set: ${error.message}`);
    }
    showOptions();
  });
}

$("door-plain").hidden = isSecureContext;
$("door").querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const given = $("token").value.trim();
  $("token").value = "";
  enter(given);
});

$("open-sessions").addEventListener("click", async () => {
  const names = [...$("agent").options].map((option) => option.textContent);
  $("agent").selectedIndex = Math.max(0, names.indexOf(room.place.agent));
  const lists = room.agent?.canList ?? false;
  if (!lists) fill($("session-list"), h("p", { class: "faint" }, "This agent lists no sessions."));
  // What can be tapped should not move: the list is there first, if that does not take long.
  const late = new Promise((done) => setTimeout(done, LIST_TIMEOUT));
  if (lists) await Promise.race([sessionList.show(room.place.session), late]);
  if (!$("sessions").open) $("sessions").showModal();
});

$("open-options").addEventListener("click", () => {
  $("options").showModal();
  showOptions();
});

for (const button of document.querySelectorAll("dialog .close"))
  button.addEventListener("click", () => button.closest("dialog").close());

$("new-session").addEventListener("submit", (event) => {
  event.preventDefault();
  const isOne = $("agents").hidden;
  go({ cwd: $("cwd").value, agent: isOne ? room.place.agent : $("agent").value });
});

$("join-session").addEventListener("submit", (event) => {
  event.preventDefault();
  const role = $("observe").checked ? "observer" : undefined;
  go({ session: $("session-id").value.trim(), cwd: $("cwd").value, role });
});

$("forget").addEventListener("click", () => {
  $("sessions").close();
  refused("The token is forgotten.");
});

// An address that is changed in an open tab loads nothing; what it says counts all the same.
window.addEventListener("hashchange", () => {
  const { hasPlace, hasToken } = takeFragment();
  if (hasToken) warnOfToken();
  if (hasPlace && room !== null && !$("room").hidden) room.enter(place());
});
$("token-in-address").querySelector("button").addEventListener("click", () => {
  $("token-in-address").hidden = true;
});

const hurry = () => document.hidden || room?.hurry();
document.addEventListener("visibilitychange", hurry);
window.addEventListener("online", hurry);
window.addEventListener("pageshow", hurry);

start();
