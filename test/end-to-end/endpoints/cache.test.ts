/** The response cache through real processes: what comes from it, to whom, and what it counts. */
import t from "tap";
import { connectDaemon } from "../../../shared/wire/daemon-client.js";
import { agesSeconds } from "../../support/ages.js";
import { admin, until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";
import {
  beginStream,
  chunk,
  completion,
  replyCompletion,
  startScriptedUpstream,
  usageChunk,
} from "../../support/providers/scripted-upstream.js";

const upstream = await startScriptedUpstream();
t.teardown(() => upstream.close());
const byMaster = { authorization: "Bearer master-key-of-the-test" };
const config = `
server: { master_key: master-key-of-the-test }
providers:
  test: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: ["*"], retries: 0 }
cache: { enabled: true, max_entry_bytes: 4096 }
prices:
  test/*: { input: 3, output: 15 }
rate_limits:
  user_paths:
    - { path: /team, limits: [{ period_seconds: ${agesSeconds}, max_requests: 3 }] }
`;
const site = makeSite(t, config);
const daemon = await site.startDaemon();
const proxy = await site.startProxy();

interface CacheAnswer {
  readonly status: number;
  readonly cache: string | null;
  readonly headers: Headers;
  readonly text: string;
}

async function ask(
  content: string,
  {
    url = proxy.ready,
    path = "/a",
    headers = {},
    ...fields
  }: {
    url?: string;
    path?: string;
    headers?: Record<string, string>;
    [field: string]: unknown;
  } = {},
): Promise<CacheAnswer> {
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { ...byMaster, "x-sluice-user-path": path, ...headers },
    body: JSON.stringify({ model: "m", messages: [{ role: "user", content }], ...fields }),
  });
  return {
    status: response.status,
    cache: response.headers.get("x-cache"),
    headers: response.headers,
    text: await response.text(),
  };
}

async function recordsOf(path: string): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const client = await connectDaemon({ socketPath: site.socket });
  const answer = await client.call("usage.export", { user_path: path });
  client.close();
  if (!answer.ok) throw new Error(answer.failure.message);
  return (answer.body as { records: Readonly<Record<string, unknown>>[] }).records;
}

t.test(
  "the same request again is answered from memory, recorded, and counted by no limit and no sum",
  async (t) => {
    upstream.answer = (call) => replyCompletion(call, 100);
    const before = upstream.calls.length;
    const first = await ask("same", { path: "/team" });
    t.match(first, { status: 200, cache: "MISS", text: completion(100) });
    t.equal(first.headers.get("age"), null);
    for (let i = 0; i < 5; i++) {
      const again = await ask("same", { path: "/team" });
      t.match(again, { status: 200, cache: "HIT", text: completion(100) });
      t.match(again.headers.get("age"), /^\d$/);
      t.equal(again.headers.get("x-sluice-target"), "test/m");
      t.equal(again.headers.get("content-type"), "application/json");
      t.not(again.headers.get("x-request-id"), first.headers.get("x-request-id"));
      t.equal(again.headers.get("x-ratelimit-limit-requests"), null, "it had no admission");
    }
    t.equal(upstream.calls.length - before, 1);
    const rules = await admin(proxy.ready, "GET /rate-limits", undefined, byMaster);
    t.match(
      rules.body.rate_limits,
      exactly([{ subject: "/team", requests_used: 1, tokens_used: 100, in_flight: 0 }]),
    );
    const records = await until(
      () => recordsOf("/team"),
      (found) => found.length === 6,
    );
    t.equal(
      records.filter(
        (record) =>
          record["cache_hit"] === true &&
          record["total_cost"] === 0 &&
          record["input_tokens"] === 100 &&
          record["provider"] === "test" &&
          record["model"] === "m",
      ).length,
      5,
    );
    const usage = await fetch(`${proxy.ready}/v1/usage`, {
      headers: { ...byMaster, "x-sluice-user-path": "/team" },
    });
    t.match(await usage.json(), {
      usage: { total_requests: 1, total_tokens: 100, total_cost: 0.0003 },
    });
    await proxy.printed(/"outcome":"cache_hit"/);
  },
);

