/**
 * Providers' own limits through real processes: what their answers report is listed, and a model
 * that has reached a limit gets no request before the reset that its provider named.
 */
import t from "tap";
import { admin, chat } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";
import {
  beginStream,
  chunk,
  type ReceivedCall,
  replyCompletion,
  startScriptedUpstream,
  usageChunk,
} from "../../support/providers/scripted-upstream.js";

const limited = await startScriptedUpstream();
const spare = await startScriptedUpstream();
const gemini = await startScriptedUpstream();
t.teardown(() => Promise.all([limited.close(), spare.close(), gemini.close()]));

const openai = (mode: string, more = ""): string =>
  `{ type: openai, base_url: "${limited.baseUrl}", api_key: none, models: ["*"], upstream_limits: ${mode}${more} }`;
const site = makeSite(
  t,
  `
limiter: { deadline_ms: 60000 }
server: { passthrough: all }
providers:
  seen: ${openai("observe")}
  unseen: ${openai("off")}
  avoided: ${openai("avoid")}
  doubted: ${openai("avoid", ", trust_limits: false")}
  herded: ${openai("avoid")}
  crowded: ${openai("off", ", adaptive_concurrency: { min: 2, max: 8 }")}
  google: { type: gemini, base_url: "${gemini.baseUrl}/v1beta", api_key: none, models: ["*"], upstream_limits: avoid }
  claude: { type: anthropic, base_url: "${limited.baseUrl}", api_key: none, models: ["*"], upstream_limits: avoid }
  spare: { type: openai, base_url: "${spare.baseUrl}", api_key: none, models: ["*"] }
virtual_models:
  smart: { strategy: failover, targets: [{ model: avoided/virtual }, { model: spare/b }] }
`,
);
await site.startDaemon();
const { ready: url } = await site.startProxy();
const { ready: otherUrl } = await site.startProxy();

interface Item {
  readonly provider: string;
  readonly model: string;
  readonly [field: string]: unknown;
}

async function listed(provider: string, model: string): Promise<Item | undefined> {
  const { body } = await admin(url, "GET /upstream-limits");
  const items = body["upstream_limits"] as readonly Item[];
  return items.find((item) => item.provider === provider && item.model === model);
}

