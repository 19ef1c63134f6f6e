import t from "tap";
import { authenticatedCaller } from "../../../proxy/auth/caller.js";
import type { JsonOperation } from "../../../proxy/body/model-body.js";
import { MemoryLedger, MemoryShare } from "../../../proxy/capacity/memory-ledger.js";
import { nothingRefused } from "../../../proxy/dialects/fit/own-reasoning.js";
import { keptAsSignature } from "../../../proxy/dialects/shared/kept-reasoning.js";
import { readJsonCall, signedForGoogle } from "../../../proxy/handlers/json-call.js";
import type { ModelCall } from "../../../proxy/handlers/model-call.js";
import { SentBody } from "../../../proxy/upstream/sent-body.js";
import type { RequestBody } from "../../../proxy/upstream/upstream.js";
import { thinkingBudget } from "../../../proxy/usage/hidden-reasoning.js";
import { outputMax, sentRequestOf } from "../../../proxy/usage/usage-bound.js";
import { largeBodyBytes, translatedBodyFactor } from "../../../shared/bounds.js";
import type { ProviderConfig } from "../../../shared/config/config.js";
import { openaiChat } from "../../../shared/config/host-traits.js";
import { findPreset } from "../../../shared/config/presets.js";
import { providerTraits } from "../../../shared/config/provider-type.js";
import { isCollected } from "../../support/memory/is-collected.js";
import { exactly } from "../../support/patterns/exactly.js";
import { providerConfig } from "../../support/provider-config.js";
import { FakeExchange } from "../fake-exchange.js";
import { bytesOf, callContext } from "../fake-gateway.js";

const chatty = providerConfig({ name: "chatty", operations: new Set(["chat_completions"]) });
const claude = providerConfig({ name: "claude", type: "anthropic", maxTokensDefault: 777 });
const openai = providerConfig({ name: "openai" });
const vectors = providerConfig({ name: "vectors", operations: new Set(["embeddings"]) });

async function read(
  operation: JsonOperation,
  body: string,
  { bodyBytesMax = 10_000, gone = false }: { bodyBytesMax?: number; gone?: boolean } = {},
) {
  const exchange = new FakeExchange();
  exchange.sentPieces = [Buffer.from(body)];
  exchange.gone = gone;
  return readFrom(exchange, operation, bodyBytesMax);
}

function readFrom(exchange: FakeExchange, operation: JsonOperation, bodyBytesMax = 10_000) {
  const settings = { bodyBytesMax, nowMs: () => 1_761_000_000_500 };
  return readJsonCall(operation, callContext(exchange, settings));
}

function callIn(result: Awaited<ReturnType<typeof read>>): ModelCall {
  if (!result.ok) throw new Error(result.failure?.message ?? "gone");
  return result.call;
}

async function callOf(operation: JsonOperation, body: string): Promise<ModelCall> {
  return callIn(await read(operation, body));
}

function bytesIn(body: RequestBody): Buffer {
  if (!(body instanceof SentBody)) throw new Error("the body isn't one that is released");
  return body.wholeBody();
}

/** What goes to a provider, its body as text. */
function sentTo(call: ModelCall, provider: ProviderConfig, model: string) {
  const { body, ...rest } = call.requestTo(provider, model);
  return { ...rest, text: bytesIn(body).toString() };
}

const chat =
  '{ "model": "x" , "messages": [{"role":"user","content":"hi"}],"seed":12345678901234567890}';

