/**
 * Everything that a daemon reports about usage, compared with the truth: the differences, each as a
 * line.
 */
import { spendFromStored, spendKey } from "../../../limiterd/budgets/stored-budget.js";
import type { Store } from "../../../limiterd/store/store.js";
import { rollupFromStored } from "../../../limiterd/usage/rollup.js";
import { budgetId } from "../../../shared/domain/budget.js";
import type { MoneySum } from "../../../shared/domain/money.js";
import { dayMs, dayOf } from "../../../shared/time.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import { connectDaemon } from "../../../shared/wire/daemon-client.js";
import { type RollupOracle, rollupKeysOf } from "../../limiterd/usage/usage-oracle.js";
import type { Ledger } from "../processes/socket-relay.js";
import type { Served } from "./usage-load.js";
import {
  childOf,
  dollars,
  grouped,
  isUnder,
  periodStartMs,
  sumOf,
  unknownIn,
  withAncestors,
} from "./usage-truth.js";

export interface Budgeted {
  readonly scope: "user_path" | "label";
  readonly subject: string;
  readonly period: "hourly" | "daily" | "weekly" | "monthly";
  readonly perChild?: boolean;
}

export interface Compared {
  /** A proxy's address, and the master key that it takes. */
  readonly url: string;
  readonly master: string;
  readonly socketPath: string;
  readonly clockMs: number;
  readonly served: readonly Served[];
  readonly ledgers: readonly Ledger[];
  readonly budgets: readonly Budgeted[];
  /** Where nothing was ever used. */
  readonly unused: readonly string[];
}

type Item = Readonly<Record<string, unknown>>;

