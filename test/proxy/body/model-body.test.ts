import assert from "node:assert/strict";
import { isUtf8 } from "node:buffer";
import fc from "fast-check";
import t from "tap";
import {
  type ModelBody,
  parseModelBody,
  rewriteModelBody,
} from "../../../proxy/body/model-body.js";
import { subjectBytesMax } from "../../../shared/bounds.js";
import {
  type MemberText,
  memberText,
  objectText,
  otherMembers,
  spacing,
  stringLiteral,
  valueText,
} from "../json-text.js";

function accepted(text: string): Omit<ModelBody, "members"> {
  const result = parseModelBody("chat_completions", Buffer.from(text));
  if (!result.ok) throw new Error(`refused: ${result.failure.message}`);
  const { members: _, ...body } = result.body;
  return body;
}

function refusal(body: string | Buffer): string {
  const result = parseModelBody("chat_completions", Buffer.from(body));
  return result.ok
    ? "accepted"
    : `${result.failure.status} ${result.failure.param}: ${result.failure.message}`;
}

t.test("what routing needs is taken from the body", async (t) => {
  const cases: readonly (readonly [string, Omit<ModelBody, "members">])[] = [
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

t.test("other repeated keys pass, for the upstream to judge", async (t) => {
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
      [
        parseModelBody("chat_completions", bytes).ok,
        parseModelBody("chat_completions", bytes, isUtf8).ok,
      ],
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

t.test("without an edit the very same Buffer comes back", async (t) => {
  const plain = Buffer.from('{"model":"m","messages":[]}');
  t.equal(rewriteModelBody(plain, {}), plain);
  const asking = Buffer.from('{"model":"m","messages":[],"stream_options":{"include_usage":true}}');
  t.equal(rewriteModelBody(asking, { includeUsage: true }), asking, "usage is asked for already");
});

t.test("an edit leaves every other byte alone", async (t) => {
  const cases: readonly (readonly [string, { model?: string; includeUsage?: true }, string])[] = [
    [
      '{ "model" : "a" , "seed":12345678901234567890,"messages":[] }',
      { model: "b" },
      '{ "model" : "b" , "seed":12345678901234567890,"messages":[] }',
    ],
    [
      '{"messages":[],"mod\\u0065l":"a"}',
      { model: 'q"é' },
      '{"messages":[],"mod\\u0065l":"q\\"é"}',
    ],
    [
      '{"model":"a","messages":[] }',
      { includeUsage: true },
      '{"model":"a","messages":[],"stream_options":{"include_usage":true} }',
    ],
    [
      '{"stream_options":null,"model":"a","messages":[]}',
      { includeUsage: true },
      '{"stream_options":{"include_usage":true},"model":"a","messages":[]}',
    ],
    [
      '{"stream_options": { } ,"model":"a","messages":[]}',
      { includeUsage: true, model: "b" },
      '{"stream_options": {"include_usage":true } ,"model":"b","messages":[]}',
    ],
    [
      '{"model":"a","messages":[],"stream_options":{"x": 1 }}',
      { includeUsage: true, model: "bb" },
      '{"model":"bb","messages":[],"stream_options":{"x": 1,"include_usage":true }}',
    ],
    [
      '{"model":"a","messages":[],"stream_options":{"include_usage": false ,"x":1}}',
      { includeUsage: true },
      '{"model":"a","messages":[],"stream_options":{"include_usage": true ,"x":1}}',
    ],
    [
      '{"model":"a","messages":[],"stream_options":{"include_usage":null}}',
      { includeUsage: true },
      '{"model":"a","messages":[],"stream_options":{"include_usage":true}}',
    ],
    [
      '{"messages":[{"model":"x"}],"model":"a"}',
      { model: "b", includeUsage: true },
      '{"messages":[{"model":"x"}],"model":"b","stream_options":{"include_usage":true}}',
    ],
  ];
  for (const [before, edits, after] of cases)
    t.equal(rewriteModelBody(Buffer.from(before), edits).toString(), after);
});

/**
 * The options of a stream in every state in which they are accepted, with the text that they must
 * become.
 */
const options: fc.Arbitrary<{ readonly member: MemberText; readonly asking: string } | null> =
  fc.oneof(
    fc.constant(null),
    memberText("stream_options", fc.constant("null")).map((member) => ({
      member,
      asking: '{"include_usage":true}',
    })),
    fc
      .tuple(
        otherMembers(["include_usage"]),
        fc.option(memberText("include_usage", fc.constantFrom("true", "false", "null")), {
          nil: null,
        }),
        fc.nat(4),
        spacing,
      )
      .chain(([others, include, at, inside]) => {
        const members =
          include === null ? others : [...others.slice(0, at), include, ...others.slice(at)];
        const last = members[members.length - 1];
        const asking =
          include !== null
            ? objectText(
                members.map((member) =>
                  member === include ? { ...member, value: "true" } : member,
                ),
              )
            : last === undefined
              ? `{"include_usage":true${inside}}`
              : objectText([
                  ...members.slice(0, -1),
                  { ...last, value: `${last.value},"include_usage":true` },
                ]);
        return memberText("stream_options", fc.constant(objectText(members, inside))).map(
          (member) => ({ member, asking }),
        );
      }),
  );

/** A body that is accepted, as its members. */
const body = fc
  .tuple(
    memberText(
      "model",
      stringLiteral.filter((literal) => (JSON.parse(literal) as string).trim() !== ""),
    ),
    memberText(
      "messages",
      fc.array(valueText, { maxLength: 3 }).map((items) => `[${items.join(",")}]`),
    ),
    options,
    otherMembers(["model", "messages", "stream", "stream_options"]),
  )
  .chain(([model, messages, streamOptions, others]) => {
    const members = [
      model,
      messages,
      ...(streamOptions === null ? [] : [streamOptions.member]),
      ...others,
    ];
    return fc
      .shuffledSubarray(members, { minLength: members.length })
      .map((shuffled) => ({ members: shuffled, model, streamOptions }));
  });

t.test("whatever the body, an edit changes its value and nothing else", async () => {
  fc.assert(
    fc.property(
      body,
      fc.option(fc.string({ unit: "binary", minLength: 1 }), { nil: undefined }),
      fc.boolean(),
      fc.boolean(),
      spacing,
      ({ members, model, streamOptions }, newModel, ask, scanned, around) => {
        const bytes = Buffer.from(around + objectText(members) + around);
        const parsed = parseModelBody("chat_completions", bytes);
        if (!parsed.ok) throw new Error(parsed.failure.message);
        assert.equal(parsed.body.model, JSON.parse(model.value));
        const rewritten = rewriteModelBody(
          bytes,
          { model: newModel, includeUsage: ask ? true : undefined },
          scanned ? parsed.body.members : undefined,
        );

        let expected: MemberText[] = members.map((member) => {
          if (member === model && newModel !== undefined)
            return { ...member, value: JSON.stringify(newModel) };
          return ask && member === streamOptions?.member
            ? { ...member, value: streamOptions.asking }
            : member;
        });
        if (ask && streamOptions === null)
          expected = expected.map((member, i) =>
            i === expected.length - 1
              ? { ...member, value: `${member.value},"stream_options":{"include_usage":true}` }
              : member,
          );
        assert.equal(rewritten.toString(), around + objectText(expected) + around);

        const meaning = JSON.parse(bytes.toString()) as Record<string, unknown>;
        if (newModel !== undefined) meaning["model"] = newModel;
        if (ask)
          meaning["stream_options"] = {
            ...(meaning["stream_options"] as object | null),
            include_usage: true,
          };
        assert.equal(JSON.stringify(JSON.parse(rewritten.toString())), JSON.stringify(meaning));
        if (newModel === undefined && !ask) assert.equal(rewritten, bytes);
      },
    ),
    { numRuns: 1500 },
  );
});
