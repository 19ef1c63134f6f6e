/** The breaker for loops through real processes: what clients, providers, logs and records get. */
import t from "tap";
import { admin, until } from "../../support/client.js";
import { conversationDialects, conversationIn } from "../../support/loop-conversations.js";
import { makeSite } from "../../support/processes/processes.js";
import { masterKey } from "../../support/processes/sdk-site.js";
import { startScriptedUpstream } from "../../support/providers/scripted-upstream.js";

const upstream = await startScriptedUpstream();
t.teardown(() => upstream.close());
const config = `
providers:
  test: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: [m] }
rate_limits:
  user_paths:
    - path: /agents
      limits: [{ period: concurrent, loops: { warn_after: 3, refuse_after: 5 } }]
    - path: /agents/evals
      limits: [{ period: concurrent, max_requests: 100, loops: { warn_after: 0 } }]
    - path: /long
      limits: [{ period: concurrent, loops: { warn_after: 0, warn_after_turns: 4, refuse_after_turns: 6 } }]
`;
const site = makeSite(t, config);
await site.startDaemon();
const proxy = await site.startProxy();
const url = proxy.ready;

interface Asked {
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly stream?: boolean;
  /** The proxy, if not the first one. */
  readonly at?: string;
  /** Whether each turn reads something else. */
  readonly varies?: boolean;
}

/** Sends a conversation in which an agent lists a folder so often, with the same result. */
async function ask(
  dialect: (typeof conversationDialects)[number],
  times: number,
  { path = "/agents/a", headers = {}, stream = false, at = url, varies = false }: Asked = {},
) {
  const turns = Array.from({ length: times }, (_, i) => ({
    tool: "ls",
    args: { path: varies ? `lib/${i}` : "lib" },
    // Long enough to be left out of the shape of a large body.
    result: "a.ts\n".repeat(1000),
  }));
  const google = dialect.operation === "generate_content";
  const response = await fetch(`${at}${dialect.path}`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-sluice-user-path": path, ...headers },
    body: JSON.stringify({
      ...(google ? {} : { model: "m" }),
      ...(stream ? { stream } : {}),
      ...dialect.fields,
      ...conversationIn(dialect, turns),
    }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, text };
}

const [chat] = conversationDialects;
const { answer } = upstream;

t.test("a loop is warned of and then refused, in each dialect", async (t) => {
  for (const dialect of conversationDialects) {
    const before = upstream.calls.length;
    const fine = await ask(dialect, 2);
    t.equal(fine.status, 200, fine.text.slice(0, 200));
    t.equal(fine.headers.get("x-sluice-loop"), null);
    const warned = await ask(dialect, 4);
    t.equal(warned.status, 200);
    t.equal(warned.headers.get("x-sluice-loop"), "turns; times=4; length=1");
    t.equal(upstream.calls.length, before + 2);
    const refused = await ask(dialect, 7);
    t.equal(refused.status, 400, dialect.operation);
    t.equal(refused.headers.get("x-should-retry"), "false");
    t.equal(refused.headers.get("retry-after"), null);
    t.equal(refused.headers.get("x-sluice-loop"), "turns; times=5; length=1");
    t.equal(upstream.calls.length, before + 2, "the provider isn't asked");
    const message =
      "the agent repeats itself: its last 5 turns are the same (ls). To continue, add a message to the conversation or start a new one";
    const error = {
      chat_completions: {
        type: "invalid_request_error",
        message,
        code: "loop_detected",
        param: null,
      },
      responses: { type: "invalid_request_error", message, code: "loop_detected", param: null },
      messages: { type: "invalid_request_error", message },
      generate_content: { code: 400, message, status: "INVALID_ARGUMENT" },
    }[dialect.operation as string];
    t.match(JSON.parse(refused.text), { error });
  }
});

t.test(
  "paths without a rule, and those whose nearest rule says never, aren't watched",
  async (t) => {
    for (const path of ["/agents/evals/a", "/other"]) {
      const { status, headers } = await ask(chat!, 9, { path });
      t.equal(status, 200);
      t.equal(headers.get("x-sluice-loop"), null);
    }
  },
);

t.test("a stream has the warning in its head", async (t) => {
  upstream.answer = ({ response }) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(
      'data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n',
    );
  };
  const { status, headers } = await ask(chat!, 3, { stream: true });
  t.equal(status, 200);
  t.equal(headers.get("x-sluice-loop"), "turns; times=3; length=1");
});

