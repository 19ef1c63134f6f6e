/**
 * `sluice usage reprice`: what was unpriced or wrong gets its cost in records, sums and budgets,
 * once, also if the daemon is killed −9 in the middle. SLUICE_REPRICE_SEED says when it dies.
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import type { BudgetChildList, BudgetList } from "../../../shared/api/budget-item.js";
import type { RecordItem } from "../../../shared/api/record-item.js";
import type { RepricePage } from "../../../shared/api/reprice-page.js";
import { run } from "../../bin/command-session.js";
import { createRandom } from "../../sim/random.js";
import { admin, chat, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import {
  replyJson,
  startPassthroughProvider,
} from "../../support/providers/passthrough-provider.js";

const seed = Number(process.env["SLUICE_REPRICE_SEED"] ?? Date.now() % 1_000_000_007);
t.comment(`SLUICE_REPRICE_SEED=${seed}`);
const random = createRandom(seed);
const provider = await startPassthroughProvider();
t.teardown(() => provider.close());
provider.answer = (received) =>
  void received.body.then((body) => {
    const { model } = JSON.parse(body) as { readonly model: string };
    if (model === "failing") return void received.response.writeHead(400).end("{}");
    replyJson(received, {
      id: "1",
      object: "chat.completion",
      choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 1000, completion_tokens: 100, total_tokens: 1100 },
    });
  });

const plain = `
limiter: { deadline_ms: 60000 }
entitlements: [quota_templates]
providers:
  local:
    { type: vllm, base_url: "${provider.origin}/v1", models: [new, dear, failing], retries: 0 }
budgets:
  user_paths:
    - { path: /team, limits: [{ period: monthly, amount: 1000 }] }
    - { path: /team, per_child: true, limits: [{ period: daily, amount: 0.05 }] }
`;
const site = makeSite(t, plain);
const configFile = join(site.directory, "later.yaml");
const price = (model: string, input: number): string =>
  `  local/${model}: { input: ${input}, output: 0 }\n`;
/** The configuration in which models have prices, in dollars per million tokens. */
function setPrices(prices: Readonly<Record<string, number>>): void {
  const lines = Object.entries(prices).map(([model, input]) => price(model, input));
  writeFileSync(configFile, `${plain}prices:\n${lines.join("")}`);
}

/** Far from the bounds of every period. */
const day = "2028-02-10";
const clockMs = Date.parse(`${day}T12:00:00Z`);
/** Sums are written all the time, now and then, or not before the daemon dies. */
const startDaemon = () => site.startClockedDaemon(clockMs, random.pick([50, 300, 10_000]));
let daemon = await startDaemon();
const { ready: url } = await site.startProxy();

const env = { SLUICE_SOCKET: site.socket, SLUICE_DATA_DIR: join(site.directory, "data") };
const reprice = (...flags: readonly string[]) =>
  run(["usage", "reprice", "--from", day, "--config", configFile, ...flags], {
    env,
    nowMs: clockMs,
  });

async function ask(path: string, model: string, times: number): Promise<void> {
  for (let i = 0; i < times; i++) await (await chat(url, { path, model })).arrayBuffer();
}

/** In thousandths of a dollar, so that sums are whole. */
async function spent(): Promise<unknown> {
  const milli = (usd: unknown): number => Math.round(Number(usd) * 1e6) / 1e3;
  const { budgets } = (await admin(url, "GET /budgets")).body as unknown as BudgetList;
  const { children } = (await admin(url, "GET /budgets/children?user_path=/team&period=daily"))
    .body as unknown as BudgetChildList;
  const { usage } = (await admin(url, `GET /usage?start_date=${day}&end_date=${day}`))
    .body as unknown as {
    readonly usage: Readonly<Record<string, number>>;
  };
  const records = await recordsOf();
  return {
    team: milli(budgets.find(({ per_child }) => !per_child)?.spent),
    children: Object.fromEntries(
      children.map(({ subject, spent: cost }): [string, number] => [subject, milli(cost)]).sort(),
    ),
    total: milli(usage["total_cost"]),
    records: milli(records.reduce((sum, { total_cost: cost }) => sum + (cost ?? 0), 0)),
    requests: usage["total_requests"],
    tokens: usage["total_tokens"],
    unpriced: usage["unpriced_requests"],
  };
}

async function recordsOf(): Promise<readonly RecordItem[]> {
  const { body } = await admin(url, "GET /usage/export?limit=1000");
  return body["records"] as readonly RecordItem[];
}

