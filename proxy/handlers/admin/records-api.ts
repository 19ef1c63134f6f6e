/**
 * GET /admin/usage/records and GET /admin/audit (docs/reference/admin-api.md): usage records and
 * entries of the audit log, newest first, as a page or as a file. The daemon validates the filters.
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

const auditList: ListOf = {
  op: "audit.list",
  items: "entries",
  pageItems: "entries",
  whole: "never",
  headers: ["cache-control", "no-store"],
  questionsMax: 20,
};

type RecordsContext = RequestContext<"limiter" | "nowMs">;

export function replyRecords(context: RecordsContext): Promise<void> {
  return reply(context, list, { formats: ["json", "csv", "ndjson"], file: "sluice-records" });
}

export function replyAudit(context: RecordsContext): Promise<void> {
  return reply(context, auditList, { formats: ["json", "ndjson"], file: "sluice-audit" });
}

interface Files {
  readonly formats: readonly ["json", ...FileFormat[]];
  /** The start of the file's name. */
  readonly file: string;
}

async function reply(
  context: RecordsContext,
  listOf: ListOf,
  { formats, file }: Files,
): Promise<void> {
  const parameters = listParameters(context.exchange.query);
  if (!parameters.ok) return failAdmin(context, parameters.failure);
  const { format: formatName, ...query } = parameters.value;
  const format = formatOf(formatName, formats);
  if (!format.ok) return failAdmin(context, format.failure);
  if (format.value === "json") return replyPage(context, listOf, { limit: itemsPerPage, ...query });
  return replyFile(context, listOf, { format: format.value, file, query });
}

interface FileRequest extends Pick<Files, "file"> {
  readonly format: FileFormat;
  readonly query: Parameters;
}

/** All items, page by page; only one page is in memory. */
async function replyFile(
  context: RecordsContext,
  listOf: ListOf,
  { format, file, query }: FileRequest,
): Promise<void> {
  const { exchange, gateway, record } = context;
  const ofPages = ["limit", "after"].find((name) => query[name] !== undefined);
  if (ofPages !== undefined)
    return failAdmin(
      context,
      invalid(`${ofPages} is for pages: a file holds all records`, ofPages),
    );
  let page = await askPage(context, listOf, query);
  if (!page.ok) return failAdmin(context, page.failure);
  record.end(200, "answered");
  exchange.begin(200, fileHeaders(exchange, format, `${file}-${dayOf(gateway.nowMs())}`));
  const write = writerTo(exchange);
  if (format === "csv") await write(csvHeader);
  for (;;) {
    const text = page.items.map(lineIn[format]).join("");
    if (text !== "") await write(text);
    if (page.next === null || exchange.gone) break;
    page = await askPage(context, listOf, { ...query, after: page.next });
    // A file that ends early must not look complete.
    if (!page.ok) return exchange.cut();
  }
  if (!exchange.gone) exchange.end();
}

const lineIn: Readonly<Record<FileFormat, (item: unknown) => string>> = {
  csv: (record) => csvLine(record as RecordItem),
  ndjson: (item) => `${JSON.stringify(item)}\n`,
};
