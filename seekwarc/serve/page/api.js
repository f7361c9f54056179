// The server's JSON, and bytes by range. Every failure becomes a Problem with a message.

export class Problem extends Error {}

export async function request(path, options) {
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem("The server does not answer. Perhaps it was stopped: look at the terminal it runs in.");
  }
  if (!response.ok) {
    const said = await response.json().catch(() => null);
    throw new Problem(said?.error?.message ?? `The server answered ${response.status}.`);
  }
  return response;
}

export async function json(path, options) {
  return (await request(path, options)).json();
}

const record = (id) => `api/records/${encodeURIComponent(id)}`;

export const recordUrl = record;
export const payloadUrl = (id, view) => `${record(id)}/payload?view=${view}`;
export const pageUrl = (id, view) => `${record(id)}/page?view=${view}`;
export const bytesUrl = (id, part, view) => `${record(id)}/${part}?as=bytes&view=${view}`;

/** Bytes that are read by range, in blocks that are kept for a while. */
export class RangeBytes {
  static block = 64 * 1024;
  static kept = 48;

  constructor(url, size, touched = () => {}) {
    this.url = url;
    this.size = size;
    this.touched = touched;
    this.blocks = new Map();
    this.abort = new AbortController();
  }

  /** Return bytes [start, stop), a promise. */
  async read(start, stop) {
    stop = Math.min(stop, this.size);
    if (start >= stop) return new Uint8Array(0);
    const { block } = RangeBytes;
    const first = Math.floor(start / block);
    const blocks = [];
    for (let index = first; index * block < stop; index += 1) blocks.push(this.load(index));
    const loaded = await Promise.all(blocks);
    const out = new Uint8Array(stop - start);
    loaded.forEach((data, index) => {
      const base = (first + index) * block;
      const from = Math.max(start - base, 0);
      out.set(data.subarray(from, Math.min(stop - base, data.length)), base + from - start);
    });
    return out;
  }

  /** Return bytes [start, stop) if they are here, else null. */
  here(start, stop) {
    stop = Math.min(stop, this.size);
    const { block } = RangeBytes;
    const out = new Uint8Array(Math.max(stop - start, 0));
    for (let index = Math.floor(start / block); index * block < stop; index += 1) {
      const data = this.blocks.get(index)?.data;
      if (!data) return null;
      const from = Math.max(start - index * block, 0);
      out.set(data.subarray(from, Math.min(stop - index * block, data.length)), index * block + from - start);
    }
    return out;
  }

  load(index) {
    const known = this.blocks.get(index);
    if (known) {
      this.blocks.delete(index);
      this.blocks.set(index, known);
      return known.promise;
    }
    const entry = { data: null, promise: this.fetch(index) };
    this.blocks.set(index, entry);
    entry.promise.then(
      (data) => { entry.data = data; },
      () => this.blocks.delete(index),
    );
    if (this.blocks.size > RangeBytes.kept) this.blocks.delete(this.blocks.keys().next().value);
    return entry.promise;
  }

  async fetch(index) {
    const start = index * RangeBytes.block;
    const last = Math.min(start + RangeBytes.block, this.size) - 1;
    const headers = { Range: `bytes=${start}-${last}` };
    const response = await request(this.url, { headers, signal: this.abort.signal });
    const data = new Uint8Array(await response.arrayBuffer());
    this.touched();
    if (data.length !== last + 1 - start) throw new Problem("The record ends too early.");
    return data;
  }

  close() {
    this.abort.abort();
    this.blocks.clear();
  }
}

/** Bytes whose content coding the browser decodes: they are read from the beginning, and kept. */
export class DecodedBytes {
  static most = 32 * 1024 * 1024;

  static async open(url, codings, touched, abort) {
    const response = await request(url, { signal: abort.signal });
    const parts = [];
    let size = 0;
    let whole = true;
    const reader = response.body.getReader();
    try {
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        parts.push(value);
        size += value.length;
        touched();
        if (size >= DecodedBytes.most) {
          whole = false;
          abort.abort();
          break;
        }
      }
    } catch (error) {
      if (error.name === "AbortError") throw error;
      if (!size) throw new Problem(`The content coding (${codings.join(", ")}) cannot be decoded. Hex shows the stored bytes.`);
      whole = false;
    }
    return new DecodedBytes(new Uint8Array(await new Blob(parts).arrayBuffer()), whole);
  }

  constructor(data, whole) {
    this.data = data;
    this.size = data.length;
    this.whole = whole;
  }

  async read(start, stop) {
    return this.data.subarray(start, stop);
  }

  close() {}
}
