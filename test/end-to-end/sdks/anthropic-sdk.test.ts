/** The official Anthropic SDK as a client of real processes, with a provider of its own dialect. */
import Anthropic from "@anthropic-ai/sdk";
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { exactly } from "../../support/patterns/exactly.js";
import { masterKey, startSdkSite } from "../../support/processes/sdk-site.js";
import { anthropicKey, jsonOf, reply } from "../../support/providers/model-api-call.js";
import { message, messageEvents } from "../../support/providers/recorded-messages.js";
import {
  greeting,
  report,
  signature,
  thought,
  tokenCounts,
  wantedCalls,
} from "../../support/providers/scene.js";

const { api, url, limit, counts } = await startSdkSite(t);
let attempts = 0;
const counting: typeof fetch = (...request) => {
  attempts++;
  return fetch(...request);
};
const sdk = (path = "/", maxRetries = 0, apiKey = masterKey) =>
  new Anthropic({
    baseURL: url,
    apiKey,
    maxRetries,
    fetch: counting,
    defaultHeaders: { "x-sluice-user-path": path },
  });
const client = sdk();
const model = "claude-test";
const messages = [{ role: "user" as const, content: "hi" }];
const request = { model, max_tokens: 1024, messages };
const tools = [
  {
    name: "get_weather",
    input_schema: { type: "object" as const, properties: { city: { type: "string" } } },
  },
];

t.test(
  "a message arrives unchanged, and is counted with the tokens that its cache read and wrote",
  async (t) => {
    const added = await counts(async () =>
      t.same(
        await client.messages.create({ ...request, model: `claude/${model}`, system: "Be brief." }),
        message(model, "greeting"),
      ),
    );
    t.same(added, { requests: 1, tokens: tokenCounts.total });
    t.same(
      jsonOf(api.last()),
      { ...request, system: "Be brief." },
      "nothing but the model's name is another",
    );
  },
);

t.test("the client's version and betas are forwarded, its key isn't", async (t) => {
  await client.messages.create(request, {
    headers: { "anthropic-beta": "context-1m-2025-08-07" },
    query: { beta: true, key: masterKey },
  });
  const { headers, query } = api.last();
  t.equal(query, "?beta=true");
  t.match(headers, { "anthropic-beta": "context-1m-2025-08-07", "x-api-key": anthropicKey });
  t.match(headers["anthropic-version"], /^20\d\d-\d\d-\d\d$/);
  t.notMatch(JSON.stringify(headers), new RegExp(`"${masterKey}"|Bearer`));
});

t.test(
  "the SDK's request id is the one in the gateway's log, for answers and for errors",
  async (t) => {
    const { request_id: id, response } = await client.messages.create(request).withResponse();
    t.equal(id, response.headers.get("x-request-id"));
    t.match(id, /^req_/);
    api.intercept = (_, response) =>
      reply(
        response,
        400,
        { type: "error", error: { type: "invalid_request_error", message: "no" } },
        { "request-id": "req_of_the_provider" },
      );
    const thrown: unknown = await client.messages
      .create(request, { headers: { "x-request-id": "mine" } })
      .catch((error: unknown) => error);
    t.match(thrown, { status: 400, requestID: "mine" });
  },
);

t.test("a stream arrives event by event, and the SDK's helper assembles it", async (t) => {
  const events: object[] = [];
  const added = await counts(async () => {
    for await (const event of await client.messages.create({ ...request, stream: true }))
      events.push(event);
    t.match(await client.messages.stream(request).finalMessage(), message(model, "greeting"));
  });
  t.same(
    events,
    messageEvents(model, "greeting").filter(({ type }) => type !== "ping"),
    "all but the pings, which the SDK keeps",
  );
  t.same(added, { requests: 2, tokens: 2 * tokenCounts.total });
});

t.test("two parallel tools and their results work, complete and streamed", async (t) => {
  const called = await client.messages.create({ ...request, tools });
  t.same(
    [called.content, called.stop_reason],
    [wantedCalls("toolu").map((call) => ({ type: "tool_use", ...call })), "tool_use"],
  );
  const results = called.content.map((block) => ({
    type: "tool_result" as const,
    tool_use_id: block.type === "tool_use" ? block.id : "",
    content: "14",
  }));
  const answer = await client.messages.create({
    ...request,
    tools,
    messages: [
      ...messages,
      { role: "assistant", content: called.content },
      { role: "user", content: results },
    ],
  });
  t.match(answer.content, exactly([{ type: "text", text: report }]));
  t.match(
    (await client.messages.stream({ ...request, tools }).finalMessage()).content,
    wantedCalls("toolu").map((call) => ({ type: "tool_use", ...call })),
  );
});

t.test("thinking arrives with its signature, complete and streamed", async (t) => {
  const thoughtful = {
    ...request,
    thinking: { type: "enabled" as const, budget_tokens: 1024 },
    max_tokens: 4096,
  };
  const content = [
    { type: "thinking", thinking: thought, signature },
    { type: "text", text: greeting },
  ];
  t.same((await client.messages.create(thoughtful)).content, content);
  t.match((await client.messages.stream(thoughtful).finalMessage()).content, content);
});

