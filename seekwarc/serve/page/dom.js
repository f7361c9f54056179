// Elements and words. Text only ever becomes text: nothing here parses markup.

/** Make an element: `el("a", {href: "#", class: "x", onclick: f}, "text", other)`. */
export function el(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const grouped = new Intl.NumberFormat("en");

/** 1234567 -> "1,234,567" */
export const number = (value) => grouped.format(value);

/** "1 frame", "2 frames" */
export const count = (value, one, many = `${one}s`) => `${number(value)} ${value === 1 ? one : many}`;

/** Bytes the short way: 1536 -> "1.5 KiB" */
export function bytes(value) {
  if (value < 1024) return `${value} B`;
  let unit = -1;
  do {
    value /= 1024;
    unit += 1;
  } while (value >= 1023.95 && unit < 5);
  return `${value < 10 ? value.toFixed(1) : value < 100 ? value.toFixed(1) : value.toFixed(0)} ${"KMGTPE"[unit]}iB`;
}

/** 0.01234 -> "1.2 %" */
export function share(part, whole) {
  if (!whole) return "0 %";
  const percent = (100 * part) / whole;
  if (percent > 0 && percent < 0.1) return "under 0.1 %";
  return `${percent < 10 ? percent.toFixed(1) : Math.round(percent)} %`;
}

/** "10M" -> 10485760; null if empty, NaN if malformed */
export function parseSize(text) {
  text = text.trim();
  if (!text) return null;
  const match = /^([0-9]{1,12}(?:\.[0-9]{1,3})?)\s*([kmgt]?)(?:i?b)?$/i.exec(text);
  if (!match) return NaN;
  return Math.round(Number(match[1]) * 1024 ** "_kmgt".indexOf(match[2].toLowerCase() || "_"));
}

/** A WARC date for people; other text stays unchanged. */
export function date(text) {
  const match = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}(?::\d{2})?)/.exec(text ?? "");
  return match ? `${match[1]} ${match[2]}` : text ?? "";
}

/** Seconds as a clock: 3725 -> "1:02:05" */
export function clock(seconds) {
  const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, Math.floor(seconds) % 60];
  const shown = parts[0] ? parts : parts.slice(1);
  return shown.map((part, index) => (index ? String(part).padStart(2, "0") : part)).join(":");
}

/** Call `task` once, `delay` ms after the last of many calls. */
export function settled(task, delay) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(task, delay, ...given);
  };
}

/** The size of a record's payload, in words if it is unknown. */
export function sizeOf(record) {
  if (record.counting) return "being counted…";
  return record.payload_size === null ? "unavailable" : bytes(record.payload_size);
}