t.test(
  "a provider of the same dialect gets the client's bytes, but for the model's name",
  async (t) => {
    const table = [
      { operation: "chat_completions", provider: chatty, body: chat },
      { operation: "responses", provider: openai, body: '{"input":"hi","model":"x","n":1.0}' },
      {
        operation: "messages",
        provider: claude,
        body: '{"messages":[],"model":"x","max_tokens":5}',
      },
      { operation: "embeddings", provider: vectors, body: '{"model":"x","input":[1,2]}' },
      { operation: "speech", provider: openai, body: '{"model":"x","input":"hi","stream":true}' },
      { operation: "images", provider: openai, body: '{"prompt":"hi","model":"x"}' },
    ] as const;
    for (const { operation, provider, body } of table) {
      const call = await callOf(operation, body);
      t.match(call, { operation, model: "x", isRepeatable: true, promptBytes: body.length });
      t.equal(call.problemAt(provider, "m"), null);
      t.same(sentTo(call, provider, "y"), {
        operation,
        text: body.replace('"x"', '"y"'),
        savedBytes: 0,
        hideUsageChunk: false,
        translator: null,
        dropped: [],
      });
      t.equal(bytesIn(call.requestTo(provider, "x").body), call.body, "the very same bytes");
    }
  },
);

t.test(
  "the usage of a streamed chat is requested, and kept from a client that didn't request it",
  async (t) => {
    const streamed = chat.replace("}]", '}],"stream":true');
    const call = await callOf("chat_completions", streamed);
    t.match(sentTo(call, chatty, "x"), {
      text: /"stream_options":\{"include_usage":true\}/,
      hideUsageChunk: true,
    });
    t.match(sentTo(call, { ...chatty, chat: { ...chatty.chat, takesStreamOptions: false } }, "x"), {
      text: streamed,
      hideUsageChunk: false,
    });
    const withUsage = await callOf(
      "chat_completions",
      streamed.replace("true", 'true,"stream_options":{"include_usage":true}'),
    );
    t.equal(sentTo(withUsage, chatty, "x").hideUsageChunk, false);
    t.notMatch(
      sentTo(await callOf("responses", '{"model":"x","stream":true}'), openai, "x").text,
      /stream_options/,
    );
  },
);

t.test(
  "for a provider of another dialect the request is translated, with the target's model",
  async (t) => {
    const call = await callOf("chat_completions", chat.replace(',"seed":12345678901234567890', ""));
    t.equal(call.problemAt(claude, "m"), null);
    const sent = sentTo(call, claude, "opus");
    t.equal(sent.operation, "messages");
    t.same(JSON.parse(sent.text), {
      model: "opus",
      messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
      max_tokens: 777,
    });
    sent.translator!.buffer(
      Buffer.from(
        '{"id":"msg_1","type":"message","role":"assistant","model":"opus","content":[{"type":"text","text":"ho"}],"stop_reason":"end_turn","usage":{"input_tokens":3,"output_tokens":2}}',
      ),
    );
    t.match(
      JSON.parse(sent.translator!.translateBuffered().bytes.toString()),
      exactly({
        object: "chat.completion",
        created: 1_761_000_000,
        model: "x",
        choices: [{ message: { content: "ho" }, finish_reason: "stop" }],
        usage: { total_tokens: 5 },
      }),
      "the answer is told under the name that the client knows",
    );
  },
);

