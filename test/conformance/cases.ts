/**
 * The worked cases of `limiter-cases.json`, and the one runner that plays them against any gateway.
 */
import { readFileSync } from "node:fs";
import type { Test } from "tap";

export interface CaseRule {
  readonly scope?: string;
  readonly subject: string;
  readonly period_seconds: number;
  readonly max_requests?: number;
  readonly max_tokens?: number;
  readonly per_child?: boolean;
}

interface CaseStep {
  readonly at: number;
  readonly do: string;
  readonly user_path?: string;
  readonly resolved_provider?: string;
  readonly resolved_model?: string;
  readonly times?: number;
  readonly keep_open_as?: string;
  readonly name?: string;
  readonly upstream_usage_total_tokens?: number;
}

interface ExpectedResponse {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly upstream_called?: boolean;
}

interface CaseExpectation extends Partial<ExpectedResponse> {
  readonly step: number;
  readonly admitted?: number;
  readonly rejected?: number;
  readonly last_response?: ExpectedResponse;
  readonly body_contains?: { readonly rate_limits: readonly Record<string, unknown>[] };
}

export interface LimiterCase {
  readonly id: string;
  readonly given: {
    readonly title: string;
    readonly clock_base: number;
    readonly rules: readonly CaseRule[];
  };
  readonly when: readonly CaseStep[];
  readonly then: readonly CaseExpectation[];
}

/** All cases, or those that only have rules on user paths. */
export function limiterCases(which: "all" | "user-path"): LimiterCase[] {
  const cases = JSON.parse(
    readFileSync("test/conformance/limiter-cases.json", "utf8"),
  ) as LimiterCase[];
  if (which === "all") return cases;
  return cases.filter(({ given }) =>
    given.rules.every(
      (rule) => (rule.scope ?? "user_path") === "user_path" && rule.per_child !== true,
    ),
  );
}

export interface CaseResponse {
  readonly status: number;
  /** By lower-case name; only the rate limit headers and Retry-After are looked at. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
  readonly upstreamCalled: boolean;
}

export interface CaseRequest {
  readonly userPath: string;
  readonly provider: string;
  /** The id at the provider. */
  readonly model: string;
  readonly tokens: number;
  /** Leave it in flight under this name; the response is what is known at its head. */
  readonly keepOpenAs: string | null;
}

/** As much of a listed rule as names it. */
interface ListedRule {
  readonly subject?: unknown;
  readonly period_seconds?: unknown;
}

/** What a case is played against. */
export interface CaseGateway {
  setClock(ms: number): Promise<void>;
  request(request: CaseRequest): Promise<CaseResponse>;
  finish(name: string): Promise<void>;
  /** The rules as listed now. */
  list(userPath: string): Promise<readonly ListedRule[]>;
}

const looked = /^(retry-after|x-ratelimit-)/;

/** Plays one case and asserts all that it expects. */
export async function playCase(
  t: Test,
  { given, when, then }: LimiterCase,
  gateway: CaseGateway,
): Promise<void> {
  for (const [index, step] of when.entries()) {
    await gateway.setClock((given.clock_base + step.at) * 1000);
    const expected = then.find((item) => item.step === index + 1);
    const name = `step ${index + 1}`;
    if (step.do === "upstream finishes the open request") await gateway.finish(step.name ?? "");
    else if (step.do === "GET /v1/usage") {
      const listed = await gateway.list(step.user_path ?? "/");
      for (const item of expected?.body_contains?.rate_limits ?? []) {
        const found = listed.find(
          (rule) =>
            rule.subject === item["subject"] && rule.period_seconds === item["period_seconds"],
        );
        t.match(found, item, `${name}: ${item["subject"]} ${item["period_seconds"]}`);
      }
    } else await playRequests(t, gateway, { name, step, expected });
  }
}

interface PlayedStep {
  readonly name: string;
  readonly step: CaseStep;
  readonly expected: CaseExpectation | undefined;
}

async function playRequests(
  t: Test,
  gateway: CaseGateway,
  { name, step, expected }: PlayedStep,
): Promise<void> {
  const provider = step.resolved_provider ?? "openai";
  const request: CaseRequest = {
    userPath: step.user_path ?? "/",
    provider,
    model: (step.resolved_model ?? "openai/gpt-4o-mini").slice(provider.length + 1),
    tokens: step.upstream_usage_total_tokens ?? 0,
    keepOpenAs: step.keep_open_as ?? null,
  };
  let last: CaseResponse | null = null;
  let admitted = 0;
  for (let i = 0; i < (step.times ?? 1); i++) {
    last = await gateway.request(request);
    if (last.status === 200) admitted++;
  }
  if (expected === undefined || last === null) return;
  if (expected.admitted !== undefined) t.equal(admitted, expected.admitted, `${name}: admitted`);
  if (expected.rejected !== undefined)
    t.equal((step.times ?? 1) - admitted, expected.rejected, `${name}: rejected`);
  const response =
    expected.last_response ??
    (expected.status === undefined ? undefined : (expected as ExpectedResponse));
  if (response === undefined) return;
  t.equal(last.status, response.status, `${name}: status`);
  if (response.upstream_called !== undefined)
    t.equal(last.upstreamCalled, response.upstream_called, `${name}: upstream called`);
  if (response.body !== undefined) t.same(last.body, response.body, `${name}: body`);
  if (response.headers === undefined) return;
  const want = Object.fromEntries(
    Object.entries(response.headers).map(([header, value]) => [header.toLowerCase(), value]),
  );
  const got = Object.fromEntries(
    Object.entries(last.headers).filter(
      ([header]) => looked.test(header) && header !== "retry-after-ms",
    ),
  );
  t.same(got, want, `${name}: headers`);
}
