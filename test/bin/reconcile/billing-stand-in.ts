/**
 * A provider's billing API: pages, keys, limits and errors as published. What OpenAI answers has
 * the types of its SDK; Anthropic's SDK has no types of these two reports, but of their successors,
 * whose fields they share.
 */
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type {
  BetaAnalyticsCostBucketedResult,
  BetaAnalyticsUsageBucketedResult,
} from "@anthropic-ai/sdk/resources/beta/organization/analytics/analytics";
import type {
  BetaAnalyticsCostGroup,
  BetaAnalyticsCostMetrics,
} from "@anthropic-ai/sdk/resources/beta/organization/analytics/cost";
import type { BetaAnalyticsUsageMetrics } from "@anthropic-ai/sdk/resources/beta/organization/analytics/usage";
import type { UsageCompletionsResponse } from "openai/resources/admin/organization/usage";
import type { Test } from "tap";

export type OpenaiUsage = UsageCompletionsResponse.Data.OrganizationUsageCompletionsResult;
export type OpenaiSearches = UsageCompletionsResponse.Data.OrganizationUsageWebSearchesResult;
export type OpenaiCost = UsageCompletionsResponse.Data.OrganizationCostsResult;

/** The dimensions are those of the older reports. */
export type AnthropicUsage = Pick<
  BetaAnalyticsUsageBucketedResult,
  | "uncached_input_tokens"
  | "cache_read_input_tokens"
  | "cache_creation"
  | "output_tokens"
  | "server_tool_use"
  | "inference_geo"
  | "model"
> & { readonly service_tier: string | null; readonly workspace_id: string | null };
export type AnthropicCost = Pick<
  BetaAnalyticsCostBucketedResult,
  "amount" | "currency" | "cost_type" | "token_type" | "inference_geo" | "model"
> & {
  readonly service_tier: string | null;
  readonly workspace_id: string | null;
  readonly description: string | null;
};

/** Items of the Usage and Cost Analytics API, with the dimensions that are asked for. */
type AnalyticsGroup = Pick<
  BetaAnalyticsCostGroup,
  "workspace_id" | "model" | "service_tier" | "inference_geo" | "speed"
>;
export interface AnalyticsUsage {
  readonly group: AnalyticsGroup;
  readonly usage: BetaAnalyticsUsageMetrics;
}
export interface AnalyticsCost {
  readonly group: AnalyticsGroup & Pick<BetaAnalyticsCostGroup, "cost_type" | "token_type">;
  readonly cost: BetaAnalyticsCostMetrics;
}

export interface StandIn {
  readonly url: string;
  /** The path and query of each request. */
  readonly requests: string[];
}

export interface StandInOptions {
  readonly key: string;
  /** Results by path and day. */
  readonly results: Readonly<Record<string, Readonly<Record<string, readonly object[]>>>>;
  /** How many requests are refused first, and after how many seconds they may be repeated. */
  readonly tooMany?: { readonly times: number; readonly retryAfter: string };
  /** What a bucket's start is called, and how it is written. */
  readonly form: "openai" | "anthropic";
}

const daysPerPage = 2;

export async function startBillingStandIn(t: Test, options: StandInOptions): Promise<StandIn> {
  const requests: string[] = [];
  let tooMany = options.tooMany?.times ?? 0;
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://stand-in");
    requests.push(request.url ?? "");
    const answer = (status: number, body: object, headers: Record<string, string> = {}): void => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify(body));
    };
    if (tooMany-- > 0)
      return answer(429, errorOf("Rate limit reached"), {
        "retry-after": options.tooMany!.retryAfter,
      });
    if (!isKeyRight(request, options))
      return answer(
        401,
        errorOf(
          "You have insufficient permissions for this operation. Missing scopes: api.usage.read",
        ),
      );
    const isAnalytics = url.pathname.includes("/analytics/");
    const wrong = isAnalytics ? wrongAnalytics(request, url) : wrongQuery(url, options);
    if (wrong !== null) return answer(400, errorOf(wrong));
    answer(200, isAnalytics ? itemsOf(url, options) : pageOf(url, options));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

function errorOf(message: string): object {
  return { error: { message, type: "invalid_request_error", param: null, code: null } };
}

function isKeyRight({ headers }: IncomingMessage, { key, form }: StandInOptions): boolean {
  return form === "openai"
    ? headers.authorization === `Bearer ${key}`
    : headers["x-api-key"] === key && headers["anthropic-version"] === "2023-06-01";
}

/** The Usage and Cost Analytics API, as the comments of Anthropic's SDK describe it. */
function wrongAnalytics({ headers }: IncomingMessage, { searchParams: query }: URL): string | null {
  if (headers["anthropic-beta"] !== "analytics-usage-cost-2026-08-24") return "beta is required";
  const [from, to] = ["starting_at", "ending_at"].map((name) => Date.parse(query.get(name) ?? ""));
  if (!(to! - from! <= 31 * 86_400_000)) return "the range may span at most 31 days";
  const groups = query.getAll("group_by[]").filter((name) => !/^(?:cost|token)_type$/.test(name));
  if (groups.length > 5) return "at most 5 dimensions";
  if (query.get("time_bucket_width") !== "1d") return "time_bucket_width must be 1d";
  return Number(query.get("limit")) <= 1000 ? null : "limit must be at most 1000";
}

/** One item to a page. */
function itemsOf({ pathname, searchParams: query }: URL, { results }: StandInOptions): object {
  const [from, to] = ["starting_at", "ending_at"].map((name) => query.get(name)!.slice(0, 10));
  const items = Object.entries(results[pathname] ?? {})
    .filter(([day]) => day >= from! && day < to!)
    .flatMap(([day, found]) => found.map((item) => ({ starting_at: `${day}T00:00:00Z`, ...item })));
  const at = Number(query.get("page") ?? 0);
  const hasMore = at + 1 < items.length;
  return {
    data: items.slice(at, at + 1),
    has_more: hasMore,
    next_page: hasMore ? String(at + 1) : null,
  };
}

function wrongQuery({ searchParams: query }: URL, { form }: StandInOptions): string | null {
  const [start, end] =
    form === "openai" ? ["start_time", "end_time"] : ["starting_at", "ending_at"];
  if (!query.has(start!) || !query.has(end!)) return `${start} and ${end} are required`;
  if (query.get("bucket_width") !== "1d") return "bucket_width must be 1d";
  return Number(query.get("limit")) <= 31 ? null : "limit must be at most 31";
}

/** Days without results have an empty bucket. */
function pageOf({ pathname, searchParams: query }: URL, { results, form }: StandInOptions): object {
  const [start, end] = ["start_time", "end_time"].map((name, at) =>
    form === "openai"
      ? Number(query.get(name)) * 1000
      : Date.parse(query.get(["starting_at", "ending_at"][at]!)!),
  ) as [number, number];
  const days: number[] = [];
  for (let ms = start; ms < end; ms += 86_400_000) days.push(ms);
  const from = Number(query.get("page") ?? 0);
  const hasMore = from + daysPerPage < days.length;
  const data = days.slice(from, from + daysPerPage).map((ms) => {
    const found = results[pathname]?.[new Date(ms).toISOString().slice(0, 10)] ?? [];
    return form === "openai"
      ? {
          object: "bucket",
          start_time: ms / 1000,
          end_time: ms / 1000 + 86_400,
          results: found,
        }
      : {
          starting_at: new Date(ms).toISOString(),
          ending_at: new Date(ms + 86_400_000).toISOString(),
          results: found,
        };
  });
  const next = hasMore ? String(from + daysPerPage) : null;
  return { object: "page", data, has_more: hasMore, next_page: next };
}
