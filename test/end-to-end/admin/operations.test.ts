/**
 * The effects of operations on a rule's counters (docs/reference/http-api.md) through real
 * processes: over HTTP, and again after SIGTERM and after kill −9 of the daemon.
 */
import t from "tap";
import { connectDaemon } from "../../../shared/wire/daemon-client.js";
import { type AdminAnswer, admin, chat, until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";
import {
  beginStream,
  chunk,
  replyCompletion,
  startScriptedUpstream,
} from "../../support/providers/scripted-upstream.js";

const upstream = await startScriptedUpstream();
t.teardown(() => upstream.close());
const site = makeSite(
  t,
  `
providers: { test: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: ["*"] } }
entitlements: [quota_templates]
limiter: { deadline_ms: 30000 }
`,
  { RATE_LIMITS_FLUSH_INTERVAL: "0.02" },
);
let nowMs = 1_767_225_600_000;
let daemon = await site.startClockedDaemon(nowMs);
const proxy = await site.startProxy();
const url = proxy.ready;

const put = async (body: Record<string, unknown>): Promise<void> =>
  void t.equal(
    (
      await admin(url, "PUT /rate-limits", {
        limit_key: { period: "day" },
        max_requests: 100,
        max_tokens: 1000,
        ...body,
      })
    ).status,
    200,
  );
const remove = (body: Record<string, unknown>): Promise<AdminAnswer> =>
  admin(url, "DELETE /rate-limits", { limit_key: { period: "day" }, ...body });

async function use(path: string, times: number): Promise<void> {
  for (let i = 0; i < times; i++) await (await chat(url, { path })).arrayBuffer();
}

/**
 * `subject period: requests, tokens, in flight` of every rule; children of templates are asked for
 * by explaining them.
 */
async function counted(): Promise<string[]> {
  const { body } = await admin(url, "GET /rate-limits");
  const lines = body.rate_limits
    .filter((rule) => rule["per_child"] === false)
    .map(
      (rule) =>
        `${rule.subject} ${String(rule["period_label"])}: ${rule.requests_used}, ${rule.tokens_used}, ${rule.in_flight}`,
    );
  for (const child of ["/kids/ann", "/kids/bob", "/split/ann"]) {
    const { body: explained } = await admin(url, "POST /explain", {
      user_path: child,
      model: "test/model",
    });
    for (const rule of explained["rules"] as typeof body.rate_limits)
      if (rule["template"] !== undefined)
        lines.push(
          `${rule.subject} child: ${rule.requests_used}, ${rule.tokens_used}, ${rule.in_flight}`,
        );
  }
  return lines;
}

/**
 * Ends the daemon, after a snapshot that holds all that happened until now, and starts it again.
 */
async function restart(signal: "SIGTERM" | "SIGKILL"): Promise<void> {
  if (signal === "SIGKILL") {
    nowMs += 1000;
    await daemon.setClock(nowMs);
    const client = await connectDaemon({ socketPath: site.socket });
    const second = new Date(nowMs).toISOString().slice(0, 19);
    await until(
      async () =>
        (
          (await client.call("status", null)) as {
            body: { store: { last_flush_at: string | null } };
          }
        ).body.store.last_flush_at,
      (at) => at?.startsWith(second) ?? false,
    );
    client.close();
  }
  await daemon.kill(signal);
  daemon = await site.startClockedDaemon(nowMs);
}

t.test("each operation has its effect and keeps it across restarts", async (t) => {
  for (const path of ["/caps", "/period", "/gone", "/again", "/one", "/kept", "/split"]) {
    await put({ user_path: path });
    await use(`${path}/ann`, 2);
  }
  await put({ user_path: "/kids", per_child: true });
  await use("/kids/ann", 2);
  await use("/kids/bob/phone", 1);

  await put({ user_path: "/caps", max_requests: 5 });
  await put({ user_path: "/period", limit_key: { period: "hour" } });
  await remove({ user_path: "/gone" });
  await remove({ user_path: "/again" });
  await put({ user_path: "/again" });
  await admin(url, "POST /rate-limits/reset-one", {
    scope: "user_path",
    subject: "/one",
    period: "day",
  });
  await put({ user_path: "/split", per_child: true });
  const expected = [
    "/again day: 0, 0, 0",
    "/caps day: 2, 20, 0",
    "/kept day: 2, 20, 0",
    "/one day: 0, 0, 0",
    "/period hour: 0, 0, 0",
    "/period day: 2, 20, 0",
    "/kids/ann child: 2, 20, 0",
    "/kids/bob child: 1, 10, 0",
    "/split/ann child: 0, 0, 0",
  ];
  t.same(await counted(), expected);
  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    await restart(signal);
    t.same(await counted(), expected, signal);
  }
});

t.test(
  "a template that is reset clears every child, one that is deleted and made again too; so it stays",
  async (t) => {
    await admin(url, "POST /rate-limits/reset-one", {
      scope: "user_path",
      subject: "/kids",
      period: "day",
    });
    const children = async (): Promise<string[]> =>
      (await counted()).filter((line) => line.startsWith("/kids"));
    const clean = ["/kids/ann child: 0, 0, 0", "/kids/bob child: 0, 0, 0"];
    t.same(await children(), clean);
    await restart("SIGKILL");
    t.same(await children(), clean);
    await use("/kids/ann", 2);
    await remove({ user_path: "/kids" });
    t.same(await children(), []);
    await restart("SIGKILL");
    t.same(await children(), []);
    await put({ user_path: "/kids", per_child: true });
    t.same(await children(), clean);
  },
);

t.test(
  "a reset of all clears every rule but what is in flight; slots are given back as requests end, or with their proxy",
  async (t) => {
    upstream.answer = (call) => void beginStream(call).write(chunk("one"));
    const stream = await chat(url, { path: "/kept", stream: true });
    upstream.answer = (call) => replyCompletion(call, 10);
    t.match(
      await counted(),
      exactly(
        ["/again day: 0, 0, 0", "/caps day: 2, 20, 0", "/kept day: 3, 20, 1"]
          .concat(Array<string>(6).fill(""))
          .map((line) => (line === "" ? /./ : line)),
      ),
    );
    await admin(url, "POST /rate-limits/reset", { confirmation: "reset" });
    const zero = (await counted()).map((line) => line.replace(/: .*/, ": 0, 0, 0"));
    t.same(
      await counted(),
      zero.map((line) => (line.startsWith("/kept") ? "/kept day: 0, 0, 1" : line)),
    );
    await restart("SIGTERM");
    t.match(
      (await counted()).find((line) => line.startsWith("/kept")),
      "/kept day: 0, 0, 1",
      "the proxy that lives still holds it",
    );
    await stream.body?.cancel();
    await until(counted, (lines) => !lines.some((line) => line.endsWith(", 1")));
  },
);
