import t from "tap";
import {
  droppedHeaders,
  replyFailure,
  replyJson,
  replyWithRefusal,
  speaksMessages,
  targetHeader,
} from "../../../proxy/http/respond.js";
import { refusalMessage } from "../../../shared/domain/refusal-message.js";
import type { Breach, BudgetBreach } from "../../../shared/domain/verdict.js";
import { failure, invalid, plainFailure } from "../../../shared/error-code.js";
import { exactly } from "../../support/patterns/exactly.js";
import { FakeExchange } from "../fake-exchange.js";

const breach: Breach = {
  scope: "user_path",
  subject: "/team",
  periodSeconds: 60,
  dimension: "requests",
  cap: 10,
  waitSeconds: 61,
};

const asRecord = (flat: readonly string[]): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: flat.length / 2 }, (_, i) => [flat[2 * i]!, flat[2 * i + 1]!]),
  );
const bodyOf = (exchange: FakeExchange): unknown => JSON.parse(exchange.body.toString());

t.test("a JSON response has its content type and its request id", async (t) => {
  const exchange = new FakeExchange();
  replyJson(exchange, 200, { text: "größe 🙂" }, ["retry-after", "1"]);
  t.same(
    [exchange.status, asRecord(exchange.headers), bodyOf(exchange)],
    [
      200,
      { "content-type": "application/json", "x-request-id": "req_test", "retry-after": "1" },
      { text: "größe 🙂" },
    ],
  );
});

t.test(
  "a failure on a model path has the envelope, with the provider only where one failed",
  async (t) => {
    const table = [
      [
        invalid("bad", "model"),
        { error: { type: "invalid_request_error", message: "bad", code: null, param: "model" } },
      ],
      [
        failure("model_not_found", "gone"),
        {
          error: {
            type: "invalid_request_error",
            message: "gone",
            code: "model_not_found",
            param: null,
          },
        },
      ],
      [
        { ...plainFailure(502, "provider_error", "down"), provider: "openai" },
        {
          error: {
            type: "provider_error",
            message: "down",
            code: null,
            param: null,
            provider: "openai",
          },
        },
      ],
    ] as const;
    for (const [what, body] of table) {
      for (const area of ["model", "health"] as const) {
        const exchange = new FakeExchange();
        replyFailure(exchange, area, what);
        t.equal(exchange.status, what.status);
        t.same(bodyOf(exchange), { error: { ...body.error, type: what.type } });
        t.same(
          Object.keys((bodyOf(exchange) as typeof body).error),
          Object.keys(body.error),
          "code and param are always there",
        );
      }
    }
  },
);

t.test("a failure on /admin is a flat object, with all six keys", async (t) => {
  for (const what of [
    invalid("bad", "scope"),
    failure("rate_limit_not_found", "no rule"),
    plainFailure(401, "authentication_error", "missing credentials"),
    { ...invalid("x"), provider: "p" },
  ]) {
    const exchange = new FakeExchange();
    replyFailure(exchange, "admin", what, ["www-authenticate", "Bearer"]);
    const { status, ...rest } = what;
    t.same(bodyOf(exchange), { ...rest, status_code: status });
    t.equal(Object.keys(bodyOf(exchange) as object).length, 6);
    t.equal(exchange.sent("www-authenticate"), "Bearer");
  }
});

t.test("the status and type of each code are those of the documented table", async (t) => {
  const table = [
    ["rate_limit_exceeded", 429, "rate_limit_error"],
    ["rate_limit_not_found", 404, "not_found_error"],
    ["quota_templates_not_entitled", 403, "permission_error"],
    ["feature_unavailable", 503, "internal_error"],
    ["limiter_unavailable", 503, "internal_error"],
    ["overloaded", 503, "internal_error"],
    ["budget_exceeded", 429, "rate_limit_error"],
    ["budget_not_found", 404, "not_found_error"],
    ["model_not_found", 404, "not_found_error"],
    ["provider_unavailable", 502, "provider_error"],
    ["request_too_large", 413, "invalid_request_error"],
  ] as const;
  for (const [code, status, type] of table) t.match(failure(code, "x"), { status, type, code });
});

t.test("a refusal names the subject, the limit and its cap", async (t) => {
  const table: readonly (readonly [change: Partial<Breach>, message: string])[] = [
    [{}, "rate limit exceeded for /team: minute request limit of 10 reached"],
    [{ subject: "/" }, "rate limit exceeded for /: minute request limit of 10 reached"],
    [
      { periodSeconds: 3600, dimension: "tokens", cap: 5000 },
      "rate limit exceeded for /team: hour token limit of 5000 reached",
    ],
    [{ periodSeconds: 86_400 }, "rate limit exceeded for /team: day request limit of 10 reached"],
    [{ periodSeconds: 300 }, "rate limit exceeded for /team: 300s request limit of 10 reached"],
    [
      { periodSeconds: 0, dimension: "concurrent", cap: 2 },
      "rate limit exceeded for /team: concurrent request limit of 2 reached",
    ],
    [
      { scope: "provider", subject: "OpenAI" },
      "rate limit exceeded for provider OpenAI: minute request limit of 10 reached",
    ],
    [
      { scope: "model", subject: "openai/gpt-4o", dimension: "tokens" },
      "rate limit exceeded for model openai/gpt-4o: minute token limit of 10 reached",
    ],
  ];
  for (const [change, message] of table) t.equal(refusalMessage({ ...breach, ...change }), message);
});

