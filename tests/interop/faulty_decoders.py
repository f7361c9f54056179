"""Decoders with one fault each: that of the reader in JavaScript, with a single passage of its source exchanged.

Each is an error that the author of a decoder may make. A sample whose frames are of a real compressor finds it.
"""

# A fault takes a line, however long what it exchanges is.
# ruff: noqa: E501

from __future__ import annotations

from typing import NamedTuple

OF_COMPRESSORS = ("compressed-", "foreign-stream", "foreign-pzstd-program", "dictionary", "every-large")
"""Beginnings of the names of samples that try a decoder."""


class DecoderFault(NamedTuple):
    name: str
    right: str
    """A passage that the source has once."""
    wrong: str = ""


F = DecoderFault
DECODER_FAULTS = [
    # FSE tables, 4.1
    F("the step between states is another", "(size >> 1) + (size >> 3) + 3", "(size >> 1) + (size >> 3) + 1"),
    F("symbols less than one come from the beginning", "symbols[--high] = s; next[s] = 1;", "next[s] = 1;"),
    F("symbols less than one have no state", "{ symbols[--high] = s; next[s] = 1; }", "{ symbols[--high] = s; }"),
    F("symbols are put where others are", "do place = (place + step) & mask; while (place >= high);", "place = (place + step) & mask;"),
    F("states begin with 0", "next[s] = norm[s];", "next[s] = 0;"),
    F("states take a bit less", "bits[i] = accuracy - log2(value);", "bits[i] = Math.max(0, accuracy - log2(value) - 1);"),
    F("states take a bit more", "bits[i] = accuracy - log2(value);", "bits[i] = accuracy - log2(value) + (i === 1 ? 1 : 0);"),
    F("the base of a state is its value", "(value << bits[i]) - size", "value << bits[i]"),
    F("accuracy is 4 more than stated", "take(4) + 5", "take(4) + 4"),
    F("probabilities have all bits", "if ((value & low) < threshold) { p--; value &= low; } else", ""),
    F("large probabilities are as written", "else if (value > low) value -= threshold;", ""),
    F("a probability is what is written", "norm.push(value - 1);", "norm.push(value);"),
    F("less than one takes nothing", "left -= value ? value - 1 : 1;", "left -= value ? value - 1 : 0;"),
    F("zeros are not repeated", "repeat = take(2);\n        for", "repeat = 0;\n        for"),
    F("zeros are repeated once", "while (repeat === 3 && p <= last);", "while (false);"),
    F("a table ends at a bit", "at: (p + 7) >> 3 }", "at: p >> 3 }"),
    F("a table ends with a byte more", "at: (p + 7) >> 3 }", "at: (p + 8) >> 3 }"),
    F("one symbol is the next one", "[...Array(s).fill(0), 1], s + 1, 0)", "[...Array(s + 1).fill(0), 1], s + 2, 0)"),
    F("tables of offsets have 7 bits at most", "[OF_NORM, 5, 8, 31]", "[OF_NORM, 5, 7, 31]"),
    F("tables of literal lengths have 8 bits at most", "[LL_NORM, 6, 9, 35]", "[LL_NORM, 6, 8, 35]"),
    F("tables of match lengths have 8 bits at most", "[ML_NORM, 6, 9, 52]", "[ML_NORM, 6, 8, 52]"),
    F("literal lengths have 34 codes", "[LL_NORM, 6, 9, 35]", "[LL_NORM, 6, 9, 20]"),
    F("match lengths have few codes", "[ML_NORM, 6, 9, 52]", "[ML_NORM, 6, 9, 40]"),
    F("the mark is a bit of the stream", "+ log2(src[end - 1]);", "+ log2(src[end - 1]) + 1;"),
    # Huffman codes, 4.2
    F("weights of four bits are in the other order", "weights.push(i & 1 ? src[at + (i >> 1)] & 15 : src[at + (i >> 1)] >> 4);", "weights.push(i & 1 ? src[at + (i >> 1)] >> 4 : src[at + (i >> 1)] & 15);"),
    F("weights are never of four bits", "if (first >= 128) {", 'if (first >= 128) fail("weights"); if (false) {'),
    F("weights of four bits end too early", "at += (first - 126) >> 1;", "at += (first - 127) >> 1;"),
    F("the weights have one state", "turn ^= 1) {", "turn ^= 0) {"),
    F("the last weight of a state is lost", "{ weights.push(table.symbols[states[turn ^ 1]]); ran = true; }", "ran = true;"),
    F("codes have 10 bits at most", "if (most > 11 ||", "if (most > 10 ||"),
    F("the last symbol is not there", "weights.push(log2(rest) + 1);", "weights.push(0);"),
    F("the last weight is one less", "weights.push(log2(rest) + 1);", "weights.push(log2(rest));"),
    F("codes are given from the longest symbol on", "for (let s = 0; s < weights.length; s++)\n      if (weights[s] === w)", "for (let s = weights.length - 1; s >= 0; s--)\n      if (weights[s] === w)"),
    F("codes are given from the shortest on", "for (let w = 1, place = 0; w <= most; w++)", "for (let w = most, place = 0; w > 0; w--)"),
    F("a code is as long as its weight", "bits.fill(most + 1 - w, place, stop);", "bits.fill(w, place, stop);"),
    F("the last bits of a stream are not moved up", "<< -low) & mask", "& mask)"),
    # Literals, 3.1.1.3.1
    F("literals are never raw", "if (type < 2) {\n    const bytes", 'if (!type) fail("raw");\n  if (type < 2) {\n    const bytes'),
    F("literals are never a run", "literalMemory.fill(src[at], 0, size);", 'fail("a run");'),
    F("a run of literals takes its size", "stop = at + (type ? 1 : size);", "stop = at + size;"),
    F("raw literals have sizes of two bytes at most", "format === 3 ? 3 : 1;", "1;"),
    F("raw literals have sizes of one byte", "const bytes = format === 1 ? 2 :", "const bytes = format === 1 ? 1 :"),
    F("sizes of 14 bits are of 10", "format === 2 ? 14 : 18", "format === 2 ? 10 : 18"),
    F("sizes of 18 bits are of 14", "format === 2 ? 14 : 18", "14"),
    F("the size of sizes is three bytes", "const bytes = format < 2 ? 3 : format + 2,", "const bytes = format < 3 ? 3 : format + 2,"),
    F("there is always one stream", "if (!format) huffmanStream", "if (true) huffmanStream"),
    F("there are always four streams", "if (!format) huffmanStream", "if (false) huffmanStream"),
    F("a table is not used again", "if (!state.huffman) fail", "if (type === 3) fail"),
    F("four streams share symbols evenly", "const each = (size + 3) >> 2;", "const each = size >> 2;"),
    F("the fourth stream is as long as the others", "i < 3 ? each * (i + 1) : size);", "each * (i + 1));"),
    F("the jump table has four sizes", "let from = at + 6;", "let from = at + 8;"),
    F("streams have 255 bytes at most", "(src[at + 2 * i] | (src[at + 2 * i + 1] << 8))", "src[at + 2 * i]"),
    # Sequences, 3.1.1.3.2
    F("there are 127 sequences at most", "if (count > 127) count =", "if (count > 127) fail('many'); if (false) count ="),
    F("there are never none", "  if (count) {\n    const modes", "  if (!count) fail('none');\n  if (count) {\n    const modes"),
    F("numbers of two bytes are 128 too high", "((count - 128) << 8)", "(count << 8)"),
    F("the order of tables is another", "(modes >> (6 - 2 * k)) & 3", "(modes >> (2 + 2 * k)) & 3"),
    F("predefined tables are refused", "if (mode === 0) state.tables[k] = PREDEFINED[k];", 'if (mode === 0) fail("predefined");'),
    F("a table of one symbol is refused", "state.tables[k] = oneSymbol(src[at++]);", 'fail("one symbol");'),
    F("a table is not repeated", "else if (!state.tables[k]) fail", "else fail"),
    F("a predefined table is not one to repeat", "const state = { huffman, tables: [...tables], repeat,", "const state = { huffman, tables, repeat," ),
    F("states are read in the order of tables", "let sl = take(ll.accuracy), so = take(of.accuracy), sm = take(ml.accuracy);", "let sl = take(ll.accuracy), sm = take(ml.accuracy), so = take(of.accuracy);"),
    F("lengths are read before the offset", "const m = ML_BASE[mc] + take(ML_BITS[mc]), l = LL_BASE[lc] + take(LL_BITS[lc]);", "const l = LL_BASE[lc] + take(LL_BITS[lc]), m = ML_BASE[mc] + take(ML_BITS[mc]);"),
    F("states change in the order that they were read in", "        sm = ml.base[sm] + take(ml.bits[sm]);\n        so = of.base[so] + take(of.bits[so]);", "        so = of.base[so] + take(of.bits[so]);\n        sm = ml.base[sm] + take(ml.bits[sm]);"),
    F("states change after the last sequence", "if (i < count - 1) {", "if (true) {"),
    F("matches have 4 bytes or more", "ML_BASE = bases(ML_BITS, 3)", "ML_BASE = bases(ML_BITS, 4)"),
    F("a long literal length has a bit less", "13, 14, 15, 16];\nconst ML_BITS", "13, 13, 15, 16];\nconst ML_BITS"),
    F("a long match length has a bit less", "11, 12, 13, 14, 15, 16];\nconst bases", "11, 11, 13, 14, 15, 16];\nconst bases"),
    F("offsets are 3 too high", "offset = value - 3;", "offset = value;"),
    F("literal length 0 changes nothing", "const which = value - (l ? 1 : 0);", "const which = value - 1;"),
    F("the first offset less one is the first offset", "which === 2 ? r2 : r0 - 1;", "which === 2 ? r2 : r0;"),
    F("offsets that are used are not moved to the front", "if (which > 0) { r1 = r0; r0 = offset; }", ""),
    F("the third offset is not moved", "if (which > 1) r2 = r1;", ""),
    F("new offsets replace the first alone", "r2 = r1; r1 = r0; r0 = offset; }\n", "r0 = offset; }\n"),
    F("offsets are forgotten with each block", "state.repeat = [r0, r1, r2];", ""),
    F("offsets begin with others", "repeat = [1, 4, 8]", "repeat = [1, 1, 1]"),
    F("matches do not repeat themselves", "else for (; left; left--) out[op++] = out[from++];", "else { out.copyWithin(op, from, from + left); op += left; }"),
    F("matches begin within the block", "const stop = op + l + m;", "const stop = op + l + m; if (offset > op + l - first) fail('far');"),
    F("matches begin in the last MiB", "const stop = op + l + m;", "const stop = op + l + m; if (offset > 1 << 20) fail('far');"),
    F("the last literals are lost", "out.set(lit.subarray(lp), op);", ""),
    F("blocks have less than 128 KiB", "stop - first > MAX_BLOCK ||", "stop - first >= MAX_BLOCK ||"),
    F("literals have less than 128 KiB in a block", "op + rest - first > MAX_BLOCK)", "op + rest - first >= MAX_BLOCK)"),
    # Dictionaries, 5
    F("the tables of a dictionary are in the order of a block", "for (const k of [1, 2, 0])", "for (const k of [0, 1, 2])"),
    F("a dictionary has no tables", "const { huffman, tables = [], repeat = [1, 4, 8], content", "const { huffman, repeat = [1, 4, 8], content" ),
    F("a dictionary has no offsets", "repeat = [0, 4, 8].map((i) => view.getUint32(at + i, true));", "repeat = [1, 4, 8];"),
    F("a dictionary has no Huffman table", "return { id, huffman, tables,", "return { id, tables,"),
    F("matches do not go on from a dictionary", "for (; left && from < 0; left--) out[op++] = state.before[before + from++];", "for (; left; left--) out[op++] = state.before[before + from++];"),
    # Blocks, 3.1.1.2
    F("a run has one byte", "out.fill(src[at], op, op + size); op += size;", "out[op++] = src[at];"),
    F("raw blocks are empty", "{ out.set(src.subarray(at, at + size), op); op += size; }\n    else if", "{ op += size; }\n    else if"),
]  # fmt: skip