t.test("requests that were answered count when they are sent again, retries don't", async (t) => {
  upstream.answer = ({ response }) => void response.writeHead(503).end("{}");
  const send = async (retry?: string) =>
    (
      await ask(chat!, 1, {
        headers: {
          "x-claude-code-session-id": "s-1",
          ...(retry === undefined ? {} : { "x-stainless-retry-count": retry }),
        },
      })
    ).headers.get("x-sluice-loop");
  for (let i = 0; i < 6; i++) t.equal(await send(), null);
  upstream.answer = answer;
  for (let i = 0; i < 6; i++) t.equal(await send("1"), null);
  t.same([await send(), await send(), await send()], [null, null, "request; times=3"]);
});

t.test("the log line and the metric tell of it", async (t) => {
  await proxy.printed(/"level":"warn".*"status":200.*"loop":4.*"msg":"request"/);
  await proxy.printed(
    /"status":400,"outcome":"refused".*"loop":5.*"note":"the agent repeats itself/,
  );
  const metrics = await until(
    async () => (await fetch(`${url}/metrics`)).text(),
    (text) => text.includes("sluice_loops_total"),
  );
  t.match(metrics, /^sluice_loops_total\{action="warned"\} 6$/m);
  t.match(metrics, /^sluice_loops_total\{action="refused"\} 4$/m);
});

t.test("the records of warned requests say how often", async (t) => {
  const { records } = await until(
    async () =>
      (await (await fetch(`${url}/admin/usage/records?limit=200`)).json()) as {
        readonly records: readonly { readonly loop: number; readonly user_path: string }[];
      },
    (page) => page.records.filter(({ loop }) => loop > 0).length >= 6,
  );
  const found = records.filter(({ loop }) => loop > 0);
  t.same(found.map(({ loop }) => loop).sort(), [3, 3, 4, 4, 4, 4]);
});

t.test("long work is warned of and then refused, whatever it does, in each dialect", async (t) => {
  const path = "/long";
  for (const dialect of conversationDialects) {
    const before = upstream.calls.length;
    const asked = async (times: number) => {
      const { status, headers, text } = await ask(dialect, times, { path, varies: true });
      return { status, loop: headers.get("x-sluice-loop"), text };
    };
    t.match(await asked(3), { status: 200, loop: null });
    t.match(await asked(5), { status: 200, loop: "growth; turns=5" });
    t.equal(upstream.calls.length, before + 2);
    t.match(await asked(9), {
      ...{ status: 400, loop: "growth; turns=9" },
      text: /the agent has worked for 9 turns since the last message of the user\. To continue/,
    });
    t.equal(upstream.calls.length, before + 2, "the provider isn't asked");
  }
  await proxy.printed(/"level":"warn".*"user_path":"\/long".*"status":200.*"loop":5/s);
  const { records } = await until(
    async () =>
      (await (await fetch(`${url}/admin/usage/records?limit=200`)).json()) as {
        readonly records: readonly { readonly loop: number; readonly user_path: string }[];
      },
    (page) => page.records.filter(({ user_path: of }) => of === path).length >= 8,
  );
  const ofLong = records.filter(({ user_path: of }) => of === path);
  t.same(ofLong.map(({ loop }) => loop).sort(), [0, 0, 0, 0, 5, 5, 5, 5]);
});