t.test("a refused request is a 429 with its code, in the envelope", async (t) => {
  const exchange = new FakeExchange();
  replyWithRefusal(exchange, { kind: "refused", breach }, { requestIdInBody: false, nowMs: 0 });
  t.equal(exchange.status, 429);
  t.same(bodyOf(exchange), {
    error: {
      type: "rate_limit_error",
      message: refusalMessage(breach),
      code: "rate_limit_exceeded",
      param: null,
    },
  });
  t.same(
    [
      exchange.sent("retry-after"),
      exchange.sent("x-request-id"),
      exchange.sent("x-ratelimit-limit-requests"),
    ],
    ["61", "req_test", "10"],
  );
  const named = new FakeExchange();
  replyWithRefusal(named, { kind: "refused", breach }, { requestIdInBody: true, nowMs: 0 });
  t.same(
    bodyOf(named),
    { ...(bodyOf(exchange) as object), request_id: "req_test" },
    "and with its request id, where the operator wants it",
  );
  t.same(named.headers, exchange.headers);
});

t.test(
  "a budget's refusal names the subject, the period and the money, waits for the period's end, and has the headers of the rules",
  async (t) => {
    const exchange = new FakeExchange();
    const overspent: BudgetBreach = {
      dimension: "budget",
      scope: "user_path",
      subject: "/team/app",
      periodSeconds: 86_400,
      spentUsd: 10.000001,
      amountUsd: 10,
      waitSeconds: 86_399,
    };
    replyWithRefusal(
      exchange,
      {
        kind: "exceeded",
        breach: overspent,
        headers: { requests: { limit: 10, remaining: 7, resetSeconds: 3 }, tokens: null },
      },
      { requestIdInBody: false, nowMs: 0 },
    );
    t.equal(exchange.status, 429);
    t.same(bodyOf(exchange), {
      error: {
        type: "rate_limit_error",
        message: "budget exceeded for /team/app daily limit: spent 10.000001 of 10",
        code: "budget_exceeded",
        param: null,
      },
    });
    t.same(
      [
        "retry-after",
        "retry-after-ms",
        "x-should-retry",
        "x-ratelimit-limit-requests",
        "x-ratelimit-remaining-requests",
        "x-ratelimit-reset-requests",
      ].map((name) => exchange.sent(name)),
      ["86399", "86399000", "false", "10", "7", "3"],
    );
    t.equal(
      refusalMessage({
        ...overspent,
        scope: "label",
        subject: "research",
        periodSeconds: 2_592_000,
        spentUsd: 0.000001,
        amountUsd: 0.000001,
      }),
      "budget exceeded for research monthly limit: spent 0.000001 of 0.000001",
    );
  },
);

t.test("any target's name becomes a valid header value", async (t) => {
  t.equal(
    targetHeader({ provider: "openrouter", model: "meta-llama/llama-3:free" }),
    "openrouter/meta-llama/llama-3:free",
  );
  t.equal(
    targetHeader({ provider: "p", model: "größe 日本\r\nx: y" }),
    "p/gr%C3%B6%C3%9Fe%20%E6%97%A5%E6%9C%AC%0D%0Ax:%20y",
  );
  t.equal(targetHeader({ provider: "p", model: "" }), "p/-");
  t.equal(targetHeader({ provider: "p", model: "half \ud800" }), "p/half%20%EF%BF%BD");
});