/** Asks until the report of an answer has reached the daemon. */
async function reported(provider: string, model: string): Promise<Item> {
  for (;;) {
    const item = await listed(provider, model);
    if (item !== undefined && item["reported_at"] !== null) return item;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

function answerWith(headers: Record<string, string>) {
  return (call: ReceivedCall): void => {
    for (const [name, value] of Object.entries(headers)) call.response.setHeader(name, value);
    replyCompletion(call, 10);
  };
}

function refuseWith(headers: Record<string, string>, body: object = {}) {
  return ({ response }: ReceivedCall): void =>
    void response
      .writeHead(429, { "content-type": "application/json", ...headers })
      .end(JSON.stringify(body));
}

const exhausted = {
  "x-ratelimit-limit-requests": "500",
  "x-ratelimit-remaining-requests": "0",
  "x-ratelimit-reset-requests": "6m0s",
};

t.test("what an answer reports is listed, and observing refuses nothing", async (t) => {
  limited.answer = answerWith(exhausted);
  for (const model of ["seen/m", "seen/m", "unseen/m", "unseen/m"])
    t.equal((await chat(url, { model })).status, 200);
  t.match(await reported("seen", "m"), {
    mode: "observe",
    saturated: false,
    in_flight: null,
    adaptive: null,
    limits: exactly([{ name: "requests", limit: 500, remaining: 0 }]),
  });
  t.equal(await listed("unseen", "m"), undefined);
});

t.test("a model with an exhausted limit gets no request before the reset", async (t) => {
  limited.answer = answerWith(exhausted);
  t.equal((await chat(url, { model: "avoided/direct" })).status, 200);
  await reported("avoided", "direct");
  const before = limited.calls.length;
  for (const from of [url, otherUrl]) {
    const refused = await chat(from, { model: "avoided/direct" });
    t.equal(refused.status, 429);
    const wait = Number(refused.headers.get("retry-after"));
    t.ok(wait > 300 && wait <= 360, `the provider's own reset: ${wait}`);
    t.match(await refused.json(), {
      error: {
        type: "rate_limit_error",
        code: "rate_limit_exceeded",
        message: "provider avoided: its own limit of 500 requests for direct is reached",
        provider: "avoided",
      },
    });
  }
  t.equal(limited.calls.length, before);
  const explained = await admin(url, "POST /explain", { user_path: "/", model: "avoided/direct" });
  t.match(explained.body["verdict"], { admitted: false, dimension: "upstream" });
  t.match(
    explained.body["targets"],
    exactly([{ admits: false, message: /its own limit of 500 requests/ }]),
  );
  t.equal((await chat(url, { model: "avoided/other" })).status, 200, "limits are per model");
});

t.test("a virtual model passes an exhausted target over", async (t) => {
  limited.answer = answerWith(exhausted);
  const targets: (string | null)[] = [];
  for (const from of [url, otherUrl, url]) {
    const answer = await chat(from, { model: "smart" });
    targets.push(answer.headers.get("x-sluice-target"));
    await answer.text();
    await reported("avoided", "virtual");
  }
  t.same(targets, ["avoided/virtual", "spare/b", "spare/b"]);
});

t.test("without trust in the counts only a 429 keeps requests away", async (t) => {
  limited.answer = answerWith(exhausted);
  for (let i = 0; i < 2; i++) t.equal((await chat(url, { model: "doubted/m" })).status, 200);
  limited.answer = refuseWith({ "retry-after": "50" });
  const passed = await chat(url, { model: "doubted/m" });
  t.equal(passed.status, 429);
  t.equal(passed.headers.get("retry-after"), "50");
  const calls = limited.calls.length;
  const own = await chat(url, { model: "doubted/m" });
  t.match(await own.json(), {
    error: { message: "provider doubted: its own rate limit for m is reached" },
  });
  t.equal(limited.calls.length, calls, "and it isn't sent again by a retry either");
});

const messages = [{ role: "user", content: "hi" }];
const geminiBody = {
  error: {
    code: 429,
    status: "RESOURCE_EXHAUSTED",
    message: "quota",
    details: [
      {
        "@type": "type.googleapis.com/google.rpc.QuotaFailure",
        violations: [
          { quotaId: "GenerateContentInputTokensPerModelPerMinute", quotaValue: "4000000" },
        ],
      },
      { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "47.4s" },
    ],
  },
};
const contents = { contents: [{ parts: [{ text: "hi" }] }] };

/** One request in each dialect, to a provider that refuses it in its own. */
for (const [name, path, body] of [
  ["chat", "/v1/chat/completions", { model: "MODEL", messages }],
  ["a streamed chat", "/v1/chat/completions", { model: "MODEL", messages, stream: true }],
  ["messages", "/v1/messages", { model: "MODEL", messages, max_tokens: 5 }],
  ["responses", "/v1/responses", { model: "MODEL", input: "hi" }],
  ["generateContent", "/v1beta/models/MODEL:generateContent", contents],
] as const)
  for (const provider of ["avoided", "claude", "google"]) {
    const model = `${name.replaceAll(" ", "-")}`;
    t.test(`${name} at ${provider}: a 429 and its wait hold for the next request`, async (t) => {
      const upstream = provider === "google" ? gemini : limited;
      upstream.answer =
        provider === "google"
          ? refuseWith({}, geminiBody)
          : refuseWith(
              provider === "claude"
                ? {
                    "anthropic-ratelimit-input-tokens-limit": "4000000",
                    "anthropic-ratelimit-input-tokens-remaining": "0",
                    "anthropic-ratelimit-input-tokens-reset": new Date(
                      Date.now() + 47_400,
                    ).toISOString(),
                  }
                : { "retry-after": "47" },
              { error: { type: "rate_limit_error", message: "slow down" } },
            );
      const full = `${provider}/${model}`;
      const send = (): Promise<Response> =>
        fetch(`${url}${path.replace("MODEL", full)}`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify(body).replace("MODEL", full),
        });
      const first = await send();
      t.equal(first.status, 429);
      await first.text();
      const calls = upstream.calls.length;
      t.match(await reported(provider, model), { saturated: true, refusals: 1 });
      const second = await send();
      t.equal(second.status, 429);
      const wait = Number(second.headers.get("retry-after"));
      // A Date header has whole seconds.
      t.ok(wait >= 1 && wait <= 49, String(wait));
      t.match(await second.text(), /its own/);
      t.equal(upstream.calls.length, calls);
    });
  }

t.test("passthrough is heeded and learned from, too", async (t) => {
  gemini.answer = refuseWith({}, geminiBody);
  const send = (): Promise<Response> =>
    fetch(`${url}/p/google/v1beta/models/native:generateContent`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(contents),
    });
  const first = await send();
  t.equal(first.status, 429);
  await first.text();
  t.match(await reported("google", "native"), {
    saturated: true,
    saturated_by: "input_tokens_minute",
  });
  const calls = gemini.calls.length;
  t.match(await (await send()).text(), /its own limit of 4000000 input tokens minute/);
  t.equal(gemini.calls.length, calls);
});

