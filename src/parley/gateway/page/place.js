/**
 * Where this tab is: its token, its agent, its session. It is kept as long as the tab.
 *
 * A token is never taken from the address: browsers remember addresses before a page can change
 * them. If somebody puts one there all the same, it is removed at once and not used.
 */

const TOKEN = "parley.token";
const PLACE = "parley.place";

/**
 * Take over what the fragment says, `#session=…&agent=…`, and remove it from the address.
 *
 * Returns whether there was a place in it, and whether there was a token in the address, anywhere.
 */
export function takeFragment() {
  const given = new URLSearchParams(location.hash.slice(1));
  const hasToken = given.has("token") || new URLSearchParams(location.search).has("token");
  if (location.hash !== "" || location.search !== "")
    history.replaceState(null, "", location.pathname);
  const hasPlace = given.has("session") || given.has("agent");
  if (hasPlace) savePlace({ agent: given.get("agent") ?? "", session: given.get("session") });
  return { hasPlace, hasToken };
}

export function token() {
  return sessionStorage.getItem(TOKEN) ?? "";
}

export function saveToken(value) {
  if (value) sessionStorage.setItem(TOKEN, value);
  else sessionStorage.removeItem(TOKEN);
}

/** Return agent, session, directory and role; empty where nothing is known. */
export function place() {
  try {
    return JSON.parse(sessionStorage.getItem(PLACE)) ?? {};
  } catch {
    return {};
  }
}

export function savePlace(value) {
  sessionStorage.setItem(PLACE, JSON.stringify(value));
}

/** Return where an agent is served, beside this page; `name` is one that the server has listed. */
export function agentPath(name) {
  // Dots are not escaped, and `..` would lead out of the place where agents are.
  if (/^\.*$/.test(name)) throw new Error("This is not the name of an agent");
  return new URL(`../acp/${encodeURIComponent(name)}`, location.href).pathname;
}
