// Sources have `size`, null until it is known, and `read(start, stop)`, short only at the end of the file.

/** Its `kind` is "http", "no-ranges", "changed" (the file), "limit", "damaged", "dictionary" or "no-record". */
export class WarcError extends Error {
  constructor(kind, message, cause) { super(message, { cause }); this.name = "WarcError"; this.kind = kind; }
}
export const fail = (kind, message, cause) => { throw new WarcError(kind, message, cause); };

/** In bytes, but for `headerFrames` and `chain`, the number of file tables */
export const LIMITS = {
  content: 64 << 20, stored: 80 << 20, table: 64 << 20, dictionary: 16 << 20, header: 1 << 20,
  headerFrames: 1024, httpHead: 65536, cache: 96 << 20, request: 4 << 20, chain: 8,
};

export const EMPTY = new Uint8Array(0);

export const join = (a, b) => {
  if (!a.length) return b;
  const both = new Uint8Array(a.length + b.length);
  both.set(a);
  both.set(b, a.length);
  return both;
};

export class HttpSource {
  constructor(url, { fetch = (...request) => globalThis.fetch(...request) } = {}) {
    Object.assign(this, { url, fetch, size: null, version: null, requests: 0, bytes: 0 });
  }

  async read(start, stop, signal) {
    if (this.size !== null) stop = Math.min(stop, this.size);
    if (start >= stop) return EMPTY;
    const request = { headers: { Range: `bytes=${start}-${stop - 1}` }, cache: "no-store", signal };
    let answer = null;
    try {
      this.requests++;
      answer = await this.fetch(this.url, request).catch((error) => {
        if (signal?.aborted) throw error;
        return this.fetch(this.url, request); // the host may have closed a kept connection
      });
      const bytes = await this.#bytes(answer, start, stop);
      this.bytes += bytes.length;
      return bytes;
    } catch (error) {
      answer?.body?.cancel().catch(() => {}); // it may be the whole file
      if (signal?.aborted) throw error;
      return fail(error.kind ?? "http", `${this.url}: ${error.message}`, error);
    }
  }

  /** R30, R32 */
  async #bytes({ status, headers, body }, start, stop) {
    const [, first, last, size] = /^bytes (?:(\d+)-(\d+)|\*)\/(\d+)$/.exec(headers.get("Content-Range")) ?? [];
    const version = headers.get("ETag") ?? headers.get("Last-Modified");
    if (status === 200) fail("no-ranges", "the host sends the whole file where a part was asked for");
    if (status === 416 && size && +size <= start) { this.size = +size; return EMPTY; }
    if (status !== 206 || !last) fail("http", `status ${status}, or a Content-Range that is missing or hidden`);
    if (headers.get("Content-Encoding")) fail("http", "the range has a content coding");
    this.size ??= +size;
    this.version ??= version;
    if (this.size !== +size || this.version !== version) fail("changed", "it is not the file that it was");
    const bytes = new Uint8Array(Math.min(stop, this.size) - start);
    if (+first !== start || +last + 1 !== start + bytes.length) fail("http", "another range than asked for");
    const reader = body.getReader();
    for (let at = 0; ;) {
      const { value, done } = await reader.read();
      if (done) return at < bytes.length ? fail("http", "fewer bytes than it states") : bytes;
      if (at + value.length > bytes.length) { reader.releaseLock(); fail("http", "more bytes than it states"); }
      bytes.set(value, at);
      at += value.length;
    }
  }
}

/** In Node */
export class FileSource {
  static async open(path) {
    const handle = await (await import("node:fs/promises")).open(path);
    return Object.assign(new FileSource(), { handle, size: (await handle.stat()).size });
  }
  async read(start, stop) {
    const bytes = new Uint8Array(Math.max(0, Math.min(stop, this.size) - start));
    const { bytesRead } = await this.handle.read(bytes, 0, bytes.length, start);
    return bytes.subarray(0, bytesRead);
  }
  close() { return this.handle.close(); }
}

/** Bytes in order: what is fetched beyond those wanted grows */
export class Cursor {
  constructor(source, ahead, signal) { Object.assign(this, { source, ahead, signal, start: 0, bytes: EMPTY }); }
  get end() { return this.start + this.bytes.length; }
  holding(start, bytes) { return Object.assign(this, { start, bytes }); }
  has(start, stop) { return start >= this.start && stop <= this.end; }
  async get(start, stop) {
    if (start < this.start || start > this.end) this.holding(start, EMPTY);
    if (stop > this.end && this.end !== this.source.size) {
      const rest = this.bytes.subarray(start - this.start), from = this.end;
      const more = await this.source.read(from, Math.max(stop, from + this.ahead), this.signal);
      this.holding(start, join(rest, more));
      this.ahead = Math.min(this.ahead * 2, LIMITS.request);
    }
    return this.bytes.subarray(start - this.start, stop - this.start);
  }
}
