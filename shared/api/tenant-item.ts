/** Tenants: what GET /admin/tenants answers (docs/reference/admin-api.md). */
import type { TimedAnswer } from "./list-page.js";
import type { ReportHosts } from "./usage-report.js";

export const tenantSorts = [
  "used",
  "runs_out",
  "spend",
  "refusals",
  "failures",
  "errors",
  "keys",
  "path",
] as const;
export type TenantSort = (typeof tenantSorts)[number];

/** A limit or budget as a tenant's row names it. */
export interface TenantLimit {
  readonly kind: "limit" | "budget";
  /** The path that it counts. */
  readonly subject: string;
  readonly period_label: string;
  /** Above 1 if more was used than the cap. */
  readonly used_ratio: number;
  /** When it is used up at the present pace; null if it lasts, or if that is unknown. */
  readonly exhausts_at: string | null;
}

/** The usage of a tenant in the requested days or range. */
interface TenantUsage {
  readonly requests: number;
  readonly total_tokens: number;
  /** US dollars. */
  readonly total_cost: number;
  readonly unpriced_requests: number;
}

/** A path below the requested one; its figures include everything below it. */
export interface TenantItem {
  readonly user_path: string;
  /** Whether paths below it have usage, keys, limits or requests; false in a flat list. */
  readonly has_children: boolean;
  /** The fullest limit or budget; null if none applies to this path or one below it. */
  readonly nearest: TenantLimit | null;
  /** The limit or budget that is used up first within its period; null if none is. */
  readonly runs_out: TenantLimit | null;
  /** Active keys that are bound to it or to a path below it. */
  readonly keys: number;
  /** Refusals among the kept requests. */
  readonly refusals: number;
  /** Failures among the kept requests. */
  readonly failures: number;
  /** The last failure among the kept requests. */
  readonly last_error: {
    readonly at: string;
    readonly request_id: string;
    readonly message: string;
  } | null;
  /** Null if usage isn't tracked. */
  readonly usage: TenantUsage | null;
}

/** GET /admin/tenants. */
export interface TenantList extends TimedAnswer {
  readonly under: string;
  readonly start_date: string;
  readonly end_date: string;
  /** Of a range with times; `end` isn't included. */
  readonly start?: string;
  readonly end?: string;
  readonly tenants: readonly TenantItem[];
  /** Whether there are further tenants. */
  readonly more: boolean;
  /** The hosts whose usage is included; present if several hosts share it. */
  readonly hosts?: ReportHosts;
}