/** Of a settled system. Empty: all agrees, to the last unit. */
export async function differences(what: Compared): Promise<string[]> {
  const wrong: string[] = [];
  const expect = (name: string, found: unknown, expected: unknown): void => {
    if (JSON.stringify(found) !== JSON.stringify(expected))
      wrong.push(`${name}: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
  };
  const client = await connectDaemon({ socketPath: what.socketPath });
  const ask: Ask = async (op, body) => {
    const answer = await client.call(op, body);
    if (!answer.ok) throw new Error(`${op}: ${answer.failure.message}`);
    return answer.body as Item;
  };
  const counted: Compared = { ...what, served: what.served.filter(({ hit }) => !hit) };
  await compareRecords(what, ask, expect);
  await compareUsage(counted, expect);
  await compareSummaries(counted, ask, expect);
  await compareBudgets(counted, ask, expect);
  client.close();
  return wrong;
}

type Expect = (name: string, found: unknown, expected: unknown) => void;
type Ask = (op: AdminOp, body: unknown) => Promise<Item>;

/** Each served request has its record, once; each record is what its proxy settled. */
async function compareRecords(
  { served, ledgers }: Compared,
  ask: Ask,
  expect: Expect,
): Promise<void> {
  const records = new Map<string, Item>();
  for (let after: unknown = null; ; ) {
    const page = await ask("usage.export", { after });
    for (const record of page["records"] as Item[]) {
      const id = String(record["request_id"]);
      if (records.has(id)) expect(`${id} is recorded`, 2, 1);
      records.set(id, record);
    }
    after = page["next"];
    if (after === null) break;
  }
  for (const one of served) {
    const found = records.get(one.requestId);
    if (found === undefined) {
      expect(`${one.requestId} is recorded`, 0, 1);
      continue;
    }
    const usd = (pico: bigint | null): number | null =>
      pico === null ? null : Number(pico) / 1e12;
    const expected = {
      user_path: one.userPath,
      key_id: one.keyId === "" ? null : one.keyId,
      endpoint: one.endpoint,
      provider: one.provider,
      model: one.model === "" ? null : one.model,
      requested_model: one.requestedModel || one.model || null,
      status: one.status,
      estimated: one.estimated,
      input_tokens: one.input,
      output_tokens: one.output,
      total_tokens: one.input + one.output,
      cached_input_tokens: one.cached,
      cache_write_input_tokens: 0,
      input_cost: usd(one.inputCost),
      output_cost: usd(one.outputCost),
      total_cost: usd(one.totalCost),
      cache_hit: one.hit,
    };
    expect(
      one.requestId,
      Object.fromEntries(Object.keys(expected).map((field) => [field, found[field]])),
      expected,
    );
    const lateMs = one.clockMs - Date.parse(String(found["time"]));
    if (!(lateMs >= 0 && lateMs < 10 * 60_000))
      expect(`${one.requestId} ended`, found["time"], new Date(one.clockMs).toISOString());
  }
  expect("records", records.size, served.length);
  const settled = ledgers
    .flatMap(({ settles }) => [...settles.values()])
    .flatMap(({ record }) => (record === null ? [] : [record]));
  expect("settles with a record", settled.length, served.length);
  for (const { requestId, latencyMs, firstByteMs, totalCost } of settled) {
    const found = records.get(requestId);
    expect(
      `${requestId} as it was settled`,
      found && [found["latency_ms"], found["first_byte_ms"], found["total_cost"]],
      [latencyMs, firstByteMs, totalCost === null ? null : totalCost / 1e12],
    );
  }
}

interface Days {
  readonly start_date: string;
  readonly end_date: string;
}

function usageOf(served: Iterable<Served>, days: Days): Item {
  const sum = sumOf(served);
  return {
    ...days,
    total_requests: sum.requests,
    total_input_tokens: sum.input,
    total_output_tokens: sum.output,
    total_tokens: sum.input + sum.output,
    cached_input_tokens: sum.cached,
    cache_write_input_tokens: 0,
    uncached_input_tokens: sum.input - sum.cached,
    total_input_cost: dollars(sum.inputCost),
    total_output_cost: dollars(sum.outputCost),
    total_cost: dollars(sum.totalCost),
    unpriced_requests: sum.unpriced,
    ...unknownIn(sum),
    rewrite_tokens_saved: 0,
  };
}

/**
 * Looks at the day of the round, and at all days, of every path that was used and its ancestors.
 */
async function eachWindow(
  { clockMs, served, unused }: Compared,
  look: (days: Days, path: string) => Promise<void>,
): Promise<void> {
  const end = dayOf(clockMs);
  const windows: readonly Days[] = [
    { start_date: end, end_date: end },
    { start_date: dayOf(clockMs - 300 * dayMs), end_date: end },
  ];
  const paths = [
    ...new Set([...served.flatMap(({ userPath }) => withAncestors(userPath)), ...unused]),
  ];
  await Promise.all(windows.flatMap((days) => paths.map((path) => look(days, path))));
}

function within(served: readonly Served[], path: string, days: Days): Served[] {
  return served.filter(
    ({ userPath, clockMs }) =>
      isUnder(path, userPath) &&
      dayOf(clockMs) >= days.start_date &&
      dayOf(clockMs) <= days.end_date,
  );
}

async function compareUsage(what: Compared, expect: Expect): Promise<void> {
  const { url, master, served, budgets, clockMs } = what;
  await eachWindow(what, async (days, path) => {
    const response = await fetch(
      `${url}/v1/usage?start_date=${days.start_date}&end_date=${days.end_date}`,
      { headers: { authorization: `Bearer ${master}`, "x-sluice-user-path": path } },
    );
    const body = (await response.json()) as { usage: Item; budgets: Item[] };
    expect(`GET /v1/usage of ${path}`, body.usage, usageOf(within(served, path, days), days));
    for (const { subject, period, perChild = false } of budgets.filter(
      ({ scope, subject: of }) => scope === "user_path" && isUnder(of, path),
    )) {
      const who = perChild ? childOf(subject, path) : subject;
      if (who === null) continue;
      const spent = dollars(
        sumOf(
          served.filter(
            (one) => isUnder(who, one.userPath) && one.clockMs >= periodStartMs(period, clockMs),
          ),
        ).totalCost,
      );
      const found = body.budgets.find(
        (item) =>
          item["subject"] === who &&
          item["per_child"] === perChild &&
          item["period_label"] === period,
      );
      expect(`the ${period} budget of ${who}, asked by ${path}`, found?.["spent"], spent);
    }
  });
}

async function compareSummaries(what: Compared, ask: Ask, expect: Expect): Promise<void> {
  await eachWindow(what, async (days, path) => {
    const served = within(what.served, path, days);
    const keys: Readonly<Record<string, (one: Served) => string | null>> = {
      day: ({ clockMs }) => dayOf(clockMs),
      provider: ({ provider }) => provider,
      model: ({ provider, model }) => `${provider}/${model === "" ? "-" : model}`,
      path: ({ userPath }) => childOf(path, userPath) ?? path,
    };
    for (const [by, keyOf] of Object.entries(keys)) {
      const { usage, groups } = await ask("usage.summary", { user_path: path, ...days, by });
      expect(`summary of ${path}`, usage, usageOf(served, days));
      const expected = [...grouped(served, keyOf)].map(([key, all]) => {
        const sum = sumOf(all);
        return {
          key,
          requests: sum.requests,
          input_tokens: sum.input,
          output_tokens: sum.output,
          total_tokens: sum.input + sum.output,
          total_cost: dollars(sum.totalCost),
          unpriced_requests: sum.unpriced,
          ...unknownIn(sum),
        };
      });
      const inOrder = (items: readonly Item[]): readonly Item[] =>
        [...items].sort((a, b) => (String(a["key"]) < String(b["key"]) ? -1 : 1));
      expect(`${path} by ${by}`, inOrder(groups as Item[]), inOrder(expected));
    }
  });
}

/**
 * The operator's list; and budgets of labels that are made just now, which look up what their
 * labels have cost.
 */
async function compareBudgets(
  { served, budgets, clockMs }: Compared,
  ask: Ask,
  expect: Expect,
): Promise<void> {
  const spentBy = (scope: string, subject: string, startMs: number): Served[] =>
    served.filter(
      (one) =>
        one.clockMs >= startMs &&
        (scope === "label" ? one.labels.includes(subject) : isUnder(subject, one.userPath)),
    );
  const listed = async (): Promise<Item[]> =>
    (await ask("budgets.list", { after: null }))["budgets"] as Item[];
  const items = await listed();
  for (const { scope, subject, period, perChild = false } of budgets) {
    const found = items.find(
      (item) =>
        item["scope"] === scope && item["subject"] === subject && item["period_label"] === period,
    );
    const expected = perChild ? [] : spentBy(scope, subject, periodStartMs(period, clockMs));
    expect(
      `the ${period} budget of ${scope} ${subject}`,
      [found?.["spent"], found?.["has_usage"]],
      [dollars(sumOf(expected).totalCost), expected.length > 0],
    );
  }
  for (const label of new Set(served.flatMap(({ labels }) => labels))) {
    const key = { scope: "label", subject: label, budget_key: { period: "monthly" } };
    await ask("budgets.put", { ...key, amount: 1_000_000 });
    const found = (await listed()).find(
      (item) => item["subject"] === label && item["period_label"] === "monthly",
    );
    expect(
      `what the label ${label} has cost this month`,
      found?.["spent"],
      dollars(sumOf(spentBy("label", label, periodStartMs("monthly", clockMs))).totalCost),
    );
    await ask("budgets.delete", key);
  }
}

/**
 * What a daemon has left in its store when it was asked to end: every sum and every account, to the
 * pico-dollar.
 */
export function storeDifferences(
  store: Store,
  { served: recorded, budgets, clockMs }: Pick<Compared, "served" | "budgets" | "clockMs">,
): string[] {
  const wrong: string[] = [];
  const served = recorded.filter(({ hit }) => !hit);
  const compare = (
    name: string,
    found: ReadonlyMap<string, string>,
    expected: ReadonlyMap<string, string>,
  ): void => {
    for (const key of new Set([...found.keys(), ...expected.keys()]))
      if (found.get(key) !== expected.get(key))
        wrong.push(`${name} ${JSON.stringify(key)}: ${found.get(key)}, not ${expected.get(key)}`);
  };
  const sums = new Map(
    [...store.entries("rollups")].map(({ key, value }) => {
      const { requests, inputTokens, outputTokens, unpricedRequests, totalCost } =
        rollupFromStored(value)!;
      return [
        String(key),
        summary({
          requests,
          tokens: inputTokens + outputTokens,
          unpriced: unpricedRequests,
          cost: picoOf(totalCost),
        }),
      ];
    }),
  );
  compare("sum", sums, new Map([...rollupsOf(served)].map(([key, sum]) => [key, summary(sum)])));
  const spent = new Map<string, string>();
  const expected = new Map<string, string>();
  for (const { scope, subject, period, perChild = false } of budgets) {
    const startMs = periodStartMs(period, clockMs);
    const id = budgetId({ scope, subject, periodSeconds: periodSeconds[period] });
    const whose = grouped(served, ({ userPath, labels, clockMs: at }) => {
      if (at < startMs) return null;
      if (scope === "label") return labels.includes(subject) ? "" : null;
      return perChild
        ? (childOf(subject, userPath)?.slice(subject.length + 1) ?? null)
        : isUnder(subject, userPath)
          ? ""
          : null;
    });
    for (const [child, all] of whose)
      expected.set(spendKey(id, child), spending(all.length, sumOf(all).totalCost));
    for (const { key, value } of store.entries("spends")) {
      if (!String(key).startsWith(`${id}\n`)) continue;
      const running = spendFromStored(value)!.spends.find((one) => one.startMs === startMs);
      if (running !== undefined)
        spent.set(String(key), spending(running.requests, picoOf(running.spent)));
    }
  }
  compare("account", spent, expected);
  return wrong;
}

const periodSeconds = { hourly: 3600, daily: 86_400, weekly: 604_800, monthly: 2_592_000 } as const;
const picoOf = ({ microUsd, picoUsd }: MoneySum): bigint =>
  BigInt(microUsd) * 1_000_000n + BigInt(picoUsd);
const spending = (requests: number, pico: bigint): string =>
  `${requests} requests, ${pico} pico-dollars`;
const summary = ({
  requests,
  tokens,
  unpriced,
  cost,
}: {
  readonly requests: number;
  readonly tokens: number;
  readonly unpriced: number;
  readonly cost: bigint;
}): string => `${spending(requests, cost)}, ${tokens} tokens, ${unpriced} unpriced`;

/** By the keys of the store. */
function rollupsOf(served: readonly Served[]): RollupOracle {
  const sums: RollupOracle = new Map();
  for (const one of served) {
    const { userPath, keyId, provider, model, requestedModel, labels } = one;
    const { input, output, totalCost } = one;
    const day = dayOf(one.clockMs);
    const target = `${provider}\n${model}`;
    const asked = requestedModel === "" ? target : `\n${requestedModel}`;
    for (const key of [
      ...rollupKeysOf(userPath, day, target, { keyId, asked }),
      ...labels.map((label) => `l\n${label}\n${day}`),
    ]) {
      const sum = sums.get(key) ?? { requests: 0, tokens: 0, cost: 0n, unpriced: 0 };
      sums.set(key, {
        requests: sum.requests + 1,
        tokens: sum.tokens + input + output,
        cost: sum.cost + (totalCost ?? 0n),
        unpriced: sum.unpriced + (totalCost === null ? 1 : 0),
      });
    }
  }
  return sums;
}
