import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { mapUpstreamError } from "../../../../proxy/upstream/errors/upstream-error.js";
import type { Failure } from "../../../../shared/error-code.js";
import { anyText } from "../../../support/any-text.js";

function mapped(status: number, body: unknown): Failure {
  return mapUpstreamError(
    "openai",
    status,
    Buffer.from(typeof body === "string" ? body : JSON.stringify(body)),
  );
}

t.test("OpenAI's error passes with its status, message, code and param", async (t) => {
  const body = {
    error: {
      message: "The model `x` does not exist",
      type: "invalid_request_error",
      param: "model",
      code: "model_not_found",
    },
  };
  t.same(mapped(404, body), {
    status: 404,
    type: "not_found_error",
    message: "The model `x` does not exist",
    code: "model_not_found",
    param: "model",
    provider: "openai",
  });
});

t.test("the type follows from the status", async (t) => {
  const types: readonly (readonly [number, string])[] = [
    [400, "invalid_request_error"],
    [404, "not_found_error"],
    [422, "invalid_request_error"],
    [429, "rate_limit_error"],
    [500, "provider_error"],
    [503, "provider_error"],
    [529, "provider_error"],
  ];
  for (const [status, type] of types)
    t.same([mapped(status, {}).status, mapped(status, {}).type], [status, type]);
});

t.test("a refusal of our credentials or account is the provider's failure", async (t) => {
  const body = { error: { message: "Incorrect API key", code: "invalid_api_key", param: "key" } };
  for (const status of [401, 402, 403])
    t.same(mapped(status, body), {
      status: 502,
      type: "provider_error",
      message: "Incorrect API key",
      code: "provider_credentials",
      param: "key",
      provider: "openai",
    });
  t.match(mapped(200, { error: { message: "no", code: 401 } }), { code: "provider_credentials" });
  t.match(mapped(403, {}), { status: 502, message: "openai answered 403 Forbidden" });
});

t.test("every shape of error gives its message", async (t) => {
  const cases: readonly (readonly [unknown, Partial<Failure>])[] = [
    [{ error: "overloaded" }, { message: "overloaded", code: null, param: null }],
    [
      { error: "overloaded", code: "busy" },
      { message: "overloaded", code: "busy" },
    ],
    [{ message: "overloaded" }, { message: "overloaded" }],
    [{ error: "", message: "overloaded" }, { message: "overloaded" }],
    [{ error: "overloaded", message: "less" }, { message: "overloaded" }],
    [{ detail: "Not Found" }, { message: "Not Found", param: null }],
    [{ detail: { message: "Not Found", code: 7 } }, { message: "Not Found" }],
    [
      {
        detail: [
          { loc: ["body", "messages", 0, "role"], msg: "Field required", type: "missing" },
          { loc: ["body", "n"], msg: "too large" },
        ],
      },
      { message: "messages[0].role: Field required; n: too large", param: "messages[0].role" },
    ],
    [{ detail: [{ msg: "bad" }, "worse", 7, null, {}] }, { message: "bad; worse", param: null }],
    [
      { detail: Array.from({ length: 9 }, (_, i) => ({ loc: ["query", `p${i}`], msg: "x" })) },
      { message: "query.p0: x; query.p1: x; query.p2: x; query.p3: x; query.p4: x; and 4 more" },
    ],
    [
      {
        object: "error",
        message: {
          detail: [
            {
              type: "extra_forbidden",
              loc: ["body", "foo"],
              msg: "Extra inputs are not permitted",
            },
          ],
        },
        type: "invalid_request_error",
        param: null,
        code: null,
      },
      { message: "foo: Extra inputs are not permitted", param: "foo", code: null },
    ],
    [{ error: { message: { detail: "deep" } } }, { message: "deep" }],
    [
      { object: "error", message: "bad", code: 40001, param: "n" },
      { message: "bad", code: "40001", param: "n" },
    ],
    [
      [{ error: { code: 400, message: "API key not valid", status: "INVALID_ARGUMENT" } }],
      { message: "API key not valid", code: "400" },
    ],
    [
      { error: { message: "x", code: null, param: null } },
      { message: "x", code: null, param: null },
    ],
    [
      { error: { message: "x", code: { deep: 1 }, param: ["a"] } },
      { message: "x", code: null, param: null },
    ],
    [{ error: null, message: "x" }, { message: "x" }],
    ["upstream connect error\n", { message: "upstream connect error" }],
    ['"just text"', { message: "just text" }],
  ];
  for (const [body, expected] of cases)
    t.match(
      mapped(400, body),
      { status: 400, provider: "openai", ...expected },
      JSON.stringify(body),
    );
});

