// Adapter of the reader in spec-notes/reader; see README.md for the protocol.
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";

// Tests name another copy of the reader.
const reader = process.env.READER ?? new URL("../../../spec-notes/reader/reader.js", import.meta.url).href;
const { Archive, FileSource, WarcError } = await import(reader);

async function* answer([question, path, offset, length, start, stop]) {
  const source = await FileSource.open(path), archive = new Archive(source);
  try {
    if (question === "range") {
      const record = await archive.record(+offset, length === "-" ? null : +length);
      yield* record.stream(+start, +stop);
      return;
    }
    for await (const { offset: at, pieces } of archive.records()) {
      const hash = createHash("sha256");
      let size = 0;
      for await (const piece of pieces()) { hash.update(piece); size += piece.length; }
      yield Buffer.from(JSON.stringify({ offset: at, length: null, size, sha256: hash.digest("hex") }) + "\n");
    }
  } finally { await source.close(); }
}

async function answered(words) {
  const pieces = [];
  let status = 0, message = "";
  try {
    for await (const piece of answer(words)) pieces.push(piece.slice());
  } catch (error) {
    status = error instanceof WarcError ? 1 : 2;
    message = `${error.kind ?? error.stack}: ${error.message}`.replace(/\n/g, " ").slice(0, 2000);
  }
  return { status, message, output: Buffer.concat(pieces) };
}

if (process.argv[2] === "batch")
  for await (const line of createInterface({ input: process.stdin })) {
    const { status, message, output } = await answered(JSON.parse(line));
    process.stdout.write(Buffer.concat([Buffer.from(`${status} ${output.length} ${message}\n`), output]));
  }
else {
  const { status, message, output } = await answered(process.argv.slice(2));
  process.stdout.write(output);
  if (message) console.error(message);
  process.exitCode = status;
}