t.test(
  "no number of a tool's is rounded on its way into another dialect and back, nor one of a schema",
  async (t) => {
    const input = '{"id":1750000000000000001,"sum":0.12345678901234567890}';
    const quoted = JSON.stringify(input);
    const schema =
      '{"type":"object","properties":{"id":{"type":"integer","maximum":9223372036854775807}}}';
    const chatTool = `"tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}]`;
    const chatCall = `{"id":"1","type":"function","function":{"name":"f","arguments":${quoted}}}`;
    const toolUse = `{"type":"tool_use","id":"1","name":"f","input":${input}}`;
    const toolResult = '{"type":"tool_result","tool_use_id":"1","content":"a"}';
    const user = '{"role":"user","content":"hi"}';
    const chatTurns = [
      user,
      `{"role":"assistant","tool_calls":[${chatCall}]}`,
      '{"role":"tool","tool_call_id":"1","content":"a"}',
    ].join(",");
    const messagesTurns = [
      user,
      `{"role":"assistant","content":[${toolUse}]}`,
      `{"role":"user","content":[${toolResult}]}`,
    ].join(",");
    const messagesTool = `"tools":[{"name":"f","input_schema":${schema}}]`;
    const items = [
      `{"type":"function_call","call_id":"1","name":"f","arguments":${quoted}}`,
      '{"type":"function_call_output","call_id":"1","output":"a"}',
    ].join(",");
    const responsesTool = `"tools":[{"type":"function","name":"f","parameters":${schema}}]`;
    const requests = {
      chat_completions: `{"model":"x","messages":[${chatTurns}],${chatTool}}`,
      messages: `{"model":"x","max_tokens":5,"messages":[${messagesTurns}],${messagesTool}}`,
      responses: `{"model":"x","input":[${items}],${responsesTool}}`,
    };
    const chatMessage = `{"role":"assistant","content":null,"tool_calls":[${chatCall}]}`;
    const answers = {
      chatty: [
        '{"id":"c","choices":[{"index":0,',
        `"message":${chatMessage},"finish_reason":"tool_calls"}]}`,
      ].join(""),
      claude: [
        `{"id":"m","type":"message","role":"assistant","content":[${toolUse}],`,
        '"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":1}}',
      ].join(""),
    };
    const callDelta = `{"index":0,"id":"1","function":{"name":"f","arguments":${input}}}`;
    const events = {
      chatty: [
        [
          `{"id":"c","choices":[{"index":0,"delta":{"tool_calls":[${callDelta}]},`,
          '"finish_reason":"tool_calls"}]}',
        ].join(""),
        "[DONE]",
      ],
      claude: [
        '{"type":"message_start","message":{"id":"m"}}',
        `{"type":"content_block_start","index":0,"content_block":${toolUse}}`,
        '{"type":"content_block_stop","index":0}',
        '{"type":"message_delta","delta":{"stop_reason":"tool_use"}}',
        '{"type":"message_stop"}',
      ],
    };
    for (const [operation, provider] of [
      ["chat_completions", claude],
      ["messages", chatty],
      ["responses", chatty],
      ["responses", claude],
    ] as const) {
      const call = await callOf(operation, requests[operation]);
      const at = `${operation} at ${provider.name}`;
      const { text, translator } = sentTo(call, provider, "y");
      t.ok(text.includes(provider === claude ? input : quoted), at);
      t.ok(text.includes(schema), at);
      const name = provider === claude ? "claude" : "chatty";
      translator!.buffer(Buffer.from(answers[name]));
      const answer = translator!.translateBuffered().bytes.toString();
      t.ok(answer.includes(operation === "messages" ? input : quoted), `the answer, ${at}`);
      if (operation === "responses") t.ok(answer.includes(schema), "which repeats the tools");
      const streamed = sentTo(call, provider, "y").translator!;
      const streamedText = Buffer.concat(
        events[name].map(
          (event) => streamed.push(Buffer.from(`data: ${event}\n\n`)) ?? Buffer.alloc(0),
        ),
      ).toString();
      t.ok(streamedText.includes(quoted), `the stream, ${at}`);
      if (operation === "responses")
        t.equal(streamedText.split(schema).length, 4, "of which three events repeat the tools");
    }
  },
);

t.test("what Gemini has signed is sent back to Gemini, and to no other provider", async (t) => {
  const call = await callOf(
    "responses",
    '{"model":"x","input":[{"type":"function_call","call_id":"1__signed__cw","name":"f","arguments":"{}"},{"type":"function_call_output","call_id":"1__signed__cw","output":"a"}]}',
  );
  const toolCall = { id: "1", type: "function", function: { name: "f", arguments: "{}" } };
  const sent = (provider: ProviderConfig) =>
    (JSON.parse(sentTo(call, provider, "y").text) as { messages: { tool_calls?: object[] }[] })
      .messages[0]!.tool_calls;
  t.same(sent(chatty), [toolCall]);
  const { chat } = providerTraits.gemini;
  for (const [name, type] of [
    ["gemini", "gemini"],
    ["vertex", "openai"],
  ] as const)
    t.same(
      sent({ ...chatty, name, type, chat }),
      [{ ...toolCall, extra_content: { google: { thought_signature: "s" } } }],
      name,
    );
  t.match(
    JSON.parse(sentTo(call, claude, "y").text),
    exactly({
      messages: [
        // Claude's conversations begin with the user.
        { role: "user", content: [{ type: "text" }] },
        { content: [{ type: "tool_use", id: "1" }] },
        { content: [{ tool_use_id: "1" }] },
      ],
    }),
  );
});

