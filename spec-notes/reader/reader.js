// Reads records of .warc.zst files, and ranges of them; README.md has an example.
// R12, W2 and so on are requirements of ../warc-zstd-seekable/index.md, from which this was written.

import { Cursor, EMPTY, LIMITS, fail, join } from "./sources.js";
import { decodeBlocks, readDictionary } from "./zstd.js";
import { xxh64Low } from "./xxh64.js";

export { FileSource, HttpSource, LIMITS, WarcError } from "./sources.js";

const ZSTD = 0xfd2fb528, SKIPPABLE = 0x184d2a5, DICTIONARY = 0x184d2a5d, TABLE = 0x184d2a5e, FOOT = 0x8f92eab1;
const MAX_BLOCK = 131072, BLANK_LINE = /\n\r{0,2}\n/;

const viewOf = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
const latin1 = (bytes) => new TextDecoder("latin1").decode(bytes);
/** The last i with array[i] <= value */
const search = (array, value) => {
  let low = 0;
  for (let high = array.length, middle; high - low > 1; array[middle] <= value ? (low = middle) : (high = middle))
    middle = (low + high) >> 1;
  return low;
};

/** The frame at the beginning of some bytes (R27), {need} if it takes more of them, or null */
export function parseFrame(b) {
  if (b.length < 8) return { need: 8 };
  const view = viewOf(b), magic = view.getUint32(0, true), flags = b[4];
  if (magic >>> 4 === SKIPPABLE) return { magic, size: 8 + view.getUint32(4, true), isSkippable: true };
  if (magic !== ZSTD) return null;
  if (flags & 8) fail("damaged", "a frame with a reserved bit");
  const isSingle = (flags >> 5) & 1, idSize = [0, 1, 2, 4][flags & 3], width = [isSingle, 2, 4, 8][flags >> 6];
  const idAt = isSingle ? 5 : 6, sizeAt = idAt + idSize;
  let at = sizeAt + width, last = 0, bound = 0;
  if (b.length < at) return { need: at + 3 };
  const number = (place, count) => b.subarray(place, place + count).reduceRight((sum, it) => sum * 256 + it, 0);
  const content = width ? number(sizeAt, width) + (width === 2 ? 256 : 0) : null, blocks = [];
  while (!last) {
    if (b.length < at + 3) return { need: at + 3 };
    const header = number(at, 3), type = (header >> 1) & 3, size = header >> 3;
    last = header & 1;
    if (type === 3 || size > MAX_BLOCK) fail("damaged", "a block that cannot be");
    blocks.push({ type, size, at: at + 3 });
    bound += type === 2 ? MAX_BLOCK : size;
    at += 3 + (type === 1 ? 1 : size);
    if (at > LIMITS.stored || bound > LIMITS.content + MAX_BLOCK) fail("limit", "a frame is too large");
  }
  const size = flags & 4 ? at + 4 : at;
  if (b.length < size) return { need: size };
  return { magic, size, content, bound, blocks, id: number(idAt, idSize), sum: flags & 4 ? number(at, 4) : null };
}

/** The content of a frame, of the size and checksum that are stated (6.3, R8, R20) */
function decodeFrame(bytes, frame, dictionary, size = frame.content) {
  if (frame.id && frame.id !== dictionary?.id) fail("dictionary", `it names the dictionary ${frame.id}`);
  if (size > frame.bound) fail("damaged", "it cannot hold as much as is stated");
  let content = new Uint8Array(size ?? frame.bound); // parseFrame limits it
  try { content = content.subarray(0, decodeBlocks(bytes, frame.blocks, content, dictionary)); } catch (error) {
    fail("damaged", error.message, error);
  }
  if (content.length !== (size ?? content.length)) fail("damaged", "its content has another size");
  if (frame.sum !== null && xxh64Low(content) !== frame.sum) fail("damaged", "its checksum is wrong");
  return content;
}

