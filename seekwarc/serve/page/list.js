// The list of records: pages of rows are fetched when they become visible.

import { json, Problem } from "./api.js";
import { bytes, count, date, el, number, settled } from "./dom.js";
import { Rows } from "./rows.js";

const PAGE = 100;
const PAGES_KEPT = 60;
const ROW = 50;

export class RecordList {
  /**
   * @param box  the listbox
   * @param found  says how many were found
   * @param opened  called with the ID of a record that is opened
   */
  constructor(box, found, opened) {
    this.box = box;
    this.found = found;
    this.opened = opened;
    this.active = 0;
    this.damaged = 0;
    this.openId = null;
    this.rows = new Rows(box, ROW, {
      wanted: (first, seen) => this.wanted(first, seen),
      key: (index) => this.keyOf(this.row(index)),
      make: (index) => this.element(index, this.row(index)),
      mark: (element, index) => this.markRow(element, index),
      shown: (rows) => this.tellActive(rows),
    });
    this.reset({});
    this.loadSoon = settled(() => this.load(), 40);
    box.addEventListener("keydown", (event) => this.key(event));
    box.addEventListener("click", (event) => {
      const index = event.target.closest("[data-index]")?.dataset.index;
      if (index !== undefined) this.choose(Number(index), true);
    });
  }

  reset(query) {
    this.query = query;
    this.pages = new Map();
    this.alike = new Map();
    this.total = 0;
    this.complete = false;
    this.fresh = true;
    this.waiting = false;
    this.generation = (this.generation ?? 0) + 1;
  }

  /** Search; the old rows stay until the answer is here. */
  async search(query) {
    const same = new URLSearchParams(query).toString() === new URLSearchParams(this.query).toString();
    if (!same) {
      this.reset(query);
      this.active = 0;
      this.rows.top = 0;
    }
    await this.fetchPage(Math.floor(this.rows.top / PAGE), true);
  }

  /** Ask again for the rows, while the files are still being scanned. */
  refresh() {
    return this.fetchPage(Math.floor(this.rows.top / PAGE), true);
  }

  async fetchPage(page, again = false) {
    if (this.pages.has(page) && !again) return;
    const { generation } = this;
    if (!this.pages.has(page)) this.pages.set(page, null);
    const query = new URLSearchParams({ ...this.query, start: page * PAGE, count: PAGE });
    try {
      const answer = await json(`api/records?${query}`);
      if (generation !== this.generation) return;
      if (answer.total !== this.total) {
        // If rows are sorted, new ones move the others.
        const only = this.query.sort && this.query.sort !== "stored" ? [] : [...this.pages].filter(([, rows]) => rows?.length === PAGE);
        this.pages = new Map(only);
      }
      this.pages.set(page, answer.records);
      if (this.pages.size > PAGES_KEPT) this.pages.delete(this.pages.keys().next().value);
      this.compare();
      this.total = answer.total;
      this.complete = answer.complete;
      this.say();
      this.rows.setTotal(this.total);
      if (this.waiting && this.row(this.active)) this.choose(this.active, true);
      if (this.fresh && this.openId) this.findOpen();
      this.fresh = false;
    } catch (error) {
      if (generation !== this.generation) return;
      this.pages.delete(page);
      if (!(error instanceof Problem)) throw error;
      this.complain(error.message);
    }
  }

  complain(text) {
    this.found.textContent = text;
    this.found.classList.add("bad");
  }

  countDamage(places) {
    if (places === this.damaged) return;
    this.damaged = places;
    this.say();
  }

  say() {
    this.found.classList.remove("bad");
    const filtered = Object.keys(this.query).some((name) => name !== "sort" && name !== "folded");
    const reading = this.complete ? "" : ", still reading";
    // Damaged places are rows, too. They have nothing that a filter could find.
    const records = this.total - (filtered ? 0 : this.damaged);
    if (this.total) this.found.textContent = count(records, "record") + reading;
    else if (!this.complete) this.found.textContent = "Reading …";
    else this.found.textContent = filtered ? "No record matches." : "There are no records.";
  }

  load() {
    const first = Math.floor(this.rows.top / PAGE);
    const last = Math.floor((this.rows.top + this.rows.seen) / PAGE);
    for (let page = first; page <= last && page * PAGE < this.total; page += 1) this.fetchPage(page);
  }

