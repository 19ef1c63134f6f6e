import assert from "node:assert/strict";
import { isUtf8 } from "node:buffer";
import fc from "fast-check";
import t from "tap";
import {
  bodyText,
  type ModelBody,
  type OtherModel,
  parseModelBody,
} from "../../../proxy/body/model-body.js";
import { subjectBytesMax } from "../../../shared/bounds.js";

type Read = Omit<
  ModelBody,
  | "members"
  | "reasoning"
  | "responsesNeeds"
  | "writtenModel"
  | "modelField"
  | "isMistaken"
  | "mayRunOthers"
  | "carriedTools"
>;

const parsed = (
  operation: Parameters<typeof parseModelBody>[0],
  bytes: Buffer,
  isUtf8?: (bytes: Buffer) => boolean,
  other?: OtherModel,
): ReturnType<typeof parseModelBody> =>
  parseModelBody(operation, bodyText(operation, bytes), isUtf8, other);

function accepted(text: string): Read {
  const result = parsed("chat_completions", Buffer.from(text));
  if (!result.ok) throw new Error(`refused: ${result.failure.message}`);
  const {
    reasoning: __,
    responsesNeeds: ____,
    mayRunOthers: ___,
    carriedTools: ______,
    writtenModel,
    modelField: _____,
    isMistaken: _______,
    ...body
  } = result.body;
  assert.equal(writtenModel, body.model);
  return body;
}

function refusal(body: string | Buffer): string {
  const result = parsed("chat_completions", Buffer.from(body));
  return result.ok
    ? "accepted"
    : `${result.failure.status} ${result.failure.param}: ${result.failure.message}`;
}

t.test("what routing needs is taken from the body", async (t) => {
  const cases: readonly (readonly [string, Read])[] = [
    ['{"model":"gpt-4o","messages":[]}', { model: "gpt-4o", stream: false, includeUsage: false }],
    [
      '{"model":" gpt-4o","messages":[],"stream":true}',
      { model: " gpt-4o", stream: true, includeUsage: false },
    ],
    [
      '{"model":"m","messages":[{}],"stream":null,"stream_options":null}',
      { model: "m", stream: false, includeUsage: false },
    ],
    [
      '{"model":"m","messages":[],"stream":true,"stream_options":{"include_usage":true}}',
      { model: "m", stream: true, includeUsage: true },
    ],
    [
      '{"model":"m","messages":[],"stream":true,"stream_options":{"include_usage":false}}',
      { model: "m", stream: true, includeUsage: false },
    ],
    [
      '{"model":"m","messages":[],"stream":true,"stream_options":{"include_usage":null,"x":1}}',
      { model: "m", stream: true, includeUsage: false },
    ],
    [
      '{"mod\\u0065l":"mod\\u00e9l","messages":[]}',
      { model: "modél", stream: false, includeUsage: false },
    ],
    [
      '{"model":"模型-é-🎉","messages":[]}',
      { model: "模型-é-🎉", stream: false, includeUsage: false },
    ],
    [
      '{"model":"a\\u00e9b","messages":["é"]}',
      { model: "aéb", stream: false, includeUsage: false },
    ],
    [
      '{"model":"m","messages":[{"model":"x","stream":1}],"metadata":{"model":1,"stream_options":2}}',
      { model: "m", stream: false, includeUsage: false },
    ],
    [
      '{"__proto__":{"stream":true},"model":"m","messages":[]}',
      { model: "m", stream: false, includeUsage: false },
    ],
  ];
  for (const [text, expected] of cases) t.same(accepted(text), expected, text);
});

t.test("a model may be named elsewhere, and a moderation needs none", async (t) => {
  const least = { name: "omni-moderation-latest", overridesBody: false };
  const meant = { name: "of-path", overridesBody: true };
  const modelOf = (...args: Parameters<typeof parsed>): readonly (string | null)[] => {
    const result = parsed(...args);
    return result.ok ? [result.body.model, result.body.writtenModel] : [result.failure.message];
  };
  const bytes = Buffer.from;
  t.same(modelOf("moderations", bytes('{"input":"x"}'), undefined, least), [
    "omni-moderation-latest",
    null,
  ]);
  t.same(modelOf("moderations", bytes('{"input":"é","model":null}'), undefined, least), [
    "omni-moderation-latest",
    null,
  ]);
  t.same(modelOf("moderations", bytes('{"input":"x","model":"é"}'), undefined, least), ["é", "é"]);
  t.same(modelOf("moderations", bytes('{"input":"x","model":7}'), undefined, least), [
    "model must be a string, not a number",
  ]);
  t.same(modelOf("responses", bytes("{}"), undefined, meant), ["of-path", null]);
  t.same(modelOf("responses", bytes('{"model":"other"}'), undefined, meant), ["of-path", "other"]);
  t.same(modelOf("responses", bytes('{"model":"a","model":"of-path"}'), undefined, meant), [
    "model is given more than once",
  ]);
});