/** The table that ends at `end` if it passes R12, or null */
async function tableBefore(get, end, lowest) {
  const foot = end - lowest >= 17 ? await get(end - 9, end) : EMPTY;
  if (foot.length < 9 || viewOf(foot).getUint32(5, true) !== FOOT) return null;
  const count = viewOf(foot).getUint32(0, true), entry = foot[4] & 0x80 ? 12 : 8, size = count * entry + 17;
  if (foot[4] & 0x7c || count > 0x08000000 || count * 8 > end - lowest - size || size > LIMITS.table) return null;
  const bytes = await get(end - size, end), view = viewOf(bytes);
  if (bytes.length < size || view.getUint32(0, true) !== TABLE) return null;
  if (view.getUint32(4, true) !== size - 8) return null;
  const starts = new Float64Array(count + 1), contents = new Float64Array(count + 1);
  for (let i = 0; i < count; i++) {
    const stored = view.getUint32(8 + i * entry, true), content = view.getUint32(12 + i * entry, true);
    if (!stored && content) return null;
    starts[i + 1] = starts[i] + stored;
    contents[i + 1] = contents[i] + content;
  }
  const anchor = end - size - starts[count];
  if (anchor < lowest) return null;
  for (let i = 0; i <= count; i++) starts[i] += anchor;
  const sumOf = (i) => (entry === 12 ? view.getUint32(16 + i * entry, true) : null);
  return { anchor, count, starts, contents, bytes, sumOf };
}

const NAMED = /^(\d+) (\d+) sha256:([0-9a-f]{64})$/; // seekTable (R25)
const hex = (bytes) => [...new Uint8Array(bytes)].map((it) => it.toString(16).padStart(2, "0")).join("");

export class Archive {
  constructor(source) {
    Object.assign(this, { source, nearby: new Cursor(source, 0), fetching: [] });
    Object.assign(this, { cache: new Map(), cached: 0 }); // frames that were used last are at the end
  }

  /** The dictionary of the file, or null; read again after an error */
  dictionary() {
    return (this.known ??= this.#dictionary().catch((error) => { this.known = null; throw error; }));
  }
  async #dictionary() { // R6, R7, R28
    const cursor = new Cursor(this.source, 64), head = await cursor.get(0, 8);
    if (head.length < 8 || viewOf(head).getUint32(0, true) !== DICTIONARY) return null;
    const size = viewOf(head).getUint32(4, true);
    if (size > LIMITS.dictionary) fail("limit", "the dictionary is too large");
    let data = await cursor.get(8, 8 + size);
    if (data.length < size) fail("damaged", "the file ends within its dictionary");
    if (size >= 4 && viewOf(data).getUint32(0, true) === ZSTD) {
      const frame = parseFrame(data);
      if (frame?.size !== size) fail("dictionary", "the frame of the dictionary is cut off, or not all there is");
      if (frame.content > LIMITS.dictionary) fail("limit", "the dictionary is too large");
      data = decodeFrame(data, frame, null);
    }
    try { return readDictionary(data); } catch (error) { return fail("dictionary", error.message, error); }
  }