t.test(
  "a client that speaks Anthropic's dialect gets its errors in that shape, with the same status and headers",
  async (t) => {
    const table = [
      [failure("model_not_found", "no such model", "model"), 404, "not_found_error"],
      [failure("request_too_large", "too large"), 413, "request_too_large"],
      [failure("provider_unavailable", "away"), 502, "api_error"],
      [failure("limiter_unavailable", "away"), 503, "api_error"],
      [plainFailure(402, "invalid_request_error", "pay first"), 402, "billing_error"],
      [plainFailure(403, "authentication_error", "not you"), 403, "permission_error"],
      [plainFailure(413, "invalid_request_error", "the provider's"), 413, "request_too_large"],
      [plainFailure(504, "provider_error", "silent"), 504, "timeout_error"],
      [plainFailure(529, "provider_error", "overloaded"), 529, "overloaded_error"],
      [
        plainFailure(401, "authentication_error", "missing credentials"),
        401,
        "authentication_error",
      ],
    ] as const;
    for (const path of ["/v1/messages", "/v1/messages/count_tokens"]) {
      for (const [what, status, type] of table) {
        const exchange = new FakeExchange({ path });
        replyFailure(exchange, "model", what, ["retry-after", "1"]);
        t.equal(exchange.status, status, type);
        t.equal(exchange.sent("retry-after"), "1");
        t.same(JSON.parse(exchange.body.toString()), {
          type: "error",
          error: { type, message: what.message },
        });
      }
    }
    const refused = new FakeExchange({ path: "/v1/messages" });
    replyWithRefusal(
      refused,
      {
        kind: "refused",
        breach: {
          scope: "user_path",
          subject: "/",
          periodSeconds: 60,
          dimension: "requests",
          cap: 1,
          waitSeconds: 7,
        },
      },
      { requestIdInBody: false, nowMs: 0 },
    );
    t.same(
      [refused.status, refused.sent("retry-after"), JSON.parse(refused.body.toString())],
      [
        429,
        "7",
        {
          type: "error",
          error: {
            type: "rate_limit_error",
            message: "rate limit exceeded for /: minute request limit of 1 reached",
          },
        },
      ],
    );
  },
);

t.test("the header of what was dropped holds any name, and is absent without one", async (t) => {
  t.same(droppedHeaders([]), []);
  t.same(droppedHeaders(["top_k", "a,b\r\nx: y", "é"]), [
    "x-sluice-dropped",
    "top_k, a?b??x: y, ?",
  ]);
});

t.test(
  "a client that would sleep through a long wait gets other words, for a long wait only",
  async (t) => {
    const breach = {
      scope: "user_path",
      subject: "/a",
      periodSeconds: 86_400,
      dimension: "requests",
      cap: 1,
    } as const;
    const table = [
      [
        "/v1/responses",
        "codex_exec/0.169.0",
        61,
        429,
        { error: { type: "usage_limit_reached", resets_at: 61 } },
      ],
      ["/v1/responses", "codex_exec/0.169.0", 60, 429, { error: { type: "rate_limit_error" } }],
      ["/v1/chat/completions", "opencode/1.18", 61, 402, { error: { type: "insufficient_quota" } }],
      [
        "/v1/messages",
        "opencode/1.18",
        61,
        402,
        { type: "error", error: { type: "insufficient_quota" } },
      ],
      ["/v1/messages", "curl/8", 61, 429, { type: "error", error: { type: "rate_limit_error" } }],
    ] as const;
    for (const [path, agent, waitSeconds, status, body] of table) {
      const exchange = new FakeExchange({ path, headers: ["user-agent", agent] });
      const sent = replyWithRefusal(
        exchange,
        { kind: "refused", breach: { ...breach, waitSeconds } },
        { requestIdInBody: false, nowMs: 0 },
      );
      t.equal(sent, status, agent);
      t.equal(exchange.status, status);
      t.match(bodyOf(exchange), body);
      t.equal(exchange.sent("retry-after"), String(waitSeconds));
    }
  },
);

t.test("Google's clients read the time to wait in the refusal itself", async (t) => {
  const exchange = new FakeExchange({ path: "/v1beta/models:generateContent" });
  const breach = {
    scope: "user_path",
    subject: "/a",
    periodSeconds: 60,
    dimension: "requests",
    cap: 1,
    waitSeconds: 41.5,
  } as const;
  replyWithRefusal(exchange, { kind: "refused", breach }, { requestIdInBody: false, nowMs: 0 });
  t.match(
    bodyOf(exchange),
    exactly({
      error: {
        code: 429,
        status: "RESOURCE_EXHAUSTED",
        details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "42s" }],
      },
    }),
  );
});

t.test("the path, or else the version header, shows Anthropic's dialect", async (t) => {
  const version = ["anthropic-version", "2023-06-01"];
  const table: readonly (readonly [path: string, headers: readonly string[], speaks: boolean])[] = [
    ["/v1/messages", [], true],
    ["/v1/messages/batches/b", [], true],
    ["/v1/messagesx", [], false],
    ["/v1/files", [], false],
    ["/v1/files", version, true],
    ["/v1/files/file_1/content", version, true],
    ["/v1/models", version, true],
    ["/v1/nowhere", version, true],
    ["/v1/chat/completions", version, false],
    ["/v1/responses/r", version, false],
    ["/p/claude/v1/messages", version, false],
    ["/admin/rate-limits", version, false],
  ];
  for (const [path, headers, speaks] of table)
    t.equal(speaksMessages(new FakeExchange({ path, headers })), speaks, `${path} ${headers}`);
});