t.test("the path of a managed key decides, whatever path its caller names", async (t) => {
  const guarded = makeSite(t, config, { SLUICE_MASTER_KEY: masterKey });
  await guarded.startDaemon();
  const { ready: at } = await guarded.startProxy();
  const byMaster = { authorization: `Bearer ${masterKey}` };
  const keyOf = async (path: string): Promise<string> => {
    const { body } = await admin(at, "POST /auth-keys", { name: "k", user_path: path }, byMaster);
    return String(body["value"]);
  };
  for (const [path, status] of [
    ["/agents/k", 400],
    ["/other", 200],
  ] as const) {
    const headers = { authorization: `Bearer ${await keyOf(path)}` };
    t.equal((await ask(chat!, 5, { at, headers, path: "/agents" })).status, status, path);
  }
  const wrong = { authorization: "Bearer sk-sluice-wrong" };
  t.equal((await ask(chat!, 5, { at, headers: wrong })).status, 401, "strangers learn nothing");
});

t.test("a rule set while agents run is heeded at once, and by every proxy", async (t) => {
  const running = makeSite(t, config.slice(0, config.indexOf("rate_limits")));
  await running.startDaemon();
  const ends = [await running.startProxy(), await running.startProxy()].map(({ ready }) => ready);
  const seen = async (times: number): Promise<readonly string[]> =>
    Promise.all(
      ends.map(async (at) => {
        const { status, headers } = await ask(chat!, times, { at });
        return `${status} ${headers.get("x-sluice-loop")}`;
      }),
    );
  t.same(await seen(9), ["200 null", "200 null"], "without a rule");
  const rule = { user_path: "/agents", limit_key: { period: "concurrent" } };
  const put = (loops: unknown, more: object = {}) =>
    admin(ends[0]!, "PUT /rate-limits", { ...rule, loops, ...more });
  t.match(await put({ refuse_after: 3 }), { status: 200 });
  const refused = "400 turns; times=3; length=1";
  t.same(await seen(3), [refused, refused]);
  t.same(await seen(2), ["200 null", "200 null"]);
  t.match(await put({ warn_after: 2 }), { status: 200 });
  t.same(await seen(2), ["200 turns; times=2; length=1", "200 turns; times=2; length=1"]);
  const { body } = await admin(ends[1]!, "POST /explain", { user_path: "/agents/a", model: "m" });
  t.match(body, {
    loops: { user_path: "/agents", warn_after: 2, refuse_after: 0, warn_after_turns: 200 },
  });
  t.match(await put({ warn_after: 0, refuse_after_turns: 3 }), { status: 200 });
  t.same(await seen(3), ["400 growth; turns=3", "400 growth; turns=3"]);
  t.same(await seen(2), ["200 null", "200 null"]);
  t.match(await put(null, { max_requests: 5 }), { status: 200 });
  t.same(await seen(9), ["200 null", "200 null"], "no longer");
  t.match(await put({ warn_after: 1 }), { status: 400 });
});

t.test("a loop is refused at once, while others of its session wait for room", async (t) => {
  const narrow = makeSite(
    t,
    config
      .replace("providers:", "waiting: { max_seconds: 300, default_seconds: 300 }\nproviders:")
      .replace("{ warn_after: 3, refuse_after: 5 } }", "{ refuse_after: 3 }, max_requests: 1 }"),
  );
  await narrow.startDaemon();
  const { ready: at } = await narrow.startProxy();
  const waiting = (count: number) =>
    until(
      async () => (await admin(at, "GET /queues")).body["waiting"],
      (now) => now === count,
    );
  const called = upstream.nextCall();
  upstream.answer = () => {};
  const headers = { "x-claude-code-session-id": "s-2" };
  const holds = ask(chat!, 1, { at, headers });
  const { response } = await called;
  upstream.answer = answer;
  const waits = [ask(chat!, 2, { at, headers }), ask(chat!, 1, { at, headers })];
  await waiting(2);
  t.match(await ask(chat!, 5, { at, headers }), { status: 400, text: /loop_detected/ });
  await waiting(2);
  response.writeHead(500).end("{}");
  await holds;
  for (const { status } of await Promise.all(waits)) t.equal(status, 200);
  const { body } = await admin(at, "GET /rate-limits");
  t.match(
    body.rate_limits.find(({ subject }) => subject === "/agents"),
    { in_flight: 0 },
  );
});
