/** OpenRouter's bill: the activity of the last 30 days, by its management API. */
import { isObject } from "../../../shared/checked.js";
import { readAmount } from "../amount.js";
import { type Bill, BillError, type BillItem, type BillRow, type Kind } from "../bill.js";
import { type BillingApi, BillingApiError, getJson } from "./billing-api.js";
import type { BillQuery } from "./openai-bill.js";

const activity = "/activity";
const separates: ReadonlySet<Kind> = new Set(["input", "output"]);

/** One amount for all kinds of a model. Rejects with `BillingApiError` and `BillError`. */
export async function openrouterBill(
  api: BillingApi,
  { startDate, endDate }: BillQuery,
): Promise<Bill> {
  const body = await getJson(api, activity, []);
  const data = isObject(body) ? body["data"] : null;
  if (!Array.isArray(data) || !data.every(isObject))
    throw new BillingApiError(`${api.url}${activity}: data must be a list of objects`, 200);
  let decimals = 6;
  const rows = data.flatMap((item): readonly BillRow[] => {
    const { date, model, usage } = item;
    const day = typeof date === "string" ? date.slice(0, 10) : "";
    if (day < startDate || day > endDate) return [];
    const usd = readAmount(usage);
    if (usd === null)
      throw new BillError(
        `usage of ${JSON.stringify(model)} on ${day} must be a number, not ${JSON.stringify(usage)}`,
      );
    decimals = Math.max(decimals, Math.min(12, usd.decimals));
    const row = (name: BillItem, quantity: number | null, amount: bigint | null): BillRow => ({
      day,
      model: typeof model === "string" ? model : null,
      tier: "standard",
      region: "",
      project: typeof item["workspace_id"] === "string" ? item["workspace_id"] : null,
      item: name,
      quantity,
      amount,
      text: typeof model === "string" ? model : null,
    });
    const count = (name: string): number =>
      Number.isFinite(item[name]) ? (item[name] as number) : 0;
    return [
      row("requests", count("requests"), null),
      row("input", count("prompt_tokens"), null),
      row("output", count("completion_tokens"), null),
      row("total", null, usd.pico),
    ];
  });
  return { rows, separates, decimals, notes: [] };
}
