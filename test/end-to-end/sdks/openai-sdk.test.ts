/**
 * The official OpenAI SDK as a client of real processes: chat, responses, models, and how it
 * handles a limit.
 */
import OpenAI from "openai";
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { masterKey, startSdkSite } from "../../support/processes/sdk-site.js";
import { jsonOf } from "../../support/providers/model-api-call.js";
import { chatChunks, chatCompletion } from "../../support/providers/recorded-chat.js";
import { responseEvents, responseObject } from "../../support/providers/recorded-responses.js";
import { greeting, report, tokenCounts, wantedCalls } from "../../support/providers/scene.js";

const { api, url, limit, counts } = await startSdkSite(t);
let attempts = 0;
const counting: typeof fetch = (...request) => {
  attempts++;
  return fetch(...request);
};
const sdk = (path = "/", maxRetries = 0) =>
  new OpenAI({
    baseURL: `${url}/v1`,
    apiKey: masterKey,
    maxRetries,
    fetch: counting,
    defaultHeaders: { "x-sluice-user-path": path },
  });
const client = sdk();
const model = "gpt-test";
const messages = [{ role: "user" as const, content: "hi" }];
const parameters = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const chatTools = [{ type: "function" as const, function: { name: "get_weather", parameters } }];
const responseTools = [
  { type: "function" as const, name: "get_weather", strict: false, parameters },
];

t.test("models are listed, and retrieved one by one", async (t) => {
  const ids = (await client.models.list()).data.map(({ id }) => id);
  t.same(ids, ["smart", "openai/gpt-test", "chatty/llama-test", "claude/claude-test"]);
  t.match(await client.models.retrieve("openai/gpt-test"), {
    id: "openai/gpt-test",
    object: "model",
    owned_by: "openai",
  });
  await t.rejects(client.models.retrieve("nope"), { status: 404, code: "model_not_found" });
});

t.test("a chat completion arrives unchanged, and is counted", async (t) => {
  const added = await counts(async () =>
    t.same(
      await client.chat.completions.create({ model: `openai/${model}`, messages }),
      chatCompletion(model, "greeting"),
    ),
  );
  t.same(added, { requests: 1, tokens: tokenCounts.total });
  t.match(jsonOf(api.last()), { model, messages });
});

t.test(
  "a streamed chat arrives chunk by chunk; only clients that request it get the usage chunk, and it counts either way",
  async (t) => {
    for (const includeUsage of [false, true]) {
      const chunks: object[] = [];
      const added = await counts(async () => {
        for await (const chunk of await client.chat.completions.create({
          model,
          messages,
          stream: true,
          ...(includeUsage ? { stream_options: { include_usage: true } } : {}),
        }))
          chunks.push(chunk);
      });
      t.same(
        chunks,
        includeUsage
          ? chatChunks(model, "greeting", true)
          : chatChunks(model, "greeting", true).slice(0, -1),
        `include_usage: ${includeUsage}`,
      );
      t.same(added, { requests: 1, tokens: tokenCounts.total });
    }
  },
);

t.test(
  "parallel tool calls and their results work, complete and with the SDK's streaming helper",
  async (t) => {
    const called = (await client.chat.completions.create({ model, messages, tools: chatTools }))
      .choices[0]!.message;
    t.same(
      called.tool_calls?.map(
        (call) => call.type === "function" && JSON.parse(call.function.arguments),
      ),
      wantedCalls("call").map(({ input }) => input),
    );
    const results = called.tool_calls!.map(({ id }) => ({
      role: "tool" as const,
      tool_call_id: id,
      content: "14",
    }));
    const answer = await client.chat.completions.create({
      model,
      messages: [...messages, called, ...results],
      tools: chatTools,
    });
    t.equal(answer.choices[0]!.message.content, report);
    const streamed = await client.chat.completions
      .stream({ model, messages, tools: chatTools })
      .finalChatCompletion();
    t.same(
      streamed.choices[0]!.message.tool_calls?.map(
        (call) =>
          call.type === "function" && [
            call.id,
            call.function.name,
            JSON.parse(call.function.arguments),
          ],
      ),
      wantedCalls("call").map(({ id, name, input }) => [id, name, input]),
    );
  },
);

t.test("a response, its stream and its tools arrive unchanged, and are counted", async (t) => {
  const added = await counts(async () => {
    const response = await client.responses.create({ model: `openai/${model}`, input: "hi" });
    t.match(response, responseObject(model, "greeting"));
    t.equal(response.output_text, greeting);
    const events: object[] = [];
    for await (const event of await client.responses.create({ model, input: "hi", stream: true }))
      events.push(event);
    t.same(events, responseEvents(model, "greeting"));
    t.match(await client.responses.create({ model, input: "hi", tools: responseTools }), {
      output: wantedCalls("call").map(({ id, name, input }) => ({
        type: "function_call",
        call_id: id,
        name,
        arguments: JSON.stringify(input),
      })),
    });
    const final = await client.responses
      .stream({
        model,
        input: [{ type: "function_call_output", call_id: "call_01Kyiv", output: "14" }],
        tools: responseTools,
      })
      .finalResponse();
    t.equal(final.output_text, report);
  });
  t.same(added, { requests: 4, tokens: 4 * tokenCounts.total });
});