t.test("a wrong body is refused with the field's name", async (t) => {
  const cases: readonly (readonly [string | Buffer, string | RegExp])[] = [
    ["", /^400 body: the body must be a JSON object: /],
    ["{", /^400 body: the body must be a JSON object: /],
    ['{"model":"m","messages":[]}x', /^400 body: the body must be a JSON object: /],
    ['\ufeff{"model":"m","messages":[]}', /^400 body: the body must be a JSON object: /],
    ['{"model":"m\n","messages":[]}', /^400 body: the body must be a JSON object: /],
    ['\u00a0{"model":"m","messages":[]}', /^400 body: the body must be a JSON object: /],
    ["[1]", "400 body: the body must be a JSON object, not an array"],
    ["null", "400 body: the body must be a JSON object, not null"],
    ['"text"', "400 body: the body must be a JSON object, not a string"],
    [
      Buffer.from('{"model":"m","messages":["\xe9"]}', "latin1"),
      "400 body: the body must be a JSON object: it is not valid UTF-8",
    ],
    ["{}", "400 model: model is required"],
    ['{"model":null,"messages":[]}', "400 model: model is required"],
    ['{"model":7,"messages":[]}', "400 model: model must be a string, not a number"],
    ['{"model":{},"messages":[]}', "400 model: model must be a string, not an object"],
    ['{"model":" \\t\\u00a0","messages":[]}', "400 model: model must not be empty"],
    [
      `{"model":"${"m".repeat(subjectBytesMax + 1)}","messages":[]}`,
      `400 model: model must be at most ${subjectBytesMax} bytes`,
    ],
    ...["0000", "0002", "001F", "007F", "0085", "D800", "DFFF"].map(
      (code) =>
        [
          `{"model":"local/m\\u${code}${"x".repeat(70)}","messages":[]}`,
          `400 model: model must not hold control characters or halves of characters, as U+${code}`,
        ] as const,
    ),
    ['{"model":"m"}', "400 messages: messages is required"],
    ['{"model":"m","messages":null}', "400 messages: messages is required"],
    ['{"model":"m","messages":{}}', "400 messages: messages must be an array, not an object"],
    [
      '{"model":"m","messages":[],"stream":"true"}',
      "400 stream: stream must be true or false, not a string",
    ],
    [
      '{"model":"m","messages":[],"stream":1}',
      "400 stream: stream must be true or false, not a number",
    ],
    [
      '{"model":"m","messages":[],"stream_options":[]}',
      "400 stream_options: stream_options must be an object, not an array",
    ],
    [
      '{"model":"m","messages":[],"stream_options":true}',
      "400 stream_options: stream_options must be an object, not a boolean",
    ],
    [
      '{"model":"m","messages":[],"stream_options":{"include_usage":1}}',
      "400 stream_options.include_usage: stream_options.include_usage must be true or false, not a number",
    ],
    ['{"model":"m","messages":[],"model":"m"}', "400 model: model is given more than once"],
    [
      '{"model":"m","messages":[],"Model":"n"}',
      "400 Model: Model is given: the field is called model",
    ],
    ['{"model":"m","messages":[],"mod\\u0065l":"n"}', "400 model: model is given more than once"],
    [
      '{"model":"m","messages":[],"stream":true,"\\u0073tream":false}',
      "400 stream: stream is given more than once",
    ],
    [
      '{"model":"m","messages":[],"stream_options":null,"stream_options":{}}',
      "400 stream_options: stream_options is given more than once",
    ],
    [
      '{"model":"m","messages":[],"stream_options":{"include_usage":true,"include_usage":false}}',
      "400 stream_options.include_usage: stream_options.include_usage is given more than once",
    ],
  ];
  for (const [body, expected] of cases) {
    if (typeof expected === "string") t.equal(refusal(body), expected);
    else t.match(refusal(body), expected);
  }
});

t.test("other repeated keys pass; the upstream checks them", async (t) => {
  t.same(accepted('{"model":"m","messages":[],"messages":[1],"x":1,"x":2}'), {
    model: "m",
    stream: false,
    includeUsage: false,
  });
});

t.test("a model as long as the bound is accepted", async (t) => {
  const model = `${"m".repeat(subjectBytesMax - 2)}é`;
  t.equal(accepted(`{"model":"${model}","messages":[]}`).model, model);
});

