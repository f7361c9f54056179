// The page of a replay: a bar, and a frame of another origin, which the service worker of wabac.js fills from /raw.

const $ = (id) => document.getElementById(id);
const frame = $("replay_iframe");
const timeline = $("timeline");

/** Where archived pages run. */
const ORIGIN = document.querySelector("meta[name=origin]").content;
/** Milliseconds between two questions about files being scanned. */
const AGAIN = 1000;
const MAX_OPTIONS = 1000;
const MAX_DOTS = 400;

/** What is shown: its address, its date in up to 14 digits, and the dates of all captures of it, oldest first. */
let url = "";
let ts = "";
let captures = [];
/** What the server says of a capture by its date, if it is of another address. */
let notes = new Map();
/** Where each capture is on the timeline, from 0 to 100. */
let places = [];
/** The capture of the timeline that the keyboard or the pointer is at. */
let picked = 0;
let listed = null;
/** Whether all captures of the address that is listed are known. */
let isListed = false;
/** Whether the frame has had no archived page yet. */
let isFirst = true;
let listing = new AbortController();

/** Say what the user should know, or nothing; with how far the files are scanned, from 0 to 1. */
function say(text, { isBad = false, scanned = null } = {}) {
  if ($("said").textContent !== text) $("said").textContent = text;
  $("message").classList.toggle("bad", isBad);
  $("message").hidden = !text;
  $("scanned").hidden = scanned === null;
  $("scanned").value = scanned ?? 0;
}

function busy(is) {
  $("busy").hidden = !is;
  frame.setAttribute("aria-busy", String(is));
}

/** "20260601120030" -> "2026-06-01 12:00:30" */
function dateOf(digits) {
  const [, day, time = ""] = /^(\d{4,8})(\d*)$/.exec(digits) ?? [, digits];
  return `${day.replace(/^(\d{4})(?=\d)/, "$1-").replace(/-(\d\d)(?=\d)/, "-$1-")} ${time.replace(/\d\d(?=\d)/g, "$&:")}`.trim();
}

/** Milliseconds of a date in up to 14 digits. */
function timeOf(digits) {
  const full = digits + "00000101000000".slice(digits.length);
  const [, year, ...rest] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(full);
  return Date.UTC(Number(year), Number(rest[0]) - 1, ...rest.slice(1).map(Number));
}

/** What an address of this page names: {ts, url}, or null. The date may be missing, as may be what follows it. */
function target(address) {
  const match = /^\/web\/(?:(\d{0,14})\*?(?:[a-z]+_)?\/)?(.+)$/s.exec(address);
  return match && { ts: match[1] ?? "", url: match[2] };
}

/** What a user typed, as an address; null if it is none. */
function typed(text) {
  const address = /^[a-z][a-z0-9+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  // Chromium has hosts with blanks.
  return URL.canParse(address) && !new URL(address).hostname.includes("%") ? new URL(address).href : null;
}

/** Show the capture of `wanted` that is nearest to `date`, once the worker is ready for it. */
async function open(date, wanted) {
  frame.hidden = false;
  $("start").hidden = true;
  busy(true);
  told(wanted, date);
  try {
    await ready;
    const place = `${ORIGIN}/web/${date}mp_/${wanted}`;
    // What started the worker is not a page to go back to.
    if (isFirst) frame.contentWindow.location.replace(place);
    else frame.src = place;
    isFirst = false;
  } catch (error) {
    busy(false);
    listing.abort();
    say(error.message, { isBad: true });
  }
}

/** Show in the bar what the frame holds. */
function told(address, date) {
  url = address;
  ts = date;
  if (document.activeElement !== $("url")) $("url").value = url;
  $("url").setAttribute("aria-invalid", "false");
  draw();
  list();
}

// Captures: RFC 7089, which gives them as links.

/** Dates of the mementos in a document of the link format, oldest first, each with its title or "". */
function mementos(text) {
  const links = text.matchAll(/<([^>]*)>((?:\s*;\s*[a-z*-]+\s*=\s*(?:"[^"]*"|[^\s,;"]*))*)/gi);
  const dates = new Map();
  for (const [, address, attributes] of links) {
    if (!/;\s*rel\s*=\s*"?[^";,]*\bmemento\b/i.test(attributes)) continue;
    const digits = /\/web\/(\d{14})/.exec(address)?.[1];
    if (digits && !dates.has(digits)) dates.set(digits, /;\s*title\s*=\s*"([^"]*)"/i.exec(attributes)?.[1] ?? "");
  }
  return new Map([...dates].sort());
}

