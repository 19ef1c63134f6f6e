/**
 * Whether the totals of a soak are exact: what clients and the provider saw, against the records,
 * the sums, the rules and the budgets. What a kill −9 of a proxy may cost is
 * docs/contributing/testing.md's: requests that were running in it have no record and no tokens,
 * and may be counted; nothing else.
 */

import type { DaemonClient } from "../../../shared/wire/daemon-client.js";
import { agesSeconds } from "../../support/ages.js";
import type { Ledger } from "./ledger.js";
import { type KindName, kindNameOf } from "./mix.js";
import { marks } from "./provider-answers.js";
import { emptySum, Recorded, type Sum } from "./recorded.js";

export interface TotalsInput {
  readonly ledger: Ledger;
  /** The provider's marks, by number. */
  readonly seen: Uint8Array;
  readonly daemon: DaemonClient;
  /** When proxies were killed, in seconds since the start. */
  readonly deathsS: readonly number[];
  /** When reloads began, likewise. */
  readonly reloadsS: readonly number[];
  readonly cap: number;
}

export interface Totals {
  readonly records: number;
  readonly cacheHits: number;
  readonly estimates: number;
  readonly total: Sum;
  /** Requests that ended with a killed proxy, and of these those without a record. */
  readonly struck: number;
  readonly unrecorded: number;
  /** Sent on an idle connection just when a replaced proxy closed it, and never read. */
  readonly closedIdle: number;
  /** Of the rule on everything: what it counts beyond what has a record or failed elsewhere. */
  readonly countedBeyond: number;
  readonly problems: readonly string[];
}

/** A connection breaks at once; its client may be late to see it on a busy machine. */
const struckS = { before: 1, after: 5 };
/**
 * A replaced proxy closes connections that have been without a request for five seconds; whoever
 * sends one at that very moment has to send it again, as on any idle connection of HTTP/1.1.
 */
const reloadS = 30;
const refusable: ReadonlySet<KindName> = new Set([
  "tight",
  "capped",
  "narrow",
  "poor",
  "wrong key",
  "no such model",
]);

interface Census {
  readonly problems: string[];
  struck: number;
  unrecorded: number;
  closedIdle: number;
  /** Admitted for sure, as the rule on everything counts; and those that may have been. */
  admitted: number;
  perhaps: number;
  capped: { admitted: number; perhaps: number; refused: number };
}

export async function compareTotals(input: TotalsInput): Promise<Totals> {
  const recorded = new Recorded(input.ledger);
  await recorded.readAll(input.daemon);
  const census: Census = {
    problems: [...input.ledger.wrong],
    struck: 0,
    unrecorded: 0,
    closedIdle: 0,
    admitted: 0,
    perhaps: 0,
    capped: { admitted: 0, perhaps: 0, refused: 0 },
  };
  for (let n = 0; n < input.ledger.sent; n++) countRequest(input, recorded, census, n);
  const counted = await compareRules(input, recorded, census);
  await compareSums(input.daemon, recorded, census.problems);
  return {
    records: recorded.records,
    cacheHits: recorded.cacheHits,
    estimates: recorded.estimates,
    total: recorded.total,
    struck: census.struck,
    unrecorded: census.unrecorded,
    closedIdle: census.closedIdle,
    countedBeyond: counted - census.admitted,
    problems: [...census.problems, ...recorded.wrong],
  };
}

function countRequest(input: TotalsInput, recorded: Recorded, census: Census, n: number): void {
  const { ledger, seen, deathsS } = input;
  const outcome = ledger.outcomeOf(n);
  const kind = kindNameOf(n);
  const times = recorded.times[n]!;
  const endedS = ledger.endedAtS(n);
  const problem = (what: string): void => {
    census.problems.push(
      `request ${n} (${kind}, ${outcome} with ${ledger.statusOf(n)} at ${endedS.toFixed(1)} s): ${what}`,
    );
  };
  const struck =
    ["broken", "cut", "left"].includes(outcome) &&
    deathsS.some((s) => endedS > s - struckS.before && endedS < s + struckS.after);
  if (struck) census.struck++;
  if (times > 1) problem(`${times} records`);
  if (seen[n]! & marks.answeredTwice) problem("the provider has answered it twice");
  if (outcome === "under way") problem("it never ended");
  if (outcome === "broken" && !struck) {
    const reloaded = input.reloadsS.some((s) => endedS > s && endedS < s + reloadS);
    if (!reloaded || times > 0 || seen[n]! & marks.called) problem("no proxy had died");
    else census.closedIdle++;
    return;
  }
  if (outcome === "refused") {
    if (!refusable.has(kind)) problem("nothing should refuse it");
    if (seen[n]! & marks.called) problem("the provider was asked");
    if (kind === "capped") census.capped.refused++;
    return;
  }
  if (outcome === "cut" && seen[n]! & marks.answered && !struck)
    problem("the provider has answered it whole");
  // One whose provider had failed, and whose client left before it was asked again, has no record.
  const called = (seen[n]! & (marks.called | marks.struck)) === marks.called;
  const mustHaveRecord =
    outcome === "whole" ||
    outcome === "from the cache" ||
    (!struck && (outcome === "cut" || (outcome === "left" && called)));
  if (times === 0) {
    if (mustHaveRecord) problem("no record");
    if (struck) census.unrecorded++;
  }
  const cacheHit = outcome === "from the cache";
  // A provider that never answers leaves no record, and the request was admitted.
  const admitted = !cacheHit && (times > 0 || outcome === "provider failed") ? 1 : 0;
  const perhaps = cacheHit || admitted === 1 ? 0 : 1;
  census.admitted += admitted;
  census.perhaps += perhaps;
  if (kind === "capped") {
    census.capped.admitted += admitted;
    census.capped.perhaps += perhaps;
  }
}

