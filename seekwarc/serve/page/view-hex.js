// Bytes in hex, any number of them: only visible bytes are read.

import { bytesUrl, Problem, RangeBytes } from "./api.js";
import { bytes, el, number, sizeOf } from "./dom.js";
import { goTo } from "./goto.js";
import { Rows } from "./rows.js";

const HEIGHT = 21;
const NARROW = 640;

export function hexView({ record, view, touch, at, part, moved }) {
  const box = el("div", { class: "rows hex", tabindex: 0, role: "region", "aria-label": "Bytes in hex" });
  const trouble = el("p", { class: "notice bad", role: "alert", hidden: true });
  const choice = el("select", { "aria-label": "Which bytes" },
    el("option", { value: "payload", disabled: record.payload_size === null }, `Payload, ${sizeOf(record)}`),
    el("option", { value: "block" }, `Block, ${bytes(record.block_size)}`));
  choice.value = record.payload_size === null ? "block" : part;
  const jump = goTo((position) => show(position, true));
  const element = el("div", { class: "view hexed" }, el("div", { class: "tools" }, choice, jump.element), trouble, box);
  let source = null;
  let wide = 16;
  let digits = 8;
  let failed = false;
  let waiting = false;

  let base = 0;
  let data = null;
  const rows = new Rows(box, HEIGHT, {
    wanted(first, seen) {
      const stop = Math.min((first + seen) * wide, source.size);
      base = first * wide;
      data = source.here(base, stop);
      if (!data && !failed) fetch(base, stop);
      else if (data) prefetch(stop);
      jump.say(base, source.size);
      moved(base, choice.value);
    },
    key: (index) => `${choice.value} ${wide} ${index} ${data !== null}`,
    make: (index) => line(index * wide, data?.subarray(index * wide - base, (index + 1) * wide - base)),
  });

  function line(offset, data) {
    const hex = [];
    let text = "";
    if (data) {
      for (let index = 0; index < wide; index += 1) {
        const value = data[index];
        hex.push(value === undefined ? "  " : value.toString(16).padStart(2, "0"));
        if (index % 8 === 7 && index + 1 < wide) hex.push("");
        text += value === undefined ? "" : value >= 32 && value < 127 ? String.fromCharCode(value) : "·";
      }
    }
    return el("div", { class: "line" },
      el("span", { class: "offset" }, offset.toString(16).padStart(digits, "0")),
      el("span", { class: "octets" }, hex.join(" ")),
      el("span", { class: "ascii" }, text));
  }

  async function fetch(start, stop) {
    if (waiting) return;
    waiting = true;
    // Dragging the scroll bar over gigabytes must not read all of them.
    await new Promise((done) => { setTimeout(done, 50); });
    waiting = false;
    const from = Math.floor(rows.top) * wide;
    try {
      await source?.read(from, from + (stop - start));
      if (source) rows.render();
    } catch (error) {
      report(error);
    }
  }

  function prefetch(stop) {
    source.read(stop, stop + 4096).catch(report);
  }

  function report(error) {
    if (error.name === "AbortError") return;
    if (!(error instanceof Problem)) throw error;
    failed = true;
    trouble.textContent = error.message;
    trouble.hidden = false;
    touch();
  }

  function show(position, focus) {
    failed = false;
    trouble.hidden = true;
    rows.go(Math.floor(position / wide));
    if (focus) box.focus();
  }

  function open(position) {
    source?.close();
    const size = choice.value === "payload" ? record.payload_size : record.block_size;
    source = new RangeBytes(bytesUrl(record.id, choice.value, view), size, touch);
    digits = Math.max(8, (size - 1).toString(16).length);
    fit();
    rows.setTotal(Math.ceil(size / wide));
    if (!size) {
      trouble.hidden = false;
      trouble.textContent = "There are no bytes.";
    }
    show(position, false);
  }

  function fit() {
    wide = (box.clientWidth || element.clientWidth || window.innerWidth) < NARROW ? 8 : 16;
  }

  const watcher = new ResizeObserver(() => {
    const before = wide;
    const position = Math.floor(rows.top) * wide;
    fit();
    if (source && before !== wide) {
      rows.setTotal(Math.ceil(source.size / wide));
      rows.go(Math.floor(position / wide));
    }
  });
  choice.addEventListener("change", () => open(0));
  box.addEventListener("keydown", (event) => rows.key(event));
  return {
    element,
    shown() {
      open(at);
      watcher.observe(box);
    },
    goTo: jump,
    title: `${number(record.payload_size ?? record.block_size)} bytes`,
    close() {
      watcher.disconnect();
      rows.close();
      source?.close();
      source = null;
    },
  };
}
