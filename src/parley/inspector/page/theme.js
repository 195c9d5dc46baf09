/** Dark or light: as the system has it, or as the user has chosen. */

const KEY = "parley.inspector.theme";
const THEMES = ["system", "light", "dark"];
const LABELS = { system: "◐ Auto", light: "○ Light", dark: "● Dark" };

/** Let a button switch between the themes. */
export function startTheme(button) {
  let theme = saved();
  const apply = () => {
    document.documentElement.dataset.theme = theme;
    button.textContent = LABELS[theme];
    button.setAttribute("aria-label", `Theme: ${theme}`);
  };
  button.addEventListener("click", () => {
    theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
    save(theme);
    apply();
  });
  apply();
}

function saved() {
  try {
    const theme = localStorage.getItem(KEY);
    return THEMES.includes(theme) ? theme : "system";
  } catch {
    return "system"; // the browser keeps nothing
  }
}

function save(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // It holds until the page is closed.
  }
}
