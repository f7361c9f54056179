// A button that copies a text, and says whether it did.

import { el } from "./dom.js";

const SHOWN = 2000;

export function copyButton(name, text) {
  const said = el("span", { "aria-live": "polite", class: "sr" });
  const button = el("button", { type: "button", class: "link copy", title: text, "aria-label": name }, name);
  button.addEventListener("click", async () => {
    if (await copied(text)) button.textContent = said.textContent = "Copied";
    else byHand(button, text);
    setTimeout(() => {
      button.textContent = name;
      said.textContent = "";
    }, SHOWN);
  });
  return el("span", { class: "copy-room" }, button, said);
}

/** Copy a text; false if the browser forbids it, as it does to pages of other computers. */
async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
}

/** Show the text selected, to be copied by hand. */
function byHand(button, text) {
  const field = el("input", { class: "by-hand", readonly: true, value: text, "aria-label": "Address, to be copied" });
  field.addEventListener("blur", () => field.replaceWith(button));
  button.replaceWith(field);
  field.focus();
  field.select();
}
