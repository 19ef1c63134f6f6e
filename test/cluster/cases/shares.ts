/**
 * Children that share a cap over two hosts on a real engine: each gets its part of the cap of all
 * hosts if it sends its requests to all of them alike, also after a daemon was killed, and of a
 * hard cap.
 */
import { setTimeout as delay } from "node:timers/promises";
import t, { type Test } from "tap";
import { agesSeconds } from "../../support/ages.js";
import { admin, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { engineProgram, noEngine, startEngine } from "../../support/processes/start-engine.js";
import { startEndlessStreams } from "../../support/providers/endless-streams.js";

const skip = engineProgram === null && noEngine;
t.setTimeout(300_000);

/** Two hosts with these limits, and the provider behind them. */
async function twoHosts(test: Test, limits: string) {
  const provider = await startEndlessStreams();
  test.teardown(() => provider.close());
  const engine = await startEngine(test);
  const yaml = `
providers:
  test: { type: openai, base_url: "${provider.baseUrl}", api_key: none, models: [m], retries: 0 }
limiter: { deadline_ms: 30000 }
waiting: { max_seconds: 600 }
rate_limits:
  user_paths:
    - { path: /team, limits: [${limits}] }
`;
  const sites = [0, 1].map(() => makeSite(test, yaml, { SLUICE_CLUSTER_URL: engine.url }));
  const daemons = await Promise.all(sites.map((site) => site.startDaemon()));
  const urls = await Promise.all(sites.map(async (site) => (await site.startProxy()).ready));
  const restartFirst = async (): Promise<void> => {
    await daemons[0]!.kill("SIGKILL");
    await sites[0]!.startDaemon();
  };
  return { provider, urls, restartFirst };
}

async function ask(
  url: string,
  child: string,
  more: object,
  headers: Readonly<Record<string, string>> = {},
): Promise<number> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      "x-sluice-user-path": `/team/${child}`,
      ...headers,
    },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "hi" }], ...more }),
  });
  await response.text();
  return response.status;
}

t.test("requests that wait are divided by weight over both hosts", { skip }, async (t) => {
  const seconds = 2;
  const cap = 60;
  const { urls, restartFirst } = await twoHosts(
    t,
    `{ period_seconds: ${seconds}, max_requests: ${cap}, shares: { children: { a: { weight: 3 } } } }`,
  );
  const admitted = { a: 0, b: 0 };
  const statuses = new Set<number>();
  let isOver = false;
  let answered = (): void => {};
  const begunMs = performance.now();
  // Each child always has requests waiting on each host, however fast the machine is.
  const clients = urls.flatMap((url) =>
    Array.from({ length: 60 }, (_, i) => ({ url, child: i % 2 === 0 ? "b" : "a" }) as const),
  );
  const load = Promise.all(
    clients.map(async ({ url, child }) => {
      while (!isOver) {
        const status = await ask(url, child, { max_tokens: 1 }, { prefer: "wait=600" });
        statuses.add(status);
        if (status === 200) admitted[child]++;
        else await delay(100);
        answered();
      }
    }),
  );
  /** What each was admitted of so many more requests. */
  const next = async (count: number): Promise<typeof admitted> => {
    const before = { ...admitted };
    const isEnough = (): boolean => admitted.a + admitted.b >= before.a + before.b + count;
    await new Promise<void>((resolve) => {
      answered = () => void (isEnough() && resolve());
    });
    return { a: admitted.a - before.a, b: admitted.b - before.b };
  };
  // At first the windows have room, and none waits.
  await next(2 * cap);
  const { a, b } = await next(4 * cap);
  t.comment(`${a} and ${b}`);
  t.ok(a / b > 2 && a / b < 4.5, "three parts and one");
  t.same([...statuses], [200], "none is refused");
  await restartFirst();
  await next(2 * cap);
  const after = await next(4 * cap);
  t.comment(`after a kill: ${after.a} and ${after.b}`);
  t.ok(after.a / after.b > 2 && after.a / after.b < 4.5, "also after a kill");
  isOver = true;
  await load;
  const windows = (performance.now() - begunMs) / 1000 / seconds;
  t.same([...statuses], [200], "none is refused after a kill");
  t.ok(admitted.a + admitted.b <= cap * (windows + 1), "the cap holds");
});

t.test("the streams of a hard cap keep off the floor of a child", { skip }, async (t) => {
  const cap = 40_000;
  const floor = 0.4;
  /** What streams may exceed a part by: a chunk each, and what is on its way. */
  const passed = 0.15 * cap;
  const { provider, urls } = await twoHosts(
    t,
    `{ period_seconds: ${agesSeconds}, max_tokens: ${cap}, hold: hard, shares: { children: { a: { floor: ${floor} } } } }`,
  );
  provider.atOnce = 1;
  const stream = { stream: true };
  /** What the streams of a child have put out. */
  const flowed = (): number => provider.calls.reduce((sum, { tokens }) => sum + tokens, 0);
  for (const url of urls) t.equal(await ask(url, "a", { max_tokens: 1 }), 200, "a wants its floor");
  const ofB = Promise.all(
    urls.flatMap((url) => Array.from({ length: 20 }, () => ask(url, "b", stream))),
  );
  await ofB;
  const usedByB = flowed();
  t.comment(`b: ${usedByB} of ${cap}`);
  t.ok(usedByB <= (1 - floor) * cap + passed, "b has what a's floor leaves");
  provider.atOnce = 20;
  await until(
    async () => {
      for (const url of urls) await ask(url, "a", stream);
      const [rule] = (await admin(urls[0]!, "GET /rate-limits")).body.rate_limits;
      return rule!.tokens_used;
    },
    (tokens) => tokens > 0.95 * cap,
  );
  const usedByA = flowed() - usedByB;
  t.comment(`a: ${usedByA} of ${cap}`);
  t.ok(usedByA >= floor * cap - passed, "and a has its floor");
  t.ok(flowed() <= cap * 1.25, "the cap holds");
});
