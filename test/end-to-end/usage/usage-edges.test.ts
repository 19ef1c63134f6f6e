/**
 * Accounting at the edges, through real processes: what a provider says of its tokens, or doesn't,
 * in streams and embeddings; and the time in which usage isn't tracked. The table of all edges,
 * with the tests that show them, is in docs/reference/usage-record.md.
 */
import { writeFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import t from "tap";
import { connectDaemon } from "../../../shared/wire/daemon-client.js";
import { agesSeconds } from "../../support/ages.js";
import { chat, ruleNow, until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite, type Part } from "../../support/processes/processes.js";
import {
  beginStream,
  chunk,
  type ReceivedCall,
  startScriptedUpstream,
  usageChunk,
} from "../../support/providers/scripted-upstream.js";

const upstream = await startScriptedUpstream();
t.teardown(() => upstream.close());
const configured = (usage: string): string => `
limiter: { deadline_ms: 30000 }
${usage}
providers:
  test: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: ["*"] }
  mistral: { base_url: "${upstream.baseUrl}", api_key: none, models: ["*"] }
virtual_models:
  smart: { strategy: failover, targets: [{ model: test/first }, { model: test/model }] }
prices:
  test/model: { input: 3, output: 15 }
  mistral/model: { input: 3, output: 15 }
rate_limits:
  user_paths: [{ path: /capped, limits: [{ period_seconds: ${agesSeconds}, max_tokens: 5 }] }]
budgets:
  user_paths: [{ path: /capped, limits: [{ period_seconds: ${agesSeconds}, amount: 0.000001 }] }]
`;
const site = makeSite(t, configured(""));
let daemon = await site.startDaemon();
let proxy: Part = await site.startProxy();

type Item = Readonly<Record<string, unknown>>;

/** The first record of a path, once its request has ended; there is one of each attempt. */
async function recordOf(path: string, attempts = 1): Promise<Item> {
  return (await recordsOf(path, attempts))[0]!;
}

async function recordsOf(path: string, attempts: number): Promise<readonly Item[]> {
  const client = await connectDaemon({ socketPath: site.socket });
  const records = await until(
    async () => {
      const answer = await client.call("usage.export", { user_path: path });
      if (!answer.ok) throw new Error(answer.failure.message);
      return (answer.body as { records: Item[] }).records;
    },
    (found) => found.length >= attempts,
  );
  client.close();
  t.equal(records.length, attempts, path);
  return records;
}

const streams =
  (...events: readonly string[]) =>
  (call: ReceivedCall): void =>
    void beginStream(call).end(`${events.join("")}data: [DONE]\n\n`);
const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
const json =
  (value: unknown, status = 200) =>
  (call: ReceivedCall): void =>
    void call.response
      .writeHead(status, { "content-type": "application/json" })
      .end(JSON.stringify(value));

t.test(
  "invalid usage in a stream isn't charged: what was seen is, and the log says why",
  async (t) => {
    const table: readonly (readonly [name: string, usage: unknown])[] = [
      ["negative", { prompt_tokens: -5, completion_tokens: -7 }],
      ["huge", { prompt_tokens: 9e15, completion_tokens: 1 }],
      ["text", { total_tokens: "many" }],
      ["list", [1, 2]],
      ["null", null],
    ];
    for (const [name, usage] of table) {
      upstream.answer = streams(
        chunk("x".repeat(400)),
        chunk("", "stop"),
        event({ choices: [], usage }),
      );
      await (await chat(proxy.ready, { path: `/stream/${name}`, stream: true })).text();
      const record = await recordOf(`/stream/${name}`);
      t.match(record, { status: 200, output_tokens: 100, estimated: true }, name);
      t.equal(
        record["total_cost"],
        (Number(record["input_tokens"]) * 3 + 100 * 15) / 1e6,
        "and priced",
      );
    }
    await proxy.printed(/"note":"usage not charged: [^"]*not -5"/);
    await proxy.printed(/"note":"usage not charged: [^"]*9000000000000000/);
  },
);

t.test(
  "a provider that takes no stream_options isn't asked for usage: what it reports counts and reaches the client, else what was seen counts",
  async (t) => {
    const sent = [chunk("hello"), chunk("", "stop"), usageChunk(40)];
    upstream.answer = streams(...sent);
    t.equal(
      await (
        await chat(proxy.ready, { path: "/unasked/told", model: "mistral/model", stream: true })
      ).text(),
      `${sent.join("")}data: [DONE]\n\n`,
    );
    t.notOk("stream_options" in (JSON.parse(upstream.calls.at(-1)!.body) as object));
    t.match(await recordOf("/unasked/told"), { total_tokens: 40, estimated: false });
    upstream.answer = streams(chunk("y".repeat(40)), chunk("", "stop"));
    await (
      await chat(proxy.ready, { path: "/unasked/untold", model: "mistral/model", stream: true })
    ).text();
    t.match(await recordOf("/unasked/untold"), { output_tokens: 10, estimated: true });
  },
);