  row(index) {
    return this.pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  /** Find the rows that look the same: how many files have them tells what sets them apart. */
  compare() {
    this.alike = new Map();
    for (const rows of this.pages.values()) {
      for (const row of rows ?? []) {
        const look = lookOf(row);
        const files = this.alike.get(look);
        if (!files) this.alike.set(look, [row.file]);
        else files.push(row.file);
      }
    }
  }

  /** What sets a row apart from those that look the same: its file, its place, or nothing. */
  placeOf(row) {
    const files = this.alike.get(lookOf(row)) ?? [];
    const isAlone = files.length < 2;
    if (isAlone && (row.uri !== null || this.isOneFile)) return null;
    const others = new Set(files).size < files.length;
    const offset = others ? `byte ${number(row.offset)}` : null;
    return [new Set(files).size > 1 || isAlone ? row.file : null, offset].filter(Boolean).join(", ");
  }

  keyOf(row) {
    return row && `${row.id} ${row.parts} ${this.placeOf(row)}`;
  }

  /** Fetch missing rows that will be shown. */
  wanted(first, seen) {
    for (let index = first; index < first + seen; index += 1) {
      if (this.row(index)) continue;
      this.loadSoon();
      break;
    }
  }

  /** Tell a screen reader which row is active, if it is there. */
  tellActive(rows) {
    if (rows.has(this.active)) this.box.setAttribute("aria-activedescendant", `row-${this.active}`);
    else this.box.removeAttribute("aria-activedescendant");
  }

  element(index, row) {
    const attributes = { id: `row-${index}`, class: "row", role: "option", "aria-posinset": index + 1, "data-index": index };
    if (!row) return el("div", { ...attributes, "aria-label": "loading" }, el("div", { class: "ghost" }), el("div", { class: "ghost short" }));
    if (row.is_damage) {
      return el("div", { ...attributes, class: "row damaged", title: row.problem }, el("div", { class: "uri" }, "A damaged place"), el(
        "div", { class: "about" }, el("span", { class: "media" }, row.problem), this.isOneFile ? null : el("span", { class: "file" }, el("bdi", {}, row.file)), el("span", { class: "size" }, `byte ${number(row.offset)}`),
      ));
    }
    const place = this.placeOf(row);
    const isFilm = row.parts > 1;
    const name = uri(row.page ?? row.uri ?? (row.type === "warcinfo" ? "About this file" : "no URI"));
    // The end of a long name tells files apart, so its beginning is cut.
    const where = place && el("span", { class: "file", title: row.file }, el("bdi", {}, place));
    return el("div", attributes, el("div", { class: "top" }, name, where), el(
      "div", { class: "about" },
      el("span", { class: `kind ${row.type}`, title: row.page_part && row.uri }, row.page_part ?? row.type ?? "no type"),
      el("span", { class: "media" }, row.mime ?? ""),
      row.problem ? el("span", { class: "bad", title: row.problem }, "problem") : null,
      !isFilm && row.status !== null && row.status !== 200 ? el("span", { class: row.status >= 400 ? "status bad" : "status" }, String(row.status)) : null,
      el("span", { class: "when" }, date(row.date)),
      el("span", { class: "size" }, isFilm ? count(row.parts, "part") : bytes(row.size)),
    ));
  }

  /** Show which row is active and which is open, on the element that is there. */
  markRow(element, index) {
    const row = this.row(index);
    element.classList.toggle("active", index === this.active);
    element.setAttribute("aria-selected", String(row !== undefined && row.id === this.openId));
    element.setAttribute("aria-setsize", this.total);
  }

  key(event) {
    const page = Math.max(Math.floor(this.rows.seen) - 1, 1);
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity, j: 1, k: -1 };
    const move = moves[event.key];
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") this.choose(this.active, true);
    else if (move !== undefined) this.choose(Math.min(Math.max(this.active + move, 0), Math.max(this.total - 1, 0)), false);
    else return;
    event.preventDefault();
  }

  focus() {
    this.box.focus();
  }

  /** Open the first record that is found, as soon as it is here. */
  openFirst() {
    this.focus();
    this.choose(0, true);
  }

  choose(index, open) {
    this.active = index;
    this.rows.reveal(index);
    const row = this.row(index);
    // A row that was not loaded yet is opened when it is.
    this.waiting = open && !row;
    if (open && row) this.opened(row.id);
  }

  /** Open the next or previous record of the list. */
  async step(by) {
    const index = this.active + by;
    if (index < 0 || index >= this.total) return;
    await this.fetchPage(Math.floor(index / PAGE));
    this.choose(index, true);
  }

  /** Mark the record that is open. */
  mark(id) {
    this.openId = id;
    this.findOpen();
    this.rows.render();
  }

  /** Go on from the open record, if it is among the rows that are here: a link may have led to it. */
  findOpen() {
    if (this.row(this.active)?.id === this.openId) return;
    for (const [page, rows] of this.pages) {
      const index = rows?.findIndex((row) => row.id === this.openId) ?? -1;
      if (index < 0) continue;
      this.active = page * PAGE + index;
      this.rows.reveal(this.active);
    }
  }
}

/** All that a row shows but for its place. */
const lookOf = (row) => JSON.stringify([row.is_damage && row.id, row.uri, row.type, row.mime, row.status, row.date, bytes(row.size), row.parts]);

/** The URI, its host less prominent than its path, which tells records apart. */
function uri(text) {
  const match = /^([a-z][a-z0-9+.-]*:\/\/[^/]+)(\/.*)$/i.exec(text);
  const line = el("div", { class: "uri", title: text });
  if (match) line.append(el("span", { class: "host" }, match[1].replace(/^https?:\/\//i, "")), match[2]);
  else line.append(text);
  return line;
}
