import t from "tap";
import { countTokens } from "../../../proxy/handlers/count-tokens.js";
import { exactly } from "../../support/patterns/exactly.js";
import { type FakeGateway, fakeGateway, type Served, served } from "../fake-gateway.js";

const yaml = `
server: { max_body_bytes: 2000 }
providers:
  chatty: { type: openai, base_url: "http://127.0.0.1:1/v1", models: [llama] }
  claude: { type: anthropic, base_url: "http://127.0.0.1:1/v1", models: [opus] }
virtual_models:
  smart: { strategy: failover, targets: [{ model: chatty/llama }, { model: claude/opus }] }
`;

function count(fake: FakeGateway, body: string, headers: readonly string[] = []): Promise<Served> {
  return served(fake, (context) => countTokens(context, "count_tokens"), {
    path: "/v1/messages/count_tokens",
    headers,
    body,
  });
}

t.test(
  "the first target that can count does, with nothing admitted or settled; only the model's name is changed",
  async (t) => {
    for (const name of ["claude/opus", "smart"]) {
      const fake = fakeGateway(yaml);
      fake.answers.set("claude", { status: 200, body: '{"input_tokens":14}' });
      const { status, body, exchange, record } = await count(
        fake,
        `{ "messages": [], "model": "${name}" , "big": 12345678901234567890}`,
        ["content-type", "application/json", "anthropic-version", "2026-10-21"],
      );
      t.same([status, body], [200, { input_tokens: 14 }], name);
      t.same(fake.sent, [
        {
          what: "claude POST /messages/count_tokens",
          headers: ["content-type", "application/json", "anthropic-version", "2026-10-21"],
          body: '{ "messages": [], "model": "opus" , "big": 12345678901234567890}',
        },
      ]);
      t.equal(exchange.sent("x-sluice-target"), "claude/opus");
      t.match(record, { status: 200, model: name, target: { provider: "claude", model: "opus" } });
      t.same([fake.admitted, fake.settled], [[], []]);
    }
  },
);

t.test(
  "a request that can't be counted is refused in Anthropic's shape, and reaches no provider",
  async (t) => {
    const table = [
      [
        '{"model":"nope","messages":[]}',
        404,
        'the model "nope" does not exist: GET /v1/models lists those that do',
      ],
      ['{"model":"opus"}', 400, "messages is required"],
      ["{", 400, /^the body must be a JSON object: /],
      [
        `{"model":"opus","messages":[]${" ".repeat(2000)}}`,
        413,
        "the body is larger than 2000 bytes",
      ],
    ] as const;
    const fake = fakeGateway(yaml);
    for (const [body, status, message] of table)
      t.match(await count(fake, body), {
        status,
        body: { type: "error", error: { message } },
        record: { outcome: "refused" },
      });
    t.same(fake.sent, []);
  },
);

t.test("a request is counted as it is sent: fitted to a model that it doesn't name", async (t) => {
  const fake = fakeGateway(`
providers:
  claude: { type: anthropic, base_url: "http://127.0.0.1:1/v1", models: [claude-sonnet-4-5] }
aliases: { opus: claude/claude-sonnet-4-5 }
`);
  fake.answers.set("claude", { status: 200, body: '{"input_tokens":14}' });
  const request = { thinking: { type: "adaptive" }, messages: [] };
  for (const [model, type] of [
    ["opus", "enabled"],
    ["claude/claude-sonnet-4-5", "adaptive"],
  ] as const) {
    await count(fake, JSON.stringify({ model, ...request }));
    t.match(JSON.parse(fake.sent.at(-1)!.body!), { thinking: { type } }, model);
  }
});