t.test("tokens are counted for free", async (t) => {
  const added = await counts(async () =>
    t.same(await client.messages.countTokens({ model: `claude/${model}`, messages }), {
      input_tokens: 7,
    }),
  );
  t.same(added, { requests: 0, tokens: 0 });
  t.match(api.last(), { path: "/messages/count_tokens" });
});

t.test("models are listed in the client's own format, and retrieved one by one", async (t) => {
  const ids: string[] = [];
  for await (const { id, type, display_name } of client.models.list()) {
    ids.push(id);
    t.same([type, display_name], ["model", id]);
  }
  t.same(ids, ["smart", "openai/gpt-test", "chatty/llama-test", "claude/claude-test"]);
  t.same(await client.models.retrieve("claude/claude-test"), {
    type: "model",
    id: "claude/claude-test",
    display_name: "claude/claude-test",
    created_at: "1970-01-01T00:00:00Z",
    lifecycle: "active",
    line: null,
    deprecated_at: null,
    retires_at: null,
    max_input_tokens: null,
    max_tokens: 128_000,
    capabilities: null,
  });
  await t.rejects(client.models.retrieve("nope"), Anthropic.NotFoundError);
});

t.test(
  "the SDK's own retries wait out a 429; a wait of more than a minute isn't retried at all",
  async (t) => {
    await Promise.all([
      limit("/slow", { period_seconds: 1, max_requests: 1 }),
      limit("/spent", { period_seconds: agesSeconds, max_requests: 1 }),
    ]);
    const patient = sdk("/slow", 4);
    // On a slow machine each of the three may fall into a window of its own: once more, then.
    do {
      const before = api.calls.length;
      attempts = 0;
      await Promise.all([
        patient.messages.create(request),
        patient.messages.create(request),
        patient.messages.stream(request).finalMessage(),
      ]);
      t.equal(api.calls.length, before + 3, "all are answered in the end");
    } while (attempts === 3);
    t.ok(attempts > 3 && attempts <= 6, `after ${attempts} attempts, each when its time had come`);
    const before = api.calls.length;
    const spent = sdk("/spent", 4);
    await spent.messages.create(request);
    attempts = 0;
    const error = await spent.messages.create(request).catch((thrown: unknown) => thrown);
    t.equal(attempts, 1);
    t.type(error, Anthropic.RateLimitError);
    t.match(error, {
      status: 429,
      type: "rate_limit_error",
      apiMessage: "rate limit exceeded for /spent: 3000000000s request limit of 1 reached",
    });
    t.equal(api.calls.length, before + 1);
  },
);

t.test(
  "failures are the SDK's own errors, whether they come from Sluice or the provider",
  async (t) => {
    const wrongs = [
      {
        run: () => sdk("/", 0, "wrong").messages.create(request),
        error: Anthropic.AuthenticationError,
        type: "authentication_error",
        message: "authentication failed",
      },
      {
        run: () => client.messages.create({ ...request, model: "nope" }),
        error: Anthropic.NotFoundError,
        type: "not_found_error",
        message: 'the model "nope" does not exist: GET /v1/models lists those that do',
      },
      {
        run: () => client.messages.create({ ...request, messages: "hi" as never }),
        error: Anthropic.BadRequestError,
        type: "invalid_request_error",
        message: "messages must be an array, not a string",
      },
      {
        run: () => client.messages.create({ ...request, max_tokens: undefined as never }),
        error: Anthropic.BadRequestError,
        type: "invalid_request_error",
        message: "max_tokens: Field required",
      },
    ];
    for (const { run, error, type, message: apiMessage } of wrongs) {
      const thrown = await run().catch((reason: unknown) => reason);
      t.type(thrown, error);
      t.match(thrown, { type, apiMessage });
    }
    const errors = [
      { status: 429, type: "rate_limit_error", error: Anthropic.RateLimitError },
      { status: 500, type: "api_error", error: Anthropic.InternalServerError },
      { status: 529, type: "overloaded_error", error: Anthropic.OverloadedError },
      { status: 413, type: "request_too_large", error: Anthropic.APIError },
      { status: 403, answered: 502, type: "api_error", error: Anthropic.InternalServerError },
    ];
    for (const { status, answered = status, type, error } of errors) {
      api.intercept = (_, response) =>
        reply(
          response,
          status,
          { type: "error", error: { type, message: "so it is" } },
          { "retry-after": "7" },
        );
      const thrown = await client.messages.create(request).catch((reason: unknown) => reason);
      t.type(thrown, error);
      t.match(thrown, { status: answered, type, apiMessage: "so it is" });
      t.equal(
        (thrown as InstanceType<typeof Anthropic.APIError>).headers?.get("retry-after"),
        answered === status ? "7" : null,
      );
    }
  },
);

t.test("an error in the middle of a stream reaches the client as an error", async (t) => {
  api.intercept = (_, response) =>
    void response
      .writeHead(200, { "content-type": "text/event-stream" })
      .end(
        `event: message_start\ndata: ${JSON.stringify(messageEvents(model, "greeting")[0])}\n\nevent: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n`,
      );
  await t.rejects(client.messages.stream(request).finalMessage(), { message: /Overloaded/ });
});
