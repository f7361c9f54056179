// JSON as a tree whose branches open on demand.

import { Problem } from "./api.js";
import { bytes, count, el } from "./dom.js";
import { openText } from "./view-text.js";

const MOST = 16 * 1024 * 1024;
const STEP = 1024 * 1024;
const AT_ONCE = 200;

export function jsonView({ record, view, touch }) {
  const tree = el("div", { class: "tree", tabindex: 0, role: "region", "aria-label": "JSON" });
  const trouble = el("p", { class: "notice bad", role: "alert", hidden: true });
  const abort = new AbortController();
  let source = null;
  async function read() {
    source = await openText(record, view, touch, abort);
    if (source.size > MOST || source.whole === false) throw new Problem(`${bytes(source.size)} are too many for a tree. Text shows all of them.`);
    const decoder = new TextDecoder();
    let text = "";
    for (let at = 0; at < source.size; at += STEP) text += decoder.decode(await source.read(at, at + STEP), { stream: true });
    let value;
    try {
      value = JSON.parse(text + decoder.decode());
    } catch (error) {
      throw new Problem(`This is not JSON: ${error.message}. Text shows it as it is.`);
    }
    tree.append(node(null, value, 2));
  }
  return {
    element: el("div", { class: "view json" }, trouble, tree),
    async shown() {
      try {
        await read();
      } catch (error) {
        if (error.name === "AbortError") return;
        if (!(error instanceof Problem)) throw error;
        trouble.textContent = error.message;
        trouble.hidden = false;
      }
    },
    close() {
      abort.abort();
      source?.close();
    },
  };
}

/** Make the element of a value; the first `levels` of it are open. */
function node(key, value, levels = 0) {
  const name = key === null ? null : el("span", { class: "key" }, key);
  if (value === null || typeof value !== "object") {
    const kind = value === null ? "null" : typeof value;
    return el("div", { class: "leaf" }, name, el("span", { class: `value ${kind}` }, JSON.stringify(value)));
  }
  const many = Array.isArray(value) ? value.length : Object.keys(value).length;
  const about = Array.isArray(value) ? `[ ${count(many, "item")} ]` : `{ ${count(many, "member")} }`;
  const branch = el("details", {}, el("summary", {}, name, el("span", { class: "many" }, about)));
  let filled = false;
  const fill = () => {
    if (filled) return;
    filled = true;
    more(branch, value, Object.keys(value), 0, levels - 1);
  };
  branch.addEventListener("toggle", fill);
  if (levels > 0 && many <= AT_ONCE) {
    branch.open = true;
    fill();
  }
  return branch;
}

function more(branch, value, keys, from, levels) {
  for (const key of keys.slice(from, from + AT_ONCE)) branch.append(node(key, value[key], levels));
  const left = keys.length - from - AT_ONCE;
  if (left <= 0) return;
  const button = el("button", { type: "button", class: "quiet" }, `${count(left, "more")}`.replace(/s$/, ""));
  button.addEventListener("click", () => {
    button.remove();
    more(branch, value, keys, from + AT_ONCE, 0);
  });
  branch.append(button);
}
