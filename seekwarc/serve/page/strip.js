// Pictures of a film under its player: each goes to its time. The server makes them when they are in sight.

import { json, recordUrl } from "./api.js";
import { clock, el } from "./dom.js";

export function strip({ record, view, player, touch }) {
  const element = el("div", { class: "strip", role: "group", "aria-label": "Pictures of the film", hidden: true });
  const abort = new AbortController();

  const goTo = (seconds) => {
    player.currentTime = seconds;
    mark();
  };

  const mark = () => {
    const buttons = [...element.children];
    const at = buttons.findLastIndex((button) => Number(button.dataset.time) <= player.currentTime);
    buttons.forEach((button, index) => button.setAttribute("aria-current", String(index === Math.max(at, 0))));
  };

  const picture = (seconds, index) => {
    const image = el("img", { loading: "lazy", alt: "", width: 96, height: 54, src: `${recordUrl(record.id)}/pictures/${index}?view=${view}` });
    image.addEventListener("load", touch);
    image.addEventListener("error", () => { image.replaceWith(el("i", {}, "no picture")); touch(); });
    const time = clock(seconds);
    return el("button", { type: "button", "data-time": seconds, "aria-label": `Go to ${time}`, onclick: () => goTo(seconds) }, image, el("span", {}, time));
  };

  const onKey = (event) => {
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const edge = { Home: 0, End: element.children.length - 1 }[event.key];
    const buttons = [...element.children];
    const next = step ? buttons[buttons.indexOf(document.activeElement) + step] : buttons[edge];
    if (!next) return;
    event.preventDefault();
    next.focus();
  };

  const open = async () => {
    const found = await json(`${recordUrl(record.id)}/pictures?view=${view}`, { signal: abort.signal }).catch(() => null);
    if (!found?.pictures.length) return;
    element.replaceChildren(...found.pictures.map(picture));
    element.hidden = false;
    mark();
    touch();
  };

  // A film that this browser cannot play has no times to go to.
  player.addEventListener("loadedmetadata", open, { once: true });
  player.addEventListener("timeupdate", mark);
  element.addEventListener("keydown", onKey);
  return { element, close: () => abort.abort() };
}
