/**
 * GET /dashboard/…: the files of the dashboard, which hold no data and so need no credentials; what
 * they show they ask /admin for. Any address below that names no file is the page itself, whose
 * script shows what the address says.
 */
import { type Failure, plainFailure } from "../../shared/error-code.js";
import type { Exchange } from "../http/exchange.js";
import { replyFailure, requestIdHeaders } from "../http/respond.js";
import {
  type Coding,
  codings,
  type DashboardBundle,
  type DashboardFile,
  type LoadDashboard,
} from "./dashboard-files.js";
import { pageHeaders } from "./page-head.js";

const assets = "/dashboard/assets/";

/** Returns the status. */
export async function serveDashboard(load: LoadDashboard, exchange: Exchange): Promise<number> {
  const { path } = exchange;
  if (path === "/dashboard") {
    const headers = ["location", "/dashboard/", ...requestIdHeaders(exchange), ...pageHeaders];
    exchange.reply(308, headers, "", "latin1");
    return 308;
  }
  const bundle = await load();
  if (bundle === null)
    return refuse(
      exchange,
      plainFailure(503, "internal_error", "the dashboard isn't built: npm run build makes it"),
    );
  const file = fileAt(bundle, path);
  return file === null
    ? refuse(exchange, plainFailure(404, "not_found_error", `the dashboard has no file ${path}`))
    : replyFile(exchange, file, path.startsWith(assets));
}

function refuse(exchange: Exchange, failure: Failure): number {
  replyFailure(exchange, "admin", failure, pageHeaders);
  return failure.status;
}

/** Null: there is no such file. Of the addresses of pages the server knows nothing. */
function fileAt(bundle: DashboardBundle, path: string): DashboardFile | null {
  if (path.startsWith(assets)) return bundle.files.get(path.slice(assets.length)) ?? null;
  return path === "/dashboard/icon.svg" ? bundle.icon : bundle.page;
}

/** Returns the status. `hashed`: the name changes with the content, so that it is never stale. */
async function replyFile(
  exchange: Exchange,
  file: DashboardFile,
  hashed: boolean,
): Promise<number> {
  const headers = [
    "etag",
    file.etag,
    "cache-control",
    hashed ? "public, max-age=31536000, immutable" : "no-cache",
    "vary",
    "accept-encoding",
    ...requestIdHeaders(exchange),
    ...pageHeaders,
  ];
  if (isKnown(exchange.header("if-none-match"), file.etag)) {
    exchange.begin(304, headers);
    exchange.end();
    return 304;
  }
  const coding = chosenCoding(exchange.header("accept-encoding"));
  const bytes = await file.bytes(coding);
  if (exchange.gone) return 499;
  exchange.begin(200, [
    "content-type",
    file.contentType,
    "content-length",
    String(bytes.length),
    ...(coding === "identity" ? [] : ["content-encoding", coding]),
    ...headers,
  ]);
  if (exchange.method !== "HEAD") exchange.write(bytes);
  exchange.end();
  return 200;
}

/** Whether a conditional request names this version; weak or strong makes no difference here. */
function isKnown(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false;
  const named = ifNoneMatch.split(",").map((each) => each.trim().replace(/^W\//, ""));
  return named.includes(etag) || named.includes("*");
}

/** The smallest that the client takes; `q=0` refuses one. */
export function chosenCoding(acceptEncoding: string | undefined): Coding {
  const taken = new Set(
    (acceptEncoding ?? "")
      .toLowerCase()
      .split(",")
      .map((each) => each.trim())
      .filter((each) => !/;\s*q=0(?:\.0*)?$/.test(each))
      .map((each) => each.split(";")[0]!.trim()),
  );
  return codings.find((coding) => taken.has(coding)) ?? "identity";
}
