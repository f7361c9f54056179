// The page: its address has all of its state. #q=…&type=…&r=RECORD&tab=hex&at=4096

import { json } from "./api.js";
import { bytes, count, el, number, parseSize, settled } from "./dom.js";
import { Glance, wrongWith } from "./glance.js";
import { HitList } from "./hits.js";
import { RecordList } from "./list.js";
import { RecordPane } from "./record.js";

const FILTERS = ["q", "type", "status", "mime", "since", "until", "min_size", "max_size", "file", "parts", "captures", "sort"];
const ALWAYS_SEEN = ["q", "captures", "sort"];
const OF_TEXTS = ["q", "mime", "since", "until", "order"];
const THEMES = ["auto", "light", "dark"];
const $ = (id) => document.getElementById(id);

const form = $("search");
const panes = $("panes");
const list = new RecordList($("list"), $("found"), (id) => go({ r: id, tab: null, at: null, part: null }, true));
const hits = new HitList($("hits"), $("found"), (id) => go({ r: id, tab: null, at: null, part: null }, true));
const glance = new Glance((filter) => go({ ...Object.fromEntries(FILTERS.map((name) => [name, null])), in: null, ...filter, glance: null }, true));
const pane = new RecordPane(
  $("record"),
  (change) => {
    if ("r" in change) go({ r: change.r, tab: null, at: null, part: null }, true);
    else note(change);
  },
  glance,
);
let state = read();

function read() {
  return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
}

function address() {
  const params = Object.entries(state).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return `#${new URLSearchParams(params)}`;
}

/** Change the state and show it. */
function go(change, push) {
  state = { ...state, ...change };
  history[push ? "pushState" : "replaceState"](null, "", address());
  show({ focus: push && "r" in change });
}

const write = settled(() => history.replaceState(null, "", address()), 200);

/** Keep the position of a view in the address. */
function note(change) {
  state = { ...state, ...change };
  write();
}

async function show({ focus = false } = {}) {
  fillForm();
  // In a narrow window the overview takes the place of the list.
  panes.classList.toggle("open", Boolean(state.r || state.glance));
  $("glance").setAttribute("aria-pressed", String(Boolean(state.glance && !state.r)));
  if (searchesTexts()) {
    hits.search(Object.fromEntries(OF_TEXTS.filter((name) => state[name]).map((name) => [name, state[name]])));
    hits.mark(state.r ?? null);
  } else {
    hits.query = null;
    list.search(query());
    list.mark(state.r ?? null);
  }
  if (!state.r) {
    pane.empty();
    if (focus) focusFound();
    document.title = "seekwarc";
    return;
  }
  await pane.show(state.r, state);
  document.title = pane.record ? `${pane.record.uri ?? pane.record.type} · seekwarc` : "seekwarc";
  if (focus && $("search").offsetParent === null) pane.focus();
}

const searchesTexts = () => state.in === "text";

function focusFound() {
  (searchesTexts() ? hits : list).focus();
}

/** What to ask the server for. */
function query() {
  const asked = {};
  for (const name of FILTERS) {
    let value = state[name];
    if (value && name.endsWith("_size")) value = parseSize(value);
    if (value !== undefined && value !== null && value !== "" && !Number.isNaN(value) && value !== "stored") asked[name] = value;
  }
  // The list has one row for a film that was captured in parts.
  if (asked.parts) delete asked.parts;
  else asked.folded = "1";
  return asked;
}

function fillForm() {
  for (const name of FILTERS) {
    const field = form.elements[name];
    const wanted = state[name] ?? (name === "sort" ? "stored" : "");
    if (field.tagName === "SELECT" && ![...field.options].some((option) => option.value === wanted)) field.append(el("option", { value: wanted }, wanted));
    const kept = document.activeElement === field || field.getAttribute("aria-invalid") === "true";
    if (field.type === "checkbox") field.checked = Boolean(wanted);
    else if (!kept && field.value !== wanted) field.value = wanted;
  }
  const texts = searchesTexts();
  form.elements.in.value = texts ? "text" : "";
  form.elements.order.value = state.order ?? "rank";
  form.classList.toggle("texts", texts);
  $("list").hidden = texts;
  $("hits").hidden = !texts;
  $("q-label").textContent = texts ? "Words of pages" : "Words in the URI";
  form.elements.q.placeholder = $("q-label").textContent;
  const on = FILTERS.filter((name) => state[name] && !ALWAYS_SEEN.includes(name)).length;
  $("filters-on").textContent = on ? ` (${on})` : "";
  $("clear").hidden = !FILTERS.some((name) => state[name] && name !== "sort");
}

/** Return what is wrong with a field, or null if it is valid. */
function wrong(name, value) {
  if (name.endsWith("_size") && Number.isNaN(parseSize(value))) return "A size is a number such as 4096, 10M or 1.5G.";
  if (name === "status" && value && !/^([0-9]{3}|[0-9]xx)$/i.test(value)) return "A status is a number such as 404, or a class such as 4xx.";
  const date = /^\d{4}(-\d\d(-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?Z?)?)?)?$/;
  if ((name === "since" || name === "until") && value && !date.test(value)) return "A date is written 2026, 2026-11 or 2026-11-21.";
  return null;
}

