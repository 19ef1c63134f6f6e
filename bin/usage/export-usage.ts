/**
 * An export: pages in, text out, one at a time. A sink that takes its time holds up the next page.
 */
import type { ProgressLine } from "./progress-line.js";
import { csvHeader, csvLine } from "./usage-csv.js";
import type { UsagePage } from "./usage-pages.js";
import type { UsageRecord } from "./usage-record.js";

export const exportFormats = ["ndjson", "csv"] as const;
export type ExportFormat = (typeof exportFormats)[number];

export interface ExportOptions {
  readonly format: ExportFormat;
  /** Resolves when the text is out of the process. */
  write(text: string): Promise<void>;
  /** Null when nobody looks. */
  readonly progress: ProgressLine | null;
}

/**
 * Writes all pages; returns how many records these were. Rejects with what `pages` or `write` fails
 * with.
 */
export async function exportUsage(
  pages: AsyncIterable<UsagePage>,
  { format, write, progress }: ExportOptions,
): Promise<number> {
  let records = 0;
  try {
    // The header comes with the first page: an export that is refused prints nothing.
    let header = format === "csv" ? csvHeader : "";
    for await (const page of pages) {
      const text = header + page.records.map(lineIn[format]).join("");
      header = "";
      if (text !== "") await write(text);
      records += page.records.length;
      progress?.show(page.progress, records);
    }
  } finally {
    progress?.clear();
  }
  return records;
}

const lineIn: Readonly<Record<ExportFormat, (record: UsageRecord) => string>> = {
  csv: csvLine,
  ndjson: (record) => `${JSON.stringify(record)}\n`,
};
