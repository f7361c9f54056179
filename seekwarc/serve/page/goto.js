// "Byte 1,234 of 10 GiB (12 %)", and a field to go to another.

import { bytes, el, number, parseSize, share } from "./dom.js";

export function goTo(go) {
  const where = el("span", { class: "where" });
  const field = el("input", { "aria-label": "Go to byte", placeholder: "byte, 10M, 50 %", spellcheck: "false" });
  let size = 0;
  const form = el("form", { class: "goto" }, where, el("label", {}, "Go to ", field));
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const position = parse(field.value, size);
    field.setAttribute("aria-invalid", String(position === null));
    if (position !== null) go(Math.min(position, Math.max(size - 1, 0)));
  });
  return {
    element: form,
    focus() {
      field.focus();
      field.select();
    },
    say(position, of) {
      size = of;
      where.textContent = `Byte ${number(position)} of ${bytes(of)} (${share(position, of)})`;
    },
  };
}

function parse(text, size) {
  const percent = /^\s*([0-9]{1,3}(?:\.[0-9]{1,6})?)\s*%\s*$/.exec(text);
  if (percent) return Math.floor((Number(percent[1]) / 100) * size);
  const hex = /^\s*0x([0-9a-f]{1,13})\s*$/i.exec(text);
  if (hex) return parseInt(hex[1], 16);
  const value = parseSize(text.replaceAll(",", ""));
  return value === null || Number.isNaN(value) ? null : value;
}
