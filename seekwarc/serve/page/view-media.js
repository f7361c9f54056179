// Sound and film: the browser's own player, which asks for the ranges it needs.

import { json, payloadUrl } from "./api.js";
import { bytes, clock, el, number } from "./dom.js";
import { strip } from "./strip.js";

const WORDS = {
  1: "Playback was stopped.",
  2: "The bytes could not be read.",
  3: "The player cannot decode this: it may be damaged.",
  4: "This browser cannot play this kind of film or sound.",
};

export function mediaView({ record, view, touch }) {
  const kind = record.mime.startsWith("audio/") ? "audio" : "video";
  const player = el(kind, { controls: true, preload: "metadata", src: payloadUrl(record.id, view), "aria-label": record.file_name });
  const about = el("p", { class: "quiet-line" }, `${record.mime}, ${bytes(record.payload_size)}`);
  const trouble = el("p", { class: "notice bad", role: "alert", hidden: true });
  const pictures = record.pictures && kind === "video" ? strip({ record, view, player, touch }) : null;
  const element = el("div", { class: `view player ${kind}` }, player, pictures?.element, about, trouble);
  for (const event of ["progress", "seeking", "timeupdate", "loadedmetadata", "waiting"]) player.addEventListener(event, touch);
  player.addEventListener("loadedmetadata", () => {
    const size = player.videoWidth ? `, ${number(player.videoWidth)} × ${number(player.videoHeight)}` : "";
    about.textContent = `${record.mime}, ${bytes(record.payload_size)}${size}, ${Number.isFinite(player.duration) ? clock(player.duration) : "of unknown length"}`;
  });
  player.addEventListener("error", async () => {
    const cost = await json(`api/views/${view}`).catch(() => null);
    trouble.textContent = `${WORDS[player.error?.code] ?? "It cannot be played."} ${cost?.problem ?? ""}`;
    trouble.hidden = false;
    touch();
  });
  return {
    element,
    close() {
      pictures?.close();
      // Ends the request that may still be open.
      player.removeAttribute("src");
      player.load();
    },
  };
}
