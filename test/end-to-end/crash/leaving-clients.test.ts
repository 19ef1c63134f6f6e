/**
 * Clients that leave at any step, through real processes: while they send their request, wait for
 * room, wait for their provider, read their stream, while it draws and while a hard cap cuts it.
 * Afterwards nothing is held and no slot or place is taken, and what was used is charged once.
 */
import { request } from "node:http";
import { connect } from "node:net";
import t from "tap";
import { createRandom } from "../../sim/random.js";
import { admin, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import { startEndlessStreams } from "../../support/providers/endless-streams.js";

const provider = await startEndlessStreams();
t.teardown(() => provider.close());
Object.assign(provider, { atOnce: 20, tokensMax: 400 });
const tokensMax = 20_000;
const slots = 6;
/** The tokens that a prompt is estimated as at most. */
const promptMax = 30;
const site = makeSite(
  t,
  `
waiting: { max_seconds: 300 }
providers:
  test: { type: openai, base_url: "${provider.baseUrl}", api_key: none, models: [m], retries: 0 }
prices: { test/m: { input: 1, output: 1 } }
rate_limits:
  user_paths:
    - path: /team
      limits:
        - { period: day, max_tokens: ${tokensMax}, hold: hard, shares: { children: { a: { floor: 0.2 } } } }
        - { period: concurrent, max_requests: ${slots}, shares: { children: { b: { weight: 3 } } } }
budgets:
  user_paths:
    - { path: /team, limits: [{ period: daily, amount: 1, hold: hard }] }
`,
);
await site.startDaemon();
const { ready: url } = await site.startProxy();
const random = createRandom(1);
const body = { model: "m", messages: [{ role: "user", content: "hi" }], stream: true };
/** The tokens that clients have got. */
let got = 0;

/** Leaves after this time, or so many pieces of the answer. */
function leave(path: string, afterMs: number, afterPieces: number): Promise<void> {
  return new Promise((resolve) => {
    let pieces = 0;
    const headers = { "content-type": "application/json", "x-sluice-user-path": path };
    const asked = request(
      `${url}/v1/chat/completions`,
      { method: "POST", agent: false, headers: { ...headers, prefer: "wait=60" } },
      (response) => {
        response.setEncoding("utf8").on("data", (piece: string) => {
          got += piece.split(`"content":"${provider.token}"`).length - 1;
          if (++pieces >= afterPieces) asked.destroy();
        });
        response.on("error", () => {});
      },
    );
    const timer = setTimeout(() => asked.destroy(), afterMs);
    asked.on("error", () => {});
    asked.on("close", () => {
      clearTimeout(timer);
      resolve();
    });
    asked.end(JSON.stringify(body));
  });
}

/** Sends a part of a request. */
function leaveEarly(path: string): Promise<void> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname, () => {
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\nx-sluice-user-path: ${path}\r\ncontent-length: 500\r\n\r\n{"model":"m"`,
        () => {
          socket.destroy();
          resolve();
        },
      );
    });
    socket.on("error", () => resolve());
  });
}

interface UsageRecordItem {
  readonly request_id: string;
  readonly input_tokens: number;
  readonly output_tokens: number;
}

async function records(): Promise<readonly UsageRecordItem[]> {
  const { body: page } = await admin(url, "GET /usage/records?user_path=/team&limit=200");
  return (page as unknown as { records: readonly UsageRecordItem[] }).records;
}

t.test("clients that leave at any step leave nothing behind", async (t) => {
  const clients = Array.from({ length: 200 }, (_, i) => {
    const path = `/team/${random.pick(["a", "b", "c"])}`;
    const afterMs = random.int(0, 4000);
    if (i % 10 === 0) return leaveEarly(path);
    return i % 2 === 0 ? leave(path, afterMs, 1e6) : leave(path, 60_000, random.int(0, 20));
  });
  await Promise.all(clients);
  const rules = await until(
    async () =>
      (await admin(url, "GET /rate-limits")).body.rate_limits.filter(
        ({ subject }) => subject === "/team",
      ),
    (now) => now.every(({ in_flight: inFlight }) => inFlight === 0),
  );
  t.same(
    rules.map(({ in_flight: inFlight }) => inFlight),
    [0, 0],
  );
  const [day] = rules.filter(({ period_seconds: seconds }) => seconds > 0);
  t.match(day, { tokens_held: 0 });
  const queues = await admin(url, "GET /queues");
  t.match(queues.body, { waiting: 0 });
  const { calls } = provider;
  t.comment(`${calls.length} requests have reached the provider`);
  t.ok(calls.length > 0);
  const kept = await until(records, (now) => now.length >= calls.length);
  t.equal(new Set(kept.map(({ request_id: id }) => id)).size, kept.length, "each is charged once");
  const charged = kept.reduce(
    (sum, { input_tokens: input, output_tokens: output }) => sum + input + output,
    0,
  );
  t.equal(day!.tokens_used, charged, "the rule counts what the records do");
  const sent = calls.reduce((sum, { tokens }) => sum + tokens + promptMax, 0);
  t.ok(charged >= got && charged <= sent, `${got} got, ${charged} charged, ${sent} sent`);
  const { body: spent } = (await admin(url, "GET /budgets")) as unknown as {
    body: { budgets: readonly { spent: number; held?: number }[] };
  };
  t.ok(Math.abs(spent.budgets[0]!.spent - charged / 1e6) < 1e-9, `$${spent.budgets[0]!.spent}`);
  t.equal(spent.budgets[0]!.held ?? 0, 0);
});
