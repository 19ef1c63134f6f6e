/** A key that a dialog issues, with its limits, and the requests for them. Pure. */
import { parseAmount, plainPath } from "./limit-draft.js";

export interface KeyDraft {
  readonly name: string;
  readonly path: string;
  /** As typed, separated by commas; empty for any. */
  readonly models: string;
  /** Requests per minute, as typed; empty for no limit. */
  readonly perMinute: string;
  /** US dollars per month, as typed; empty for no budget. */
  readonly monthly: string;
  readonly labels: string;
  /** Days until it expires; empty for never. */
  readonly days: string;
}

export const newKey: KeyDraft = {
  name: "",
  path: "",
  models: "",
  perMinute: "",
  monthly: "",
  labels: "",
  days: "",
};

const dayMs = 86_400_000;

/** `serverTime`: by the daemon's clock; null until it is known. */
export function keyBody(draft: KeyDraft, serverTime: string | null): Record<string, unknown> {
  const { name, path, models, labels, days } = draft;
  const fields: Record<string, unknown> = {
    name: name.trim(),
    user_path: path.trim(),
    models: splitList(models),
    labels: splitList(labels),
    expires_at:
      days === "" || serverTime === null
        ? ""
        : new Date(Date.parse(serverTime) + Number(days) * dayMs).toISOString(),
  };
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => (value as string | readonly string[]).length > 0),
  );
}

function splitList(text: string): readonly string[] {
  const items = text.split(",").map((item) => item.trim());
  return items.filter((item) => item !== "");
}

export type KeyField = keyof KeyDraft;

/** A limit or budget on the key's path. */
interface KeyLimit {
  readonly field: KeyField;
  /** The path of the API's list; a PUT to it makes the limit. */
  readonly path: string;
  readonly periodSeconds: number;
  readonly value: number;
  /** The field of the list's items that contains the value. */
  readonly valueField: "max_requests" | "amount";
  readonly body: Readonly<Record<string, unknown>>;
}

type KeyLimits =
  | { readonly ok: true; readonly limits: readonly KeyLimit[] }
  /** `field`: the invalid one, which has no number, or no path although a limit needs it. */
  | { readonly ok: false; readonly field: KeyField };

const monthSeconds = 2_592_000;

export function keyLimits(draft: KeyDraft): KeyLimits {
  const limits: KeyLimit[] = [];
  const subject = draft.path.trim() === "" ? "" : plainPath(draft.path);
  for (const field of ["perMinute", "monthly"] as const) {
    if (draft[field].trim() === "") continue;
    const value = parseAmount(draft[field]);
    if (value === null) return { ok: false, field };
    if (subject === "") return { ok: false, field: "path" };
    const key = { scope: "user_path", subject };
    limits.push(
      field === "perMinute"
        ? {
            field,
            path: "/admin/rate-limits",
            periodSeconds: 60,
            value,
            valueField: "max_requests",
            body: { ...key, limit_key: { period: "minute" }, max_requests: value },
          }
        : {
            field,
            path: "/admin/budgets",
            periodSeconds: monthSeconds,
            value,
            valueField: "amount",
            body: { ...key, budget_key: { period: "monthly" }, amount: value },
          },
    );
  }
  return { ok: true, limits };
}

/** The fields that are read from a listed limit or budget. */
interface KnownLimit {
  readonly subject: string;
  readonly period_seconds: number;
  readonly template?: string;
  readonly models?: readonly string[];
  readonly when?: object;
  readonly mode?: string | undefined;
  readonly max_requests?: number;
  readonly amount?: number;
}

/**
 * The value of an existing limit with the same path and period, if it differs: the new limit would
 * replace it. Otherwise null.
 */
export function differingValue(limit: KeyLimit, limits: readonly KnownLimit[]): number | null {
  const existing = limits.find(
    ({ subject, period_seconds, template, models, when, mode }) =>
      subject === limit.body["subject"] &&
      period_seconds === limit.periodSeconds &&
      [template, models, when, mode].every((part) => part === undefined),
  );
  const value = existing?.[limit.valueField];
  return value === undefined || value === limit.value ? null : value;
}
