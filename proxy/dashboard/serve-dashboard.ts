/**
 * GET /dashboard/…: the files of the dashboard, which hold no data and so need no credentials; what
 * they show they ask /admin for. `/` redirects there. Any address below that names no file is the
 * page itself, whose script shows what the address says.
 */
import { type Failure, plainFailure } from "../../shared/error-code.js";
import type { Exchange } from "../http/exchange.js";
import { type KeptFile, replyFile } from "../http/reply-file.js";
import { replyFailure, requestIdHeaders } from "../http/respond.js";
import { pageHeaders } from "./page-head.js";

const assets = "/dashboard/assets/";

/** Returns the status. */
export async function serveDashboard(load: LoadDashboard, exchange: Exchange): Promise<number> {
  const { path } = exchange;
  if (path === "/dashboard" || path === "/") {
    const headers = ["location", "/dashboard/", ...requestIdHeaders(exchange), ...pageHeaders];
    const status = path === "/" ? 302 : 308;
    exchange.reply(status, headers, "", "latin1");
    return status;
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
    : replyFile(exchange, file, [
        "cache-control",
        // The name changes with the content: it is never stale.
        path.startsWith(assets) ? "public, max-age=31536000, immutable" : "no-cache",
        ...pageHeaders,
      ]);
}

function refuse(exchange: Exchange, failure: Failure): number {
  replyFailure(exchange, "admin", failure, pageHeaders);
  return failure.status;
}

/** Null if there is no such file. Of the addresses of pages the server knows nothing. */
function fileAt(bundle: DashboardBundle, path: string): KeptFile | null {
  if (path.startsWith(assets)) return bundle.files.get(path.slice(assets.length)) ?? null;
  return path === "/dashboard/icon.svg" ? bundle.icon : bundle.page;
}

export interface DashboardBundle {
  /** By name, without a folder. */
  readonly files: ReadonlyMap<string, KeptFile>;
  /** What every address of a page answers. */
  readonly page: KeptFile;
  readonly icon: KeptFile;
}

/** Reads them when it is first called; null when they haven't been built. */
export type LoadDashboard = () => Promise<DashboardBundle | null>;
