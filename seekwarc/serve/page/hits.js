// Pages found by the words of their texts. What is archived becomes text, never markup.

import { json, Problem } from "./api.js";
import { count, date, el, number } from "./dom.js";

const PAGE = 20;
const HTML = /^(text\/html|application\/xhtml\+xml)$/;

export class HitList {
  /**
   * @param box  the list
   * @param found  says how many were found
   * @param opened  called with the ID of a record that is opened
   */
  constructor(box, found, opened) {
    this.box = box;
    this.found = found;
    this.opened = opened;
    this.replay = null;
    this.openId = null;
    this.query = null;
    this.waiting = false;
    this.generation = 0;
    box.addEventListener("keydown", (event) => this.key(event));
    box.addEventListener("click", (event) => this.clicked(event));
  }

  /** Search; the old hits stay until the answer is here. */
  async search(query) {
    const asked = new URLSearchParams(query).toString();
    if (asked === this.query) return;
    this.query = asked;
    this.waiting = false;
    this.generation += 1;
    if (!query.q) {
      this.say("");
      this.box.replaceChildren(el("li", { class: "hint" }, "Words of a page, \"in this order\", begin*, this OR that, -without, title:word, site:example.org, type:pdf"));
      return;
    }
    this.say("Searching …");
    await this.fetch(0);
  }

  async fetch(start) {
    const { generation } = this;
    try {
      const answer = await json(`api/search?${this.query}&start=${start}&count=${PAGE}`);
      if (generation === this.generation) this.show(answer);
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (generation !== this.generation) return;
      this.say(error.message, true);
      if (!start) this.box.replaceChildren();
    }
  }

  say(text, bad = false) {
    this.found.textContent = text;
    this.found.classList.toggle("bad", bad);
  }

  show({ total, exact, unread, start, hits }) {
    const lost = unread ? `; ${count(unread, "page")} cannot be read` : "";
    const none = exact || !total ? "No page matches" : `No page has this among ${count(total, "page")} with its words`;
    this.say((start + hits.length ? `${exact ? "" : "about "}${count(total, "page")}` : none) + lost);
    if (!start) this.box.replaceChildren();
    this.box.querySelector(".more")?.remove();
    const items = hits.map((hit) => this.item(hit));
    this.box.append(...items);
    if (start) items[0]?.querySelector(".hit")?.focus();
    else this.box.scrollTop = 0;
    if (hits.length === PAGE && start + PAGE < total) {
      this.box.append(el("li", { class: "more" }, el("button", { type: "button", "data-start": start + PAGE }, "More")));
    }
    this.mark(this.openId);
    if (this.waiting) this.openFirst();
  }

  item(hit) {
    const title = hit.title ?? hit.uri;
    const more = hit.captures > 1 ? `latest of ${hit.captures >= 1000 ? "1000 or more" : number(hit.captures)} captures` : null;
    return el("li", { "data-id": hit.id },
      hit.id ? el("a", { class: "hit", href: `#r=${encodeURIComponent(hit.id)}` }, title) : el("span", { class: "hit", tabindex: 0 }, title),
      el("div", { class: "about" }, el("span", { class: "uri", title: hit.uri }, hit.uri)),
      hit.snippet ? el("p", { class: "snippet" }, ...marked(hit.snippet, hit.marks)) : null,
      hit.problem ? el("p", { class: "snippet bad" }, hit.problem) : null,
      el("div", { class: "about" }, el("span", {}, date(hit.date)), more ? el("span", {}, more) : null, this.replayed(hit)),
    );
  }

  replayed(hit) {
    if (!this.replay || !hit.id || !hit.date || !HTML.test(hit.mime ?? "") || !/^https?:/i.test(hit.uri)) return null;
    const href = `${this.replay}web/${hit.date.replace(/\D/g, "").slice(0, 14)}/${hit.uri}`;
    return el("a", { class: "replayed", href, target: "_blank", rel: "noopener" }, "Replay");
  }

  clicked(event) {
    const more = event.target.closest("button[data-start]");
    if (more) {
      more.disabled = true;
      this.fetch(Number(more.dataset.start));
      return;
    }
    const hit = event.target.closest("a.hit");
    if (!hit || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    this.opened(hit.closest("li").dataset.id);
  }

  get links() {
    return [...this.box.querySelectorAll(".hit, .more button")];
  }

  key(event) {
    const { links } = this;
    const at = links.indexOf(event.target);
    const to = { ArrowDown: at + 1, ArrowUp: at - 1, j: at + 1, k: at - 1, Home: 0, End: links.length - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    links[Math.min(Math.max(to, 0), links.length - 1)]?.focus();
  }

  focus() {
    (this.box.querySelector("[aria-current] .hit") ?? this.links[0])?.focus();
  }

  /** Open the first page that is found, as soon as it is here. */
  openFirst() {
    const first = this.box.querySelector("li[data-id] a.hit");
    this.waiting = !first;
    if (!first) return;
    first.focus();
    this.opened(first.closest("li").dataset.id);
  }

  /** Open the next or previous page that was found. */
  step(by) {
    const items = [...this.box.querySelectorAll("li[data-id]")];
    const at = items.findIndex((item) => item.dataset.id === this.openId);
    const next = items[at < 0 ? 0 : at + by];
    if (next) this.opened(next.dataset.id);
  }

  /** Mark the page that is open. */
  mark(id) {
    this.openId = id;
    for (const item of this.box.querySelectorAll("li[data-id]")) {
      if (item.dataset.id === id) item.setAttribute("aria-current", "true");
      else item.removeAttribute("aria-current");
    }
    this.box.querySelector("[aria-current]")?.scrollIntoView({ block: "nearest" });
  }
}

/** The text of a snippet, with its marks as elements. The server counts characters, JavaScript UTF-16. */
function marked(text, marks) {
  const characters = [...text];
  const pieces = [];
  let at = 0;
  for (const [start, stop] of marks) {
    pieces.push(characters.slice(at, start).join(""), el("mark", {}, characters.slice(start, stop).join("")));
    at = stop;
  }
  return [...pieces, characters.slice(at).join("")];
}
