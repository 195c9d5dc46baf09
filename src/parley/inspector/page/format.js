/** Times, durations and sizes for people. */

/** Return the time since the recording began, such as `12.345` or `1:02:03.456`. */
export function formatTime(seconds) {
  if (seconds < 60) return seconds.toFixed(3);
  const whole = Math.floor(seconds);
  const pad = (value) => String(value).padStart(2, "0");
  const rest = (seconds - whole).toFixed(3).slice(-4);
  const minutes = Math.floor(whole / 60) % 60;
  const hours = Math.floor(whole / 3600);
  const start = hours > 0 ? `${hours}:${pad(minutes)}` : String(minutes);
  return `${start}:${pad(whole % 60)}${rest}`;
}

/** Return a duration, such as `350 µs`, `12 ms`, `3.2 s` or `4 min 5 s`. */
export function formatDuration(seconds) {
  if (!Number.isFinite(seconds)) return "";
  if (seconds < 0.001) return `${Math.round(seconds * 1e6)} µs`;
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Return a size, such as `512 B`, `1.5 kB` or `3.0 MB`. */
export function formatSize(bytes) {
  if (!Number.isFinite(bytes)) return "";
  if (bytes < 1000) return `${bytes} B`;
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(1)} kB`;
  return `${(bytes / 1e6).toFixed(1)} MB`;
}

/** Return a moment in the time zone of the reader. */
export function formatMoment(unixTime) {
  const date = new Date(unixTime * 1000);
  if (Number.isNaN(date.getTime())) return "";
  const options = { dateStyle: "medium", timeStyle: "medium" };
  return new Intl.DateTimeFormat(undefined, options).format(date);
}

/** Return a number of things, such as `1 chunk` or `2,000 chunks`. */
export function formatCount(count, thing) {
  return `${count.toLocaleString("en")} ${thing}${count === 1 ? "" : "s"}`;
}
