/** The keys of the page; the dialog "Help" lists them. */

/** Bind keys to what can be done; the arrows work in the grid, letters everywhere but in fields. */
export function bindKeys(does) {
  const inGrid = {
    ArrowDown: () => does.move(1),
    ArrowUp: () => does.move(-1),
    PageDown: () => does.move(does.page()),
    PageUp: () => does.move(-does.page()),
    Home: () => does.move(-Infinity),
    End: () => does.move(Infinity),
    ArrowRight: () => does.fold(true),
    ArrowLeft: () => does.fold(false),
    Enter: () => does.open(),
  };
  const anywhere = {
    j: () => does.move(1),
    k: () => does.move(-1),
    m: () => does.match(),
    e: () => does.nextError(1),
    E: () => does.nextError(-1),
    f: () => does.follow(),
    "/": () => does.query.focus(),
    "?": () => does.help(),
    Escape: () => does.leave(),
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (document.querySelector("dialog[open]")) return;
    const run = document.activeElement === does.grid ? inGrid[event.key] : undefined;
    const action = run ?? (isWriting(event) ? undefined : anywhere[event.key]);
    if (action === undefined) return;
    event.preventDefault();
    action();
  });
  does.query.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "Enter") does.grid.focus();
  });
}

/** Return whether a key is text for a field. Escape leaves the field. */
function isWriting(event) {
  return event.key !== "Escape" && event.target.matches("input, select, textarea");
}
