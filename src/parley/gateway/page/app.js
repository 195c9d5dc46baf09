/**
 * The page: the sign-in form, which asks for the token, and the workspace with the sessions.
 */

import { beforePaint, fill, h } from "./dom.js";
import { Composer } from "./composer.js";
import { SessionList, drawOptions } from "./dialogs.js";
import { readFragment, saveToken, savedLocation, token } from "./tab_state.js";
import { SessionManager } from "./session_manager.js";
import { shortLine } from "./text.js";

const NEAR_END = 80;
const LIST_TIMEOUT = 400;
const MAX_TITLE = 200;
const MAX_LOGINS = 20;
const $ = (id) => document.getElementById(id);

let manager = null; // since the user has signed in
let isFollowing = true;

const composer = new Composer($("composer"), {
  send: (text) => {
    isFollowing = true;
    manager.prompt(text);
  },
  stop: () => manager.cancel(),
});

const sessionList = new SessionList($("session-list"), {
  load: (cursor) => manager.agent.list(cursor),
  open: ({ sessionId, cwd }) => go({ session: sessionId, cwd: cwd || manager.about.cwd }),
  begin: (id) => manager.conversations.get(id)?.log.querySelector(".entry.user")?.textContent,
});

async function start() {
  const { hasToken } = readFragment();
  if (!(await signIn(token()))) $("token").focus();
  if (hasToken) warnOfToken();
}

/** Warn that a token must not be in an address: the browser has remembered it by now. */
function warnOfToken() {
  $("token-in-address").hidden = false;
}

/** Sign in with a token; returns whether the server accepted it. */
async function signIn(given) {
  let response;
  try {
    const headers = given ? { Authorization: `Bearer ${given}` } : {};
    response = await fetch("about.json", { headers, cache: "no-store", redirect: "error" });
  } catch {
    return showSignIn("Cannot reach the server. Try again.");
  }
  if (response.status === 401)
    return showSignIn(given ? "The server does not accept this token." : "");
  if (!response.ok) return showSignIn(`The server responded with status ${response.status}.`);
  const about = await response.json();
  saveToken(given);
  $("sign-in").hidden = true;
  $("workspace").hidden = false;
  manager = new SessionManager(given, about, { changed, moved, refused, restore, logins });
  drawAgents(about.agents);
  $("cwd").value = about.cwd;
  await manager.enter(savedLocation());
  return true;
}

/** Show the sign-in form with a message. */
function showSignIn(message) {
  fill($("sign-in-message"), message);
  $("sign-in").hidden = false;
  $("workspace").hidden = true;
  return false;
}

function refused(words) {
  manager.leave();
  saveToken("");
  showSignIn(words);
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
        await manager.login(methodId);
      } catch (error) {
        conversation.note(`The login failed: ${error.message}`, "error");
      }
    });
    const hint = description && h("small", {}, description);
    conversation.add(h("p", { class: "entry" }, button, " ", hint));
  }
}

/** Redraw everything around the conversation. */
function changed() {
  beforePaint(draw);
}

function draw() {
  drawComposer(); // first, so that Stop works whatever the agent sends
  const conversation = manager.shown;
  showConversation(conversation);
  const name = manager.agent?.info?.title || manager.agent?.info?.name || "Parley";
  const title = shortLine(conversation?.title || name, MAX_TITLE);
  fill($("title"), title);
  document.title = title;
  const [words, kind] = status(manager.current);
  fill($("status"), words);
  document.body.dataset.state = kind;
  if ($("options").open) showOptions();
}

function drawComposer() {
  const { current, shown } = manager;
  const isRunning = current?.isRunning ?? false;
  const isAsked = (shown?.questions.size ?? 0) > 0;
  composer.show({
    canSend: current !== null && !current.isObserver && !manager.isOpening,
    isRunning: (isRunning || isAsked) && !shown.isObserver,
    commands: current?.commands ?? [],
    hint: current?.isObserver ? "You are observing this session" : "Message",
  });
}

function status(current) {
  if (current === null && manager.shown?.questions.size > 0) return ["Waiting for you", "asks"];
  if (manager.isOpening && manager.agent === null) return ["Connecting\u2026", "away"];
  if (manager.isOpening) return ["Reconnecting\u2026", "away"];
  if (!manager.isConnected) return ["Disconnected. Reconnecting\u2026", "away"];
  if (current === null) return ["No session", "away"];
  if (current.questions.size > 0) return ["Waiting for you", "asks"];
  if (current.isRunning) return ["Working\u2026", "running"];
  const others = [...manager.conversations.values()].filter((each) => each !== current);
  if (others.some((each) => each.questions.size > 0))
    return ["Another session is waiting for you", "asks"];
  const words = [current.isObserver ? "Observing" : "Ready", current.usage];
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

/** Keep the end of the conversation in view, unless the reader has scrolled up. */
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

/** Switch to another session, of this agent or of another one. */
async function go(to) {
  const agent = to.agent ?? manager.location.agent;
  try {
    const isHere = agent === manager.location.agent && manager.current !== null;
    await (isHere ? manager.switchTo(to) : manager.switchAgent({ ...to, agent }));
    $("sessions").close();
  } catch (error) {
    const words = `The session cannot be opened: ${error.message}`;
    $("session-list").prepend(h("p", { class: "error", role: "alert" }, words));
  }
}

function showOptions() {
  if (document.activeElement?.closest("#option-list")) return; // the user is choosing
  drawOptions($("option-list"), manager.current?.options ?? [], async (option, value) => {
    fill($("option-error"), "");
    document.activeElement?.blur();
    try {
      await manager.setOption(option, value);
    } catch (error) {
      fill($("option-error"), `The option cannot be set: ${error.message}`);
    }
    showOptions();
  });
}

$("insecure-warning").hidden = isSecureContext;
$("sign-in").querySelector("form").addEventListener("submit", (event) => {
  event.preventDefault();
  const given = $("token").value.trim();
  $("token").value = "";
  signIn(given);
});

$("open-sessions").addEventListener("click", async () => {
  const names = [...$("agent").options].map((option) => option.textContent);
  $("agent").selectedIndex = Math.max(0, names.indexOf(manager.location.agent));
  // Buttons should not move under a finger: show the dialog with the list, unless that takes long.
  const late = new Promise((done) => setTimeout(done, LIST_TIMEOUT));
  if (manager.agent) await Promise.race([sessionList.show(manager.location.session), late]);
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
  go({ cwd: $("cwd").value, agent: isOne ? manager.location.agent : $("agent").value });
});

$("join-session").addEventListener("submit", (event) => {
  event.preventDefault();
  const role = $("observe").checked ? "observer" : undefined;
  go({ session: $("session-id").value.trim(), cwd: $("cwd").value, role });
});

$("forget").addEventListener("click", () => {
  $("sessions").close();
  refused("You have signed out.");
});

// Changing the address of an open tab loads nothing, but its location counts.
window.addEventListener("hashchange", () => {
  const { hasLocation, hasToken } = readFragment();
  if (hasToken) warnOfToken();
  if (hasLocation && manager !== null && !$("workspace").hidden) manager.enter(savedLocation());
});
$("token-in-address").querySelector("button").addEventListener("click", () => {
  $("token-in-address").hidden = true;
});

const retryNow = () => document.hidden || manager?.retryNow();
document.addEventListener("visibilitychange", retryNow);
window.addEventListener("online", retryNow);
window.addEventListener("pageshow", retryNow);

start();
