/**
 * One truth for all proxies of a host: 1, 4 and 16 real ones hammer one daemon, and it admits what
 * the oracle admits, to the request, for each path. The clock stands still, so no boundary is
 * crossed; every admitted request stays in flight until all were asked, so that which of them came
 * first changes nothing in the numbers.
 */
import t from "tap";
import { createOracle, type OracleRule } from "../../limiterd/oracle.js";
import { admin, chat, until } from "../../support/client.js";
import { makeSite, type Part } from "../../support/processes/processes.js";
import {
  beginStream,
  chunk,
  type ReceivedCall,
  replyCompletion,
  startScriptedUpstream,
  usageChunk,
} from "../../support/providers/scripted-upstream.js";

t.setTimeout(240_000);
const nowMs = 1_767_225_600_000 + 12_345;
const model = { provider: "test", model: "model" };
const minute = 60;
const hour = 3_600;
const day = 86_400;

const rule = (
  subject: string,
  periodSeconds: number,
  maxRequests: number,
  perChild = false,
): OracleRule => ({
  scope: "user_path",
  subject,
  periodSeconds,
  maxRequests,
  maxTokens: null,
  perChild,
});

interface Hammering {
  readonly name: string;
  readonly rules: readonly OracleRule[];
  /**
   * How often each path is asked for. All of one order are asked at once, the next order after it.
   */
  readonly orders: readonly Readonly<Record<string, number>>[];
}

/**
 * Rules that overlap. Within an order no two paths compete for a cap, or the numbers would depend
 * on who came first.
 */
const table: readonly Hammering[] = [
  { name: "one cap in one window", rules: [rule("/team", minute, 37)], orders: [{ "/team": 96 }] },
  {
    name: "the smallest of overlapping windows",
    rules: [
      rule("/team", minute, 60),
      rule("/team", hour, 41),
      rule("/team", day, 50),
      rule("/", day, 1000),
    ],
    orders: [{ "/team": 80 }],
  },
  {
    name: "a path inside another",
    rules: [rule("/a/b", hour, 20), rule("/a", minute, 33), rule("/", day, 49)],
    orders: [{ "/a/b": 48 }, { "/a": 48 }, { "/c": 48 }],
  },
  {
    name: "slots",
    rules: [rule("/team", 0, 11), rule("/", 0, 23), rule("/", day, 10_000)],
    orders: [{ "/team/x": 48 }, { "/other": 48 }],
  },
  {
    name: "slots and windows",
    rules: [rule("/team", 0, 30), rule("/team/x", hour, 17), rule("/team/y", 0, 5)],
    orders: [{ "/team/x": 40, "/team/y": 40 }, { "/team": 48 }],
  },
  {
    name: "a template: each child its own, none its neighbour's",
    rules: [rule("/kids", day, 9, true), rule("/kids", 0, 7, true)],
    orders: [{ "/kids/a": 24, "/kids/b/deep": 24, "/kids/c": 24, "/kids": 12 }],
  },
  {
    name: "a provider and a model",
    rules: [
      { ...rule("test", minute, 45), scope: "provider" },
      { ...rule("model", day, 31), scope: "model" },
      rule("/team", hour, 29),
    ],
    orders: [{ "/team": 48 }, { "/other": 48 }],
  },
];

const upstream = await startScriptedUpstream();
t.teardown(() => upstream.close());
const site = makeSite(
  t,
  `
providers: { test: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: ["*"] } }
limiter: { deadline_ms: 60000 }
entitlements: [quota_templates]
# A cent for the ten tokens of an answer.
prices: { test/model: { input: 1000, output: 0 } }
`,
);
await site.startClockedDaemon(nowMs);
const proxies: Part[] = [];

async function replaceRules(url: string, rules: readonly OracleRule[]): Promise<void> {
  const { body } = await admin(url, "GET /rate-limits");
  for (const { scope, subject, period_seconds } of body.rate_limits)
    await admin(url, "DELETE /rate-limits", { scope, subject, limit_key: { period_seconds } });
  for (const { scope, subject, periodSeconds, maxRequests, perChild } of rules) {
    const { status } = await admin(url, "PUT /rate-limits", {
      scope,
      subject,
      limit_key: { period_seconds: periodSeconds },
      max_requests: maxRequests,
      ...(perChild ? { per_child: true } : {}),
    });
    if (status !== 200) throw new Error(`${subject}: ${status}`);
  }
}

