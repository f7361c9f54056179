// A Zstandard decoder, written from RFC 8878, whose sections are cited. It decodes the blocks that reader.js has
// found into memory of known size. Each turn of a loop writes to it or reads a bit, so damaged data end soon.

export class ZstdError extends Error {}
const fail = (what) => { throw new ZstdError(what); };
const log2 = (n) => 31 - Math.clz32(n);

/** By state: its symbol, and the next state, `base` plus so many bits (4.1) */
function fseTable(norm, count, accuracy) {
  const size = 1 << accuracy, mask = size - 1, step = (size >> 1) + (size >> 3) + 3;
  const symbols = new Uint8Array(size), bits = new Uint8Array(size), base = new Uint16Array(size);
  const next = new Uint16Array(count);
  let high = size, place = 0;
  for (let s = 0; s < count; s++) if (norm[s] === -1) { symbols[--high] = s; next[s] = 1; } // less than one
  for (let s = 0; s < count; s++) {
    if (norm[s] <= 0) continue;
    next[s] = norm[s];
    for (let i = 0; i < norm[s]; i++) {
      symbols[place] = s;
      do place = (place + step) & mask; while (place >= high);
    }
  }
  if (place) fail("FSE table");
  for (let i = 0; i < size; i++) {
    const value = next[symbols[i]]++;
    bits[i] = accuracy - log2(value);
    base[i] = (value << bits[i]) - size;
  }
  return { symbols, bits, base, accuracy };
}

/** A table, and where its description ends (4.1.1) */
function readFse(src, start, end, most, symbolsMost) {
  let p = start * 8;
  const last = end * 8;
  const take = (n) => {
    const b = p >> 3, value = ((src[b] | (src[b + 1] << 8) | (src[b + 2] << 16)) >>> (p & 7)) & ((1 << n) - 1);
    p += n;
    return value;
  };
  const accuracy = take(4) + 5, norm = [];
  if (accuracy > most) fail("FSE accuracy");
  let left = 1 << accuracy;
  while (left > 0) {
    if (p > last || norm.length > symbolsMost) fail("FSE description");
    const width = log2(left + 1) + 1, low = (1 << (width - 1)) - 1, threshold = (1 << width) - 1 - (left + 1);
    let value = take(width);
    if ((value & low) < threshold) { p--; value &= low; } else if (value > low) value -= threshold;
    norm.push(value - 1);
    left -= value ? value - 1 : 1;
    if (value === 1) {
      let repeat;
      do {
        repeat = take(2);
        for (let i = 0; i < repeat; i++) norm.push(0);
      } while (repeat === 3 && p <= last);
    }
  }
  if (left || p > last || norm.length > symbolsMost + 1) fail("FSE description");
  return { table: fseTable(norm, norm.length, accuracy), at: (p + 7) >> 3 };
}

const oneSymbol = (s) => fseTable([...Array(s).fill(0), 1], s + 1, 0);

/** Bits below the mark in the last byte: streams are read from their end (4.1) */
function bitsLeft(src, start, end) {
  if (end <= start || !src[end - 1]) fail("bitstream");
  return (end - start - 1) * 8 + log2(src[end - 1]);
}

/** A table of all `most` next bits, and where its description ends (4.2.1) */
function readHuffman(src, start, end) {
  const weights = [];
  let at = start + 1;
  const first = src[start];
  if (first >= 128) {
    for (let i = 0; i < first - 127; i++) weights.push(i & 1 ? src[at + (i >> 1)] & 15 : src[at + (i >> 1)] >> 4);
    at += (first - 126) >> 1;
  } else {
    at += first;
    if (at > end) fail("Huffman weights");
    const { table, at: from } = readFse(src, start + 1, at, 6, 255);
    let p = bitsLeft(src, from, at), ran = false;
    const take = (n) => {
      let value = 0;
      for (; n; n--) { p--; value = (value << 1) | (p < 0 ? 0 : (src[from + (p >> 3)] >> (p & 7)) & 1); }
      return value;
    };
    const states = [take(table.accuracy), take(table.accuracy)];
    if (p < 0) fail("Huffman weights");
    for (let turn = 0; !ran; turn ^= 1) {
      const s = states[turn];
      weights.push(table.symbols[s]);
      states[turn] = table.base[s] + take(table.bits[s]);
      if (p < 0) { weights.push(table.symbols[states[turn ^ 1]]); ran = true; }
      if (weights.length > 255) fail("Huffman weights");
    }
  }
  if (at > end) fail("Huffman weights");
  let sum = 0;
  for (const w of weights) { if (w > 11) fail("Huffman weight"); sum += w ? 1 << (w - 1) : 0; }
  if (!sum) fail("Huffman weights");
  const most = log2(sum) + 1, rest = (1 << most) - sum;
  if (most > 11 || rest & (rest - 1)) fail("Huffman weights");
  weights.push(log2(rest) + 1);
  const symbols = new Uint8Array(1 << most), bits = new Uint8Array(1 << most);
  for (let w = 1, place = 0; w <= most; w++)
    for (let s = 0; s < weights.length; s++)
      if (weights[s] === w) {
        const stop = place + (1 << (w - 1));
        symbols.fill(s, place, stop);
        bits.fill(most + 1 - w, place, stop);
        place = stop;
      }
  return { table: { symbols, bits, most }, at };
}