t.test(
  "a stored response is retrieved, listed, cancelled and deleted, and none of it counts",
  async (t) => {
    const { id } = await client.responses.create({ model, input: "hi", background: true });
    const added = await counts(async () => {
      t.match(await client.responses.retrieve(id), { id, object: "response", status: "completed" });
      t.equal(
        (await client.responses.retrieve(id, { include: ["reasoning.encrypted_content"] })).id,
        id,
      );
      t.match(api.last(), {
        path: `/responses/${id}`,
        query: "?include%5B%5D=reasoning.encrypted_content",
      });
      t.same(
        (await client.responses.inputItems.list(id, { limit: 5 })).data.map((item) => item.type),
        ["message"],
      );
      t.equal(api.last().query, "?limit=5");
      t.equal((await client.responses.cancel(id)).status, "cancelled");
      await client.responses.delete(id);
      await t.rejects(client.responses.retrieve(id), {
        status: 404,
        type: "not_found_error",
        param: "id",
        message: "404 No such object",
      });
    });
    t.same(added, { requests: 0, tokens: 0 });
  },
);

t.test("an aborted stream ends the provider's, and releases its slot", async (t) => {
  const abandoned = new Promise<void>((resolve) => {
    api.intercept = (request, response) => {
      request.resume();
      response
        .writeHead(200, { "content-type": "text/event-stream" })
        .write(`data: ${JSON.stringify(chatChunks(model, "greeting", false)[1])}\n\n`);
      response.on("close", resolve);
    };
  });
  const stream = await client.chat.completions.create({ model, messages, stream: true });
  for await (const part of stream) {
    t.equal(part.choices[0]?.delta.content, "Good ");
    stream.controller.abort();
  }
  await abandoned;
  t.same(await counts(async () => {}), { requests: 0, tokens: 0 }, "no slot is held any more");
});

t.test("the SDK's own retries wait out a 429, for each kind of request", async (t) => {
  await limit("/slow", { period_seconds: 1, max_requests: 1 });
  const patient = sdk("/slow", 4);
  // On a slow machine each of the three may fall into a window of its own: once more, then.
  do {
    const before = api.calls.length;
    attempts = 0;
    await Promise.all([
      patient.chat.completions.create({ model, messages }),
      patient.responses.create({ model, input: "hi" }),
      patient.embeddings.create({ model, input: "hi" }),
    ]);
    t.equal(api.calls.length, before + 3, "all are answered eventually");
  } while (attempts === 3);
  t.ok(attempts > 3 && attempts <= 6, `after ${attempts} attempts, each at its time`);
  const impatient = sdk("/slow");
  const all = (): Promise<unknown> =>
    Promise.all([
      impatient.embeddings.create({ model, input: "hi" }),
      impatient.chat.completions.create({ model, messages }),
      impatient.chat.completions.create({ model, messages }),
    ]);
  let thrown: unknown;
  while (thrown === undefined)
    thrown = await all().then(
      () => undefined,
      (error: unknown) => error,
    );
  t.match(thrown, {
    status: 429,
    code: "rate_limit_exceeded",
    type: "rate_limit_error",
    message: "429 rate limit exceeded for /slow: 1s request limit of 1 reached",
  });
});

t.test("a wait of more than a minute isn't retried at all", async (t) => {
  await limit("/spent", { period_seconds: agesSeconds, max_requests: 1 });
  const patient = sdk("/spent", 4);
  await patient.chat.completions.create({ model, messages });
  const before = api.calls.length;
  attempts = 0;
  await t.rejects(patient.chat.completions.create({ model, messages }), {
    status: 429,
    code: "rate_limit_exceeded",
  });
  await t.rejects(patient.responses.create({ model, input: "hi" }), {
    status: 429,
    code: "rate_limit_exceeded",
  });
  t.equal(attempts, 2, "one for each");
  t.equal(api.calls.length, before);
});

t.test(
  "a wrong key, an unknown model and an unsupported operation are the SDK's own errors",
  async (t) => {
    const unauthorized = new OpenAI({ baseURL: `${url}/v1`, apiKey: "wrong", maxRetries: 0 });
    await t.rejects(unauthorized.models.list(), {
      status: 401,
      code: null,
      message: "401 authentication failed",
    });
    await t.rejects(unauthorized.responses.create({ model, input: "hi" }), {
      status: 401,
      type: "authentication_error",
      code: null,
    });
    await t.rejects(client.chat.completions.create({ model: "nope", messages }), {
      status: 404,
      code: "model_not_found",
      param: "model",
    });
    await t.rejects(client.embeddings.create({ model: "llama-test", input: "hi" }), {
      status: 400,
      message: "400 provider chatty does not offer embeddings",
    });
    t.same(
      await counts(async () =>
        t.rejects(client.responses.create({ model, input: 3 as unknown as string }), {
          status: 400,
          param: "input",
          message: /^400 input must be/,
        }),
      ),
      { requests: 0, tokens: 0 },
    );
  },
);
