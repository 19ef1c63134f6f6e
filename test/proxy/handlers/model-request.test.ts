import t from "tap";
import { modelRequest } from "../../../proxy/handlers/model-request.js";
import type { Admission, AdmissionOutcome } from "../../../proxy/limiter/admission.js";
import type { RequestContext } from "../../../proxy/request-context.js";
import type { Target } from "../../../shared/domain/target-name.js";
import { exactly } from "../../support/patterns/exactly.js";
import { type FakeGateway, fakeGateway, type Served, served } from "../fake-gateway.js";

const yaml = `
providers:
  chat: { type: openai, base_url: "http://127.0.0.1:1/v1", models: [x], operations: [chat_completions] }
  second: { type: openai, base_url: "http://127.0.0.1:1/v1", models: [x], operations: [chat_completions] }
  claude: { type: anthropic, base_url: "http://127.0.0.1:1/v1", models: [opus] }
  vectors: { type: openai, base_url: "http://127.0.0.1:1/v1", models: [v], operations: [embeddings] }
virtual_models:
  both: { strategy: failover, targets: [{ model: chat/x }, { model: second/x }] }
  mixed: { strategy: failover, targets: [{ model: vectors/v }, { model: claude/opus }, { model: chat/x }] }
`;
const chatBody = (model: string): string =>
  JSON.stringify({ model, messages: [{ role: "user", content: "hi" }] });
const messagesBody = (model: string): string =>
  JSON.stringify({ ...JSON.parse(chatBody(model)), max_tokens: 5 });
const answer =
  '{"id":"1","choices":[{"message":{"role":"assistant","content":"ho"},"finish_reason":"stop","index":0}],"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}}';

const clientHeaders = [
  "Anthropic-Beta",
  "tools-2024",
  "anthropic-version",
  "2023-06-01",
  "anthropic-dangerous-direct-browser-access",
  "true",
  "OpenAI-Beta",
  "assistants=v2",
  "User-Agent",
  "mine",
  "X-Stainless-Lang",
  "js",
];

function ask(
  fake: FakeGateway,
  model: string,
  operation: "chat_completions" | "messages" = "chat_completions",
): Promise<Served> {
  return served(fake, (context) => modelRequest(context, operation), {
    path: operation === "messages" ? "/v1/messages" : "/v1/chat/completions",
    query: "beta=true",
    headers: clientHeaders,
    body: operation === "messages" ? messagesBody(model) : chatBody(model),
  });
}

/** The names of the headers of the client's that a provider got. */
const namesOf = (headers: readonly string[]): string[] =>
  headers
    .filter((name, i) => i % 2 === 0 && clientHeaders.includes(name))
    .map((name) => name.toLowerCase());

t.test(
  "headers and query of a dialect go to a provider that speaks it, and to no other",
  async (t) => {
    const neutral = ["user-agent", "x-stainless-lang"];
    const anthropic = [
      "anthropic-beta",
      "anthropic-version",
      "anthropic-dangerous-direct-browser-access",
    ];
    for (const [model, operation, what, names] of [
      [
        "chat/x",
        "chat_completions",
        "chat POST /chat/completions?beta=true",
        ["openai-beta", ...neutral],
      ],
      ["claude/opus", "messages", "claude POST /messages?beta=true", [...anthropic, ...neutral]],
      ["claude/opus", "chat_completions", "claude POST /messages", neutral],
      ["chat/x", "messages", "chat POST /chat/completions", neutral],
    ] as const) {
      const fake = fakeGateway(yaml);
      await ask(fake, model, operation);
      t.match(fake.sent, exactly([{ what }]), what);
      t.same(namesOf(fake.sent[0]!.headers), names, `${operation} to ${model}`);
    }
  },
);

/** The daemon has room at every target. */
function withReroute(fake: FakeGateway): string[] {
  const asked: string[] = [];
  Object.assign(fake.gateway.limiter, {
    reroute(admission: Admission, targets: readonly Target[]): Promise<AdmissionOutcome> {
      asked.push(targets.map(({ provider }) => provider).join(" "));
      admission.target = targets[0]!;
      return Promise.resolve({ kind: "admitted", admission, headers: null });
    },
  });
  return asked;
}

t.test("a request is sent to its next target when one fails, and settled once", async (t) => {
  const fake = fakeGateway(yaml);
  const asked = withReroute(fake);
  fake.answers.set("chat", { status: 503, body: "{}" });
  fake.answers.set("second", { status: 200, body: answer });
  const { status, record, exchange } = await ask(fake, "both");
  t.equal(status, 200);
  t.same(asked, ["second"]);
  t.same(
    fake.sent.map(({ what }) => what.split(" ")[0]),
    ["chat", "chat", "second"],
    "the first target is asked once more before",
  );
  t.match(
    fake.settled,
    exactly([{ tokens: 5, estimated: false, record: { provider: "second", totalCost: null } }]),
  );
  t.equal(fake.settled.length, 1);
  t.match(record, {
    target: { provider: "second" },
    attemptCount: 3,
    model: "both",
    outcome: "complete",
  });
  t.equal(exchange.sent("x-sluice-target"), "second/x");
});

