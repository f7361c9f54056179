// All records at a glance: how many there are of each kind and month. Each bar is a filter of the list.

import { json } from "./api.js";
import { bytes, count, el, number, share } from "./dom.js";

const KINDS = [
  ["type", "Types", (name) => ({ type: name })],
  ["status", "Status", (name) => ({ status: name })],
  ["mime", "Media types", (name) => ({ mime: name })],
  ["host", "Hosts", (name) => ({ q: name })],
];
/** Milliseconds between two requests while the files are being scanned. */
const AGAIN = 1500;
/** Months that fit beside each other; more are shown year by year. */
const MOST_BARS = 72;

export class Glance {
  /**
   * @param chosen  called with the filter that a bar stands for
   */
  constructor(chosen) {
    this.chosen = chosen;
    this.root = el("div", { class: "glance", tabindex: "-1" });
    this.said = null;
    this.timer = 0;
  }

  /** Fetch, and draw what has changed; again until all files are scanned. */
  async show() {
    clearTimeout(this.timer);
    let found;
    try {
      found = await json("api/glance");
    } catch {
      this.timer = setTimeout(() => this.show(), 2 * AGAIN);
      return;
    }
    const said = JSON.stringify(found);
    if (said !== this.said) this.draw(found);
    this.said = said;
    if (!found.complete && this.root.isConnected) this.timer = setTimeout(() => this.show(), AGAIN);
  }

  close() {
    clearTimeout(this.timer);
  }

  draw(found) {
    // The bar that has the focus keeps it.
    const focus = this.root.contains(document.activeElement) ? document.activeElement.dataset.bar : null;
    const totals = [...found.groups.type.groups, ...(found.groups.type.others ? [found.groups.type.others] : [])];
    const sum = (field) => totals.reduce((before, group) => before + group[field], 0);
    const facts = [`${count(sum("records"), "record")}`, `${bytes(sum("content_size"))}, stored in ${bytes(sum("stored_size"))} (${share(sum("stored_size"), sum("content_size"))})`];
    if (found.revisits && found.saved_by_revisits > 0) facts.push(`${count(found.revisits, "revisit")} save ${bytes(found.saved_by_revisits)}`);
    else if (found.revisits) facts.push(count(found.revisits, "revisit"));
    this.root.replaceChildren(
      el("h2", {}, "At a glance"),
      el("p", { class: "facts" }, ...facts.map((fact) => el("span", {}, fact)), found.complete ? null : el("span", {}, "still reading …")),
      this.timeline(found.groups.month.groups),
      el("div", { class: "kinds" }, ...KINDS.map(([by, title, filter]) => this.kind(by, title, found.groups[by], filter))),
      el("p", { class: "hint" }, "Choose a bar to list its records, or a record to look at it."),
    );
    if (focus) this.root.querySelector(`[data-bar="${CSS.escape(focus)}"]`)?.focus();
  }

  /** A bar for each month, or each year, from the first to the last. */
  timeline(groups) {
    const dated = groups.filter((group) => /^\d{4}(-\d\d)?$/.test(group.name ?? ""));
    if (!dated.length) return null;
    let spans = months(dated.map((group) => group.name));
    const length = spans.length > MOST_BARS ? 4 : 7;
    spans = [...new Set(spans.map((name) => name.slice(0, length)))].slice(-400);
    const records = new Map();
    for (const group of dated) records.set(group.name.slice(0, length), (records.get(group.name.slice(0, length)) ?? 0) + group.records);
    const most = Math.max(...records.values());
    const bars = spans.map((name) => {
      const here = records.get(name) ?? 0;
      const bar = el("i", {});
      bar.style.height = here ? `${Math.max(4, (100 * here) / most)}%` : "0";
      const text = `${name}: ${count(here, "record")}`;
      return el("button", { type: "button", title: text, "aria-label": text, "data-bar": `month ${name}`, disabled: !here, onclick: () => this.chosen({ since: name, until: name }) }, bar);
    });
    return el("figure", { class: "timeline" }, el("div", { class: "columns", role: "group", "aria-label": "Records by date" }, ...bars), el("figcaption", {}, el("span", {}, spans[0]), spans.length > 1 ? el("span", {}, spans.at(-1)) : null));
  }

  kind(by, title, { groups, others }, filter) {
    const most = Math.max(...groups.map((group) => group.stored_size), 1);
    const rows = groups.map((group) => {
      const bar = el("i", {});
      bar.style.width = `${(100 * group.stored_size) / most}%`;
      const name = group.name ?? "none";
      const about = `${count(group.records, "record")}, ${bytes(group.stored_size)} stored`;
      const words = [el("span", { class: "name" }, name), el("span", { class: "much" }, `${number(group.records)} · ${bytes(group.stored_size)}`), bar];
      if (group.name === null) return el("li", { title: about }, el("div", { class: "line-bar" }, ...words));
      return el("li", {}, el("button", { type: "button", class: "line-bar", title: `${name}: ${about}`, "data-bar": `${by} ${name}`, onclick: () => this.chosen(filter(name)) }, ...words));
    });
    if (others) rows.push(el("li", { class: "rest" }, `all others: ${count(others.records, "record")}, ${bytes(others.stored_size)}`));
    return el("section", {}, el("h3", {}, title), el("ul", {}, ...rows));
  }
}

/** All months from the first to the last; the names may be years, too. */
function months(names) {
  const sorted = [...names].sort();
  const at = (name, missing) => Number(name.slice(0, 4)) * 12 + Number(name.slice(5, 7) || missing) - 1;
  const [first, last] = [at(sorted[0], 1), at(sorted.at(-1), 12)];
  // A wrong date may be centuries away.
  const begin = Math.max(first, last - 12 * 400);
  return Array.from({ length: last - begin + 1 }, (_, index) => `${String(Math.floor((begin + index) / 12)).padStart(4, "0")}-${String(((begin + index) % 12) + 1).padStart(2, "0")}`);
}