  #content(at, bytes, frame, dictionary, listedSize) {
    const key = `${at}:${frame.size}`;
    let held = this.cache.get(key);
    if (bytes.length && held?.frame.sum !== frame.sum) held = null;
    this.cached -= this.cache.get(key)?.content.length ?? 0;
    this.cache.delete(key);
    try { held ??= { frame, content: decodeFrame(bytes, frame, dictionary, listedSize) }; } catch (error) {
      fail(error.kind, `frame at ${at}: ${error.message}`, error);
    }
    this.cache.set(key, held);
    this.cached += held.content.length;
    for (const [old, { content }] of this.cache) {
      if (this.cached <= LIMITS.cache) break;
      this.cache.delete(old);
      this.cached -= content.length;
    }
    return held.content;
  }

  /** Frames from a place on, with their content */
  async *frames(start, cursor) {
    const dictionary = await this.dictionary();
    for (let at = start, frame; ; at += frame.size) {
      let bytes = await cursor.get(at, at + 18);
      if (!bytes.length) return;
      while ((frame = parseFrame(bytes))?.need) {
        bytes = await cursor.get(at, at + frame.need);
        if (bytes.length < frame.need) fail("damaged", `the file ends within the frame at ${at}`);
      }
      if (!frame) fail("damaged", `no frame begins at ${at}`);
      if (at + frame.size > this.source.size) fail("damaged", `the file ends within the frame at ${at}`);
      const content = frame.isSkippable ? EMPTY : this.#content(at, bytes, frame, dictionary);
      yield { ...frame, at, content };
    }
  }

  /** The record at a place; all but `offset` may be missing */
  async record(offset, length = null, { seekTable = null, signal } = {}) {
    const isLarge = length === null || length > MAX_BLOCK, [, at, size, digest] = NAMED.exec(seekTable) ?? [];
    const cursor = new Cursor(this.source, isLarge ? 16384 : Math.max(length, 4096), signal);
    const tail = new Cursor(this.source, 0, signal), isNone = seekTable && !digest;
    const end = isNone ? null : digest ? +at + +size : length && offset + length; // of its table
    const guess = digest ? Math.min(+size, LIMITS.table) : Math.min(65536, Math.max(4096, length >>> 13));
    const from = Math.max(offset, end - guess); // with the dictionary and the header (R31)
    const asked = isLarge && end ? this.source.read(from, end, signal) : Promise.resolve(EMPTY);
    asked.catch(() => {});
    const content = new Content(this.frames(offset, cursor));
    const { fields, headerSize, blockSize } = await content.header(offset);
    const walked = content.frames.slice(content.frames.findIndex((it) => it.content.length)); // R4
    const record = new Record(this, { offset: walked[0].at, fields, headerSize, blockSize });
    this.nearby = cursor; // it may hold the HTTP head
    if (content.bytes.length < headerSize + blockSize && !isNone)
      record.table = await this.#tableOf(record, walked, end, digest, tail.holding(from, await asked));
    return record;
  }

  /** The table of a record: its own, or that of the file (R14, R15, R24, R26), or null */
  async #tableOf({ offset, headerSize, blockSize }, walked, end, digest, cursor) {
    const size = headerSize + blockSize + 4;
    if (end) {
      const table = await tableBefore((start, stop) => cursor.get(start, stop), end, offset);
      const isNamed = !digest || (table && hex(await crypto.subtle.digest("SHA-256", table.bytes)) === digest);
      if (isNamed && table?.anchor === offset && table.contents[table.count] === size)
        return fitting(table, 0, table.count, walked);
      if (digest) return null;
    }
    end = this.source.size;
    for (let link = 0; link < LIMITS.chain && end > offset; link++) {
      const table = await tableBefore((start, stop) => this.source.read(start, stop), end, 0);
      if (!table?.count) return null;
      end = table.anchor;
      if (end > offset) continue;
      const { starts, contents } = table, first = search(starts, offset), total = contents[first] + size;
      let stop = search(contents, total);
      while (stop && contents[stop - 1] === total) stop--; // entries without content (R15)
      if (starts[first] !== offset || contents[stop] !== total || stop <= first) return null;
      const frame = parseFrame(await this.source.read(starts[stop - 1], starts[stop - 1] + 18));
      const listed = contents[stop] - contents[stop - 1];
      if (!frame || frame.isSkippable || (frame.content ?? listed) !== listed) return null;
      return fitting(table, first, stop, walked);
    }
    return null;
  }

  /** Contents of the frames from i on that one request gets, up to j */
  async listed(table, i, j, signal) {
    const { starts, sumOf } = table, from = starts[i];
    const frameOf = (n) => {
      const frame = this.cache.get(`${starts[n]}:${starts[n + 1] - starts[n]}`)?.frame;
      return frame?.sum === null && sumOf(n) !== null ? null : frame; // not compared yet
    };
    // Players give up a range and ask again from where they were.
    await this.fetching.find((it) => it.from <= from && it.to > from)?.work.catch(() => {});
    if (frameOf(i)) return this.#checked(table, i, i + 1, EMPTY, await this.dictionary(), frameOf);
    let k = i + 1;
    while (k < j && !frameOf(k) && starts[k + 1] - from <= LIMITS.request) k++;
    if (starts[k] - from > LIMITS.stored) fail("limit", `the frame at ${from} is too large`);
    const reader = this.nearby.has(from, starts[k]) ? this.nearby : new Cursor(this.source, 0, signal);
    const work = Promise.all([reader.get(from, starts[k]), this.dictionary()])
      .then(([bytes, dictionary]) => this.#checked(table, i, k, bytes, dictionary, frameOf));
    const running = { from, to: starts[k], work };
    this.fetching.push(running);
    return work.finally(() => this.fetching.splice(this.fetching.indexOf(running), 1));
  }

  /** Contents of frames i to j, if they are as listed (6.3) */
  #checked({ starts, contents, sumOf }, i, j, bytes, dictionary, frameOf) {
    return Array.from({ length: j - i }, (_, k) => {
      const n = i + k, at = starts[n], part = bytes.subarray(at - starts[i], starts[n + 1] - starts[i]);
      const frame = frameOf(n) ?? parseFrame(part), size = contents[n + 1] - contents[n], sum = sumOf(n);
      const isListed = frame?.size === starts[n + 1] - at && !frame.isSkippable && agree(frame.sum, sum);
      const content = isListed && (frame.content ?? size) === size
        && this.#content(at, part, { ...frame, sum: frame.sum ?? sum }, dictionary, size);
      return content?.length === size ? content : fail("damaged", `frame at ${at}: not the one that is listed`);
    });
  }

  /** All records in order, without tables (R18); the pieces of each are read before the next */
  async *records() {
    const content = new Content(this.frames(0, new Cursor(this.source, 1 << 18)));
    let isEmpty = true;
    while (content.bytes.length || (await content.more())) {
      const { at } = content.frames.findLast((it) => it.begin <= content.position && it.content.length);
      const header = await content.header(at);
      content.take(header.headerSize);
      content.left = header.blockSize;
      yield { offset: at, ...header, pieces: () => content.pieces() };
      for await (const _ of content.pieces()); // what the caller has left
      isEmpty = false;
      while (await content.isAtBreak()) content.take(1);
    }
    if (isEmpty) fail("no-record", "the file holds no record");
  }
}

