// Lists the films of crawl.cdxj, or of ?index=NAME.cdxj, and plays one.
const name = new URL(location).searchParams.get("index") ?? "crawl.cdxj";
const ready = navigator.serviceWorker.ready;
await navigator.serviceWorker.register("worker.js", { type: "module" });
const lines = (await (await fetch(name)).text()).split("\n").filter(Boolean);
for (const line of lines) {
  const { url, mime, filename, offset, length, seekTable } = JSON.parse(line.replace(/^\S+ \S+ /, ""));
  if (!/^(video|audio)\//.test(mime)) continue;
  const film = new URLSearchParams({ file: filename, offset, length, ...(seekTable && { seekTable }) });
  const button = Object.assign(document.createElement("button"), { textContent: url });
  button.onclick = async () => { await ready; document.querySelector("video").src = `film?${film}`; };
  document.querySelector("ol").append(document.createElement("li"));
  document.querySelector("ol").lastChild.append(button);
}
