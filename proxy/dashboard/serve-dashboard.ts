/**
 * GET /dashboard/…: the files of the dashboard. They contain no data, so they need no
 * credentials; the page requests its data from /admin. `/` redirects here. Any address below that
 * names no file gets the page, whose script reads the address.
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

/** Null if there is no such file. The server doesn't know the addresses of pages. */
function fileAt(bundle: DashboardBundle, path: string): KeptFile | null {
  if (path.startsWith(assets)) return bundle.files.get(path.slice(assets.length)) ?? null;
  return path === "/dashboard/icon.svg" ? bundle.icon : bundle.page;
}

export interface DashboardBundle {
  /** By name, without a folder. */
  readonly files: ReadonlyMap<string, KeptFile>;
  /** The answer to every page address. */
  readonly page: KeptFile;
  readonly icon: KeptFile;
}

/** Reads the files at the first call; null if they haven't been built. */
export type LoadDashboard = () => Promise<DashboardBundle | null>;