t.test("a long stream's headers count before it ends", async (t) => {
  let end = (): void => {};
  limited.answer = (call) => {
    for (const [name, value] of Object.entries(exhausted)) call.response.setHeader(name, value);
    const response = beginStream(call);
    response.write(chunk("a"));
    end = () => void response.end(`${chunk("", "stop")}${usageChunk(3)}data: [DONE]\n\n`);
  };
  const streamed = await chat(url, { model: "avoided/stream", stream: true });
  await reported("avoided", "stream");
  t.equal((await chat(url, { model: "avoided/stream" })).status, 429);
  end();
  await streamed.text();
});

/**
 * A provider with real windows: `limit` requests each, then a 429 that names what is left of the
 * window. Its window begins with its first request.
 */
function limitFor({ limit, windowMs, workMs }: Record<"limit" | "windowMs" | "workMs", number>) {
  /** `refusedMax`: of one window. */
  const seen = { windows: 0, refused: 0, refusedMax: 0 };
  let startMs = -Infinity;
  let count = 0;
  limited.answer = (call) => {
    const nowMs = performance.now();
    if (nowMs - startMs >= windowMs) {
      startMs = nowMs;
      count = 0;
      seen.windows++;
      seen.refused = 0;
    }
    count++;
    const isRefused = count > limit;
    if (isRefused) seen.refusedMax = Math.max(seen.refusedMax, ++seen.refused);
    setTimeout(() => {
      const leftMs = Math.max(1, Math.ceil(startMs + windowMs - performance.now()));
      const headers = {
        "x-ratelimit-limit-requests": String(limit),
        "x-ratelimit-remaining-requests": String(Math.max(0, limit - count)),
        "x-ratelimit-reset-requests": `${leftMs}ms`,
      };
      if (isRefused) refuseWith({ ...headers, "retry-after-ms": String(leftMs) })(call);
      else answerWith(headers)(call);
    }, workMs);
  };
  return seen;
}

t.test("many clients of two proxies never herd onto a provider at its limit", async (t) => {
  const seen = limitFor({ limit: 30, windowMs: 1200, workMs: 20 });
  let left = 100;
  let answered = 0;
  const client = async (from: string): Promise<void> => {
    while (left > 0) {
      left--;
      for (;;) {
        const answer = await chat(from, { model: "herded/m" });
        await answer.text();
        if (answer.status === 200) break;
        t.equal(answer.status, 429);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      answered++;
    }
  };
  await Promise.all(Array.from({ length: 20 }, (_, i) => client(i % 2 === 0 ? url : otherUrl)));
  t.equal(answered, 100);
  // Each client has one request in flight; without `avoid` each would get dozens of 429s.
  t.ok(seen.refusedMax <= 20, `${seen.refusedMax} refused in one window`);
  t.ok(seen.windows >= 4, `${seen.windows} windows`);
});

t.test("adaptive concurrency lets only so many requests to a server", async (t) => {
  const waiting: ReceivedCall[] = [];
  limited.answer = (call) => void waiting.push(call);
  const before = limited.calls.length;
  const running = [chat(url, { model: "crowded/m" }), chat(otherUrl, { model: "crowded/m" })];
  while (limited.calls.length < before + 2) await limited.nextCall();
  const refused = await chat(url, { model: "crowded/m" });
  t.equal(refused.status, 429);
  t.equal(refused.headers.get("retry-after"), "1");
  t.match(await refused.json(), {
    error: { message: /^model crowded\/m is at its adaptive concurrency of 2/ },
  });
  t.match(await listed("crowded", "m"), { in_flight: 2, adaptive: { min: 2, max: 8, cap: 2 } });
  for (const call of waiting) replyCompletion(call, 10);
  for (const answer of await Promise.all(running)) t.equal(answer.status, 200);
  limited.answer = (call) => replyCompletion(call, 10);
  t.equal((await chat(url, { model: "crowded/m" })).status, 200);
});
