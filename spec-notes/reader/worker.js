// A service worker: film?file=crawl.warc.zst&offset=784&length=123456&seekTable=... is the payload of that
// record, whole or by range. Only films, sounds and pictures are shown; nothing of an archive runs here.
import { Archive, HttpSource, LIMITS } from "./reader.js";

LIMITS.request = 1<<19; // players often leave a place soon
const records = new Map(), archives = new Map();
const SAFE = { "Content-Security-Policy": "sandbox; default-src 'none'", "X-Content-Type-Options": "nosniff" };
const PLAIN = { ...SAFE, "Content-Type": "text/plain" };
const refuse = (status, text) => new Response(text, { status, headers: PLAIN });

self.addEventListener("install", () => self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("fetch", (event) => {
  const url = new URL(event.request.url), here = new URL("film", self.registration.scope);
  if (url.href.split("?")[0] !== here.href) return;
  event.respondWith(film(event.request, url).catch((error) => refuse(502, `${error.kind}: ${error.message}`)));
});

async function opened(url) {
  const { file, offset, length, seekTable } = Object.fromEntries(url.searchParams);
  const address = new URL(file, self.registration.scope);
  if (address.origin !== url.origin) throw new Error("a file of another origin");
  if (!archives.has(address.href)) archives.set(address.href, new Archive(new HttpSource(address)));
  const record = await archives.get(address.href).record(+offset, length && +length, { seekTable });
  return { record, head: await record.http() };
}

async function film(request, url) {
  const forget = (error) => { records.delete(url.href); throw error; };
  if (!records.has(url.href)) records.set(url.href, opened(url).catch(forget));
  const { record, head } = await records.get(url.href);
  const from = head?.size ?? 0, size = record.blockSize - from, fields = head?.headers ?? record.fields;
  const type = (fields.get("content-type") ?? "").toLowerCase();
  if (!/^(video|audio|image)\/(?!svg)/.test(type)) return refuse(415, "neither film, sound nor picture");
  if (fields.get("content-encoding") || fields.get("transfer-encoding")) return refuse(415, "stored in a coding");
  const [, first, last] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.get("Range")) ?? [];
  const start = +(first ?? 0), stop = Math.min(size, last ? +last + 1 : size);
  const headers = { ...SAFE, "Content-Type": type, "Content-Length": stop - start, "Accept-Ranges": "bytes" };
  if (start >= stop) return refuse(416, "no such range");
  if (first) headers["Content-Range"] = `bytes ${start}-${stop - 1}/${size}`;
  const pieces = record.stream(from + start, from + stop);
  const body = new ReadableStream({
    async pull(controller) { // only what the player takes is read
      const { value, done } = await pieces.next();
      return done ? controller.close() : controller.enqueue(value.slice());
    },
  }, { highWaterMark: 0 });
  return new Response(body, { status: first ? 206 : 200, headers });
}
