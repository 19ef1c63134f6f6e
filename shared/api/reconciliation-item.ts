/**
 * A result of `sluice reconcile` that the gateway keeps (docs/reconcile.md): the form of the admin
 * API, and its checker. Amounts are exact decimals in US dollars.
 */
import { reconciliationBytesMax } from "../bounds.js";
import { asObject, bad, type Checked, good, isObject, show } from "../checked.js";
import { isPrintable } from "../domain/target-name.js";
import { utf8Bytes } from "../text/utf8-bytes.js";
import { parseDay } from "../time.js";
import { type Cause, causeNames } from "./bill-causes.js";

type Amounts = Readonly<Partial<Record<Cause, string>>>;

interface Totals {
  readonly recorded_usd: string;
  readonly billed_usd: string;
  readonly causes: Amounts;
}

interface ReconciledModel extends Totals {
  readonly project: string | null;
  readonly model: string;
}

/** A quantity that differs. */
interface ReconciledQuantity {
  readonly model: string;
  /** The service tier, and the region behind it. */
  readonly tier: string;
  readonly kind: string;
  readonly recorded: number;
  /** Null: the bill doesn't say. */
  readonly billed: number | null;
}

export interface Reconciliation extends Totals {
  /** As in `--provider`: several of one account with commas. */
  readonly provider: string;
  /** The billing API, or `exported`. */
  readonly source: string;
  readonly start_date: string;
  readonly end_date: string;
  readonly difference_usd: string;
  readonly gap_usd: string;
  readonly gap_percent: number;
  /** The models with differences, largest first; not all if they don't fit. */
  readonly models: readonly ReconciledModel[];
  readonly quantities: readonly ReconciledQuantity[];
  readonly unknown_lines: readonly { readonly text: string; readonly billed_usd: string }[];
  /** Lines for the configuration. */
  readonly prices: readonly string[];
  readonly notes: readonly string[];
}

export interface ReconciliationItem extends Reconciliation {
  readonly id: string;
  /** When the gateway received it. */
  readonly time: string;
}

export interface ReconciliationPage {
  readonly reconciliations: readonly ReconciliationItem[];
  readonly server_time: string;
  readonly next: string | null;
}

/** Checks a value by the form of its field: returns the error, or null. */
type Form = (value: unknown, field: string) => Checked<never> | null;

function form(has: (value: unknown) => boolean, expected: string): Form {
  return (value, field) =>
    has(value) ? null : bad(`${field} must be ${expected}, not ${show(value)}`, field);
}

const text = form((value) => typeof value === "string" && value !== "", "a text");
const name = form(
  (value) => typeof value === "string" && value !== "" && isPrintable(value),
  "a text without control characters",
);
const anyText = form((value) => typeof value === "string", "a text");
const textOrNull = form((value) => value === null || typeof value === "string", "a text or null");
const usd = form(
  (value) => typeof value === "string" && /^-?\d{1,30}(?:\.\d{1,12})?$/.test(value),
  "dollars as a decimal text",
);
const day = form(
  (value) => typeof value === "string" && parseDay(value) !== null,
  "a date such as 2026-02-01",
);
export const quantityMax = 1e15;
function isQuantity(value: unknown): boolean {
  return typeof value === "number" && value >= 0 && value <= quantityMax;
}
const quantity = form(isQuantity, `a number from 0 to ${quantityMax}`);
const quantityOrNull = form(
  (value) => value === null || isQuantity(value),
  `a number from 0 to ${quantityMax} or null`,
);
const texts = form(
  (value) => Array.isArray(value) && value.every((text) => typeof text === "string"),
  "a list of texts",
);
const amounts: Form = (value, field) => {
  if (!isObject(value)) return bad(`${field} must be amounts by cause, not ${show(value)}`, field);
  for (const [name, amount] of Object.entries(value)) {
    const path = `${field}.${name}`;
    if (!(causeNames as readonly string[]).includes(name))
      return bad(`${path} is not a known cause: expected ${causeNames.join(", ")}`, path);
    const wrong = usd(amount, path);
    if (wrong !== null) return wrong;
  }
  return null;
};

const totals = { recorded_usd: usd, billed_usd: usd, causes: amounts } as const;
const fields: { readonly [Name in keyof Reconciliation]?: Form } = {
  provider: name,
  source: name,
  start_date: day,
  end_date: day,
  ...totals,
  difference_usd: usd,
  gap_usd: usd,
  gap_percent: quantity,
  prices: texts,
  notes: texts,
};
const lists: Readonly<Record<string, Readonly<Record<string, Form>>>> = {
  models: { project: textOrNull, model: text, ...totals },
  quantities: {
    model: text,
    tier: text,
    kind: text,
    recorded: quantity,
    billed: quantityOrNull,
  },
  unknown_lines: { text: anyText, billed_usd: usd },
};

/** The body of `reconciliations.keep`. */
export function parseReconciliation(body: unknown): Checked<Reconciliation> {
  const fieldNames = [...Object.keys(fields), ...Object.keys(lists)];
  const result = asObject(body, fieldNames);
  if (!result.ok) return result;
  const wrong = wrongField(result.value, fields, "");
  if (wrong !== null) return wrong;
  const { start_date: start, end_date: end } = result.value;
  // Dates of this form are in the order of their texts.
  if (String(start) > String(end))
    return bad(
      `start_date must not be after end_date, ${show(end)}, but is ${show(start)}`,
      "start_date",
    );
  for (const [name, forms] of Object.entries(lists)) {
    const list = result.value[name];
    if (!Array.isArray(list)) return bad(`${name} must be a list, not ${show(list)}`, name);
    for (const [index, entry] of (list as unknown[]).entries()) {
      const place = `${name}[${index}].`;
      const item = asObject(entry, Object.keys(forms), {
        prefix: place,
        nullable: Object.keys(forms),
      });
      if (!item.ok) return item;
      const wrongInside = wrongField(item.value, forms, place);
      if (wrongInside !== null) return wrongInside;
    }
  }
  const bytes = utf8Bytes(JSON.stringify(result.value));
  if (bytes > reconciliationBytesMax)
    return bad(
      `the body must have at most ${reconciliationBytesMax} bytes, not ${bytes}: leave out models with small differences`,
      "body",
    );
  return good(result.value as unknown as Reconciliation);
}

function wrongField(
  value: Readonly<Record<string, unknown>>,
  forms: Readonly<Record<string, Form | undefined>>,
  path: string,
): Checked<never> | null {
  for (const [name, form] of Object.entries(forms)) {
    const wrong = form?.(value[name], `${path}${name}`) ?? null;
    if (wrong !== null) return wrong;
  }
  return null;
}