const agree = (sum, listed) => sum === null || listed === null || sum === listed;

/** Entries `first` to `stop` of a table, if it fits the frames of the header (R16, R17), or null */
function fitting(table, first, stop, walked) {
  const { starts, contents, sumOf } = table;
  for (let i = first; i < stop; i++) if (contents[i] === contents[i + 1]) return null;
  const isListed = ({ at, size, content, sum, isSkippable }, k) => {
    const i = first + k, listed = sumOf(i);
    return i < stop && !isSkippable && at === starts[i] && at + size === starts[i + 1]
      && content.length === contents[i + 1] - contents[i] && agree(sum, listed);
  };
  return walked.every(isListed) ? { ...table, first, stop } : null;
}

/** Content in order: `bytes` of it from `position` on, and the frames that these are in */
class Content {
  constructor(walk) { Object.assign(this, { walk, bytes: EMPTY, position: 0, frames: [], left: 0 }); }

  async more() {
    for (;;) {
      const { value: frame, done } = await this.walk.next();
      if (done) return false;
      this.frames.push({ ...frame, begin: this.position + this.bytes.length });
      this.bytes = join(this.bytes, frame.content);
      if (frame.content.length) return true;
    }
  }
  /** R3 */
  async isAtBreak() { return (this.bytes.length || (await this.more())) && [10, 13].includes(this.bytes[0]); }
  take(count) {
    const taken = this.bytes.subarray(0, count);
    this.bytes = this.bytes.subarray(count);
    this.position += taken.length;
    this.frames = this.frames.filter((it) => it.begin + it.content.length > this.position);
    return taken;
  }
  async *pieces() {
    while (this.left) {
      if (!this.bytes.length && !(await this.more())) fail("damaged", "the file ends within a record");
      const piece = this.take(this.left);
      this.left -= piece.length;
      yield piece;
    }
  }
  async header(offset) {
    for (let seen = 0; ;) {
      const begin = latin1(this.bytes.subarray(0, 5)).toUpperCase(); // R29
      if (!"WARC/".startsWith(begin)) fail("no-record", `no record begins at ${offset}`);
      const from = Math.max(0, seen - 3), end = BLANK_LINE.exec(latin1(this.bytes.subarray(from, LIMITS.header)));
      if (end) return parseHeader(this.bytes.subarray(0, from + end.index + end[0].length));
      seen = this.bytes.length;
      if (seen > LIMITS.header || this.frames.length > LIMITS.headerFrames) fail("limit", "a record header");
      if (!(await this.more())) fail(seen ? "damaged" : "no-record", `the file ends in the record at ${offset}`);
    }
  }
}

