/** Writes an export page by page; a slow reader delays the request for the next page. */
import type { ExportedRecord } from "../../shared/export/exported-record.js";
import { csvHeader, csvLine } from "../../shared/export/usage-csv.js";
import { formatCount } from "../text/number-text.js";
import type { ProgressLine } from "./progress-line.js";
import type { UsagePage } from "./usage-pages.js";

export const exportFormats = ["ndjson", "csv"] as const;
export type ExportFormat = (typeof exportFormats)[number];

interface ExportOptions {
  readonly format: ExportFormat;
  /** Resolves once the text has been written. */
  write(text: string): Promise<void>;
  /** Null if no progress is shown. */
  readonly progress: ProgressLine | null;
}

/** Writes all pages; returns the number of records. Rejects with an error of `pages` or `write`. */
export async function writeExport(
  pages: AsyncIterable<UsagePage>,
  { format, write, progress }: ExportOptions,
): Promise<number> {
  let records = 0;
  try {
    // The header is written with the first page: a refused export prints nothing.
    let header = format === "csv" ? csvHeader : "";
    for await (const page of pages) {
      const text = header + page.records.map(lineIn[format]).join("");
      header = "";
      if (text !== "") await write(text);
      records += page.records.length;
      progress?.show(page.progress, `${formatCount(records)} records`);
    }
  } finally {
    progress?.clear();
  }
  return records;
}

const lineIn: Readonly<Record<ExportFormat, (record: ExportedRecord) => string>> = {
  csv: csvLine,
  ndjson: (record) => `${JSON.stringify(record)}\n`,
};
