// The cost of a record's views so far, requested from the server while something is read.

import { json } from "./api.js";
import { bytes, el, share } from "./dom.js";

const QUICK = 300;
const BUSY = 2500;

export class Cost {
  /**
   * @param view  name of the view
   * @param stored  bytes that the record takes in its file
   * @param told  called with each answer
   */
  constructor(view, stored, told) {
    this.view = view;
    this.stored = stored;
    this.told = told;
    this.until = 0;
    this.timer = 0;
    this.values = ["asked", "read", "decoded", "share"].map(() => el("dd", {}, "–"));
    const names = ["Sent to this page", "Read", "Decompressed", "Of the stored record"];
    this.element = el("dl", { class: "cost", "aria-label": "Cost of this view" });
    names.forEach((name, index) => this.element.append(el("div", {}, el("dt", {}, name), this.values[index])));
    this.element.title = "Read: from disk or network. What is still in memory is not read again.";
  }

  /** Something was read, or will be in a moment. */
  touch() {
    this.until = performance.now() + BUSY;
    if (!this.timer) this.timer = setTimeout(() => this.ask(), 60);
  }

  async ask() {
    const begun = performance.now();
    try {
      const cost = await json(`api/views/${this.view}`);
      if (this.closed) return;
      const fromMemory = !cost.bytes_read && cost.bytes_asked;
      const part = fromMemory ? "from memory" : share(Math.min(cost.bytes_read, this.stored), this.stored);
      const said = [bytes(cost.bytes_asked), bytes(cost.bytes_read), bytes(cost.bytes_decoded), part];
      said.forEach((text, index) => { this.values[index].textContent = text; });
      this.values.at(-1).classList.toggle("soft", Boolean(fromMemory));
      this.told(cost);
    } catch {
      // The view that reads shows the error.
    }
    // What counts is when it was requested: a late answer may be from before what was read since.
    this.timer = !this.closed && begun < this.until ? setTimeout(() => this.ask(), QUICK) : 0;
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
  }
}
