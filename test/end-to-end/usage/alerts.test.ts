/**
 * Alerts through real processes to a real receiver, which checks signatures with the verifier of
 * Standard Webhooks: each threshold once for each customer, whatever fails or is killed meanwhile.
 */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { admin, chat, until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite, type Part } from "../../support/processes/processes.js";

interface Body {
  readonly type: string;
  readonly data: {
    readonly subject: string;
    readonly threshold?: number;
    readonly email: { readonly subject: string; readonly text: string };
    readonly [field: string]: unknown;
  };
}

interface Received extends Body {
  readonly id: string;
}

const secret = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
const verifier = new Webhook(secret);
/** What the receiver does with a request. */
let answer: "takes" | "fails" | "redirects" | "hangs" = "takes";
const taken: Received[] = [];
const refused: Received[] = [];
const slack: string[] = [];

const receiver = createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.on("end", () => {
    const text = Buffer.concat(pieces).toString();
    if (request.url === "/elsewhere") return void t.fail("a redirect was followed");
    if (request.url === "/slack") {
      slack.push((JSON.parse(text) as { text: string }).text);
      return void response.end("ok");
    }
    const headers = request.headers as Record<string, string>;
    const body = verifier.verify(text, headers) as Body;
    const received = { ...body, id: headers["webhook-id"]! };
    (answer === "takes" ? taken : refused).push(received);
    if (answer === "takes") response.writeHead(204).end();
    else if (answer === "fails") response.writeHead(500).end();
    else if (answer === "redirects") response.writeHead(302, { location: "/elsewhere" }).end();
  });
});
receiver.listen(0, "127.0.0.1");
await once(receiver, "listening");
t.teardown(() => {
  receiver.closeAllConnections();
  receiver.close();
});
const { port } = receiver.address() as AddressInfo;

const site = makeSite(
  t,
  `
limiter: { deadline_ms: 30000 }
providers: { simulator: { type: simulator } }
prices: { simulator/*: { input: 0, output: 0, per_request: 1 } }
entitlements: [quota_templates]
rate_limits:
  user_paths: [{ path: /fast, limits: [{ period_seconds: ${agesSeconds}, max_requests: 4 }] }]
budgets:
  user_paths: [{ path: /customers, per_child: true, limits: [{ period_seconds: ${agesSeconds}, amount: 10 }] }]
alerts:
  - { url: "http://127.0.0.1:${port}/hook", at: [0.5, 0.8, 1.0], limits: all, forecast: false, secret: "${secret}" }
  - { url: "http://127.0.0.1:${port}/slack", format: slack, at: [1.0], forecast: false }
`,
);
let daemon = await site.startDaemon();
/** It asks for due alerts every 100 ms instead of every 2 s. */
const startProxy = (): Promise<Part> => site.startProxy(site.socket, { intervals: { 2000: 100 } });
let proxy = await startProxy();

async function spend(path: string, requests: number): Promise<void> {
  for (let i = 0; i < requests; i++)
    await (await chat(proxy.ready, { path, model: "simulator/sim-fast" })).text();
}

/** Both die at the same moment, and come back. */
async function killBoth(): Promise<void> {
  await Promise.all([daemon.kill("SIGKILL"), proxy.kill("SIGKILL")]);
  daemon = await site.startDaemon();
  proxy = await startProxy();
}

const names = (some: readonly Received[]): string[] =>
  some.map(({ data }) => `${data.subject} ${data.threshold}`);
const received = (...expected: string[]): Promise<unknown> =>
  until(
    async () => names(taken),
    (found) => found.length >= expected.length && expected.every((name) => found.includes(name)),
  );

t.test("each threshold is posted once for each child, signed, with a text to mail", async (t) => {
  await spend("/customers/acme", 6);
  await spend("/customers/other", 2);
  await received("/customers/acme 0.5");
  const [first] = taken;
  t.match(first, {
    type: "budget.threshold",
    data: {
      scope: "user_path",
      template: "/customers",
      period_label: `${agesSeconds}s`,
      amount: 10,
      spent: 5,
      usage_ratio: 0.5,
      email: {
        subject: `Sluice: /customers/acme has spent 50% of its ${agesSeconds}s budget`,
        text: /\/customers\/acme has spent \$5\.00 of \$10\.00\. The 3000000000s period ends at 2065-/,
      },
    },
  });
  t.same(names(taken), ["/customers/acme 0.5"], "nothing for the other one");
});

t.test("what fails is kept over kill -9 of both, and comes once", async (t) => {
  for (const [way, customer] of [
    ["fails", "b"],
    ["redirects", "c"],
    ["hangs", "d"],
  ] as const) {
    answer = way;
    refused.length = 0;
    await spend(`/customers/${customer}`, 5);
    await until(
      async () => names(refused),
      (found) => found.includes(`/customers/${customer} 0.5`),
    );
    const { id } = refused.find(({ data }) => data.subject === `/customers/${customer}`)!;
    await killBoth();
    answer = "takes";
    await received(`/customers/${customer} 0.5`);
    const again = taken.filter(({ data }) => data.subject === `/customers/${customer}`);
    t.same(
      again.map((each) => each.id),
      [id],
      `${way}: it has the same id`,
    );
  }
});

t.test("the whole amount is reported to Slack too, in its own form", async (t) => {
  await spend("/customers/acme", 4);
  await received("/customers/acme 0.8", "/customers/acme 1");
  await until(
    async () => slack,
    (found) => found.length > 0,
  );
  t.equal(slack.length, 1);
  t.match(slack[0], /^\*Sluice: \/customers\/acme has spent 100% of its 3000000000s budget\*\n/);
});

t.test("a rate limit is reported where limits is all", async (t) => {
  await spend("/fast", 4);
  await received("/fast 0.5", "/fast 0.8", "/fast 1");
  t.match(
    taken.find(({ data }) => data.subject === "/fast"),
    { type: "rate_limit.threshold", data: { dimension: "requests", limit: 4 } },
  );
});

t.test(
  "destinations are listed and tested without their paths, and nothing comes twice",
  async (t) => {
    const host = `127.0.0.1:${port}`;
    t.match((await admin(proxy.ready, "GET /alerts")).body, {
      alerts: exactly([
        { host, format: "json", at: exactly([0.5, 0.8, 1]), waiting: 0, failing: null },
        { host, format: "slack", at: exactly([1]), waiting: 0, failing: null },
      ]),
    });
    t.match((await admin(proxy.ready, "POST /alerts/test")).body, {
      results: exactly([
        { host, format: "json", delivered: true, reason: null },
        { host, format: "slack", delivered: true, reason: null },
      ]),
    });
    t.equal(taken.at(-1)!.type, "test");
    answer = "fails";
    t.match(
      (await admin(proxy.ready, "POST /alerts/test")).body["results"],
      exactly([{ delivered: false, reason: `${host} answered 500` }, { delivered: true }]),
    );
    answer = "takes";
    await killBoth();
    await spend("/customers/acme", 1);
    await spend("/customers/last", 5);
    await received("/customers/last 0.5");
    const all = names(taken.filter(({ type }) => type !== "test"));
    t.same(all, [...new Set(all)]);
    t.notMatch(JSON.stringify(taken), /sk-|"hi"/, "neither keys nor prompts");
  },
);