t.test(
  "the stream options of a translated stream are sent only to providers that accept them",
  async (t) => {
    const call = await callOf(
      "messages",
      '{"model":"x","max_tokens":5,"stream":true,"messages":[{"role":"user","content":"hi"}]}',
    );
    t.match(JSON.parse(sentTo(call, chatty, "llama").text), {
      model: "llama",
      stream: true,
      stream_options: { include_usage: true },
    });
    t.equal(
      (
        JSON.parse(
          sentTo(
            call,
            { ...chatty, name: "old", chat: { ...chatty.chat, takesStreamOptions: false } },
            "llama",
          ).text,
        ) as Record<string, unknown>
      )["stream_options"],
      undefined,
    );
  },
);

t.test(
  "a provider that offers neither the operation nor one to translate it to is refused; so is a request that its dialect has no form for, by the field",
  async (t) => {
    const call = await callOf("chat_completions", chat.replace('"seed"', '"n":2,"seed"'));
    t.match(call.problemAt(vectors, "m"), {
      status: 400,
      message: "provider vectors does not offer chat_completions",
      param: "model",
    });
    t.match(call.problemAt(claude, "m"), { status: 400, param: "n" });
    t.equal(call.problemAt(chatty, "m"), null);
    t.match((await callOf("embeddings", '{"model":"x","input":"hi"}')).problemAt(claude, "m"), {
      message: "provider claude does not offer embeddings",
    });
  },
);

t.test(
  "an invalid body is a 400, too large a one a 413, and a client that has left gets no answer",
  async (t) => {
    t.match(await read("responses", "[]"), { ok: false, failure: { status: 400, param: "body" } });
    t.match(await read("images", '{"model":"x"}'), {
      ok: false,
      failure: { status: 400, param: "prompt", message: "prompt is required" },
    });
    t.match(await read("chat_completions", chat, { bodyBytesMax: 10 }), {
      ok: false,
      failure: {
        status: 413,
        code: "request_too_large",
        message: "the body is larger than 10 bytes",
      },
    });
    t.same(await read("chat_completions", chat, { gone: true }), { ok: false, failure: null });
  },
);

t.test("a translation needs memory: without it the request is refused for now", async (t) => {
  const exchange = new FakeExchange();
  exchange.sentPieces = [Buffer.from(chat)];
  exchange.ledger = new MemoryLedger(2 * chat.length);
  exchange.ledger.take(1);
  exchange.memory = new MemoryShare(exchange.ledger);
  const call = callIn(await readFrom(exchange, "chat_completions"));
  t.equal(call.problemAt(chatty, "m"), null);
  t.match(call.problemAt(claude, "m"), { status: 503, code: "overloaded" });
  exchange.ledger.give(1);
  t.equal(call.problemAt(claude, "m"), null);
  t.equal(exchange.ledger.held, (1 + translatedBodyFactor) * chat.length);
  t.equal(call.problemAt(claude, "m"), null);
  t.equal(exchange.ledger.held, (1 + translatedBodyFactor) * chat.length, "once");
});

