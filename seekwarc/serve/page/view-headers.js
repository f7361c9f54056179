// The headers of the record and of its HTTP message.

import { bytes, el } from "./dom.js";

const FRAMES = {
  record: "known from the record’s own seek table",
  file: "known from the table at the end of the file",
  none: "found by scanning: there is no seek table",
  unusable: "found by scanning: the seek table cannot be believed",
  single: "the record is one frame",
  uncompressed: "the file is not compressed",
  segments: "of several records, joined",
  stream: "the record is read from its beginning: it is not in frames that can be reached",
};

/** Harmless deviations from the head or the standard. */
export function remarksOf(record) {
  return [...(record.deviation ? [`${record.deviation}. No byte is missing: it is shown as it is stored.`] : []), ...record.findings];
}

export function headersView({ record }) {
  const element = el("div", { class: "view headers", tabindex: 0, role: "region", "aria-label": "Headers" });
  element.append(section(`WARC/${record.version}`, record.header));
  if (record.http) element.append(section(record.http.start_line, record.http.header));
  if (record.payload_format) element.append(section("What the payload says of itself", [["Format", record.payload_format]]));
  const place = [["File", record.file], ["Offset", String(record.offset)], ["Length", `${record.length} (${bytes(record.length)} stored)`], ["Frames", FRAMES[record.seek_table] ?? record.seek_table]];
  if (record.seek_table_problem) place.push(["Seek table not used", record.seek_table_problem]);
  element.append(section("Where it is stored", place));
  const remarks = remarksOf(record);
  if (remarks.length) {
    element.append(el("section", { id: "remarks", "aria-labelledby": "remarks-title" },
      el("h3", { id: "remarks-title" }, "Remarks: not as the head or the standard has it, no damage"),
      el("ul", {}, ...remarks.map((text) => el("li", {}, text)))));
  }
  return { element, close() {} };
}

function section(title, fields) {
  const rows = fields.map(([name, value]) => el("tr", {}, el("th", { scope: "row" }, name), el("td", {}, value)));
  return el("section", {}, el("h3", {}, title), el("table", {}, el("tbody", {}, ...rows)));
}
