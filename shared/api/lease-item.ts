/**
 * The requests that hold slots, as GET /admin/in-flight lists them (docs/reference/admin-api.md).
 */
import type { ListPage } from "./list-page.js";

export interface LeaseItem {
  /** The proxy, by the id that it chose at its start. */
  readonly proxy: string;
  /** The proxy's number for the request. */
  readonly lease: number;
  readonly user_path: string;
  /** `provider/model`; null between a failed target and the next one. */
  readonly target: string | null;
  /** With milliseconds; null, as `seconds`, if it was let through while the daemon was away. */
  readonly admitted_at: string | null;
  /** Since when it runs, in whole seconds. */
  readonly seconds: number | null;
}

/** The longest running first. */
export interface LeasePage extends ListPage {
  readonly in_flight: readonly LeaseItem[];
}
