// Text of any length. A few chunks around the visible part are loaded; scrolling loads more at either end.

import { bytesUrl, DecodedBytes, payloadUrl, Problem, RangeBytes } from "./api.js";
import { bytes, count, el } from "./dom.js";
import { goTo } from "./goto.js";

const CHUNK = 32 * 1024;
const MOST_CHUNKS = 12;
const STEPS = 1000;

/** Open the bytes of a record's payload as text: content codings decoded. */
export async function openText(record, view, touch, abort) {
  if (record.codings.length) return DecodedBytes.open(payloadUrl(record.id, view), record.codings, touch, abort);
  return new RangeBytes(bytesUrl(record.id, "payload", view), record.payload_size, touch);
}

function decoder(charset) {
  try {
    return new TextDecoder(charset ?? "utf-8");
  } catch {
    return new TextDecoder("utf-8");
  }
}

export function textView({ record, view, touch, at, moved }) {
  const text = el("pre", { class: "text" });
  const box = el("div", { class: "reader", tabindex: 0, role: "region", "aria-label": "Text" }, text);
  const note = el("p", { class: "notice", hidden: true });
  const trouble = el("p", { class: "notice bad", role: "alert", hidden: true });
  const jump = goTo((position) => begin(position, true));
  const slider = el("input", { type: "range", min: 0, max: STEPS, value: 0, class: "through", "aria-label": "Place in the text" });
  const tools = el("div", { class: "tools", hidden: true }, slider, jump.element);
  const element = el("div", { class: "view texted" }, tools, note, trouble, box);
  const decode = decoder(record.charset);
  const unicode = decode.encoding === "utf-8";
  const abort = new AbortController();
  let source = null;
  let chunks = [];
  let busy = false;
  let generation = 0;

  /** Read chunk `index`; a character that two chunks share belongs to the first. */
  async function chunk(index) {
    const start = index * CHUNK;
    const data = await source.read(start, start + CHUNK + (unicode ? 3 : 0));
    let from = 0;
    let to = Math.min(CHUNK, data.length);
    if (unicode) {
      while (index && from < 3 && from < to && (data[from] & 0xc0) === 0x80) from += 1;
      while (to < data.length && (data[to] & 0xc0) === 0x80) to += 1;
    }
    return { index, element: el("span", {}, decode.decode(data.subarray(from, to))) };
  }

  const lastChunk = () => Math.ceil(source.size / CHUNK) - 1;

  async function begin(position, focus = false) {
    generation += 1;
    const mine = generation;
    trouble.hidden = true;
    try {
      const first = await chunk(Math.min(Math.floor(position / CHUNK), Math.max(lastChunk(), 0)));
      if (mine !== generation) return;
      chunks = [first];
      text.replaceChildren(first.element);
      const inside = first.element.textContent.length ? (position - first.index * CHUNK) / CHUNK : 0;
      box.scrollTop = inside > 0.01 ? inside * text.scrollHeight : 0;
      if (focus) box.focus();
      say();
      await fill();
    } catch (error) {
      report(error);
    }
  }

  async function fill() {
    if (busy || !source) return;
    busy = true;
    const mine = generation;
    try {
      for (;;) {
        const below = text.scrollHeight - box.scrollTop - box.clientHeight;
        if (below < 1.5 * box.clientHeight && chunks.at(-1).index < lastChunk()) {
          const next = await chunk(chunks.at(-1).index + 1);
          if (mine !== generation) break;
          chunks.push(next);
          text.append(next.element);
          if (chunks.length > MOST_CHUNKS) drop(chunks.shift(), true);
        } else if (box.scrollTop < box.clientHeight && chunks[0].index > 0) {
          const before = await chunk(chunks[0].index - 1);
          if (mine !== generation) break;
          const high = text.scrollHeight;
          chunks.unshift(before);
          text.prepend(before.element);
          box.scrollTop += text.scrollHeight - high;
          if (chunks.length > MOST_CHUNKS) drop(chunks.pop(), false);
        } else break;
      }
    } catch (error) {
      report(error);
    } finally {
      busy = false;
      if (mine !== generation && source) fill();
    }
  }

  function drop(old, above) {
    const high = text.scrollHeight;
    old.element.remove();
    if (above) box.scrollTop -= high - text.scrollHeight;
  }

  function say() {
    if (!chunks.length || !source) return;
    const seen = text.scrollHeight ? box.scrollTop / text.scrollHeight : 0;
    const first = chunks[0].index * CHUNK;
    const held = Math.min((chunks.at(-1).index + 1) * CHUNK, source.size) - first;
    const position = Math.round(first + Math.min(Math.max(seen, 0), 1) * held);
    jump.say(position, source.size);
    moved(position, "payload");
    if (document.activeElement !== slider) slider.value = source.size ? Math.round((position / source.size) * STEPS) : 0;
  }

  function report(error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof Problem)) throw error;
    trouble.textContent = error.message;
    trouble.hidden = false;
    touch();
  }

  let timer = 0;
  slider.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => source && begin(Math.floor((slider.value / STEPS) * source.size)), 80);
  });
  box.addEventListener("scroll", () => {
    say();
    fill();
  }, { passive: true });
  box.addEventListener("keydown", (event) => {
    // The browser's own End would stop at the end of the chunks that are loaded.
    if (event.key === "Home" || event.key === "End") {
      event.preventDefault();
      begin(event.key === "Home" ? 0 : source.size - 1);
    }
  });
  return {
    element,
    async shown() {
      try {
        source = await openText(record, view, touch, abort);
        if (record.codings.length) {
          note.hidden = false;
          note.textContent = `Shown with its content coding (${record.codings.join(", ")}) decoded`
            + (source.whole ? `: ${bytes(source.size)}.` : `, as far as ${bytes(source.size)}.`);
        }
        tools.hidden = source.size <= 2 * CHUNK;
        if (!source.size) text.textContent = "There is no text: the payload is empty.";
        else await begin(at);
      } catch (error) {
        report(error);
      }
    },
    goTo: jump,
    title: count(record.payload_size, "byte"),
    close() {
      generation += 1;
      clearTimeout(timer);
      abort.abort();
      source?.close();
      source = null;
    },
  };
}