t.test("a body without a readable message gives a sentence with the status", async (t) => {
  for (const body of [
    "",
    " \n",
    "<html><body>Bad Gateway</body></html>",
    "\n <!doctype html>",
    "{}",
    "[]",
    "[1,2]",
    "null",
    '{"error":{}}',
    '{"error":""}',
    '{"error":{"message":"\\u0000 "}}',
  ]) {
    t.same(
      mapped(502, body),
      {
        status: 502,
        type: "provider_error",
        message: "openai answered 502 Bad Gateway",
        code: null,
        param: null,
        provider: "openai",
      },
      body,
    );
  }
  t.equal(mapped(599, "").message, "openai answered 599");
});

t.test("control characters are removed and lines are joined", async (t) => {
  t.equal(
    mapped(400, { error: { message: "\u0000a\r\n\tb\u001b[31mc\u007f\u0085d " } }).message,
    "a b[31mc d",
  );
});

t.test("messages are cut at 4 KiB, between characters", async (t) => {
  t.equal(mapped(400, { error: { message: "x".repeat(4096) } }).message, "x".repeat(4096));
  t.equal(
    mapped(400, { error: { message: "x".repeat(100_000), code: "y".repeat(5000) } }).message,
    "x".repeat(4096),
  );
  t.equal(mapped(400, { error: { message: "x", code: "y".repeat(5000) } }).code, "y".repeat(4096));
  t.equal(mapped(400, { error: { message: `${"x".repeat(4095)}é` } }).message, "x".repeat(4095));
  t.equal(mapped(400, { error: { message: `${"x".repeat(4093)}🎉` } }).message, "x".repeat(4093));
  t.equal(
    mapped(400, { error: { message: `${"x".repeat(4092)}🎉` } }).message,
    `${"x".repeat(4092)}🎉`,
  );
});

t.test(
  "an error under a status that isn't one has the status that it names, else 502",
  async (t) => {
    const cases: readonly (readonly [number, unknown, number, string])[] = [
      [200, { error: { message: "slow down", code: 429 } }, 429, "slow down"],
      [200, { error: { message: "gone", status: 404, code: "model_gone" } }, 404, "gone"],
      [200, { error: { message: "x", code: 200 } }, 502, "x"],
      [200, { error: { message: "x", code: 600 } }, 502, "x"],
      [200, { error: { message: "x", code: 429.5 } }, 502, "x"],
      [200, { error: { message: "x", code: "429" } }, 502, "x"],
      [200, { error: {} }, 502, "openai answered 200 with an error inside"],
      [200, { error: "overloaded" }, 502, "overloaded"],
      [200, { object: "error", message: "too long", code: 400 }, 400, "too long"],
      [302, "", 502, "openai answered 302 Found, which is no answer to a model request"],
      [304, "", 502, "openai answered 304, which is no answer to a model request"],
      [500, { error: { message: "x", code: 429 } }, 500, "x"],
    ];
    for (const [status, body, expected, message] of cases)
      t.same(
        [mapped(status, body).status, mapped(status, body).message],
        [expected, message],
        JSON.stringify(body),
      );
    t.equal(mapped(200, { error: { message: "slow down", code: 429 } }).type, "rate_limit_error");
  },
);

t.test("whatever an upstream sends, the failure is complete, bounded and printable", async () => {
  // Around the bound, so that it falls into characters of every length.
  const long = fc
    .tuple(fc.integer({ min: 4080, max: 4100 }), anyText({ maxLength: 8 }), fc.nat(5000))
    .map(([before, text, after]) => "x".repeat(before) + text + "y".repeat(after));
  const body = fc.oneof(
    fc.uint8Array().map((bytes) => Buffer.from(bytes)),
    anyText().map((text) => Buffer.from(text)),
    fc.jsonValue().map((value) => Buffer.from(JSON.stringify({ error: value }))),
    long.map((message) =>
      Buffer.from(JSON.stringify({ error: { message, code: message, param: message } })),
    ),
  );
  fc.assert(
    fc.property(fc.integer({ min: 200, max: 599 }), body, (status, bytes) => {
      const failure = mapUpstreamError("openai", status, bytes);
      assert.ok(failure.status >= 400 && failure.status <= 599);
      for (const text of [failure.message, failure.code, failure.param]) {
        if (text === null) continue;
        assert.ok(text !== "" && Buffer.byteLength(text) <= 4096);
        // eslint-disable-next-line no-control-regex
        assert.doesNotMatch(text, /[\u0000-\u001f\u007f-\u009f]/);
      }
    }),
    { numRuns: 1000 },
  );
});
