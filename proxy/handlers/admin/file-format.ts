/**
 * The `format` parameter of endpoints that can answer with a file, and the headers of that answer.
 */
import { bad, type Checked, good, isAbsent, show } from "../../../shared/checked.js";
import type { Exchange } from "../../http/exchange.js";
import { requestIdHeaders } from "../../http/respond.js";

const contentTypes = {
  csv: "text/csv; charset=utf-8; header=present",
  ndjson: "application/x-ndjson",
} as const;

export type FileFormat = keyof typeof contentTypes;

/** One of `formats`; `json` by default. */
export function formatOf<Format extends string>(
  formatName: unknown,
  formats: readonly ["json", ...Format[]],
): Checked<"json" | Format> {
  if (isAbsent(formatName)) return good("json");
  const format = formats.find((name) => name === formatName);
  return format === undefined
    ? bad(`format must be one of ${formats.join(", ")}, not ${show(formatName)}`, "format")
    : good(format);
}

/** A browser saves the answer under this name, which has plain characters only. */
export function fileHeaders(
  exchange: Exchange,
  format: FileFormat,
  name: string,
): readonly string[] {
  return [
    "content-type",
    contentTypes[format],
    "content-disposition",
    `attachment; filename="${name}.${format}"`,
    "x-content-type-options",
    "nosniff",
    "cache-control",
    "no-store",
    ...requestIdHeaders(exchange),
  ];
}