t.test("what was unpriced gets its cost, with budgets and their children", async (t) => {
  setPrices({ new: 10 });
  await ask("/team/a", "local/new", 3);
  await ask("/team/b", "local/new", 1);
  await ask("/team/b", "local/dear", 1);
  await ask("/team/b", "local/failing", 1);
  const before = await spent();
  t.match(before, { team: 0, total: 0, records: 0, unpriced: 5 });

  const dry = await reprice("--dry-run");
  t.equal(dry.exitCode, 0, dry.err);
  t.match(dry.out, /local\/new +4 +4,000 +400 +\$0\.00\d* +\$0\.04\d* +\$0\.04/);
  t.match(dry.out, /4 records would have another cost; nothing was booked; 1 record still without/);
  t.same(await spent(), before);

  t.match((await reprice("--model", "local/dear")).out, /^booked: 0 records/);
  const done = await reprice("--model", "NEW");
  t.equal(done.exitCode, 0, done.err);
  t.match(done.out, /booked: 4 records; /);
  const after = await spent();
  t.match(after, {
    team: 40,
    children: { "/team/a": 30, "/team/b": 10 },
    total: 40,
    records: 40,
    requests: 6,
    tokens: 5500,
    unpriced: 1,
  });
  t.match((await reprice()).out, /^booked: 0 records/, "twice books nothing");
  t.same(await spent(), after);

  const [original, difference] = (await recordsOf()).filter(
    ({ request_id: id }, _, all) => id === all[0]!.request_id,
  );
  t.match(original, {
    total_cost: null,
    input_tokens: 1000,
    repriced_cost: 0.01,
    repriced_at: /^20/,
    corrects: null,
  });
  t.match(difference, {
    total_cost: 0.01,
    input_tokens: 0,
    status: 102,
    repriced_cost: null,
    repriced_at: original!.repriced_at,
    corrects: original!.id,
    user_path: original!.user_path,
    time: original!.time,
  });
});

t.test("a wrong price is corrected in both directions; a budget binds on it", async (t) => {
  setPrices({ new: 30 });
  t.match((await reprice()).out, /\$0\.04\d* +\$0\.12\d* +\$0\.08/);
  t.match(await spent(), { team: 120, children: { "/team/a": 90, "/team/b": 30 }, unpriced: 1 });
  t.equal((await chat(url, { path: "/team/a", model: "local/new" })).status, 429);
  setPrices({ new: 1 });
  t.match((await reprice()).out, /booked: 4 records/);
  t.match(await spent(), { team: 4, total: 4, records: 4, children: { "/team/a": 3 } });
  t.equal((await chat(url, { path: "/team/a", model: "local/new" })).status, 200);
});

t.test("the admin API takes one page after the other, and says what is wrong", async (t) => {
  // The proxy has no price for it.
  const page = await admin(url, "POST /usage/reprice", { start_date: day, limit: 2 });
  t.match(page, { status: 200, body: { booked: 0, next: String, progress: Number } });
  for (const [body, param] of [
    [{}, "start_date"],
    [{ start_date: "yesterday" }, "start_date"],
    [{ start_date: day, model: 1 }, "model"],
    [{ start_date: day, dry_run: "yes" }, "dry_run"],
    [{ start_date: day, after: "x" }, "after"],
    [{ start_date: day, limit: 0 }, "limit"],
    [{ start_date: day, other: 1 }, "other"],
  ] as const)
    t.match(await admin(url, "POST /usage/reprice", body), { status: 400, body: { param } });
  for (const [flags, message] of [
    [["--to", "soon"], /--to/],
    [["--days", "3"], /--from and --to/],
  ] as const)
    t.match(await reprice(...flags), { exitCode: 2, err: message });
  const elsewhere = await reprice("--url", url, "--json");
  t.equal(elsewhere.exitCode, 0, elsewhere.err);
  t.match(JSON.parse(elsewhere.out), { differing: 0, booked: 0 } satisfies Partial<RepricePage>);
});

t.test("a daemon that is killed in the middle has booked each difference once", async (t) => {
  await ask("/team/c", "local/dear", 60);
  setPrices({ new: 1, dear: 2 });
  const expected = { team: 5 + 61 * 2, total: 5 + 61 * 2, records: 5 + 61 * 2, unpriced: 0 };
  for (let kills = 0; kills < 4; kills++) {
    const running = reprice();
    await new Promise((resolve) => setTimeout(resolve, random.int(0, 40)));
    daemon.child.kill("SIGKILL");
    await running;
    daemon = await startDaemon();
    await until(
      async () => (await fetch(`${url}/ready`)).status,
      (status) => status === 200,
    );
  }
  const last = await reprice();
  t.equal(last.exitCode, 0, last.err);
  t.match(await spent(), expected);
  t.match((await reprice()).out, /^booked: 0 records/);
  daemon.child.kill("SIGKILL");
  daemon = await startDaemon();
  await until(
    async () => (await fetch(`${url}/ready`)).status,
    (status) => status === 200,
  );
  t.match(await spent(), expected, "the same from the store");
  const ended = new Promise((resolve) => daemon.child.once("exit", resolve));
  daemon.child.kill("SIGTERM");
  await ended;
  const verified = await run(["verify-store", "--config", configFile], { env, nowMs: clockMs });
  t.equal(verified.exitCode, 0, verified.out + verified.err);
});