t.test("bytes are refused exactly when they aren't UTF-8", async () => {
  const head = Buffer.from('{"model":"m","messages":["');
  const tail = Buffer.from('"]}');
  const agrees = (inner: readonly number[]): void => {
    const bytes = Buffer.concat([head, Buffer.from(inner), tail]);
    assert.deepEqual(
      [parsed("chat_completions", bytes).ok, parsed("chat_completions", bytes, isUtf8).ok],
      [isUtf8(bytes), isUtf8(bytes)],
      inner.map((byte) => byte.toString(16)).join(" "),
    );
  };
  for (let first = 0x80; first <= 0xff; first++) {
    for (let second = 0x78; second <= 0xff; second++)
      for (const rest of [[], [0x80], [0xbf, 0x80], [0x80, 0xc0]]) agrees([first, second, ...rest]);
  }
  const edge = fc.constantFrom(
    0x41,
    0x7f,
    0x80,
    0x8f,
    0x90,
    0x9f,
    0xa0,
    0xbf,
    0xc2,
    0xdf,
    0xe0,
    0xe1,
    0xed,
    0xef,
    0xf0,
    0xf1,
    0xf4,
    0xf5,
  );
  fc.assert(fc.property(fc.array(edge, { maxLength: 8 }), agrees), { numRuns: 5000 });
});

t.test("text that is cut inside of a character is not UTF-8", async (t) => {
  for (const cut of [
    Buffer.from([0xc3]),
    Buffer.from([0xe4, 0xbd]),
    Buffer.from([0xf0, 0x9f, 0x8e]),
  ]) {
    t.match(
      refusal(Buffer.concat([Buffer.from('{"model":"m","messages":["'), cut, Buffer.from('"]}')])),
      /not valid UTF-8/,
    );
  }
});

t.test(
  "a tool of pictures that may be another one to its provider may run other models",
  async (t) => {
    const mayRun = (tool: string): boolean => {
      const body = `{"model":"m","messages":[],"tools":[${tool}]}`;
      const read = parsed("chat_completions", Buffer.from(body));
      if (!read.ok) throw new Error(read.failure.message);
      return read.body.mayRunOthers;
    };
    t.equal(mayRun('{"type":"image_generation","model":"x"}'), false);
    t.equal(mayRun('7,{"type":"image_generation"},{"type":"function","type":"function"}'), true);
    t.equal(mayRun('{"type":"advisor","model":"x","type":"image_generation"}'), true);
    t.equal(mayRun('{"type":"advisor","model":"x","t\\u0079pe":"image_generation"}'), true);
  },
);

t.test("no message quotes lists of tokens, which are passed over", async () => {
  const tokens = Array.from({ length: 10_000 }, (_, at) => at).join();
  const text = `{"model":"m","input":[${tokens},]}`;
  const result = parsed("embeddings", Buffer.from(text));
  assert.ok(!result.ok);
  assert.equal(result.failure.message, "the body must be a JSON object: it is not valid JSON");
});

t.test("a body has a bounded number of fields, at any size", async (t) => {
  const withFields = (count: number, padding: number): string =>
    `{"model":"m","messages":["${"x".repeat(padding)}"],${Array.from(
      { length: count },
      (_, at) => `"n${at}":1`,
    ).join()}}`;
  for (const padding of [0, 100_000]) {
    t.equal(accepted(withFields(998, padding)).model, "m");
    t.equal(refusal(withFields(999, padding)), "400 body: the body must have at most 1000 fields");
  }
  t.equal(refusal(withFields(100_000, 0)), "400 body: the body must have at most 1000 fields");
});

t.test("an interaction names a model or an agent", async (t) => {
  const read = (body: string) => {
    const result = parsed("interactions", Buffer.from(body));
    return result.ok
      ? `${result.body.modelField} ${result.body.model}`
      : `${result.failure.param}: ${result.failure.message}`;
  };
  t.equal(read('{"model":"m","input":"hi"}'), "model m");
  t.equal(read('{"agent":"deep-research","input":{"type":"text"}}'), "agent deep-research");
  t.equal(read('{"model":"m","agent":null,"previous_interaction_id":"i"}'), "model m");
  t.equal(read('{"model":"m","agent":"a"}'), "agent: model and agent exclude each other");
  t.equal(read('{"agent":1}'), "agent: agent must be a string, not a number");
  t.equal(read('{"agent":"a","agent":"b"}'), "agent: agent is given more than once");
  t.equal(read('{"input":"hi"}'), "model: model is required");
  t.match(read('{"model":"m","input":1}'), /^input: /);
});
