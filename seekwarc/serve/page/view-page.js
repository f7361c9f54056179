// An archived HTML page: its own markup in a sandboxed frame, where no scripts run and nothing is loaded.

import { json, pageUrl, Problem, request } from "./api.js";
import { el } from "./dom.js";

const EXTENTS = {
  cut: "Only its beginning is shown, as the page is very long. Text shows all of it.",
  damaged: "Only the part before the damage is shown.",
};

export function pageView({ record, replay, view, touch }) {
  const how = el("button", { type: "button", class: "link", "aria-haspopup": "dialog" }, "How to replay it with pywb");
  how.addEventListener("click", () => document.getElementById("replay").showModal());
  const told = el("span", {});
  const note = el("p", { class: "notice", role: "note" },
    el("strong", {}, "Not a replay. "),
    "The page’s own markup alone: nothing in it runs, nothing else is loaded, links lead nowhere. ", told, replay ?? how);
  const trouble = el("p", { class: "notice bad", role: "alert", hidden: true });
  const room = el("div", { class: "page-room" });
  const abort = new AbortController();
  const url = pageUrl(record.id, view);
  const element = el("div", { class: "view paged" }, note, trouble, room);

  function show() {
    // No word in `sandbox`: no scripts, forms, popups, downloads, nor any place but the frame itself.
    const frame = el("iframe", { sandbox: "", src: url, referrerpolicy: "no-referrer", title: "Markup of the archived page, not a replay" });
    frame.addEventListener("load", touch);
    room.replaceChildren(frame);
  }

  return {
    element,
    async shown() {
      try {
        // A frame does not report errors, so ask first. The body of the answer is not needed.
        const answer = await request(url, { signal: abort.signal });
        const extent = answer.headers.get("Seekwarc-Markup");
        abort.abort();
        if (extent === "damaged") {
          const { problem } = await json(`api/views/${view}`);
          trouble.textContent = `${EXTENTS.damaged} ${problem ?? ""}`;
          trouble.hidden = false;
        } else if (extent in EXTENTS) told.textContent = `${EXTENTS[extent]} `;
        show();
      } catch (error) {
        if (error.name === "AbortError") return;
        if (!(error instanceof Problem)) throw error;
        trouble.textContent = error.message;
        trouble.hidden = false;
        touch();
      }
    },
    close() {
      abort.abort();
      room.replaceChildren();
    },
  };
}