t.test("targets that can't take the call are left out before it is admitted", async (t) => {
  const fake = fakeGateway(yaml);
  fake.answers.set("claude", { status: 200, body: '{"type":"message","content":[]}' });
  await ask(fake, "mixed");
  t.same(
    fake.admitted[0]!.targets.map(({ provider }) => provider),
    ["claude", "chat"],
  );
  const none = fakeGateway(yaml);
  const { status, record } = await ask(none, "vectors/v");
  t.equal(status, 400);
  t.same([none.admitted, none.sent, none.settled], [[], [], []]);
  t.equal(record.outcome, "refused");
});

t.test("an unknown model, a refusal, and a client that has left cost nothing", async (t) => {
  const fake = fakeGateway(yaml);
  t.match(await ask(fake, "nobody/x"), {
    status: 404,
    body: { error: { code: "model_not_found" } },
  });
  t.same(fake.admitted, []);
  fake.verdict = { kind: "unavailable" };
  t.match(await ask(fake, "chat/x"), { status: 503, record: { outcome: "limiter_unavailable" } });
  const { exchange, record } = await served(
    fake,
    (context) => modelRequest(context, "chat_completions"),
    { path: "/v1/chat/completions", body: chatBody("chat/x"), leaves: true },
  );
  t.same([exchange.calls, record.status, record.outcome], [[], 499, "client_gone"]);
  t.same([fake.sent, fake.settled], [[], []]);
});

t.test(
  "whose response it is is remembered unless the request's own `store` is false",
  async (t) => {
    const table: readonly (readonly [more: string, isRemembered: boolean])[] = [
      ["", true],
      [',"store":null', true],
      [',"store":true', true],
      [',"store": false', false],
      [',"st\\u006fre":false', false],
      [',"metadata":{"store":false}', true],
      [',"input":[{"content":"\\"store\\":false"},{"store":false}]', true],
      [',"store":false,"store":true', true],
      [',"store":true,"store":false', true],
    ];
    for (const [more, isRemembered] of table) {
      const fake = fakeGateway(
        'providers: { one: { type: openai, base_url: "http://127.0.0.1:1/v1", models: [x] } }',
      );
      fake.answers.set("one", { status: 200, body: '{"id":"resp_1","output":[]}' });
      await served(fake, (context) => modelRequest(context, "responses"), {
        path: "/v1/responses",
        body: `{"model":"x"${more}}`,
      });
      t.same([...fake.owners.keys()], isRemembered ? ["resp_1"] : [], more);
    }
  },
);

t.test("a model in the path that would be another path isn't admitted", async (t) => {
  for (const [model, status] of [
    ["gemini-x", 200],
    ["google/gemini-x", 200],
    ["google/..", 400],
    ["google/../files", 400],
    ["google/tunedModels//x", 400],
  ] as const) {
    const fake = fakeGateway(
      'providers: { google: { type: gemini, base_url: "http://127.0.0.1:1/v1beta", models: ["*"] } }',
    );
    const run = (context: RequestContext): Promise<void> => {
      Object.assign(context.exchange, { modelInPath: model });
      return modelRequest(context, "generate_content");
    };
    const path = "/v1beta/models:generateContent";
    const answer = await served(fake, run, { path, body: '{"contents":[]}' });
    t.equal(answer.status, status, model);
    if (status === 200) continue;
    t.match(answer.body, { error: { code: 400, status: "INVALID_ARGUMENT" } }, "Google's shape");
    t.same([fake.admitted, fake.sent], [[], []]);
  }
});

t.test(
  "what a translation leaves out is in the answer's header, and at debug in the log",
  async (t) => {
    const fake = fakeGateway(yaml);
    const lines: unknown[] = [];
    const log = { debug: (fields: object, words: string) => void lines.push([fields, words]) };
    Object.assign(fake.gateway, { log: { ...fake.gateway.log, ...log } });
    fake.answers.set("claude", { status: 400, body: '{"type":"error","error":{"message":"no"}}' });
    const chat = {
      ...JSON.parse(chatBody("claude/opus")),
      presence_penalty: 1,
      frequency_penalty: 1,
    };
    const { exchange } = await served(
      fake,
      (context) => modelRequest(context, "chat_completions"),
      { path: "/v1/chat/completions", body: JSON.stringify(chat) },
    );
    t.equal(exchange.sent("x-sluice-dropped"), "presence_penalty, frequency_penalty");
    t.match(
      lines,
      exactly([
        [
          {
            request_id: exchange.id,
            target: "claude/opus",
            dropped: ["presence_penalty", "frequency_penalty"],
          },
          "a translation dropped fields that the provider's dialect lacks",
        ],
      ]),
    );
    lines.length = 0;
    await served(fake, (context) => modelRequest(context, "chat_completions"), {
      path: "/v1/chat/completions",
      body: chatBody("claude/opus"),
    });
    t.same(lines, [], "nothing was left out");
  },
);