function take() {
  const change = {};
  let refused = null;
  for (const name of FILTERS) {
    const field = form.elements[name];
    const value = field.type === "checkbox" ? (field.checked ? "1" : "") : field.value.trim();
    const why = wrong(name, value);
    field.setAttribute("aria-invalid", String(why !== null));
    refused ??= why;
    change[name] = value === "stored" ? null : value || null;
  }
  change.in = form.elements.in.value || null;
  change.order = form.elements.order.value === "rank" ? null : form.elements.order.value;
  if (refused) list.complain(refused);
  else go(change, false);
  return !refused;
}

form.addEventListener("input", settled(take, 160));
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("keydown", (event) => {
  const down = event.key === "ArrowDown" && event.target === form.elements.q;
  if (!down && (event.key !== "Enter" || !event.target.matches("input"))) return;
  event.preventDefault();
  if (!take()) return;
  const found = searchesTexts() ? hits : list;
  if (down) found.focus();
  else found.openFirst();
});
$("clear").addEventListener("click", () => {
  for (const name of FILTERS) form.elements[name].removeAttribute("aria-invalid");
  go(Object.fromEntries(FILTERS.filter((name) => name !== "sort").map((name) => [name, null])), true);
  form.elements.q.focus();
});

// Keys of the whole page.
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const typing = event.target.matches("input:not([type=range]), select, textarea");
  if (event.key === "Escape" && typing) event.target.blur();
  else if (event.key === "Escape" && state.r) go({ r: null, tab: null, at: null, part: null }, true);
  else if (typing || event.target.matches("video, audio")) return;
  else if (event.key === "/") $("q").focus();
  else if (event.key === "?") $("help").showModal();
  else if (event.key === "n") (searchesTexts() ? hits : list).step(1);
  else if (event.key === "p") (searchesTexts() ? hits : list).step(-1);
  else if (event.key === "g" && pane.current?.goTo) pane.current.goTo.focus();
  else return;
  event.preventDefault();
});
$("glance").addEventListener("click", () => go({ r: null, tab: null, at: null, part: null, glance: state.glance && !state.r ? null : "1" }, true));
$("help-open").addEventListener("click", () => $("help").showModal());
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  focusFound();
});

// Light, dark, or the setting of the system.
let theme = THEMES.includes(localStorage.getItem("theme")) ? localStorage.getItem("theme") : "auto";
function paint() {
  document.documentElement.dataset.theme = theme;
  $("theme").textContent = { auto: "Auto", light: "Light", dark: "Dark" }[theme];
  $("theme").setAttribute("aria-label", `Colours: ${theme}`);
  document.dispatchEvent(new Event("themechange"));
}
$("theme").addEventListener("click", () => {
  theme = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length];
  localStorage.setItem("theme", theme);
  paint();
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", paint);
paint();

// The files that are served; asked for again while they are being scanned.
async function holding() {
  let summary;
  try {
    summary = await json("api/summary");
  } catch {
    setTimeout(holding, 3000);
    return;
  }
  const { files } = summary;
  const size = files.reduce((sum, file) => sum + file.size, 0);
  const position = files.reduce((sum, file) => sum + file.position, 0);
  const name = files.length === 1 ? files[0].name : count(files.length, "file");
  $("holding").textContent = `${count(summary.records, "record")}, ${bytes(size)} in ${name}`;
  glance.setFiles(files, summary.archives);
  const damage = files.flatMap((file) => wrongWith(file).map((text) => `${file.name}: ${text}`));
  // Of many, the list of the files has the rest.
  const said = damage.length > 2 ? [`${count(damage.length, "thing")} wrong in ${count(files.filter((file) => wrongWith(file).length).length, "file")}: “At a glance” lists them.`] : damage;
  if (said.join() !== (document.querySelector(".damage")?.dataset.said ?? "")) {
    document.querySelector(".damage")?.remove();
    if (said.length) $("panes").before(el("div", { class: "damage notice bad", role: "alert", "data-said": said.join() }, ...said.map((text) => el("p", {}, text))));
  }
  $("reading").hidden = summary.complete;
  $("reading").setAttribute("aria-valuenow", size ? Math.round((100 * position) / size) : 0);
  $("reading").firstElementChild.style.width = `${size ? (100 * position) / size : 0}%`;
  list.countDamage(files.reduce((sum, file) => sum + file.damaged, 0));
  $("modes").hidden = !summary.search;
  hits.replay = summary.replay;
  options(form.elements.type, summary.types);
  list.isOneFile = summary.archives.length === 1;
  $("archives").replaceChildren(...summary.archives.map((value) => el("option", { value })));
  $("media-types").replaceChildren(...Object.keys(summary.mimes).filter(Boolean).map((value) => el("option", { value })));
  if (!summary.complete || !(list.complete || searchesTexts())) {
    if (!searchesTexts()) list.refresh();
    setTimeout(holding, 700);
  }
}

function options(select, counts) {
  const chosen = select.value;
  const names = Object.keys(counts).filter(Boolean);
  if (chosen && !names.includes(chosen)) names.push(chosen);
  select.replaceChildren(el("option", { value: "" }, "any"), ...names.map((value) => el("option", { value }, counts[value] ? `${value} (${number(counts[value])})` : value)));
  select.value = chosen;
}

addEventListener("popstate", () => {
  state = read();
  show();
});
addEventListener("hashchange", () => {
  if (location.hash !== address()) {
    state = read();
    show();
  }
});

show();
holding();
