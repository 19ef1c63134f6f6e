import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { editModelBody } from "../../../proxy/body/edit-model-body.js";
import { bodyText, parseModelBody } from "../../../proxy/body/model-body.js";
import { anyText } from "../../support/any-text.js";
import {
  type MemberText,
  memberText,
  objectText,
  otherMembers,
  spacing,
  stringLiteral,
  valueText,
} from "../json-text.js";

t.test("without an edit the same Buffer is returned", async (t) => {
  const plain = Buffer.from('{"model":"m","messages":[]}');
  t.equal(editModelBody(plain, {}), plain);
  const asking = Buffer.from('{"model":"m","messages":[],"stream_options":{"include_usage":true}}');
  t.equal(editModelBody(asking, { includeUsage: true }), asking, "usage is asked for already");
});

t.test("a model is added to an object of nothing", async (t) => {
  t.equal(editModelBody(Buffer.from(" {} "), { model: "m" }).toString(), ' {"model":"m"} ');
});

t.test("an edit doesn't change any other byte", async (t) => {
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
    t.equal(editModelBody(Buffer.from(before), edits).toString(), after);
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
      stringLiteral.filter((literal) => {
        const name = JSON.parse(literal) as string;
        return name.trim() !== "" && !/[\p{Cc}\p{Cs}]/u.test(name);
      }),
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
      fc.record({
        newModel: fc.option(anyText({ minLength: 1 }), { nil: undefined }),
        ask: fc.boolean(),
        scanned: fc.boolean(),
        around: spacing,
      }),
      ({ members, model, streamOptions }, { newModel, ask, scanned, around }) => {
        const bytes = Buffer.from(around + objectText(members) + around);
        const parsed = parseModelBody("chat_completions", bodyText("chat_completions", bytes));
        if (!parsed.ok) throw new Error(parsed.failure.message);
        assert.equal(parsed.body.model, JSON.parse(model.value));
        const rewritten = editModelBody(
          bytes,
          { model: newModel, includeUsage: ask ? true : undefined },
          scanned ? parsed.members : undefined,
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