t.test("a body of OpenAI's other API is rewritten with memory of the request's", async (t) => {
  const mistaken = '{"model":"m","input":"hi","truncation":"auto","image":1}';
  const own = '{"model":"m","messages":[{"role":"user","content":"hi"}]}';
  const exchange = new FakeExchange();
  exchange.sentPieces = [Buffer.from(mistaken)];
  exchange.ledger = new MemoryLedger(2 * mistaken.length);
  exchange.memory = new MemoryShare(exchange.ledger);
  const call = callIn(await readFrom(exchange, "chat_completions"));
  const { text, dropped } = sentTo(call, chatty, "m");
  t.equal(text, own);
  t.same(dropped, ["truncation", "image"]);
  t.equal(exchange.ledger.held, own.length);
  call.releaseAttempts();
  t.equal(exchange.ledger.held, 0);
  const full = new FakeExchange();
  full.sentPieces = [Buffer.from(mistaken)];
  full.ledger = new MemoryLedger(2 * mistaken.length);
  full.ledger.take(1);
  full.memory = new MemoryShare(full.ledger);
  t.match(await readFrom(full, "chat_completions"), { ok: false, failure: { status: 503 } });
});

t.test("once it is answered, a large body is let go, and its memory is free", async (t) => {
  const prompt = "x".repeat(2 * largeBodyBytes);
  const bodies = {
    chat_completions: { messages: [{ role: "user", content: prompt }] },
    messages: { max_tokens: 5, messages: [{ role: "user", content: prompt }] },
    responses: { input: prompt, instructions: "be short", temperature: 0.5 },
  };
  for (const [operation, provider, left] of [
    ["chat_completions", chatty, ""],
    // What is known of the request while its answer is translated.
    ["chat_completions", claude, '{"stream":true}'],
    ["messages", chatty, '{"stream":true}'],
    ["responses", claude, '{"stream":true,"instructions":"be short","temperature":0.5}'],
  ] as const) {
    const exchange = new FakeExchange();
    const text = JSON.stringify({ model: "x", stream: true, ...bodies[operation] });
    exchange.sentPieces = [Buffer.from(text)];
    const call = callIn(await readFrom(exchange, operation, 1e9));
    t.equal(call.problemAt(provider, "y"), null);
    const { promptBytes } = call;
    const { body } = call.requestTo(provider, "y");
    const { body: again } = call.requestTo(provider, "y");
    t.ok(body instanceof SentBody && again instanceof SentBody);
    t.ok((await bytesOf(again!)).includes(prompt));
    call.releaseAttempts();
    t.throws(() => (again as SentBody).wholeBody(), operation);
    t.equal(call.promptBytes, promptBytes);
    t.equal(exchange.ledger.held, left.length, `${operation} to ${provider.name}`);
  }
});

t.test("once it is answered, a large body still says what bounds its charge", async (t) => {
  const asked = {
    ...{ max_tokens: 2000, n: 2, service_tier: "flex", metadata: { max_tokens: 7 } },
    thinking: { type: "enabled", budget_tokens: 1500 },
  };
  const messages = [{ role: "user", content: "x".repeat(2 * largeBodyBytes) }];
  const exchange = new FakeExchange();
  exchange.sentPieces = [Buffer.from(JSON.stringify({ model: "x", messages, ...asked }))];
  const call = callIn(await readFrom(exchange, "chat_completions", 1e9));
  t.equal(call.problemAt(chatty, "y"), null);
  const request = call.requestTo(chatty, "y");
  const sent = () =>
    sentRequestOf({ operation: "chat_completions", request, promptBytes: () => 1 });
  const whileHeld = sent().fields();
  t.match(whileHeld, { ...asked, metadata: undefined });
  call.releaseAttempts();
  t.same(sent().fields(), whileHeld);
  t.equal(outputMax(sent()), 4000);
  t.equal(thinkingBudget(sent()), 1500);
});

t.test(
  "once it is answered, nothing holds a large request or its translation, while the answer is translated",
  async (t) => {
    const exchange = new FakeExchange();
    const content = "x".repeat(2 * largeBodyBytes);
    const begin = async () => {
      const body = { model: "x", stream: true, messages: [{ role: "user", content }] };
      exchange.sentPieces = [Buffer.from(JSON.stringify(body))];
      const call = callIn(await readFrom(exchange, "chat_completions", 1e9));
      exchange.sentPieces = [];
      const { body: sent, translator } = call.requestTo(claude, "y");
      const refs = [call.body!, bytesIn(sent)].map((bytes) => new WeakRef(bytes));
      return { call, translator, refs };
    };
    const { call, translator, refs } = await begin();
    call.releaseAttempts();
    for (const ref of refs) t.ok(await isCollected(ref));
    const event = 'event: message_stop\ndata: {"type":"message_stop"}\n\n';
    t.doesNotThrow(() => translator!.push(Buffer.from(event)));
  },
);