/** The first field of each name, in lower case (R29) */
function fieldsOf(text) {
  const fields = new Map();
  for (const line of text.replace(/\r*\n[ \t]+/g, " ").split(/\r*\n/).slice(1)) {
    const [, name, value] = /^([^:]+):(.*)$/s.exec(line) ?? [], key = name?.trim().toLowerCase();
    if (key && !fields.has(key)) fields.set(key, value.trim());
  }
  return fields;
}

function parseHeader(bytes) {
  const fields = fieldsOf(new TextDecoder().decode(bytes));
  if (!/^\d{1,15}$/.test(fields.get("content-length"))) fail("no-record", "a record without Content-Length");
  return { fields, headerSize: bytes.length, blockSize: +fields.get("content-length") };
}

/** `offset`, `fields` by their names in lower case, `blockSize`, and `table` or null */
export class Record {
  constructor(archive, parts) { Object.assign(this, { archive, table: null }, parts); }

  /** Bytes [start, stop) of the block, in pieces */
  async *stream(start, stop, signal) {
    const end = Math.min(stop, this.blockSize) + this.headerSize, { table, archive } = this;
    let at = start + this.headerSize;
    if (at >= end) return;
    if (!table) {
      let begin = 0;
      for await (const { content } of archive.frames(this.offset, new Cursor(archive.source, 1 << 18, signal))) {
        const piece = content.subarray(Math.max(at - begin, 0), end - begin);
        if (piece.length) yield piece;
        at += piece.length;
        begin += content.length;
        if (at >= end) return;
      }
      fail("damaged", `the file ends within the record at ${this.offset}`);
    }
    const { contents } = table, base = contents[table.first];
    const last = search(contents, base + end - 1) + 1;
    for (let i = search(contents, base + at), count = 2; at < end; count *= 2)
      for (const content of await archive.listed(table, i, Math.min(last, i + count), signal)) {
        const begin = contents[i++] - base;
        yield content.subarray(at - begin, end - begin);
        at = begin + content.length;
      }
  }

  async read(start, stop, signal) {
    const parts = [];
    for await (const piece of this.stream(start, stop, signal)) parts.push(piece);
    return new Uint8Array(await new Blob(parts).arrayBuffer());
  }

  /** {status, headers, size} of the HTTP head (W2), or null */
  async http() {
    let head = null, text = "";
    if (!/^(application|message)\/http\s*(;|$)/i.test(this.fields.get("content-type"))) return null;
    for await (const piece of this.stream(0, LIMITS.httpHead)) {
      text += latin1(piece);
      head = parseHead(text);
      if (head && !head.isInterim) break;
    }
    return head;
  }
}

// In bytes: of Unicode's white space, a few are blanks only in JavaScript.
const STATUS = /^(?:HTTP(?:\/\d(?:\.[\dxX])?)?|ICY)[ \t]+(\d{3}(?!\d)|0(?![^\t-\r ]))/;
const REQUEST = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+[ \t]+[^\t-\r ]/;

function parseHead(text) {
  for (let at = /^(?:\r?\n){0,4}/.exec(text)[0].length; ;) {
    const rest = text.slice(at), status = STATUS.exec(rest), end = BLANK_LINE.exec(rest);
    if (!end || !(status || REQUEST.test(rest))) return null;
    at += end.index + end[0].length;
    const isInterim = /^1(?!01)/.test(status?.[1]) && status[1].length === 3;
    if (isInterim && STATUS.test(text.slice(at))) continue;
    return { status: +(status?.[1] ?? 0), headers: fieldsOf(rest.slice(0, end.index)), size: at, isInterim };
  }
}