t.test("an exhausted limit refuses what the cache doesn't have, and nothing else", async (t) => {
  for (const content of ["second", "third"])
    t.match(await ask(content, { path: "/team" }), { status: 200, cache: "MISS" });
  t.match(await ask("fourth", { path: "/team" }), { status: 429, cache: "MISS" });
  t.match(await ask("same", { path: "/team" }), { status: 200, cache: "HIT" });
});

t.test(
  "a stream is given again as a stream, byte by byte as the client had it, and never for a plain answer",
  async (t) => {
    upstream.answer = (call) =>
      call.body.includes('"stream":true')
        ? void beginStream(call).end(
            `${chunk("hé")}${chunk("llo", "stop")}${usageChunk(9)}data: [DONE]\n\n`,
          )
        : replyCompletion(call, 9);
    const first = await ask("stream", { stream: true });
    t.match(first, {
      cache: "MISS",
      text: `${chunk("hé")}${chunk("llo", "stop")}data: [DONE]\n\n`,
    });
    const again = await ask("stream", { stream: true });
    t.match(again, { cache: "HIT", text: first.text });
    t.equal(again.headers.get("content-type"), "text/event-stream");
    t.match(await ask("stream"), { cache: "MISS", text: completion(9) });
    t.match(
      await ask("stream", { stream: false }),
      { cache: "MISS" },
      "a body that says the same in other words is another request",
    );
  },
);

t.test(
  "Cache-Control: no-cache asks the provider and caches the answer, no-store doesn't cache it, max-age accepts no older one",
  async (t) => {
    let asked = 0;
    upstream.answer = (call) =>
      void call.response
        .writeHead(200, { "content-type": "application/json" })
        .end(completion(10, `answer ${++asked}`));
    const say = async (control?: string) => {
      const { cache, text } = await ask(
        "control",
        control === undefined ? {} : { headers: { "cache-control": control } },
      );
      return `${cache} ${/answer \d/.exec(text)?.[0]}`;
    };
    t.equal(await say("no-store"), "MISS answer 1");
    t.equal(await say(), "MISS answer 2");
    t.equal(await say("no-store"), "MISS answer 3");
    t.equal(await say(), "HIT answer 2");
    t.equal(await say("no-cache"), "MISS answer 4");
    t.equal(await say("max-age=600"), "HIT answer 4");
    t.equal(await say("max-age=0"), "MISS answer 5");
    t.equal(await say(), "HIT answer 5");
  },
);

t.test("only whole successes of a bounded size are kept", async (t) => {
  const answers: readonly (readonly [string, typeof upstream.answer, boolean])[] = [
    [
      "an error",
      (call) =>
        void call.response
          .writeHead(500, { "content-type": "application/json" })
          .end('{"error":{"message":"no"}}'),
      false,
    ],
    [
      "an error inside a success",
      (call) =>
        void call.response
          .writeHead(200, { "content-type": "application/json" })
          .end('{"error":{"message":"no"}}'),
      false,
    ],
    [
      "an error as a text",
      (call) =>
        void call.response
          .writeHead(200, { "content-type": "application/json" })
          .end('{"error":"oops"}'),
      false,
    ],
    [
      "no answer",
      (call) => void call.response.writeHead(200, { "content-type": "text/html" }).end("<html>"),
      false,
    ],
    [
      "a stream with an error as a text",
      (call) =>
        void beginStream(call).end(`${chunk("x")}data: {"error":"oops"}\n\ndata: [DONE]\n\n`),
      true,
    ],
    [
      "a stream that is cut",
      (call) => void beginStream(call).write(chunk("x"), () => call.response.destroy()),
      true,
    ],
    [
      "a stream that ends without its end",
      (call) => void beginStream(call).end(chunk("x", "stop")),
      true,
    ],
    [
      "a stream with an error",
      (call) =>
        void beginStream(call).end(
          `${chunk("x")}data: {"error":{"message":"no"}}\n\ndata: [DONE]\n\n`,
        ),
      true,
    ],
    [
      "a large answer",
      (call) =>
        void call.response
          .writeHead(200, { "content-type": "application/json" })
          .end(completion(1, "x".repeat(5000))),
      false,
    ],
    [
      "a large stream",
      (call) =>
        void beginStream(call).end(
          `${chunk("x".repeat(3000))}${chunk("x".repeat(3000), "stop")}data: [DONE]\n\n`,
        ),
      true,
    ],
  ];
  for (const [name, answer, stream] of answers) {
    upstream.answer = answer;
    for (let i = 0; i < 2; i++)
      t.equal((await ask(name, { stream }).catch(() => null))?.cache ?? "MISS", "MISS", name);
  }
  t.equal(
    upstream.calls.filter(({ body }) => answers.some(([name]) => body.includes(name))).length,
    2 * answers.length,
  );
});