/** Asks all at once, spread over all proxies; how many were admitted, by path. */
async function hammer(
  order: Readonly<Record<string, number>>,
  open: Response[],
): Promise<Record<string, number>> {
  const admitted: Record<string, number> = {};
  const asked = Object.entries(order).flatMap(([path, times]) =>
    Array.from({ length: times }, (_, i) => ({ path, proxy: proxies[i % proxies.length]! })),
  );
  await Promise.all(
    asked.map(async ({ path, proxy }) => {
      const response = await chat(proxy.ready, { path, stream: true });
      admitted[path] = (admitted[path] ?? 0) + (response.status === 200 ? 1 : 0);
      if (response.status === 200) open.push(response);
      else await response.arrayBuffer();
    }),
  );
  return admitted;
}

function oracleSays({ rules, orders }: Hammering): Record<string, number>[] {
  const oracle = createOracle(rules);
  return orders.map((order) => {
    const admitted: Record<string, number> = {};
    for (const [path, times] of Object.entries(order)) {
      admitted[path] = 0;
      for (let i = 0; i < times; i++) {
        if (oracle.ask(path, [model], nowMs).refused !== undefined) continue;
        oracle.begin({ path, ...model }, nowMs);
        admitted[path]++;
      }
    }
    return admitted;
  });
}

for (const count of [1, 4, 16]) {
  await t.test(`${count} ${count === 1 ? "proxy" : "proxies"}`, async (t) => {
    proxies.push(
      ...(await Promise.all(
        Array.from({ length: count - proxies.length }, () => site.startProxy()),
      )),
    );
    for (const item of table) {
      await replaceRules(proxies[0]!.ready, item.rules);
      const calls: ReceivedCall[] = [];
      upstream.answer = (call) => {
        calls.push(call);
        beginStream(call).write(chunk("some"));
      };
      const open: Response[] = [];
      const admitted: Record<string, number>[] = [];
      for (const order of item.orders) admitted.push(await hammer(order, open));
      t.same(admitted, oracleSays(item), item.name);
      t.equal(
        calls.length,
        open.length,
        `${item.name}: the provider was called for admitted requests only`,
      );
      for (const { response } of calls) response.end(`${usageChunk(3)}data: [DONE]\n\n`);
      await Promise.all(open.map((response) => response.text()));
    }
  });
}

t.test(
  "16 proxies at the edge of a budget: what goes beyond the amount is what was in flight when the last cent went, and no more",
  async (t) => {
    const url = proxies[0]!.ready;
    await replaceRules(url, [rule("/slots", 0, 10)]);
    // Of 50 cents 49 are spent, and as many requests as can be are in flight, before another one
    // ends.
    for (const { path, most } of [
      { path: "/edge", most: 96 },
      { path: "/slots", most: 10 },
    ]) {
      await admin(url, "PUT /budgets", {
        user_path: path,
        budget_key: { period: "daily" },
        amount: 0.5,
      });
      const waiting: ReceivedCall[] = [];
      let arrived = (): void => {};
      upstream.answer = (call) => {
        waiting.push(call);
        arrived();
      };
      const inFlight = async (calls: number): Promise<void> => {
        while (waiting.length < calls) await new Promise<void>((resolve) => (arrived = resolve));
      };
      let served = 0;
      let asked = 0;
      const ask = async (): Promise<number> => {
        const response = await chat(proxies[asked++ % proxies.length]!.ready, { path });
        await response.arrayBuffer();
        if (response.status === 200) served++;
        return response.status;
      };
      const under = new Set<Promise<number>>();
      const begin = (times: number): void => {
        for (let i = 0; i < times; i++) {
          const one: Promise<number> = ask().finally(() => under.delete(one));
          under.add(one);
        }
      };
      begin(96);
      for (let cents = 0; cents < 49; ) {
        await inFlight(most);
        const ending = Math.min(49 - cents, most);
        for (const call of waiting.splice(0, ending)) replyCompletion(call, 10);
        for (cents += ending; served < cents; ) await Promise.race(under);
        begin(ending);
      }
      await inFlight(most);
      for (const call of waiting.splice(0)) replyCompletion(call, 10);
      await Promise.all(under);
      t.equal(await ask(), 429, path);
      t.equal(served, 49 + most, "all that were admitted");
      const spent = async (): Promise<readonly number[]> => {
        const usage = (await (
          await fetch(`${url}/v1/usage?start_date=2026-01-01&end_date=2026-01-01`, {
            headers: { "x-sluice-user-path": path },
          })
        ).json()) as { budgets: { spent: number }[] };
        return usage.budgets.map((budget) => budget.spent);
      };
      // The daemon hears of a request's end after its client.
      const everything = (49 + most) / 100;
      await until(spent, ([dollars]) => dollars !== undefined && dollars >= everything);
      t.same(await spent(), [everything], "half a dollar, and less than all that was in flight");
    }
  },
);
