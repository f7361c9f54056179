// A button that copies a text, and says whether it did.

import { el } from "./dom.js";

const SHOWN = 2000;

export function copyButton(name, text) {
  const label = el("span", { role: "status" }, name);
  const button = el("button", { type: "button", class: "link copy", title: text }, label);
  button.addEventListener("click", async () => {
    if (await copied(text)) label.textContent = "Copied";
    else byHand(button, text);
    setTimeout(() => { label.textContent = name; }, SHOWN);
  });
  return button;
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