t.test("an answer stays on its user path, and a key is judged before it gets one", async (t) => {
  upstream.answer = (call) => replyCompletion(call, 10);
  const keys = await Promise.all(
    ["/b", "/b", "/c"].map(
      async (path) =>
        (await admin(proxy.ready, "POST /auth-keys", { name: "k", user_path: path }, byMaster))
          .body as unknown as { id: string; value: string },
    ),
  );
  const by = (i: number) => ask("keys", { headers: { authorization: `Bearer ${keys[i]!.value}` } });
  t.match(await by(0), { status: 200, cache: "MISS" });
  t.match(await by(1), { status: 200, cache: "HIT" }, "another key of the path");
  t.match(await by(2), { status: 200, cache: "MISS" }, "another path");
  t.match(await ask("keys"), { status: 200, cache: "MISS" });
  const records = await until(
    () => recordsOf("/b"),
    (found) => found.length === 2,
  );
  t.same(
    records.map((record) => [record["key_id"], record["cache_hit"]]).sort(),
    [
      [keys[0]!.id, false],
      [keys[1]!.id, true],
    ].sort(),
  );
  t.equal(
    (
      await fetch(`${proxy.ready}/admin/auth-keys/${keys[1]!.id}/deactivate`, {
        method: "POST",
        headers: byMaster,
      })
    ).status,
    204,
  );
  t.match(await by(1), { status: 401, cache: null, text: /authentication failed/ });
  t.match(await ask("keys", { headers: { authorization: "" } }), { status: 401, cache: null });
  t.match(await by(0), { status: 200, cache: "HIT" });
});

t.test("a hit needs no daemon, and is recorded when there is one again", async (t) => {
  upstream.answer = (call) => replyCompletion(call, 10);
  t.match(await ask("alone", { path: "/alone" }), { cache: "MISS" });
  await daemon.kill("SIGKILL");
  t.match(await ask("alone", { path: "/alone" }), { status: 200, cache: "HIT" });
  await site.startDaemon();
  const records = await until(
    () => recordsOf("/alone"),
    (found) => found.length === 2,
  );
  t.same(records.map((record) => record["cache_hit"]).sort(), [false, true]);
});

t.test("paths may share answers; other endpoints have nothing to do with the cache", async (t) => {
  upstream.answer = (call) => replyCompletion(call, 10);
  const shared = makeSite(t, config, { CACHE_SHARE_ACROSS_PATHS: "true" });
  await shared.startDaemon();
  const { ready: url } = await shared.startProxy();
  t.match(await ask("shared", { url, path: "/x" }), { cache: "MISS" });
  t.match(await ask("shared", { url, path: "/y" }), { cache: "HIT" });
  const image = await fetch(`${url}/v1/images/generations`, {
    method: "POST",
    headers: byMaster,
    body: '{"model":"m","prompt":"p"}',
  });
  t.equal(image.headers.get("x-cache"), null);
});
