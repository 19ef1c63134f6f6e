/**
 * Anthropic's bill by its admin API: the usage report of messages and the cost report, or their
 * successors of the Usage and Cost Analytics API, which count requests, too.
 */
import { isObject } from "../../../shared/checked.js";
import { append } from "../../../shared/long-lists.js";
import { dayMs, dayOf } from "../../../shared/time.js";
import { readAmount } from "../amount.js";
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
import { allPages, type BillingApi, BillingApiError, textOrNull } from "./billing-api.js";
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

const analytics = {
  usage: "/v1/organizations/analytics/usage",
  costs: "/v1/organizations/analytics/cost",
} as const;
/** The fields that usage is grouped by: the API takes at most five, besides those of costs. */
const analyticsGroups = [
  "workspace_id",
  "model",
  "service_tier",
  "inference_geo",
  "speed",
] as const;
/** The most days that one request may span. */
const analyticsDaysMax = 31;

/** As `anthropicBill`, by the Usage and Cost Analytics API. */
export async function anthropicAnalyticsBill(api: BillingApi, query: BillQuery): Promise<Bill> {
  const rows: BillRow[] = [];
  let decimals = 4;
  const groups = [...analyticsGroups];
  for (const { day, result } of await itemsOf(api, analytics.usage, { groups, query }))
    append(rows, usageRows(day, result));
  const costGroups = [...groups, "cost_type", "token_type"];
  for (const { day, result } of await itemsOf(api, analytics.costs, {
    groups: costGroups,
    query,
  })) {
    const { row, places } = costRow(day, result);
    decimals = Math.max(decimals, places);
    rows.push(row);
  }
  return { rows, separates, decimals, notes: [] };
}

interface ItemsQuery {
  readonly groups: readonly string[];
  readonly query: BillQuery;
}

/** The items of a report; `result` has the fields of an item's group and of its usage or cost. */
async function itemsOf(
  api: BillingApi,
  path: string,
  { groups, query }: ItemsQuery,
): Promise<readonly { readonly day: string; readonly result: Fields }[]> {
  const results: { readonly day: string; readonly result: Fields }[] = [];
  const endMs = Date.parse(query.endDate) + dayMs;
  const spanMs = analyticsDaysMax * dayMs;
  for (let fromMs = Date.parse(query.startDate); fromMs < endMs; fromMs += spanMs) {
    const items = await allPages(api, path, [
      ["starting_at", `${dayOf(fromMs)}T00:00:00Z`],
      ["ending_at", `${dayOf(Math.min(endMs, fromMs + spanMs))}T00:00:00Z`],
      ["time_bucket_width", "1d"],
      ["limit", "1000"],
      ...groups.map((name) => ["group_by[]", name] as const),
    ]);
    for (const { starting_at: startingAt, group, usage, cost } of items) {
      const startMs = typeof startingAt === "string" ? Date.parse(startingAt) : Number.NaN;
      const own = usage ?? cost;
      if (Number.isNaN(startMs) || !isObject(group) || !isObject(own))
        throw new BillingApiError(
          `${api.url}${path}: an item must have starting_at, a group, and usage or cost`,
          200,
        );
      const result = { ...group, ...own };
      if (isOfProjects(result, query)) results.push({ day: dayOf(startMs), result });
    }
  }
  return results;
}

function isOfProjects({ workspace_id: id }: Fields, { projects }: BillQuery): boolean {
  return projects.length === 0 || projects.includes(textOrNull(id) ?? defaultWorkspace);
}

function usageRows(day: string, result: Fields): readonly BillRow[] {
  const created = isObject(result["cache_creation"]) ? result["cache_creation"] : {};
  const tools = isObject(result["server_tool_use"]) ? result["server_tool_use"] : {};
  const quantities: readonly (readonly [Kind | "requests", unknown])[] = [
    ["requests", result["requests"]],
    ["input", result["uncached_input_tokens"]],
    ["cached_input", result["cache_read_input_tokens"]],
    ["cache_write", created["ephemeral_5m_input_tokens"]],
    ["cache_write_1h", created["ephemeral_1h_input_tokens"]],
    ["output", result["output_tokens"]],
    ["web_searches", tools["web_search_requests"]],
  ];
  return quantities.flatMap(([item, quantity]) =>
    typeof quantity === "number" && quantity > 0 && Number.isFinite(quantity)
      ? [{ ...rowDimensions(day, result), item, quantity, amount: null, text: null }]
      : [],
  );
}

function costRow(day: string, result: Fields): { readonly row: BillRow; readonly places: number } {
  const description = textOrNull(result["description"]);
  requireUsd(result["currency"], `the cost of ${JSON.stringify(description)} on ${day}`);
  // In cents, as a decimal text.
  const usd = readAmount(result["amount"], 2);
  if (usd === null)
    throw new BillError(
      `amount of ${JSON.stringify(description)} on ${day} must be a decimal, not ${JSON.stringify(result["amount"])}`,
    );
  const item = usd.pico < 0n ? "credit" : itemOf(result);
  return {
    row: {
      ...rowDimensions(day, result),
      item,
      quantity: null,
      amount: usd.pico,
      text: description,
    },
    places: usd.decimals,
  };
}

function itemOf(result: Fields): BillItem {
  const byToken = tokenTypes[textOrNull(result["token_type"]) ?? ""];
  if (byToken !== undefined) return byToken;
  switch (result["cost_type"]) {
    case "web_search":
      return "web_searches";
    case "code_execution":
    case "session_usage":
      return "tool";
    default:
      return skuLine(textOrNull(result["description"]) ?? "").item;
  }
}

function rowDimensions(
  day: string,
  result: Fields,
): Pick<BillRow, "day" | "model" | "tier" | "region" | "project"> {
  return {
    day,
    model: textOrNull(result["model"]),
    // Our records call a speed a tier, too; how a tier is paid for isn't a tier of its own.
    tier:
      result["speed"] === "fast"
        ? "fast"
        : tierOf(result["service_tier"]).replace(/_(?:on_demand|discount)$/, ""),
    region: regionOf(result["inference_geo"]),
    project: textOrNull(result["workspace_id"]) ?? defaultWorkspace,
  };
}

async function resultsOf(
  api: BillingApi,
  { path, groupBy }: { readonly path: string; readonly groupBy: readonly string[] },
  query: BillQuery,
): Promise<readonly { readonly day: string; readonly result: Fields }[]> {
  const { startDate, endDate } = query;
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
      .filter((result) => isOfProjects(result, query))
      .map((result) => ({ day, result }));
  });
}