t.test("where no target can count, the answer is an estimate that says so", async (t) => {
  const fake = fakeGateway(yaml);
  const body = JSON.stringify({
    model: "llama",
    messages: [{ role: "user", content: "x".repeat(900) }],
  });
  const { status, body: answer, exchange, record } = await count(fake, body);
  t.same([status, answer], [200, { input_tokens: Math.ceil(body.length / 4) }]);
  t.equal(exchange.sent("x-sluice-estimated"), "true");
  t.equal(exchange.sent("x-sluice-target"), "chatty/llama");
  t.match(record, { status: 200, outcome: "answered" });
  t.same([fake.sent, fake.admitted], [[], []]);
});

t.test("OpenAI counts for Anthropic's clients, and Anthropic for OpenAI's", async (t) => {
  const fake = fakeGateway(`
providers:
  openai: { api_key: k, models: [gpt-5.4] }
  claude: { type: anthropic, base_url: "http://127.0.0.1:1/v1", models: [claude-opus-4-6] }
`);
  fake.answers.set("openai", {
    status: 200,
    body: '{"object":"response.input_tokens","input_tokens":14}',
  });
  fake.answers.set("claude", { status: 200, body: '{"input_tokens":15}' });
  const tool = { name: "f", input_schema: { type: "object" } };
  const messages = [{ role: "user", content: "hi" }];
  const system = "Be brief.";
  const asked = JSON.stringify({ model: "gpt-5.4", system, messages, tools: [tool] });
  t.match(await count(fake, asked, ["anthropic-version", "2026-10-21"]), {
    status: 200,
    body: { input_tokens: 14, object: undefined },
  });
  const [sent] = fake.sent;
  t.equal(sent?.what, "openai POST /responses/input_tokens");
  t.same(sent?.headers, ["content-type", "application/json"], "none of Anthropic's");
  t.same(Object.keys(JSON.parse(String(sent?.body))), ["model", "input", "tools"]);
  const { status, body } = await served(fake, (context) => countTokens(context, "input_tokens"), {
    path: "/v1/responses/input_tokens",
    headers: [],
    body: JSON.stringify({ model: "claude-opus-4-6", instructions: system, input: "hi" }),
  });
  t.same([status, body], [200, { object: "response.input_tokens", input_tokens: 15 }]);
  t.equal(fake.sent[1]?.what, "claude POST /messages/count_tokens");
  t.same(JSON.parse(String(fake.sent[1]?.body)), {
    model: "claude-opus-4-6",
    messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
    system: [{ type: "text", text: system }],
  });
});

t.test(
  "Gemini counts for clients of other dialects, and what it refuses is estimated",
  async (t) => {
    const fake = fakeGateway(`
providers:
  gemini: { api_key: k, models: [gemini-3-pro] }
`);
    fake.answers.set("gemini", { status: 200, body: '{"totalTokens":16}' });
    const tool = { name: "f", input_schema: { type: "object" } };
    const messages = [{ role: "user", content: "hi" }];
    const asked = JSON.stringify({
      model: "gemini-3-pro",
      system: "Be brief.",
      messages,
      tools: [tool],
    });
    t.match(await count(fake, asked), { status: 200, body: { input_tokens: 16 } });
    const what = "gemini POST /models/gemini-3-pro:countTokens";
    t.match(fake.sent[0], { what });
    t.same(JSON.parse(String(fake.sent[0]?.body)), {
      generateContentRequest: {
        model: "models/gemini-3-pro",
        contents: [{ role: "user", parts: [{ text: "hi" }] }],
        systemInstruction: { parts: [{ text: "Be brief." }] },
        tools: [
          { functionDeclarations: [{ name: "f", parametersJsonSchema: { type: "object" } }] },
        ],
      },
    });
    const ofResponses = (): Promise<Served> =>
      served(fake, (context) => countTokens(context, "input_tokens"), {
        path: "/v1/responses/input_tokens",
        body: JSON.stringify({ model: "gemini-3-pro", input: "hi" }),
      });
    t.match(await ofResponses(), {
      status: 200,
      body: { object: "response.input_tokens", input_tokens: 16 },
    });
    fake.answers.set("gemini", { status: 400, body: '{"error":{"message":"bad schema"}}' });
    const { status, body, exchange } = await ofResponses();
    t.match([status, body], exactly([200, { input_tokens: Number }]));
    t.equal(exchange.sent("x-sluice-estimated"), "true");
  },
);

