// All records at a glance: how many there are of each kind and month. Each bar is a filter of the list.

import { json } from "./api.js";
import { bytes, count, el, number, share } from "./dom.js";

const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/** Bars that have room for a label each. */
const MOST_LABELS = 12;
/** Files that are listed; those in which something is wrong are the first. */
const MOST_FILES = 200;

/** Whether single records are all that is wrong in a file. */
const isFaulty = (file) => file.problems > 0 && !wrongWith(file).length;

/** What is wrong in a file, in sentences. */
export function wrongWith(file) {
  return [
    ...(file.damaged ? [`${count(file.damaged, "place")} damaged, listed among the records; “seekwarc verify” describes the damage.`] : []),
    ...(file.problem ? [`${file.problem.replace(`${file.name}: `, "").replace(/\.$/, "")}. Records after byte ${number(file.position)} are not listed; “seekwarc recover” saves those that are intact.`] : []),
  ];
}

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
    this.files = [];
    this.archives = new Set();
    this.fileList = el("section", { class: "files" });
  }

  /** Take what is known of the files; `archives` are the names of those that hold records. */
  setFiles(files, archives) {
    const said = JSON.stringify([files, archives]);
    if (said === this.filesSaid) return;
    this.filesSaid = said;
    this.files = files;
    this.archives = new Set(archives);
    this.drawFiles();
  }

  drawFiles() {
    const focus = this.fileList.contains(document.activeElement) ? document.activeElement.dataset.bar : null;
    const largest = Math.max(...this.files.map((file) => file.size), 1);
    const rank = (file) => 2 * Boolean(wrongWith(file).length) + isFaulty(file);
    const sorted = [...this.files].sort((one, other) => rank(other) - rank(one));
    const rows = sorted.slice(0, MOST_FILES).map((file) => {
      const bar = el("i", {});
      bar.style.width = `${(100 * file.size) / largest}%`;
      const words = [el("span", { class: "name" }, file.name), el("span", { class: "much" }, `${number(file.records)} · ${bytes(file.size)}`), bar];
      const line = this.archives.has(file.name)
        ? el("button", { type: "button", class: "line-bar", title: `${file.name}: ${count(file.records, "record")}`, "data-bar": `file ${file.name}`, onclick: () => this.chosen({ file: file.name }) }, ...words)
        : el("div", { class: "line-bar" }, ...words);
      return el("li", {}, line, ...wrongWith(file).map((text) => el("p", { class: "wrong" }, text)), isFaulty(file) ? el("p", { class: "wrong" }, `${count(file.problems, "record")} with a problem: ${file.problems === 1 ? "its row is" : "their rows are"} marked.`) : null);
    });
    if (sorted.length > MOST_FILES) rows.push(el("li", { class: "rest" }, `and ${count(sorted.length - MOST_FILES, "other file")}`));
    this.fileList.replaceChildren(el("h3", {}, "Files"), el("ul", {}, ...rows));
    if (focus) this.fileList.querySelector(`[data-bar="${CSS.escape(focus)}"]`)?.focus();
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
      el("div", { class: "kinds" }, ...KINDS.map(([by, title, filter]) => this.kind(by, title, found.groups[by], filter)), this.fileList),
      el("p", { class: "hint" }, "Choose a bar to list its records, or a record to look at it."),
    );
    if (focus) this.root.querySelector(`[data-bar="${CSS.escape(focus)}"]`)?.focus();
  }

  /** A bar for each month, or each year, from the first to the last. */
  timeline(groups) {
    const dated = groups.filter((group) => /^\d{4}(-\d\d)?$/.test(group.name ?? ""));
    if (!dated.length) return null;
    let spans = wholeYear(months(dated.map((group) => group.name)));
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
    return el("figure", { class: "timeline" }, el("div", { class: "columns", role: "group", "aria-label": "Records by date" }, ...bars), el("figcaption", {}, ...labels(spans)));
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

/** The twelve months of the year that all months are of; other months unchanged. */
function wholeYear(spans) {
  const year = spans[0].slice(0, 4);
  return spans.at(-1).startsWith(year) ? MONTHS.map((_, index) => `${year}-${String(index + 1).padStart(2, "0")}`) : spans;
}

/** A label under each bar while there is room for that, else under the first and the last. */
function labels(spans) {
  if (spans.length > MOST_LABELS) return [el("span", {}, spans[0]), el("span", {}, spans.at(-1))];
  return spans.map((name, index) => {
    const month = MONTHS[Number(name.slice(5)) - 1];
    const isFirst = index === 0 || month === "Jan";
    return el("span", { class: "each" }, month ? el("span", {}, month) : name, month && isFirst ? el("span", {}, name.slice(0, 4)) : null);
  });
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