/** Ask for the captures of the address that is shown, unless they are here. */
async function list() {
  const wanted = url.replace(/#.*/s, "");
  if (wanted === listed) {
    if (isListed) sayWhich();
    return;
  }
  listing.abort();
  const { signal } = (listing = new AbortController());
  listed = wanted;
  isListed = false;
  captures = [];
  draw();
  try {
    for (;;) {
      const progress = await (await fetch("/progress", { signal })).json();
      const answer = await fetch(`/timemap/link/${wanted}`, { signal });
      notes = answer.ok ? mementos(await answer.text()) : new Map();
      captures = [...notes.keys()];
      draw();
      if (progress.complete) break;
      say("The files are being scanned: more captures may be found.", { scanned: progress.position / (progress.size || 1) });
      await new Promise((done) => setTimeout(done, AGAIN));
      if (signal.aborted) return;
    }
    isListed = true;
    sayWhich();
  } catch (error) {
    if (signal.aborted) return;
    listed = null;
    say("The server does not answer. Perhaps it was stopped: look at the terminal it runs in.", { isBad: true });
  }
}

/** Say if there is no capture, or only one of another address. */
function sayWhich() {
  say(captures.length ? notes.get(captures[current()]) : "This archive has no capture of this address.");
}

/** Where a date is on the timeline, whose ends are the first and the last capture. */
function placeOf(date) {
  const first = timeOf(captures[0]);
  const span = timeOf(captures.at(-1)) - first;
  return span ? (100 * (timeOf(date) - first)) / span : 50;
}

/** The capture that is nearest to a place. */
function nearest(place) {
  let best = 0;
  for (let index = 1; index < places.length; index += 1) {
    if (Math.abs(places[index] - place) < Math.abs(places[best] - place)) best = index;
  }
  return best;
}

/** The capture that is shown: the last one if no date is asked for. */
function current() {
  if (captures.includes(ts)) return captures.indexOf(ts);
  return /^\d{4}/.test(ts) ? nearest(placeOf(ts)) : captures.length - 1;
}

function draw() {
  places = captures.map(placeOf);
  const at = captures.length ? current() : 0;
  $("date").hidden = !url;
  $("date").disabled = timeline.hidden = !captures.length;
  timeline.tabIndex = captures.length ? 0 : -1;
  const start = Math.max(Math.min(at - MAX_OPTIONS / 2, captures.length - MAX_OPTIONS), 0);
  const options = captures.slice(start, start + MAX_OPTIONS).map((date) => new Option(dateOf(date), date));
  $("date").replaceChildren(...(options.length ? options : [new Option("No capture")]));
  $("dots").replaceChildren();
  if (!captures.length) return;
  $("date").value = captures[at];
  $("date").title = `${captures.length} captures, UTC`;
  $("first").textContent = dateOf(captures[0].slice(0, 6));
  $("last").textContent = dateOf(captures.at(-1).slice(0, 6));
  const dots = new Map();
  for (const [index, exact] of places.entries()) {
    const place = Math.round((exact * MAX_DOTS) / 100);
    const dot = dots.get(place) ?? document.createElement("i");
    dot.classList.toggle("many", dots.has(place));
    if (index === at) dot.classList.add("shown");
    dot.style.left = `${(100 * place) / MAX_DOTS}%`;
    dots.set(place, dot);
  }
  $("dots").append(...dots.values());
  timeline.setAttribute("aria-valuemax", captures.length);
  pick(at, false);
}

/** Put the mark of the timeline on a capture. */
function pick(index, isSeen = true) {
  picked = Math.max(0, Math.min(index, captures.length - 1));
  const place = places[picked];
  const left = `${(100 * Math.round((place * MAX_DOTS) / 100)) / MAX_DOTS}%`;
  for (const dot of $("dots").children) dot.classList.toggle("picked", isSeen && dot.style.left === left);
  const text = `${dateOf(captures[picked])}, ${picked + 1} of ${captures.length}`;
  timeline.setAttribute("aria-valuenow", picked + 1);
  timeline.setAttribute("aria-valuetext", text);
  $("tip").hidden = !isSeen;
  $("tip").textContent = text;
  // Its ends stay within those of the timeline.
  $("tip").style.left = `${place}%`;
  $("tip").style.translate = `-${place}%`;
}

/** The capture below a pointer. */
function below(event) {
  const { left, width } = $("track").getBoundingClientRect();
  return nearest((100 * (event.clientX - left)) / width);
}

timeline.addEventListener("pointermove", (event) => pick(below(event)));
for (const name of ["pointerleave", "blur"]) timeline.addEventListener(name, () => captures.length && pick(current(), false));
timeline.addEventListener("click", (event) => open(captures[below(event)], url));
timeline.addEventListener("keydown", (event) => {
  const leap = Math.ceil(captures.length / 10);
  const to = {
    ArrowLeft: picked - 1, ArrowDown: picked - 1, ArrowRight: picked + 1, ArrowUp: picked + 1,
    PageDown: picked - leap, PageUp: picked + leap, Home: 0, End: captures.length - 1,
  }[event.key];
  if (to !== undefined) pick(to);
  else if (event.key === "Enter" || event.key === " ") open(captures[picked], url);
  else return;
  event.preventDefault();
});
$("date").addEventListener("change", () => open($("date").value, url));
$("back").addEventListener("click", () => history.back());
$("forward").addEventListener("click", () => history.forward());
$("reload").addEventListener("click", () => url && open(ts, url));
$("about-open").addEventListener("click", () => $("about").showModal());
$("go").addEventListener("submit", (event) => {
  event.preventDefault();
  const wanted = typed($("url").value.trim());
  $("url").setAttribute("aria-invalid", String(!wanted));
  if (!wanted) return say("That is not the address of a page.", { isBad: true });
  $("url").blur();
  open(ts, wanted);
});

// The frame tells what it shows. What it says is archived content: text, never markup, and an address of /web alone.
addEventListener("message", (event) => {
  if (event.source !== frame.contentWindow || event.origin !== ORIGIN) return;
  const { wb_type: type, url: address, ts: date, title, hash } = event.data ?? {};
  if (type === "load" || type === "replace-url") shown(String(address), String(date ?? "").replace(/\D/g, "").slice(0, 14), title);
  else if (type === "hashchange") shown(url.replace(/#.*/s, "") + String(hash), ts, document.title);
  else if (type === "title") document.title = String(title);
});

function shown(address, date, title) {
  const own = `/web/${date}/${address}`;
  if (!URL.canParse(address) || !new URL(own, location.origin).pathname.startsWith("/web/")) return;
  busy(false);
  $("claim").hidden = false;
  document.title = String(title || address);
  history.replaceState(null, "", own);
  told(address, date);
}
frame.addEventListener("load", () => isFirst || busy(false));

/** Load what starts the worker: archived pages, and the worker, have an origin of their own. */
function start() {
  return new Promise((done, failed) => {
    addEventListener("message", (event) => {
      if (event.source !== frame.contentWindow || event.origin !== ORIGIN) return;
      if (event.data?.wb_type === "ready") done();
      else if (event.data?.wb_type === "failed") failed(new Error(String(event.data.text)));
    });
    frame.src = `${ORIGIN}/`;
  });
}

const ready = start();
const named = target(location.pathname + location.search + location.hash);
if (named) open(named.ts, named.url);
else {
  $("start").hidden = false;
  $("url").focus();
  ready.catch((error) => say(error.message, { isBad: true }));
}
