/** Anthropic's bill: the usage report of messages and the cost report, by its admin API. */
import { isObject } from "../../../shared/checked.js";
import { append } from "../../../shared/long-lists.js";
import { dayMs, dayOf } from "../../../shared/time.js";
import { amountOf } from "../amount.js";
import {
  type Bill,
  BillError,
  type BillItem,
  type BillRow,
  type Kind,
  regionOf,
  requireUsd,
  tierOf,
} from "../bill.js";
import { skuLine } from "../line-words.js";
import { allPages, type BillingApi, BillingApiError } from "./billing-api.js";
import type { BillQuery } from "./openai-bill.js";

type Fields = Readonly<Record<string, unknown>>;

const reports = {
  usage: {
    path: "/v1/organizations/usage_report/messages",
    groupBy: ["workspace_id", "model", "service_tier", "inference_geo"],
  },
  costs: { path: "/v1/organizations/cost_report", groupBy: ["workspace_id", "description"] },
} as const;

/** The token types of both reports. */
const tokenTypes: Readonly<Record<string, Kind>> = {
  uncached_input_tokens: "input",
  cache_read_input_tokens: "cached_input",
  "cache_creation.ephemeral_5m_input_tokens": "cache_write",
  "cache_creation.ephemeral_1h_input_tokens": "cache_write_1h",
  output_tokens: "output",
};

const separates: ReadonlySet<Kind> = new Set([
  "input",
  "cached_input",
  "cache_write",
  "cache_write_1h",
  "output",
  "web_searches",
]);

/** Workspaces of the bill; the default one has no id. */
const defaultWorkspace = "default";

/** Rejects with `BillingApiError` and `BillError`. */
export async function anthropicBill(api: BillingApi, query: BillQuery): Promise<Bill> {
  const rows: BillRow[] = [];
  let decimals = 4;
  for (const { day, result } of await resultsOf(api, reports.usage, query))
    append(rows, usageRows(day, result));
  for (const { day, result } of await resultsOf(api, reports.costs, query)) {
    const { row, places } = costRow(day, result);
    decimals = Math.max(decimals, places);
    rows.push(row);
  }
  const inPriority = rows.some(({ tier, quantity }) => tier === "priority" && quantity !== null);
  const notes = inPriority
    ? ["Anthropic's cost report leaves out the priority tier, which is paid in advance"]
    : [];
  return { rows, separates, decimals, notes };
}

function usageRows(day: string, result: Fields): readonly BillRow[] {
  const created = isObject(result["cache_creation"]) ? result["cache_creation"] : {};
  const tools = isObject(result["server_tool_use"]) ? result["server_tool_use"] : {};
  const quantities: readonly (readonly [Kind, unknown])[] = [
    ["input", result["uncached_input_tokens"]],
    ["cached_input", result["cache_read_input_tokens"]],
    ["cache_write", created["ephemeral_5m_input_tokens"]],
    ["cache_write_1h", created["ephemeral_1h_input_tokens"]],
    ["output", result["output_tokens"]],
    ["web_searches", tools["web_search_requests"]],
  ];
  return quantities.flatMap(([item, quantity]) =>
    typeof quantity === "number" && quantity > 0 && Number.isFinite(quantity)
      ? [{ ...placeOf(day, result), item, quantity, amount: null, text: null }]
      : [],
  );
}

function costRow(day: string, result: Fields): { readonly row: BillRow; readonly places: number } {
  const description = textOf(result["description"]);
  requireUsd(result["currency"], `the cost of ${JSON.stringify(description)} on ${day}`);
  // In cents, as a decimal text.
  const usd = amountOf(result["amount"], 2);
  if (usd === null)
    throw new BillError(
      `amount of ${JSON.stringify(description)} on ${day} must be a decimal, not ${JSON.stringify(result["amount"])}`,
    );
  const item = usd.pico < 0n ? "credit" : itemOf(result);
  return {
    row: { ...placeOf(day, result), item, quantity: null, amount: usd.pico, text: description },
    places: usd.decimals,
  };
}

function itemOf(result: Fields): BillItem {
  const byToken = tokenTypes[textOf(result["token_type"]) ?? ""];
  if (byToken !== undefined) return byToken;
  switch (result["cost_type"]) {
    case "web_search":
      return "web_searches";
    case "code_execution":
    case "session_usage":
      return "tool";
    default:
      return skuLine(textOf(result["description"]) ?? "").item;
  }
}

function placeOf(
  day: string,
  result: Fields,
): Pick<BillRow, "day" | "model" | "tier" | "region" | "project"> {
  return {
    day,
    model: textOf(result["model"]),
    tier: tierOf(result["service_tier"]),
    region: regionOf(result["inference_geo"]),
    project: textOf(result["workspace_id"]) ?? defaultWorkspace,
  };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" && value !== "" ? value : null;
}

async function resultsOf(
  api: BillingApi,
  { path, groupBy }: { readonly path: string; readonly groupBy: readonly string[] },
  { startDate, endDate, projects }: BillQuery,
): Promise<readonly { readonly day: string; readonly result: Fields }[]> {
  const buckets = await allPages(api, path, [
    ["starting_at", `${startDate}T00:00:00Z`],
    ["ending_at", `${dayOf(Date.parse(endDate) + dayMs)}T00:00:00Z`],
    ["bucket_width", "1d"],
    ["limit", "31"],
    ...groupBy.map((name) => ["group_by[]", name] as const),
  ]);
  return buckets.flatMap((bucket) => {
    const { starting_at: startingAt, results } = bucket;
    const startMs = typeof startingAt === "string" ? Date.parse(startingAt) : Number.NaN;
    if (Number.isNaN(startMs) || !Array.isArray(results))
      throw new BillingApiError(
        `${api.url}${path}: a bucket must have starting_at and results`,
        200,
      );
    const day = dayOf(startMs);
    if (day < startDate || day > endDate) return [];
    return results
      .filter(isObject)
      .filter(
        ({ workspace_id: id }) =>
          projects.length === 0 || projects.includes(textOf(id) ?? defaultWorkspace),
      )
      .map((result) => ({ day, result }));
  });
}
