/**
 * Where this tab is: its token, its agent, its session. It is kept as long as the tab.
 *
 * A token may come in the fragment of the address, which browsers send to nobody. It is taken out
 * of the address at once, so that it is not in the history either.
 */

const TOKEN = "parley.token";
const PLACE = "parley.place";

/** Take over what the fragment says: `#token=…&session=…&agent=…`. */
export function takeFragment() {
  const given = new URLSearchParams(location.hash.slice(1));
  if (location.hash !== "") history.replaceState(null, "", location.pathname + location.search);
  if (given.get("token")) sessionStorage.setItem(TOKEN, given.get("token"));
  if (given.has("session") || given.has("agent"))
    savePlace({ agent: given.get("agent") ?? "", session: given.get("session") });
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

/** Return where an agent is served, beside this page. */
export function agentPath(name) {
  return new URL(name ? `../acp/${encodeURIComponent(name)}` : "../acp", location.href).pathname;
}
