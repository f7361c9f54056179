// A scrolling view of very many rows of one height, of which only those that are seen exist.
//
// No browser makes an element as high as 600 million rows. Above TALLEST pixels the scroll bar stands for the
// whole, and wheel, keys and fingers move by rows.
//
// The element of a row stays as long as the row shows the same: an element that is replaced, or only moved,
// between the press and the release of a mouse button takes the click with it.

const TALLEST = 8_000_000;

export class Rows {
  /**
   * @param box  the element that scrolls
   * @param height  of a row, in pixels
   * @param content  {wanted(first, count)} is called before rows are shown, so that it can fetch them;
   *   {key(index)} tells what a row shows, {make(index)} makes its element, and {mark(element, index)}
   *   changes what may change while the key stays; {shown(rows)} is called with the rows that are there
   */
  constructor(box, height, content) {
    this.box = box;
    this.height = height;
    this.content = content;
    this.shown = new Map();
    this.total = 0;
    this.top = 0;
    // The scrollTop that `top` was last made from, or that was made from `top`.
    this.known = 0;
    this.space = document.createElement("div");
    this.space.className = "rows-space";
    this.layer = document.createElement("div");
    this.layer.className = "rows-layer";
    this.layer.setAttribute("role", "presentation");
    this.space.setAttribute("role", "presentation");
    box.replaceChildren(this.space, this.layer);
    box.addEventListener("scroll", () => this.scrolled(), { passive: true });
    box.addEventListener("wheel", (event) => this.wheeled(event), { passive: false });
    box.addEventListener("touchstart", (event) => { this.finger = event.touches[0].clientY; }, { passive: true });
    box.addEventListener("touchmove", (event) => this.dragged(event), { passive: false });
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(box);
  }

  get seen() {
    return this.box.clientHeight / this.height;
  }

  get lastTop() {
    return Math.max(this.total - this.seen, 0);
  }

  get scaled() {
    return this.total * this.height > TALLEST;
  }

  setTotal(total) {
    this.total = total;
    this.resize();
  }

  resize() {
    // A scroll that the browser has not told yet must not be undone.
    this.scrolled();
    this.space.style.height = `${Math.min(this.total * this.height, TALLEST)}px`;
    this.go(this.top);
  }

  /** Show row `top` (may be a fraction) first. */
  go(top) {
    this.top = Math.min(Math.max(top, 0), this.lastTop);
    const room = this.box.scrollHeight - this.box.clientHeight;
    const wanted = this.scaled ? (this.lastTop ? (this.top / this.lastTop) * room : 0) : this.top * this.height;
    if (Math.abs(this.box.scrollTop - wanted) >= 1) {
      this.box.scrollTop = wanted;
      // What the browser made of it is not where somebody scrolled to.
      this.known = this.box.scrollTop;
    }
    this.render();
  }

  /** Bring row `index` into sight. */
  reveal(index) {
    if (index < this.top) this.go(index);
    else if (index > this.top + this.seen - 1) this.go(index - this.seen + 1);
    else this.render();
  }

  scrolled() {
    const at = this.box.scrollTop;
    if (Math.abs(at - this.known) < 1) return;
    this.known = at;
    const room = this.box.scrollHeight - this.box.clientHeight;
    this.top = this.scaled ? (room ? (at / room) * this.lastTop : 0) : at / this.height;
    this.render();
  }

  wheeled(event) {
    if (!this.scaled || event.ctrlKey) return;
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 1 : event.deltaMode === 2 ? this.seen : 1 / this.height;
    this.go(this.top + event.deltaY * unit);
  }

  dragged(event) {
    // Two fingers zoom.
    if (!this.scaled || event.touches.length > 1) return;
    event.preventDefault();
    const y = event.touches[0].clientY;
    this.go(this.top + (this.finger - y) / this.height);
    this.finger = y;
  }

  render() {
    const first = Math.floor(this.top);
    const count = Math.max(Math.min(Math.ceil(this.seen) + 1, this.total - first), 0);
    const before = this.shown;
    this.shown = new Map();
    if (count) this.content.wanted(first, count);
    for (let index = first; index < first + count; index += 1) {
      const key = this.content.key(index);
      const old = before.get(index);
      this.shown.set(index, old && old.key === key ? old : { key, element: this.content.make(index) });
    }
    for (const [index, row] of before) if (this.shown.get(index) !== row) row.element.remove();
    let next = this.layer.firstElementChild;
    for (const [index, { element }] of this.shown) {
      if (element === next) next = next.nextElementSibling;
      else this.layer.insertBefore(element, next);
      this.content.mark?.(element, index);
    }
    this.content.shown?.(this.shown);
    this.layer.style.transform = `translateY(${this.box.scrollTop - (this.top - first) * this.height}px)`;
  }

  /** Move by a key; true if it was one that moves. */
  key(event) {
    const steps = {
      ArrowDown: 1, ArrowUp: -1, PageDown: this.seen - 1, PageUp: 1 - this.seen, Home: -Infinity, End: Infinity,
    };
    const step = steps[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return false;
    event.preventDefault();
    this.go(Number.isFinite(step) ? this.top + step : step > 0 ? this.lastTop : 0);
    return true;
  }

  close() {
    this.observer.disconnect();
  }
}
