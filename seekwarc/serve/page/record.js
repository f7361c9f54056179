// One record: its description, its views, its frames, and the cost of viewing it.

import { json, payloadUrl, recordUrl } from "./api.js";
import { copyButton } from "./copy.js";
import { Cost } from "./cost.js";
import { bytes, count, date, el, sizeOf } from "./dom.js";
import { FrameMap } from "./framemap.js";
import { headersView, remarksOf } from "./view-headers.js";
import { hexView } from "./view-hex.js";
import { imageView } from "./view-image.js";
import { jsonView } from "./view-json.js";
import { mediaView } from "./view-media.js";
import { pageView } from "./view-page.js";
import { textView } from "./view-text.js";

const VIEWS = {
  play: ["Play", mediaView],
  image: ["Image", imageView],
  page: ["Page", pageView],
  json: ["JSON", jsonView],
  text: ["Text", textView],
  hex: ["Hex", hexView],
  headers: ["Headers", headersView],
};
const TEXTUAL = /^text\/|[/+](json|xml|javascript|ecmascript|x-ndjson|warc-fields|x-www-form-urlencoded|http|yaml|toml|x-sh|svg\+xml)$/;
const SVG = "image/svg+xml";
const HTML = /^(text\/html|application\/xhtml\+xml)$/;
const CELLS = 1024;
/** Bytes of a record whose frames and cost are shown without a click. */
const LARGE = 256 * 1024;
/** Milliseconds between two requests for a size. The server counts only as long as it is asked. */
const PATIENCE = 500;