interface RuleItem {
  readonly subject: string;
  readonly period_seconds: number;
  readonly requests_used: number;
  readonly tokens_used: number;
  readonly in_flight: number;
}

/** What the rule on everything has counted. */
async function compareRules(
  { daemon, cap }: TotalsInput,
  { total }: Recorded,
  { admitted, perhaps, capped, problems }: Census,
): Promise<number> {
  const { rate_limits: rules } = await ask<{ rate_limits: readonly RuleItem[] }>(
    daemon,
    "rate-limits.list",
    { after: null },
  );
  const find = (subject: string): RuleItem =>
    rules.find((rule) => rule.subject === subject && rule.period_seconds === agesSeconds)!;
  const all = find("/");
  if (all.requests_used < admitted || all.requests_used > admitted + perhaps)
    problems.push(
      `the rule on / has ${all.requests_used} requests, not ${admitted} to ${admitted + perhaps}`,
    );
  if (all.tokens_used !== total.tokens)
    problems.push(`the rule on / has ${all.tokens_used} tokens, not ${total.tokens}`);
  for (const { subject, in_flight: slots } of rules)
    if (slots !== 0) problems.push(`${slots} slots of ${subject} are left in flight`);
  const used = find("/capped").requests_used;
  if (capped.admitted > cap) problems.push(`${capped.admitted} of ${cap} got to /capped`);
  if (used < capped.admitted || used > capped.admitted + capped.perhaps)
    problems.push(`the rule on /capped has ${used}, not ${capped.admitted}`);
  if (capped.refused > 0 && used !== cap)
    problems.push(`/capped refused ${capped.refused} when it had ${used} of ${cap}`);
  return all.requests_used;
}

interface Group {
  readonly key: string;
  readonly requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_cost: number;
}

/** Sums of days and spend of budgets, against the records. */
async function compareSums(
  daemon: DaemonClient,
  recorded: Recorded,
  problems: string[],
): Promise<void> {
  const dayOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
  const days = { start_date: dayOf(Date.now() - 7 * 86_400_000), end_date: dayOf(Date.now()) };
  const expect = (name: string, found: Sum, expected: Sum = emptySum()): void => {
    if (JSON.stringify(found) !== JSON.stringify(expected))
      problems.push(`${name}: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
  };
  const paths = ["/tenants", "/each"];
  for (const userPath of paths) {
    const query = { user_path: userPath, by: "path", ...days };
    const { groups } = await ask<{ groups: readonly Group[] }>(daemon, "usage.summary", query);
    for (const group of groups)
      if (group.key !== "other")
        expect(`usage of ${group.key}`, sumOf(group), recorded.byPath.get(group.key));
  }
  const { usage } = await ask<{ usage: Record<string, number> }>(daemon, "usage.summary", {
    user_path: "/",
    ...days,
  });
  expect(
    "usage of /",
    {
      requests: usage["total_requests"]!,
      tokens: usage["total_tokens"]!,
      microUsd: microUsd(usage["total_cost"]!),
    },
    recorded.total,
  );
  const { budgets } = await ask<{
    budgets: readonly { scope: string; subject: string; period_label: string; spent: number }[];
  }>(daemon, "budgets.list", { after: null });
  const spent = (scope: string, subject: string, expected: number): void => {
    const budget = budgets.find((one) => one.scope === scope && one.subject === subject);
    if (budget === undefined || microUsd(budget.spent) !== expected)
      problems.push(`the budget of ${subject} has ${budget?.spent}, not ${expected / 1e6}`);
  };
  spent("user_path", "/", recorded.total.microUsd);
  spent("label", "red", recorded.byLabel.get("red")?.microUsd ?? 0);
}

function sumOf({ requests, input_tokens: input, output_tokens: output, total_cost }: Group): Sum {
  return { requests, tokens: input + output, microUsd: microUsd(total_cost) };
}

function microUsd(usd: number): number {
  return Math.round(usd * 1e6);
}

async function ask<T>(
  daemon: DaemonClient,
  op: Parameters<DaemonClient["call"]>[0],
  body: unknown,
): Promise<T> {
  const answer = await daemon.call(op, body);
  if (!answer.ok) throw new Error(`${op}: ${answer.failure.message}`);
  return answer.body as T;
}