t.test("a request that asks for a stream, too, gets its count as it is translated", async (t) => {
  const fake = fakeGateway(`
providers:
  openai: { api_key: k, models: [gpt-5.4] }
  claude: { type: anthropic, base_url: "http://127.0.0.1:1/v1", models: [claude-opus-4-6] }
`);
  fake.answers.set("openai", { status: 200, body: '{"input_tokens":14}' });
  fake.answers.set("claude", { status: 200, body: '{"input_tokens":15}' });
  const messages = [{ role: "user", content: "hi" }];
  const asked = JSON.stringify({ model: "gpt-5.4", stream: true, messages });
  t.match(await count(fake, asked), { status: 200, body: { input_tokens: 14 } });
  const ofOpenai = await served(fake, (context) => countTokens(context, "input_tokens"), {
    path: "/v1/responses/input_tokens",
    body: JSON.stringify({ model: "claude-opus-4-6", stream: true, input: "hi" }),
  });
  t.match(ofOpenai, { status: 200, body: { input_tokens: 15 } });
  for (const { body } of fake.sent) t.notMatch(body, "stream");
});

t.test("a provider that answers that it doesn't count leads to the estimate", async (t) => {
  const fake = fakeGateway(yaml);
  for (const status of [403, 404, 405]) {
    fake.answers.set("claude", { status, body: '{"error":{"message":"no such page"}}' });
    const { exchange, ...answered } = await count(fake, '{"model":"opus","messages":[]}');
    t.match(answered, {
      status: 200,
      body: { input_tokens: 8 },
      record: { outcome: "answered", note: `the provider answered ${status}` },
    });
    t.equal(exchange.sent("x-sluice-estimated"), "true");
    t.equal(exchange.sent("x-sluice-target"), "claude/opus");
  }
});

t.test("an error of the provider reaches the client", async (t) => {
  const fake = fakeGateway(yaml);
  fake.answers.set("claude", {
    status: 429,
    body: '{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}',
  });
  t.match(await count(fake, '{"model":"opus","messages":[]}'), {
    status: 429,
    body: { type: "error", error: { type: "rate_limit_error", message: "slow down" } },
    record: { outcome: "upstream_error" },
  });
  fake.answers.set("claude", { kind: "timed_out", reason: "no response for 5 ms" });
  t.match(await count(fake, '{"model":"opus","messages":[]}'), {
    status: 504,
    body: { error: { type: "timeout_error" } },
    record: { note: "no response for 5 ms" },
  });
});

t.test(
  "input tokens of responses are counted where a provider can, and estimated elsewhere",
  async (t) => {
    const ask = (fake: FakeGateway, model: string): Promise<Served> =>
      served(fake, (context) => countTokens(context, "input_tokens"), {
        path: "/v1/responses/input_tokens",
        body: JSON.stringify({ model, input: "hi" }),
      });
    const own = 'vllm: { base_url: "http://127.0.0.1:2/v1", models: [qwen] }';
    const fake = fakeGateway(yaml.replace("providers:\n", `providers:\n  ${own}\n`));
    fake.answers.set("chatty", {
      status: 200,
      body: '{"object":"response.input_tokens","input_tokens":9}',
    });
    t.match(await ask(fake, "llama"), { status: 200, body: { input_tokens: 9 } });
    t.match(fake.sent, exactly([{ what: "chatty POST /responses/input_tokens" }]));
    const { body, exchange } = await ask(fake, "qwen");
    t.same(body, { object: "response.input_tokens", input_tokens: 8 });
    t.equal(exchange.sent("x-sluice-estimated"), "true");
  },
);