function huffmanStream({ symbols, bits, most }, src, start, end, out, from, to) {
  const mask = (1 << most) - 1;
  let p = bitsLeft(src, start, end);
  while (from < to) {
    const low = p - most;
    let index;
    if (low >= 0) {
      const b = start + (low >> 3);
      index = ((src[b] | (src[b + 1] << 8) | (src[b + 2] << 16)) >>> (low & 7)) & mask;
    } else {
      if (p <= 0) fail("Huffman stream");
      index = ((src[start] | (src[start + 1] << 8)) << -low) & mask;
    }
    out[from++] = symbols[index];
    p -= bits[index];
  }
  if (p) fail("Huffman stream");
}

const MAX_BLOCK = 131072;
// Each base is the one before plus what the bits of its code can add.
const LL_BITS = [...Array(16).fill(0), 1, 1, 1, 1, 2, 2, 3, 3, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
const ML_BITS = [...Array(32).fill(0), 1, 1, 1, 1, 2, 2, 3, 3, 4, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16];
const bases = (bits, first) =>
  bits.map((_, code) => bits.slice(0, code).reduce((sum, n) => sum + (1 << n), first));
const LL_BASE = bases(LL_BITS, 0), ML_BASE = bases(ML_BITS, 3);
// 3.1.1.3.2.2; -1 is "less than one"
const LL_NORM = [4, 3, ...Array(11).fill(2), 1, 1, 1, ...Array(9).fill(2), 3, 2, 1, 1, 1, 1, 1, -1, -1, -1, -1];
const ML_NORM = [1, 4, 3, ...Array(6).fill(2), ...Array(37).fill(1), ...Array(7).fill(-1)];
const OF_NORM = [...Array(6).fill(1), 2, 2, 2, ...Array(15).fill(1), ...Array(5).fill(-1)];
// Literal lengths, offsets, match lengths: predefined, its accuracy, most accuracy and symbol
const KINDS = [[LL_NORM, 6, 9, 35], [OF_NORM, 5, 8, 31], [ML_NORM, 6, 9, 52]];
const PREDEFINED = KINDS.map(([norm, accuracy]) => fseTable(norm, norm.length, accuracy));
const literalMemory = new Uint8Array(MAX_BLOCK);

/** Literals, and where their section ends (3.1.1.3.1) */
function literals(src, start, end, state) {
  const type = src[start] & 3, format = (src[start] >> 2) & 3;
  if (type < 2) {
    const bytes = format === 1 ? 2 : format === 3 ? 3 : 1;
    const size = bytes === 1 ? src[start] >> 3
      : (src[start] >> 4) | (src[start + 1] << 4) | (bytes === 3 ? src[start + 2] << 12 : 0);
    const at = start + bytes, stop = at + (type ? 1 : size);
    if (size > MAX_BLOCK || stop > end) fail("literals");
    if (!type) return [src.subarray(at, stop), stop];
    literalMemory.fill(src[at], 0, size);
    return [literalMemory.subarray(0, size), stop];
  }
  const bytes = format < 2 ? 3 : format + 2, width = format < 2 ? 10 : format === 2 ? 14 : 18;
  let value = 0;
  for (let i = bytes - 1; i >= 0; i--) value = value * 256 + src[start + i];
  value = Math.floor(value / 16);
  const size = value % (1 << width), stored = Math.floor(value / (1 << width)), stop = start + bytes + stored;
  let at = start + bytes;
  if (size > MAX_BLOCK || stop > end) fail("literals");
  if (type === 2) ({ table: state.huffman, at } = readHuffman(src, at, stop));
  if (!state.huffman) fail("no Huffman table");
  if (!format) huffmanStream(state.huffman, src, at, stop, literalMemory, 0, size);
  else {
    const each = (size + 3) >> 2;
    let from = at + 6;
    if (from > stop || each * 3 > size) fail("literals");
    for (let i = 0; i < 4; i++) {
      const to = i < 3 ? from + (src[at + 2 * i] | (src[at + 2 * i + 1] << 8)) : stop;
      if (to > stop) fail("literals");
      huffmanStream(state.huffman, src, from, to, literalMemory, each * i, i < 3 ? each * (i + 1) : size);
      from = to;
    }
  }
  return [literalMemory.subarray(0, size), stop];
}

/** Decode a block into `out` from `op` on; return where its content ends (3.1.1.3) */
function compressedBlock(src, start, end, out, op, state) {
  const [lit, sequencesAt] = literals(src, start, end, state), first = op;
  let at = sequencesAt, count = src[at++], lp = 0;
  if (at > end) fail("sequences");
  if (count > 127) count = count < 255 ? ((count - 128) << 8) + src[at++] : src[at++] + (src[at++] << 8) + 0x7f00;
  if (count) {
    const modes = src[at++];
    if (modes & 3) fail("sequence modes");
    for (let k = 0; k < 3; k++) {
      const mode = (modes >> (6 - 2 * k)) & 3, [, , accuracy, symbol] = KINDS[k];
      if (mode === 0) state.tables[k] = PREDEFINED[k];
      else if (mode === 1) {
        if (src[at] > symbol) fail("sequence symbol");
        state.tables[k] = oneSymbol(src[at++]);
      } else if (mode === 2) ({ table: state.tables[k], at } = readFse(src, at, end, accuracy, symbol));
      else if (!state.tables[k]) fail("no table to repeat");
    }
    const [ll, of, ml] = state.tables, before = state.before.length;
    let [r0, r1, r2] = state.repeat, p = bitsLeft(src, at, end);
    const take = (n) => { // n <= 25
      p -= n;
      if (!n) return 0;
      const b = at + (p >> 3), word = src[b] | (src[b + 1] << 8) | (src[b + 2] << 16) | (src[b + 3] << 24);
      return (word >>> (p & 7)) & ((1 << n) - 1);
    };
    let sl = take(ll.accuracy), so = take(of.accuracy), sm = take(ml.accuracy);
    for (let i = 0; i < count; i++) {
      const code = of.symbols[so], lc = ll.symbols[sl], mc = ml.symbols[sm];
      if (code > 30 || p < 0) fail("sequence");
      const value = (1 << code) + (code > 24 ? take(code - 24) * 16777216 + take(24) : take(code));
      const m = ML_BASE[mc] + take(ML_BITS[mc]), l = LL_BASE[lc] + take(LL_BITS[lc]);
      if (i < count - 1) {
        sl = ll.base[sl] + take(ll.bits[sl]);
        sm = ml.base[sm] + take(ml.bits[sm]);
        so = of.base[so] + take(of.bits[so]);
      }
      let offset;
      if (value > 3) { offset = value - 3; r2 = r1; r1 = r0; r0 = offset; }
      else { // one of the last three (3.1.1.5)
        const which = value - (l ? 1 : 0);
        offset = which === 0 ? r0 : which === 1 ? r1 : which === 2 ? r2 : r0 - 1;
        if (which > 1) r2 = r1;
        if (which > 0) { r1 = r0; r0 = offset; }
      }
      const stop = op + l + m;
      if (lp + l > lit.length || stop > out.length || stop - first > MAX_BLOCK || offset < 1) fail("sequence");
      if (l < 24) for (const end = lp + l; lp < end;) out[op++] = lit[lp++];
      else { out.set(lit.subarray(lp, lp + l), op); lp += l; op += l; }
      let from = op - offset, left = m;
      if (from < 0) {
        if (before + from < 0) fail("offset");
        for (; left && from < 0; left--) out[op++] = state.before[before + from++];
      }
      if (left > 24 && offset >= left) { out.copyWithin(op, from, from + left); op += left; }
      else for (; left; left--) out[op++] = out[from++];
    }
    if (p) fail("sequences");
    state.repeat = [r0, r1, r2];
  } else if (at !== end) fail("bytes after the block");
  const rest = lit.length - lp;
  if (op + rest > out.length || op + rest - first > MAX_BLOCK) fail("content larger than stated");
  out.set(lit.subarray(lp), op);
  return op + rest;
}

/** 5 */
export function readDictionary(src) {
  if (src.length < 8) fail("dictionary cut off");
  const view = new DataView(src.buffer, src.byteOffset, src.length);
  if (view.getUint32(0, true) !== 0xec30a437) fail("no magic number of a dictionary");
  const id = view.getUint32(4, true);
  let { table: huffman, at } = readHuffman(src, 8, src.length);
  const tables = [];
  for (const k of [1, 2, 0]) ({ table: tables[k], at } = readFse(src, at, src.length, KINDS[k][2], KINDS[k][3]));
  if (at + 12 > src.length) fail("dictionary cut off");
  const content = src.subarray(at + 12), repeat = [0, 4, 8].map((i) => view.getUint32(at + i, true));
  if (!id || repeat.some((it) => !it || it > content.length)) fail("dictionary");
  return { id, huffman, tables, repeat, content };
}

/** Decode blocks {type, size, at}, `at` in `src`, into `out`; return the number of bytes */
export function decodeBlocks(src, blocks, out, dictionary = null) {
  const { huffman, tables = [], repeat = [1, 4, 8], content = new Uint8Array(0) } = dictionary ?? {};
  const state = { huffman, tables: [...tables], repeat, before: content };
  let op = 0;
  for (const { type, size, at } of blocks) {
    if (type < 2 && op + size > out.length) fail("content larger than stated");
    if (type === 0) { out.set(src.subarray(at, at + size), op); op += size; }
    else if (type === 1) { out.fill(src[at], op, op + size); op += size; }
    else op = compressedBlock(src, at, at + size, out, op, state);
  }
  return op;
}
