/**
 * GET /admin/usage/records (docs/reference/admin-api.md): usage records, newest first, as a page or
 * as a file. The daemon validates the filters.
 */
import type { RecordItem } from "../../../shared/api/record-item.js";
import { itemsPerPage } from "../../../shared/bounds.js";
import { invalid } from "../../../shared/error-code.js";
import { csvHeader, csvLine } from "../../../shared/export/usage-csv.js";
import { dayOf } from "../../../shared/time.js";
import type { RequestContext } from "../../request-context.js";
import { failAdmin } from "./admin-json.js";
import { type FileFormat, fileHeaders, formatOf } from "./file-format.js";
import {
  askPage,
  type ListOf,
  listParameters,
  type Parameters,
  replyPage,
  writerTo,
} from "./reply-list.js";

const list: ListOf = {
  op: "usage.records",
  items: "records",
  pageItems: "records",
  whole: "never",
  headers: ["cache-control", "no-store"],
  further: ["looked_back_to"],
  // Some 400,000 records: about a second of the daemon's time, in slices.
  questionsMax: 20,
};

export async function replyRecords(context: RequestContext<"limiter" | "nowMs">): Promise<void> {
  const parameters = listParameters(context.exchange.query);
  if (!parameters.ok) return failAdmin(context, parameters.failure);
  const { format: written, ...query } = parameters.value;
  const format = formatOf(written, ["json", "csv", "ndjson"]);
  if (!format.ok) return failAdmin(context, format.failure);
  return format.value === "json"
    ? replyPage(context, list, { limit: itemsPerPage, ...query })
    : replyFile(context, format.value, query);
}

/** All records, page by page; only one page is in memory. */
async function replyFile(
  context: RequestContext<"limiter" | "nowMs">,
  format: FileFormat,
  query: Parameters,
): Promise<void> {
  const { exchange, gateway, record } = context;
  const ofPages = ["limit", "after"].find((name) => query[name] !== undefined);
  if (ofPages !== undefined)
    return failAdmin(
      context,
      invalid(`${ofPages} is for pages: a file holds all records`, ofPages),
    );
  let page = await askPage(context, list, query);
  if (!page.ok) return failAdmin(context, page.failure);
  record.end(200, "answered");
  const name = `sluice-records-${dayOf(gateway.nowMs())}`;
  exchange.begin(200, fileHeaders(exchange, format, name));
  const write = writerTo(exchange);
  if (format === "csv") await write(csvHeader);
  for (;;) {
    const text = (page.items as readonly RecordItem[]).map(lineIn[format]).join("");
    if (text !== "") await write(text);
    if (page.next === null || exchange.gone) break;
    page = await askPage(context, list, { ...query, after: page.next });
    // A file that ends early must not look complete.
    if (!page.ok) return exchange.cut();
  }
  if (!exchange.gone) exchange.end();
}

const lineIn: Readonly<Record<FileFormat, (record: RecordItem) => string>> = {
  csv: csvLine,
  ndjson: (record) => `${JSON.stringify(record)}\n`,
};
