import fc from "fast-check";
import t from "tap";
import {
  cutTexts,
  findPrompt,
  type PromptDialect,
  withoutCuts,
} from "../../../../proxy/body/rewriters/rewrite-places.js";
import { stringLiteral } from "../../json-text.js";

function latin1(text: string): string {
  return Buffer.from(text).toString("latin1");
}

function found(body: string, dialect: PromptDialect): readonly string[] {
  const bytes = latin1(body);
  const { texts, instructions } = findPrompt(bytes, dialect);
  const quoted = (start: number, end: number): string =>
    Buffer.from(bytes.slice(start, end), "latin1").toString();
  return [
    ...texts.map(({ start, end, by }) => `${by} ${quoted(start, end)}`),
    ...instructions.map(({ start, end }) => `! ${quoted(start, end)}`),
  ];
}

t.test("the texts of chat messages, and the instructions", async (t) => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['{"model":"m","messages":[]}', []],
    ['{"messages":[{"role":"user","content":"é"}]}', ['user "é"']],
    [
      '{"messages":[{"content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"b"}},{"type":"text","text":"c"}],"role":"user"}]}',
      ['user "a"', 'user "c"'],
    ],
    [
      '{"messages":[{"role":"tool","tool_call_id":"1","content":"a"},{"role":"function","name":"f","content":"b"}]}',
      ['tool "a"', 'tool "b"'],
    ],
    [
      '{"messages":[{"role":"system","content":"a"},{"role":"developer","content":"b"}]}',
      [
        'system "a"',
        'system "b"',
        '! {"role":"system","content":"a"}',
        '! {"role":"developer","content":"b"}',
      ],
    ],
    ['{"mess\\u0061ges":[{"ro\\u006ce":"us\\u0065r","content":"a\\nb"}]}', ['user "a\\nb"']],
    // An assistant's texts, unknown roles, and what isn't a prompt.
    [
      '{"messages":[{"role":"assistant","content":"a"},{"role":"critic","content":"b"},{"role":"constructor","content":"c"},{"content":"d"}],"system":"e","input":"f"}',
      [],
    ],
    // What has no form that is known, or might be read in two ways.
    [
      '{"messages":[1,null,"a",[],{"role":1,"content":"b"},{"role":"user"},{"role":"user","content":null},{"role":"user","content":7},{"role":"user","content":{"text":"c"}}]}',
      [],
    ],
    [
      '{"messages":[{"role":"user","content":["a",{"type":"text"},{"type":"text","text":1},{"type":"refusal","text":"b"}]}]}',
      [],
    ],
    [
      '{"messages":[{"role":"user","role":"tool","content":"a"},{"role":"user","content":"b","content":"c"}]}',
      [],
    ],
    ['{"messages":[{"role":"user","content":"a"}],"messages":[]}', []],
    ['{"messages":[{"role":"user","content":[{"type":"tool_result","content":"a"}]}]}', []],
  ];
  for (const [body, expected] of cases) t.same(found(body, "chat_completions"), expected, body);
});

t.test("the texts of Anthropic's messages, with system and tool results", async (t) => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    [
      '{"system":"a","messages":[{"role":"user","content":"b"},{"role":"assistant","content":"c"}]}',
      ['system "a"', 'user "b"'],
    ],
    [
      '{"system":[{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},{"type":"x","text":"b"}],"messages":[]}',
      ['system "a"', '! {"type":"text","text":"a","cache_control":{"type":"ephemeral"}}'],
    ],
    [
      '{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"a"},{"type":"text","text":"b"},{"type":"tool_result","content":[{"type":"text","text":"c"},{"type":"image","source":{}}]},{"type":"tool_result"}]}]}',
      ['tool "a"', 'user "b"', 'tool "c"'],
    ],
    ['{"messages":[{"role":"user","content":"a"}],"system":"b"}', ['user "a"', 'system "b"']],
    [
      '{"messages":[{"role":"assistant","content":[{"type":"tool_use","input":{"text":"a"}},{"type":"thinking","thinking":"b"}]}]}',
      [],
    ],
  ];
  for (const [body, expected] of cases) t.same(found(body, "messages"), expected, body);
});

t.test("what is cut out of a text is cut out of its literal, however it is written", async () => {
  const cut = /[a-z ]/g;
  fc.assert(
    fc.property(stringLiteral, stringLiteral, (first, second) => {
      const messages = [
        `{"role":"user","content":${first}}`,
        '{"role":"assistant","content":" "}',
        `{"role":"user","content":[{"type":"text","text":${second}}]}`,
      ];
      const body = latin1(`{"messages":[${messages.join(",")}]}`);
      const { texts } = findPrompt(body, "chat_completions");
      const { cuts, savedBytes } = cutTexts(body, texts, (text) =>
        [...text.matchAll(cut)].map(({ index }) => ({ start: index, end: index + 1 })),
      );
      const after = JSON.parse(Buffer.from(withoutCuts(body, cuts), "latin1").toString()) as {
        messages: [{ content: string }, unknown, { content: [{ text: string }] }];
      };
      const [a, b] = [first, second].map((literal) => JSON.parse(literal) as string) as [
        string,
        string,
      ];
      return (
        after.messages[0].content === a.replace(cut, "") &&
        after.messages[2].content[0].text === b.replace(cut, "") &&
        savedBytes === (a + b).length - (a + b).replace(cut, "").length
      );
    }),
    { numRuns: 1000 },
  );
});

t.test("the texts of Gemini's own API, and the instructions", async (t) => {
  const cases: readonly (readonly [string, readonly string[]])[] = [
    ['{"contents":[]}', []],
    [
      '{"contents":[{"parts":[{"text":"é"}]},{"role":"user","parts":[{"text":"b"}]}]}',
      ['user "é"', 'user "b"'],
    ],
    ['{"contents":[{"role":"model","parts":[{"text":"a"}]},{"role":7,"parts":[{"text":7}]}]}', []],
    [
      '{"system_instruction":{"parts":[{"text":"a"},{"text":"a","thought":true}]},"contents":[]}',
      ['system "a"', 'system "a"', '! {"text":"a"}'],
    ],
    [
      '{"contents":[{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":"{ }","n":1}}}]}]}',
      ['tool "{ }"'],
    ],
    [
      '{"contents":[{"role":"function","parts":[{"function_response":{"response":{"a":"b","a":"c"}}}]}]}',
      [],
    ],
    [
      '{"generateContentRequest":{"model":"m","systemInstruction":{"parts":[{"text":"a"}]},"contents":[{"parts":[{"text":"b"}]}]}}',
      ['system "a"', 'user "b"', '! {"text":"a"}'],
    ],
    [
      '{"systemInstruction":{"parts":[{"text":"a"}]},"system_instruction":{"parts":[{"text":"b"}]}}',
      [],
    ],
    ['{"systemInstruction":"a","contents":"b","generateContentRequest":null}', []],
    ['{"contents":["a",{"parts":"b"},{"parts":["c",{"functionResponse":{"response":"d"}}]}]}', []],
  ];
  for (const [body, expected] of cases)
    t.strictSame(found(body, "generate_content"), expected, body);
});