t.test("what an answer repeats of its request survives the request", async (t) => {
  const call = await callOf(
    "responses",
    '{"model":"x","input":"hi","instructions":"be short","tools":[],"stream":true}',
  );
  const { translator } = call.requestTo(chatty, "y");
  call.releaseAttempts();
  const begun = translator!.push(
    Buffer.from('data: {"choices":[{"index":0,"delta":{"content":"a"}}]}\n\n'),
  );
  t.match(begun!.toString(), '"instructions":"be short"');
});

t.test("a field that a translation drops is named, or refused at a strict provider", async (t) => {
  const call = await callOf(
    "chat_completions",
    '{"model":"x","messages":[{"role":"user","content":"hi"}],"presence_penalty":1,"temperature":0.5}',
  );
  const strict = { ...claude, name: "strict", translation: "strict" } as const;
  t.equal(call.problemAt(claude, "claude-opus-4-7"), null);
  const { dropped, text } = sentTo(call, claude, "claude-opus-4-7");
  t.same(dropped, ["presence_penalty", "temperature"], "of the dialect, and of the model");
  t.same(JSON.parse(text), {
    model: "claude-opus-4-7",
    max_tokens: 777,
    messages: [{ role: "user", content: [{ type: "text", text: "hi" }] }],
  });
  t.match(call.problemAt(strict, "claude-opus-4-7"), { status: 400, param: "presence_penalty" });
  const warm = await callOf(
    "chat_completions",
    '{"model":"x","messages":[{"role":"user","content":"hi"}],"temperature":0.5}',
  );
  t.equal(warm.problemAt(strict, "claude-sonnet-4-5"), null, "an older model takes it");
  t.match(warm.problemAt(strict, "claude-opus-4-7"), { status: 400, param: "temperature" });
});

t.test(
  "a model that the client hasn't named gets what it takes, told; a named one gets all of it",
  async (t) => {
    const official = providerConfig({ name: "openai", chat: openaiChat });
    const send = async (fields: string, model: string, provider = official, isNamed = false) => {
      const call = await callOf(
        "chat_completions",
        `{"model":"smart","messages":[{"role":"user","content":"grüße"}],"seed":12345678901234567890${fields}}`,
      );
      const { body, dropped } = call.requestTo(provider, model, {
        isNamed,
        refused: nothingRefused,
      });
      return [bytesIn(body).toString(), dropped];
    };
    const bodyOf = (model: string, fields: string): string =>
      `{"model":"${model}","messages":[{"role":"user","content":"grüße"}],"seed":12345678901234567890${fields}}`;
    const cases: readonly (readonly [string, string, string, readonly string[]])[] = [
      [',"reasoning_effort":"high"', "gpt-4o", "", ["reasoning_effort"]],
      [',"reasoning_effort":"minimal"', "o4-mini", ',"reasoning_effort":"low"', []],
      [',"temperature":0.2', "gpt-5", "", ["temperature"]],
      [',"temperature":1', "gpt-5", "", []],
      [',"temperature":0.2', "gpt-4o", ',"temperature":0.2', []],
      [',"max_tokens":32000', "gpt-4o", ',"max_completion_tokens":16384', []],
      [',"max_tokens":"many"', "gpt-4o", ',"max_tokens":"many"', []],
      ["", "gpt-4o", "", []],
    ];
    for (const [fields, model, left, dropped] of cases) {
      t.same(await send(fields, model), [bodyOf(model, left), dropped], `${model} ${fields}`);
      t.same(await send(fields, model, official, true), [bodyOf(model, fields), []], "named");
      const strict = { ...official, translation: "strict" as const };
      t.same(await send(fields, model, strict), [bodyOf(model, fields), []], "strict");
    }
    t.same(
      await send(',"max_completion_tokens":50', "llama", chatty),
      [bodyOf("llama", ',"max_tokens":50'), []],
      "by the name that the host knows",
    );
  },
);

