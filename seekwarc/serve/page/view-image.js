// Pictures.

import { json, payloadUrl } from "./api.js";
import { bytes, el, number } from "./dom.js";

export function imageView({ record, view, touch }) {
  const picture = el("img", { src: payloadUrl(record.id, view), alt: record.file_name });
  const about = el("p", { class: "quiet-line" }, `${record.mime}, ${bytes(record.payload_size)}`);
  const trouble = el("p", { class: "notice bad", role: "alert", hidden: true });
  const frame = el("button", { type: "button", class: "picture", "aria-pressed": "false", "aria-label": "Show in full size", title: "Full size, or all of it" }, picture);
  frame.addEventListener("click", () => {
    frame.setAttribute("aria-pressed", String(frame.classList.toggle("full")));
  });
  picture.addEventListener("load", () => {
    about.textContent = `${record.mime}, ${bytes(record.payload_size)}, ${number(picture.naturalWidth)} × ${number(picture.naturalHeight)}`;
    touch();
  });
  picture.addEventListener("error", async () => {
    const cost = await json(`api/views/${view}`).catch(() => null);
    trouble.textContent = cost?.problem ?? "This browser cannot show this picture: it may be damaged, or of another type than its media type states. Hex shows its bytes.";
    trouble.hidden = false;
    frame.hidden = true;
    touch();
  });
  return { element: el("div", { class: "view image" }, frame, about, trouble), close() { picture.removeAttribute("src"); } };
}
