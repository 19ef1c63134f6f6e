import t from "tap";
import {
  cacheHead,
  isCacheableRequest,
  isCompleteAnswer,
} from "../../../../proxy/handlers/cache/cacheable.js";
import { cacheableBodyBytesMax } from "../../../../shared/bounds.js";
import { type Operation, operations } from "../../../../shared/operation.js";
import { fieldsOf } from "../../body/fields-of.js";

function isCacheable(operation: Operation, body: Buffer): boolean {
  return isCacheableRequest({
    operation,
    body,
    valuesOf: (name) => fieldsOf(body).valuesOf(name),
  });
}

t.test(
  "requests for text that the provider doesn't store are cacheable, up to a size",
  async (t) => {
    const body = Buffer.from('{"model":"m","store":false}');
    t.same(
      operations.filter((operation) => isCacheable(operation, body)),
      ["chat_completions", "responses", "messages", "embeddings"],
    );
    for (const text of [
      '{"model":"m"}',
      '{"store":true}',
      '{"store":null}',
      '{"store":false,"conversation":"c"}',
      '{"store":false,"conversation":{"id":"c"}}',
    ])
      t.notOk(isCacheable("responses", Buffer.from(text)), text);
    t.ok(isCacheable("responses", Buffer.from('{"store":false,"conversation":null,"input":"é"}')));
    t.ok(isCacheable("chat_completions", Buffer.alloc(cacheableBodyBytesMax)));
    t.notOk(isCacheable("chat_completions", Buffer.alloc(cacheableBodyBytesMax + 1)));
  },
);

t.test("requests are distinguished by all that may change their answer", async (t) => {
  const request = {
    operation: "messages" as Operation,
    userPath: "/a" as string | null,
    targets: [{ provider: "p", model: "m" }],
    rawHeaders: ["Host", "x", "Anthropic-Version", "1", "x-stainless-retry-count", "0"],
    query: "",
  };
  const head = cacheHead(request);
  t.notMatch(head, /\n/);
  t.equal(
    cacheHead({ ...request, rawHeaders: ["anthropic-version", "1", "user-agent", "y"] }),
    head,
    "other headers don't",
  );
  t.equal(
    cacheHead({ ...request, query: "key=sk-1" }),
    head,
    "nor does a credential that goes nowhere",
  );
  for (const changed of [
    { ...request, operation: "chat_completions" as Operation },
    { ...request, userPath: "/b" },
    { ...request, userPath: null },
    { ...request, targets: [{ provider: "p", model: "m2" }] },
    { ...request, targets: [{ provider: "p/m", model: "" }] },
    { ...request, targets: [...request.targets, { provider: "q", model: "m" }] },
    { ...request, rawHeaders: ["anthropic-version", "2"] },
    { ...request, rawHeaders: ["anthropic-version", "1", "anthropic-beta", "x"] },
    { ...request, rawHeaders: ["anthropic-version", "1", "OpenAI-Beta", "x"] },
    { ...request, rawHeaders: [] },
    { ...request, query: "beta=true" },
  ])
    t.not(cacheHead(changed), head, JSON.stringify(changed));
});

t.test("an answer is complete when it has its last event, or is valid JSON", async (t) => {
  const cases: readonly (readonly [Operation, "stream" | "json", string, boolean])[] = [
    ["chat_completions", "json", '{"choices":[]}', true],
    ["chat_completions", "json", '{"choices":[', false],
    ["chat_completions", "json", "[]", false],
    ["chat_completions", "json", "", false],
    ["chat_completions", "stream", 'data: {"choices":[]}\n\ndata: [DONE]\n\n', true],
    ["chat_completions", "stream", "data:[DONE]\r\n\r\n", true],
    [
      "chat_completions",
      "stream",
      'data: {"choices":[{"delta":{"content":"data: [DONE]"}}]}\n\n',
      false,
    ],
    ["messages", "json", '{"type":"message"}', true],
    ["messages", "stream", 'event: message_stop\ndata: {"type":"message_stop"}\n\n', true],
    [
      "messages",
      "stream",
      'data: {"type":"content_block_delta","delta":{"text":"\\"type\\":\\"message_stop\\""}}\n\n',
      false,
    ],
    ["responses", "json", '{"status":"completed"}', true],
    ["responses", "json", '{"status":"incomplete"}', false],
    ["responses", "stream", 'data: {"type":"response.completed","response":{}}\n\n', true],
    ["responses", "stream", 'data: {"type":"response.incomplete","response":{}}\n\n', false],
    ["embeddings", "json", '{"data":[]}', true],
    ["embeddings", "stream", "data: [DONE]\n\n", false],
    ["speech", "stream", "data: [DONE]\n\n", false],
  ];
  for (const [operation, form, text, isComplete] of cases)
    t.equal(
      isCompleteAnswer(
        operation,
        form === "stream" ? "text/event-stream; charset=utf-8" : "application/json",
        Buffer.from(text),
      ),
      isComplete,
      `${operation} ${text}`,
    );
});