t.test(
  "a client's own request goes without what the host refuses, and else as it came",
  async (t) => {
    const mistral = providerConfig({ name: "mistral", chat: findPreset("mistral")!.chat });
    const text = (message: string, more = ""): string =>
      `{"model":"x", "seed":12345678901234567890,"messages":[${message}]${more}}`;
    const cases: readonly (readonly [string, string, readonly string[]])[] = [
      [
        text('{"role":"user","content":"grüße","name":"ann"}', ',"stream_options":{}'),
        '{"model":"x","seed":12345678901234567890,"messages":[{"role":"user","content":"grüße"}]}',
        ["messages[].name"],
      ],
      [text('{"role": "user","content":"grüße"}'), text('{"role": "user","content":"grüße"}'), []],
      [text("7"), text("7"), []],
    ];
    for (const [given, sent, dropped] of cases) {
      const call = await callOf("chat_completions", given);
      const fitted = call.requestTo(mistral, "x");
      t.same([bytesIn(fitted.body).toString(), fitted.dropped], [sent, dropped]);
      const untouched = { ...mistral, nativeRequests: "untouched" } as const;
      t.equal(bytesIn(call.requestTo(untouched, "x").body).toString(), given);
    }
    const anthropic = providerConfig({ name: "anthropic", type: "anthropic" });
    const thinking = '{"type":"thinking","thinking":"hm","signature":"unsigned"}';
    const said = (blocks: string): string =>
      `{"model":"claude-opus-4-8","max_tokens":9,"messages":[{"role":"assistant","content":[${blocks}]}]}`;
    const call = await callOf("messages", said(`${thinking},{"type":"text","text":"a"}`));
    const { body, dropped } = call.requestTo(anthropic, "claude-opus-4-8");
    t.equal(bytesIn(body).toString(), said('{"type":"text","text":"a"}'));
    t.same(dropped, ["messages[].content[] (thinking)"]);
  },
);

t.test("what is nested too deep to be translated goes to Gemini as it is", async (t) => {
  const contents = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const given = `{"model":"x","contents":${contents}}`;
  const call = callIn(await read("generate_content", given, { bodyBytesMax: 100_000 }));
  const gemini = providerConfig({ name: "gemini", type: "gemini" });
  t.equal(call.problemAt(gemini, "y"), null);
  const { body } = call.requestTo(gemini, "y", { rewriters: ["collapse_white_space"] });
  t.equal((await bytesOf(body!)).toString(), `{"model":"models/y","contents":${contents}}`);
  t.match(call.problemAt(chatty, "y"), { status: 400, param: "contents" });
});

t.test("a rewriter whose work a dialect doesn't take is passed over", async (t) => {
  const rule = '{"role":"system","content":"be brief"}';
  const call = await callOf(
    "chat_completions",
    `{"model":"m","messages":[${rule},{"role":"user","content":"hi"},{"role":"assistant","content":"ho"},${rule}]}`,
  );
  const gemini = providerConfig({ name: "gemini", type: "gemini" });
  for (const provider of [claude, chatty, gemini, openai]) {
    t.equal(call.problemAt(provider, "m"), null);
    const sent = call.requestTo(provider, "m", { rewriters: ["drop_duplicate_system"] });
    t.ok(sent.savedBytes === 0 || sent.savedBytes === rule.length, provider.name);
  }
  const input = await callOf(
    "responses",
    '{"model":"m","input":[{"role":"system","content":"s"},{"role":"assistant","content":"a"},{"role":"system","content":"s"}]}',
  );
  t.equal(input.problemAt(chatty, "m"), null);
  const sent = input.requestTo(chatty, "m", { rewriters: ["drop_duplicate_system"] });
  t.equal(sent.savedBytes, 0);
  t.match((await bytesOf(sent.body!)).toString(), /"role":"assistant".*"content":"s"/);
});

