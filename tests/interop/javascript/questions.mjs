// Asks the reader of spec-notes/reader: each line of standard input is a JSON object, each answer a line.
// {file, offset, length, seekTable, start, stop}: SHA-256 of these bytes of the block, or the error
// {file, offset, ..., http: true}: status and size of the HTTP head
// {frame: BASE64}: SHA-256 of the content of a frame, or the error
// A file is a path or a URL; each is opened once. An error is "KIND: MESSAGE", "untyped: ..." if it is a fault of the reader.
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
import { Archive, FileSource, HttpSource, WarcError, parseFrame } from "../../../spec-notes/reader/reader.js";
import { ZstdError, decodeBlocks } from "../../../spec-notes/reader/zstd.js";

const archives = new Map(), records = new Map();
const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

async function archiveOf(file) {
  if (!archives.has(file)) archives.set(file, new Archive(/^http:/.test(file) ? new HttpSource(file) : await FileSource.open(file)));
  return archives.get(file);
}

async function recordOf({ file, offset, length, seekTable }) {
  const key = JSON.stringify([file, offset, length, seekTable]);
  if (!records.has(key)) records.set(key, await (await archiveOf(file)).record(offset, length, { seekTable }));
  return records.get(key);
}

function decoded(bytes) {
  const frame = parseFrame(bytes);
  if (!frame || frame.need || frame.isSkippable) return "damaged: not a whole frame";
  if ((frame.content ?? 0) > frame.bound) return "damaged: it states more than it can hold";
  const content = new Uint8Array(frame.content ?? frame.bound);
  const size = decodeBlocks(bytes, frame.blocks, content);
  return size === (frame.content ?? size) ? sha256(content.subarray(0, size)) : "damaged: another size";
}

async function answer(question) {
  if (question.frame !== undefined) return decoded(new Uint8Array(Buffer.from(question.frame, "base64")));
  if (question.requests) { const { source } = await archiveOf(question.file); return `${source.requests} ${source.bytes}`; }
  const record = await recordOf(question);
  if (question.http) { const head = await record.http(); return head ? `${head.status} ${head.size}` : "none"; }
  return sha256(await record.read(question.start, question.stop));
}

for await (const line of createInterface({ input: process.stdin })) {
  let said;
  try { said = await answer(JSON.parse(line)); } catch (error) {
    const isTyped = error instanceof WarcError || error instanceof ZstdError;
    said = isTyped ? `${error.kind ?? "damaged"}: ${error.message}` : `untyped: ${error.stack}`;
  }
  process.stdout.write(said.replace(/\n/g, " ") + "\n");
}
process.exit(0);
