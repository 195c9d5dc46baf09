/**
 * The state of this tab: its token, agent and session. The browser keeps it as long as the tab.
 *
 * A token is never taken from the address, because browsers remember addresses before a page can
 * change them. If there is one, it is removed at once and not used.
 */

const TOKEN = "parley.token";
const LOCATION = "parley.location";

/**
 * Save the location in the fragment, `#session=…&agent=…`, and remove it from the address.
 *
 * Returns whether the fragment has a location, and whether the address has a token anywhere.
 */
export function readFragment() {
  const given = new URLSearchParams(location.hash.slice(1));
  const hasToken = given.has("token") || new URLSearchParams(location.search).has("token");
  if (location.hash !== "" || location.search !== "")
    history.replaceState(null, "", location.pathname);
  const hasLocation = given.has("session") || given.has("agent");
  if (hasLocation) saveLocation({ agent: given.get("agent") ?? "", session: given.get("session") });
  return { hasLocation, hasToken };
}

export function token() {
  return sessionStorage.getItem(TOKEN) ?? "";
}

export function saveToken(value) {
  if (value) sessionStorage.setItem(TOKEN, value);
  else sessionStorage.removeItem(TOKEN);
}

/** Return the saved agent, session, directory and role, as far as there are any. */
export function savedLocation() {
  try {
    return JSON.parse(sessionStorage.getItem(LOCATION)) ?? {};
  } catch {
    return {};
  }
}

export function saveLocation(value) {
  sessionStorage.setItem(LOCATION, JSON.stringify(value));
}

/** Return the path of an agent on this server; `name` is one that the server has listed. */
export function agentPath(name) {
  // Dots are not escaped, and `..` would lead out of the agents' path.
  if (/^\.*$/.test(name)) throw new Error("That is not the name of an agent");
  return new URL(`../acp/${encodeURIComponent(name)}`, location.href).pathname;
}