t.test("Google gets its own signatures, and its word for those of other models", async (t) => {
  const blocks = [{ type: "redacted_thinking", data: "ab+/" }];
  const own = [keptAsSignature({ text: "hm", blocks: [] }), keptAsSignature({ text: "", blocks })];
  const body = {
    contents: [
      {
        parts: [
          { functionCall: { name: "f" }, thoughtSignature: own[0] },
          { text: `"thoughtSignature":"${own[0]}" é` },
          { thought_signature: own[1] },
          { thoughtSignature: "CvcB" },
        ],
      },
    ],
  };
  const word = "skip_thought_signature_validator";
  const sent = JSON.parse(signedForGoogle(Buffer.from(JSON.stringify(body))).toString());
  t.strictSame(sent, {
    contents: [
      {
        parts: [
          { functionCall: { name: "f" }, thoughtSignature: word },
          { text: `"thoughtSignature":"${own[0]}" é` },
          { thought_signature: word },
          { thoughtSignature: "CvcB" },
        ],
      },
    ],
  });
  const others = Buffer.from('{"contents":[]}');
  t.equal(signedForGoogle(others), others);
});

t.test("long texts keep nothing in a large body from being found", async (t) => {
  const long = "x".repeat(30_000);
  const body = (content: string, more = ""): string =>
    `{"messages":[{"role":"user","content":"${content}"}],"max_tokens":5${more},"model":"x"}`;
  const accepted = async (text: string): Promise<ModelCall> =>
    callIn(await read("messages", text, { bodyBytesMax: 100_000 }));
  const whole = body(`${long}\\ud83d\\ude00`);
  t.equal(sentTo(await accepted(whole), claude, "x").text, whole);
  const half = sentTo(await accepted(body(`${long}\\ud83d`)), claude, "x");
  t.equal(half.text, body(`${long}\\ufffd`));
  t.same(half.dropped, ["halves of characters"]);

  const block = `{"type":"thinking","thinking":"","signature":"made_by:other:${long}"}`;
  const marked = `{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[${block},{"type":"text","text":"a"}]}],"max_tokens":5,"model":"x"}`;
  t.notMatch(sentTo(await accepted(marked), claude, "x").text, /thinking/);

  for (const [text, problem] of [
    [body(long, ',"stream":false,"stream":true'), "stream is given more than once"],
    [body(long).replace('"x"}', `"${"m".repeat(5000)}"}`), /^model must/],
    [body(`${long}\n`), "the body must be a JSON object: "],
    [body(`${long}\\x`), "the body must be a JSON object: "],
    [`${body(long)},`, "the body must be a JSON object: "],
  ] as const) {
    const result = await read("messages", text, { bodyBytesMax: 100_000 });
    t.match(result.ok ? "accepted" : result.failure?.message, problem);
  }
});

t.test("one slice of all large bodies is read in a turn, and callers take turns", async (t) => {
  const text = JSON.stringify({
    model: "x",
    messages: [{ role: "user", content: "a".repeat(1e6) }],
  });
  const { gateway } = callContext(new FakeExchange(), { bodyBytesMax: 2e6 });
  const ended: string[] = [];
  const readAs = async (path: string): Promise<void> => {
    const exchange = new FakeExchange();
    exchange.sentPieces = [Buffer.from(text)];
    const context = { ...callContext(exchange, {}), gateway, caller: authenticatedCaller(path) };
    callIn(await readJsonCall("chat_completions", context));
    ended.push(path);
  };
  let turns = 0;
  const count = (): void => {
    turns++;
    if (ended.length < 5) setImmediate(count);
  };
  setImmediate(count);
  await Promise.all(["/flood", "/flood", "/flood", "/flood", "/other"].map(readAs));
  t.equal(ended[0], "/other");
  t.ok(turns >= ended.length * 4, `${turns} turns`);
});