/** The views that make sense for a record, the best first. */
function viewsOf(record) {
  const type = record.mime ?? "";
  const views = [];
  if (record.payload_size) {
    if (/^(audio|video)\//.test(type)) views.push("play");
    if (type === SVG || (/^image\//.test(type) && !/svg|xml/.test(type))) views.push("image");
    if (/[/+]json$/.test(type)) views.push("json");
    if (HTML.test(type)) views.push("page");
    if (TEXTUAL.test(type)) views.push("text");
    // A browser shows no PDF in a sandbox, and without one its links could leave this page: so its bytes.
    if (type === "application/pdf") views.push("hex");
  }
  if (!views.length || record.payload_size === 0) views.push("headers");
  if (record.block_size && !views.includes("hex")) views.push("hex");
  if (record.payload_size && !/^(audio|video|image)\//.test(type) && !views.includes("text")) views.push("text");
  if (!views.includes("headers")) views.push("headers");
  // In the order in which the tabs stand, which is always the same.
  return { best: views[0], all: Object.keys(VIEWS).filter((name) => views.includes(name)) };
}

export class RecordPane {
  /**
   * @param root  the element to fill
   * @param changed  called with what of the state changed: {tab, at, part} or {r}
   * @param glance  what is shown as long as no record is
   */
  constructor(root, changed, glance) {
    this.root = root;
    this.changed = changed;
    this.glance = glance;
    this.current = null;
    this.empty();
  }

  empty() {
    this.leave();
    this.id = null;
    if (!this.root.contains(this.glance.root)) this.root.replaceChildren(this.glance.root);
    this.glance.show();
  }

  leave() {
    this.glance.close();
    this.current?.close();
    this.frames?.close();
    this.cost?.close();
    this.current = this.frames = this.cost = null;
  }

  /** Show record `id`; `state` has the tab and the place that a link names. */
  async show(id, state) {
    if (id === this.id && this.record) {
      if (state.tab && state.tab !== this.tab) this.open(state.tab, state);
      return;
    }
    this.leave();
    this.id = id;
    this.record = null;
    this.isChosen = Boolean(state.tab);
    this.place = {};
    this.view = Array.from(crypto.getRandomValues(new Uint8Array(12)), (value) => value.toString(36)).join("").slice(0, 20);
    this.root.setAttribute("aria-busy", "true");
    try {
      this.summary ??= await json("api/summary");
      const record = await json(`${recordUrl(id)}?view=${this.view}`);
      if (id !== this.id) return;
      this.record = record;
      this.build(state);
      this.awaitSize(id);
    } catch (error) {
      if (id !== this.id) return;
      this.root.replaceChildren(this.back(), el("div", { class: "nothing" }, el("h2", {}, "This record cannot be opened"), el("p", { class: "notice bad", role: "alert" }, error.message)));
    } finally {
      this.root.removeAttribute("aria-busy");
    }
  }

  /** Ask until the size of the payload is known, and show the record again with the views that it has then. */
  async awaitSize(id) {
    const isShown = () => id === this.id && this.record?.counting;
    while (isShown()) {
      await new Promise((resolve) => setTimeout(resolve, PATIENCE));
      if (!isShown()) return;
      let record;
      try {
        record = await json(`${recordUrl(id)}?view=${this.view}`);
      } catch {
        continue; // The server may be back in a while.
      }
      if (!isShown()) return;
      if (record.counting) continue;
      const isFocused = this.root.contains(document.activeElement);
      const state = this.isChosen ? { tab: this.tab, ...this.place } : {};
      this.leave();
      this.record = record;
      this.build(state);
      if (isFocused) this.focus();
    }
  }

  back() {
    return el("button", { type: "button", class: "quiet back", onclick: () => this.changed({ r: null }) }, "‹ List");
  }

  build(state) {
    const { record } = this;
    const views = viewsOf(record);
    this.tabs = el("div", { class: "tabs", role: "tablist", "aria-label": "Views of the record" });
    this.panel = el("div", { class: "panel", role: "tabpanel", id: "panel" });
    for (const name of views.all) {
      const tab = el("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": "panel", "data-tab": name }, VIEWS[name][0]);
      tab.addEventListener("click", () => this.choose(name));
      this.tabs.append(tab);
    }
    this.tabs.addEventListener("keydown", (event) => this.tabKey(event, views.all));
    this.frames = new FrameMap((position) => this.jump(position));
    this.cost = new Cost(this.view, record.length, (cost) => this.frames?.light(cost));
    this.root.replaceChildren(
      el("div", { class: "record-head" }, this.back(), this.title(), ...this.notes()),
      el("div", { class: "tab-bar" }, this.tabs, this.replay(), this.copy(), this.save()),
      this.panel,
      this.foot(),
    );
    this.open(views.all.includes(state.tab) ? state.tab : views.best, state);
    this.loadFrames(record.id);
  }

  /** What the views cost: shown at once where it tells something, under a film and not under a small page. */
  foot() {
    const { record } = this;
    const isLarge = record.length >= LARGE || record.payload_size >= LARGE || record.counting || record.problem;
    const foot = el("details", { class: "foot", open: this.showsCost ?? Boolean(isLarge) }, el("summary", {}, "Frames and cost"), this.frames.element, this.cost.element);
    foot.querySelector("summary").addEventListener("click", () => { this.showsCost = !foot.open; });
    return foot;
  }

  title() {
    const { record } = this;
    const facts = [
      date(record.date), record.http?.status ? String(record.http.status) : null, record.mime,
      record.counting ? "size being counted…" : record.payload_size === null ? null : sizeOf(record), record.codings.length ? record.codings.join(", ") : null,
    ];
    return el("div", {},
      el("h2", { tabindex: -1, id: "record-title" }, record.uri ?? record.file_name),
      el("p", { class: "facts" }, el("span", { class: `kind ${record.type}` }, record.type ?? "no type"), ...facts.filter(Boolean).map((fact) => el("span", {}, fact)), this.remarks()));
  }

  /** Harmless deviations: shown quietly, apart from damage, and in full under Headers. */
  remarks() {
    const many = remarksOf(this.record).length;
    if (!many) return null;
    const text = count(many, "remark");
    return el("button", {
      type: "button", class: "link remarks", "aria-label": `${text}, no damage: see Headers`, title: "Deviations from the head or the standard; no damage",
      onclick: () => {
        this.open("headers", {});
        this.panel.querySelector("#remarks")?.scrollIntoView();
      },
    }, text);
  }

  notes() {
    const { record } = this;
    const notes = [];
    if (record.counting) {
      notes.push(el("p", { class: "notice", role: "status" }, "The payload is being counted… It is stored in chunks, and its size is known once all of them are counted."));
    }
    if (record.problem) {
      const what = record.payload_size === null ? "The payload is unavailable: " : "Damage: ";
      notes.push(el("p", { class: "notice bad", role: "alert" }, el("strong", {}, what), record.problem));
    }
    if (record.truncated) notes.push(el("p", { class: "notice" }, `The crawler cut this record off (${record.truncated}).`));
    if (record.original) {
      const { original } = record;
      notes.push(el("p", { class: "notice" }, "The same as ", this.link(original, `an earlier capture of ${date(original.date)}`), original.uri === record.uri ? "" : ` of ${original.uri}`, ": the payload is read from there."));
    }
    if (record.segments.length) {
      notes.push(el("p", { class: "notice" }, `Joined from ${count(record.segments.length, "segment")} in ${[...new Set(record.segments.map((segment) => segment.file))].join(", ")}.`));
    }
    if (record.joined) {
      const { parts, held, is_proved } = record.joined;
      const missing = held < record.payload_size ? ` ${bytes(record.payload_size - held)} are missing.` : "";
      notes.push(el("p", { class: "notice" }, `Joined from ${count(parts, "part")}${is_proved ? "" : ", not proved"}.${missing}`));
    }
    return notes;
  }

  link(reference, text) {
    return el("a", { href: `#${new URLSearchParams({ r: reference.id })}`, onclick: (event) => { event.preventDefault(); this.changed({ r: reference.id }); } }, text);
  }

  /** A link to the page as it was, on the origin where the server replays pages, if it does. */
  replay() {
    const { record } = this;
    const { replay } = this.summary;
    if (!replay || !record.address || !HTML.test(record.mime ?? "") || !/^https?:/i.test(record.uri)) return null;
    const href = `${replay}web/${record.date.replace(/\D/g, "").slice(0, 14)}/${record.uri}`;
    return el("a", { class: "save", href, target: "_blank", rel: "noopener" }, "Replay");
  }

  copy() {
    const { record } = this;
    if (!record.address || !record.payload_size) return null;
    return copyButton("Copy address", new URL(record.address, location.origin).href);
  }

  save() {
    const { record } = this;
    if (!record.payload_size) return null;
    return el("a", { class: "save", href: payloadUrl(record.id, this.view), download: record.file_name }, "Save");
  }

  async loadFrames(id) {
    try {
      const map = await json(`${recordUrl(id)}/frames?cells=${CELLS}&view=${this.view}`);
      if (id !== this.record?.id || !this.frames) return;
      this.map = map;
      this.frames.show(map);
      // For a joined record or a revisit, the records that hold the payload count.
      if (map.frames) this.cost.stored = map.stored;
      this.cost.touch();
    } catch (error) {
      if (this.frames) this.frames.caption.textContent = error.message;
    }
  }

  tabKey(event, names) {
    const at = names.indexOf(this.tab);
    const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: names.length - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.choose(names[(to + names.length) % names.length]);
    this.tabs.querySelector("[aria-selected=true]").focus();
  }

  choose(name) {
    this.isChosen = true;
    this.place = {};
    this.open(name, {});
  }

  open(name, state) {
    this.current?.close();
    this.tab = name;
    for (const tab of this.tabs.children) {
      const chosen = tab.dataset.tab === name;
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
    }
    this.panel.setAttribute("aria-labelledby", `tab-${name}`);
    this.current = VIEWS[name][1]({
      record: this.record,
      replay: this.replay(),
      view: this.view,
      touch: () => this.cost?.touch(),
      at: Number(state.at) || 0,
      part: state.part === "block" ? "block" : "payload",
      moved: (at, part) => {
        this.place = { at, part };
        this.changed({ at: at || null, part: part === "block" ? part : null });
      },
    });
    this.panel.replaceChildren(this.current.element);
    this.changed({ tab: name, at: null, part: null });
    this.current.shown?.();
    this.cost.touch();
  }

  /** Show the first byte of a frame that was picked. Frames contain the record header too, which no view shows. */
  jump(position) {
    const { record, map } = this;
    if (!map || record.segments.length || record.original || record.joined) return;
    const header = map.content - record.block_size - 4;
    this.open("hex", { part: "block", at: Math.min(Math.max(position - header, 0), Math.max(record.block_size - 1, 0)) });
  }

  focus() {
    (this.root.querySelector("#record-title") ?? this.root).focus();
  }
}
