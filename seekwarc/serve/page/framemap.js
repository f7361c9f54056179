// The record's frames as a picture. Each frame is as wide as its content, and as high as it is stored: a full
// column did not compress. Frames that this view has fetched light up.

import { bytes, count, el, number, share } from "./dom.js";

/** States of frames: the name in a cost, the word for people, the colour. Later ones are painted over. */
const STATES = [
  ["from_memory", "from memory", "--frame-memory"],
  ["frames", "fetched", "--frame-lit"],
  ["damaged", "damaged", "--frame-bad"],
];

export class FrameMap {
  /** @param picked  called with the first content byte of a cell that was picked */
  constructor(picked) {
    this.picked = picked;
    this.cells = [];
    this.starts = [0];
    this.cost = null;
    this.at = -1;
    this.canvas = el("canvas", { class: "frames-picture" });
    this.slider = el("div", {
      class: "frames-slider", role: "slider", tabindex: 0, "aria-label": "Frames of the record", "aria-valuemin": 0,
    }, this.canvas);
    this.caption = el("p", { class: "frames-caption" });
    this.element = el("div", { class: "frames" }, this.slider, this.caption);
    this.slider.addEventListener("pointermove", (event) => this.point(this.cellAt(event)));
    this.slider.addEventListener("pointerleave", () => this.point(-1));
    this.slider.addEventListener("blur", () => this.point(-1));
    this.slider.addEventListener("click", (event) => this.pick(this.cellAt(event)));
    this.slider.addEventListener("keydown", (event) => this.key(event));
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.slider);
    this.redraw = () => this.draw();
    document.addEventListener("themechange", this.redraw);
  }

  show(map) {
    this.map = map;
    this.cells = map.cells;
    this.starts = [0];
    for (const [, , content] of map.cells) this.starts.push(this.starts.at(-1) + content);
    this.slider.setAttribute("aria-valuemax", Math.max(map.cells.length - 1, 0));
    this.slider.hidden = !map.frames;
    this.point(-1);
    this.draw();
  }

  /** Light frames up; each state of a cost is runs [first, last). */
  light(cost) {
    const key = JSON.stringify(STATES.map(([name]) => cost[name]));
    if (key === this.lit) return;
    this.lit = key;
    this.cost = cost;
    if (this.at < 0) this.say();
    this.draw();
  }

  /** How many of the frames [first, last) are in a state. */
  known(state, first = 0, last = Infinity) {
    return (this.cost?.[state] ?? []).reduce((sum, [begin, end]) => sum + Math.max(Math.min(last, end) - Math.max(first, begin), 0), 0);
  }

  /** What of the frames [first, last) is known, in words. */
  words(first, last) {
    return STATES.map(([name, word]) => [this.known(name, first, last), word]).filter(([many]) => many).map(([many, word]) => `${number(many)} ${word}`);
  }

  say() {
    const map = this.map;
    if (!map) return;
    let text;
    if (!map.frames) {
      text = "Its frames cannot be reached one by one: it is read from its beginning. “seekwarc convert” repairs that.";
    } else if (this.at >= 0) {
      const [first, last, content, stored] = this.cells[this.at];
      const which = last - first === 1 ? `Frame ${number(first)}` : `Frames ${number(first)} to ${number(last - 1)}`;
      const how = stored >= content ? "stored as it is" : `compressed to ${share(stored, content)}`;
      text = [`${which}: ${bytes(content)} in ${bytes(stored)}, ${how}`, ...this.words(first, last)].join("; ");
    } else {
      const known = this.words().join(", ") || "none fetched";
      text = `${count(map.frames, "frame")}, ${bytes(map.content)} in ${bytes(map.stored)} (${share(map.stored, map.content)}); ${known}`;
    }
    this.caption.textContent = text;
    this.slider.setAttribute("aria-valuenow", Math.max(this.at, 0));
    this.slider.setAttribute("aria-valuetext", text);
  }

  cellAt(event) {
    const box = this.slider.getBoundingClientRect();
    const wanted = ((event.clientX - box.left) / box.width) * this.starts.at(-1);
    let low = 0;
    let high = this.cells.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= wanted) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  point(cell) {
    this.at = cell;
    this.say();
    this.draw();
  }

  pick(cell) {
    if (this.cells.length) this.picked(this.starts[cell]);
  }

  key(event) {
    const last = this.cells.length - 1;
    const moves = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 20, PageDown: -20, Home: -last, End: last };
    if (event.key === "Enter" && this.at >= 0) this.pick(this.at);
    else if (event.key in moves) this.point(Math.min(Math.max(Math.max(this.at, 0) + moves[event.key], 0), last));
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  draw() {
    const { width, height } = this.slider.getBoundingClientRect();
    if (!width || !this.cells.length) return;
    const dense = window.devicePixelRatio || 1;
    this.canvas.width = Math.round(width * dense);
    this.canvas.height = Math.round(height * dense);
    const paint = this.canvas.getContext("2d");
    const style = getComputedStyle(this.slider);
    const colour = (name) => style.getPropertyValue(name).trim();
    const [room, ink, point] = ["--frame-room", "--frame-ink", "--frame-point"].map(colour);
    const states = STATES.map(([name, , variable]) => [name, colour(variable)]);
    const total = this.starts.at(-1) || 1;
    const full = this.canvas.height;
    const gap = this.canvas.width / this.cells.length > 5 * dense ? dense : 0;
    this.cells.forEach(([first, last, content, stored], index) => {
      const left = Math.floor((this.starts[index] / total) * this.canvas.width);
      const right = Math.floor((this.starts[index + 1] / total) * this.canvas.width);
      const wide = Math.max(right - left - gap, 1);
      const high = Math.max(Math.round(Math.min(content ? stored / content : 0, 1) * full), 2 * dense);
      const bar = (colour, alpha, from) => {
        paint.globalAlpha = alpha;
        paint.fillStyle = colour;
        paint.fillRect(left, from, wide, full - from);
        paint.globalAlpha = 1;
      };
      bar(room, 1, 0);
      bar(ink, 1, full - high);
      for (const [name, tint] of states) {
        const part = this.known(name, first, last) / (last - first);
        if (!part) continue;
        bar(tint, 0.15 + 0.15 * part, 0);
        bar(tint, 0.45 + 0.55 * part, full - high);
      }
    });
    if (this.at >= 0) {
      const left = (this.starts[this.at] / total) * this.canvas.width;
      paint.fillStyle = point;
      paint.fillRect(Math.min(left, this.canvas.width - 2 * dense), 0, 2 * dense, full);
    }
  }

  close() {
    this.observer.disconnect();
    document.removeEventListener("themechange", this.redraw);
  }
}
