/** Requests that hold slots, as GET /admin/in-flight lists them (docs/reference/admin-api.md). */
import type { ListPage } from "./list-page.js";

export interface LeaseItem {
  /** The id that the proxy chose at its start. */
  readonly proxy: string;
  /** The proxy's number for the request. */
  readonly lease: number;
  readonly user_path: string;
  /** `provider/model`; null between a failed target and the next one. */
  readonly target: string | null;
  /**
   * A time with milliseconds. Null, as `seconds`, if the request was admitted without the daemon.
   */
  readonly admitted_at: string | null;
  /** How long it has been running, in whole seconds. */
  readonly seconds: number | null;
}

/** Longest running first. */
export interface LeasePage extends ListPage {
  readonly in_flight: readonly LeaseItem[];
}