t.test(
  "an event with a picture of megabytes is passed, and its usage and that of the next one counted",
  async (t) => {
    const picture = event({
      choices: [
        {
          index: 0,
          delta: {
            images: [{ image_url: { url: `data:image/png;base64,${"A".repeat(1_500_000)}` } }],
          },
          finish_reason: null,
        },
      ],
    });
    upstream.answer = streams(chunk("hello"), picture, chunk("", "stop"), usageChunk(40));
    const text = await (await chat(proxy.ready, { path: "/picture", stream: true })).text();
    t.ok(
      text === `${chunk("hello")}${picture}${chunk("", "stop")}data: [DONE]\n\n`,
      "and the chunk that only Sluice asked for is kept back all the same",
    );
    t.match(await recordOf("/picture"), { total_tokens: 40, estimated: false });
  },
);

t.test(
  "no compression is asked for, and an answer that is compressed all the same is read, whatever it is",
  async (t) => {
    const zipped =
      (body: string, type: string, status = 200) =>
      (call: ReceivedCall): void =>
        void call.response
          .writeHead(status, { "content-type": type, "content-encoding": "gzip" })
          .end(gzipSync(body));
    const answer = JSON.stringify({
      choices: [{ index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 30, completion_tokens: 10 },
    });
    const messages = (path: string, body: object) =>
      fetch(`${proxy.ready}/v1/messages`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-sluice-user-path": path },
        body: JSON.stringify({
          model: "test/model",
          max_tokens: 5,
          messages: [{ role: "user", content: "hi" }],
          ...body,
        }),
      });
    const events = `${chunk("hi")}${chunk("", "stop")}${usageChunk(40)}data: [DONE]\n\n`;
    const table: readonly (readonly [
      path: string,
      sent: (call: ReceivedCall) => void,
      ask: (path: string) => Promise<Response>,
      status: number,
      body: RegExp,
      tokens: number,
    ])[] = [
      [
        "/zip/plain",
        zipped(answer, "application/json"),
        (path) => chat(proxy.ready, { path }),
        200,
        /^\{"choices"/,
        40,
      ],
      [
        "/zip/stream",
        zipped(events, "text/event-stream"),
        (path) => chat(proxy.ready, { path, stream: true }),
        200,
        /^data: .*"hi"/,
        40,
      ],
      [
        "/zip/translated",
        zipped(answer, "application/json"),
        (path) => messages(path, {}),
        200,
        /"type":"message"/,
        40,
      ],
      [
        "/zip/translated-stream",
        zipped(events, "text/event-stream"),
        (path) => messages(path, { stream: true }),
        200,
        /event: message_stop/,
        40,
      ],
      [
        "/zip/error",
        zipped('{"error":{"message":"zipped error"}}', "application/json", 400),
        (path) => chat(proxy.ready, { path }),
        400,
        /"zipped error"/,
        0,
      ],
      [
        "/zip/broken",
        (call) =>
          void call.response
            .writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" })
            .end(answer),
        (path) => chat(proxy.ready, { path }),
        502,
        /content-encoding gzip is broken/,
        -1,
      ],
      [
        "/zip/unknown",
        (call) =>
          void call.response
            .writeHead(200, { "content-type": "text/event-stream", "content-encoding": "zstd" })
            .end("x"),
        (path) => chat(proxy.ready, { path, stream: true }),
        502,
        /content-encoding \\"zstd\\" can't be read/,
        -1,
      ],
    ];
    for (const [path, sent, ask, status, body, tokens] of table) {
      upstream.answer = sent;
      const response = await ask(path);
      t.equal(response.status, status, path);
      t.match(await response.text(), body, path);
      t.equal(response.headers.get("content-encoding"), null);
      t.equal(upstream.calls.at(-1)!.headers["accept-encoding"], "identity");
      // It was asked again, and each attempt may have cost something.
      const record = await recordOf(path, path === "/zip/broken" ? 2 : 1);
      if (tokens >= 0) t.match(record, { total_tokens: tokens, estimated: false }, path);
      else t.match(record, { estimated: true }, path);
    }
  },
);

t.test("a client that declines a stream's usage is charged with it all the same", async (t) => {
  upstream.answer = streams(chunk("hello"), chunk("", "stop"), usageChunk(50));
  t.notMatch(
    await (
      await chat(proxy.ready, {
        path: "/declined",
        stream: true,
        stream_options: { include_usage: false },
      })
    ).text(),
    /"usage"/,
  );
  t.match(await recordOf("/declined"), { total_tokens: 50, estimated: false });
});

t.test(
  "an error within a stream leaves what was seen before it; one that comes first is another target's request, charged once",
  async (t) => {
    const failed = event({ error: { message: "overloaded", code: 503 } });
    upstream.answer = streams(chunk("z".repeat(80)), failed);
    await (await chat(proxy.ready, { path: "/within", stream: true })).text();
    t.match(await recordOf("/within"), { status: 200, output_tokens: 20, estimated: true });
    upstream.answer = (call) =>
      ((JSON.parse(call.body) as { model: string }).model === "first"
        ? streams(failed)
        : streams(chunk("fine"), chunk("", "stop"), usageChunk(60)))(call);
    await (await chat(proxy.ready, { path: "/first", model: "smart", stream: true })).text();
    // It was tried twice, and may have worked each time.
    const [once, again, answer] = await recordsOf("/first", 3);
    const attempt = { status: 102, model: "first", total_tokens: 0, tokens_at_most: Number };
    for (const record of [once, again]) t.match(record, attempt);
    t.match(answer, { provider: "test", model: "model", total_tokens: 60, estimated: false });
  },
);

t.test(
  "embeddings: usage that is reported, missing, invalid, and an error inside a 200",
  async (t) => {
    const embed = async (path: string): Promise<number> => {
      const response = await fetch(`${proxy.ready}/v1/embeddings`, {
        method: "POST",
        headers: { "x-sluice-user-path": path },
        body: JSON.stringify({ model: "test/model", input: "x".repeat(400) }),
      });
      await response.arrayBuffer();
      return response.status;
    };
    const vectors = {
      object: "list",
      data: [{ object: "embedding", index: 0, embedding: [0.1, 0.2] }],
    };
    upstream.answer = json({ ...vectors, usage: { prompt_tokens: 80, total_tokens: 80 } });
    t.equal(await embed("/vectors/told"), 200);
    t.match(await recordOf("/vectors/told"), {
      endpoint: "/v1/embeddings",
      input_tokens: 80,
      output_tokens: 0,
      total_cost: 0.00024,
      estimated: false,
    });
    for (const [name, usage] of [
      ["missing", undefined],
      ["invalid", { prompt_tokens: -1, total_tokens: 2e9 }],
    ] as const) {
      upstream.answer = json({ ...vectors, usage });
      t.equal(await embed(`/vectors/${name}`), 200);
      t.match(
        await recordOf(`/vectors/${name}`),
        { input_tokens: 109, output_tokens: 0, estimated: true },
        `${name}: the numbers of a vector are no tokens`,
      );
    }
    upstream.answer = json({ error: { message: "no such model" } });
    t.equal(await embed("/vectors/error"), 502);
    t.match(await recordOf("/vectors/error"), { status: 502, total_tokens: 0, total_cost: 0 });
  },
);

t.test(
  "while usage is off, token rules and budgets refuse no request and are listed as inert, and nothing is recorded; earlier usage is shown when it is on again",
  async (t) => {
    const usage = async (): Promise<{ usage: Item | null; budgets: Item[]; rate_limits: Item[] }> =>
      (
        await fetch(`${proxy.ready}/v1/usage`, { headers: { "x-sluice-user-path": "/capped" } })
      ).json() as never;
    const restart = async (configuration: string): Promise<void> => {
      await proxy.kill("SIGTERM");
      await daemon.kill("SIGTERM");
      writeFileSync(site.configFile, configuration);
      daemon = await site.startDaemon();
      proxy = await site.startProxy();
    };
    upstream.answer = json({
      choices: [],
      usage: { prompt_tokens: 10, completion_tokens: 0, total_tokens: 10 },
    });
    t.equal((await chat(proxy.ready, { path: "/capped" })).status, 200);
    t.equal(
      (await chat(proxy.ready, { path: "/capped" })).status,
      429,
      "10 tokens of 5, and 30 millionths of a dollar of one",
    );
    await restart(configured("usage: { enabled: false }"));
    for (let i = 0; i < 3; i++) t.equal((await chat(proxy.ready, { path: "/capped" })).status, 200);
    t.match(
      await usage(),
      exactly({
        usage: null,
        rate_limits: [{ subject: "/capped", exhausted: false, inert: /usage tracking/ }],
      }),
    );
    t.match(
      await ruleNow(proxy.ready, "/capped", agesSeconds),
      { tokens_used: 10, inert: /usage tracking/ },
      "listed as inert, with no token more",
    );
    await Promise.race([daemon.printed(/usage\.enabled/), proxy.printed(/usage\.enabled/)]);
    await restart(configured(""));
    t.match(
      await usage(),
      exactly({
        usage: { total_requests: 1, total_tokens: 10, total_cost: 0.00003 },
        rate_limits: [{ exhausted: true }],
      }),
    );
    t.equal((await chat(proxy.ready, { path: "/capped" })).status, 429);
  },
);
