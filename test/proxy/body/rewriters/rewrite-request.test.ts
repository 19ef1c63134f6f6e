import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import {
  findPrompt,
  type PromptDialect,
  withoutCuts,
} from "../../../../proxy/body/rewriters/rewrite-places.js";
import {
  chooseRewriters,
  dropDuplicateSystem,
  rewriteRequest,
} from "../../../../proxy/body/rewriters/rewrite-request.js";
import { rewriterNames } from "../../../../shared/config/settings/rewriter-settings.js";
import { providerConfig } from "../../../support/provider-config.js";
import {
  literalOf,
  objectText,
  otherMembers,
  spacing,
  stringLiteral,
  valueText,
} from "../../json-text.js";

t.test(
  "rewriters run in order, each on what is left, and savings count in bytes of text",
  async (t) => {
    const body = Buffer.from(
      '{"model":"m","seed":12345678901234567890,"messages":[{"role":"system","content":"Be  kind.\\u0020"},{"role":"system","content":"Be kind."},{"role":"tool","content":"{ \\"a\\": 1 }"}] }',
    );
    const { bytes, savedBytes } = rewriteRequest(body, "chat_completions", [
      "drop_duplicate_system",
      "minify_tool_json",
      "collapse_white_space",
    ]);
    t.equal(
      bytes.toString(),
      '{"model":"m","seed":12345678901234567890,"messages":[{"role":"system","content":"Be kind."},{"role":"system","content":"Be kind."},{"role":"tool","content":"{\\"a\\":1}"}] }',
    );
    t.equal(savedBytes, 5);
    const inOrder = rewriteRequest(body, "chat_completions", [
      "collapse_white_space",
      "drop_duplicate_system",
    ]);
    t.equal(
      inOrder.bytes.toString(),
      '{"model":"m","seed":12345678901234567890,"messages":[{"role":"system","content":"Be kind."},{"role":"tool","content":"{ \\"a\\": 1 }"}] }',
    );
    t.equal(inOrder.savedBytes, 2 + '{"role":"system","content":"Be kind."}'.length);
  },
);

t.test("without anything to do the same Buffer is returned", async (t) => {
  const body = Buffer.from('{"messages":[{"role":"user","content":"a b"}] }');
  t.equal(rewriteRequest(body, "chat_completions", rewriterNames).bytes, body);
  t.equal(rewriteRequest(body, "chat_completions", []).bytes, body);
});

const space = fc.constantFrom(
  "a",
  "é",
  "你",
  " ",
  "  ",
  "\n",
  "\n\n\n",
  "\t",
  "`",
  "```",
  "\n```\n",
  "{",
  "}",
  "[1 , 2]",
  '{ "a" : "b  c" }',
);
const words = fc.oneof(
  fc.array(space, { maxLength: 8 }).map((parts) => parts.join("")),
  fc.constantFrom("a  b", '{ "a": 1 }', "same"),
);
const literal = fc.oneof(words.chain(literalOf), stringLiteral);
const role = fc
  .constantFrom("user", "system", "developer", "tool", "assistant", "other")
  .map((name) => `"${name}"`);
const part = fc
  .tuple(fc.constantFrom("text", "tool_result", "image_url"), literal, valueText, spacing)
  .map(
    ([type, text, other, gap]) =>
      `{"type":"${type}",${gap}"text":${text},"content":${text},"x":${gap}${other}}`,
  );
const content = fc.oneof(
  { weight: 4, arbitrary: literal },
  {
    weight: 3,
    arbitrary: fc.array(part, { maxLength: 3 }).map((parts) => `[${parts.join(" , ")}]`),
  },
  valueText,
);
const message = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(role, content, spacing)
      .map(([role, content, gap]) => `{${gap}"role":${role},"content":${gap}${content}}`),
  },
  { weight: 2, arbitrary: fc.constant('{"role":"system","content":"same"}') },
  valueText,
);
const request = fc
  .tuple(
    otherMembers(["messages", "system"]),
    fc.array(message, { maxLength: 6 }),
    content,
    spacing,
  )
  .map(([members, messages, system, gap]) => {
    const member = (key: string, value: string) => ({
      key,
      before: `${gap}"${key}":`,
      value,
      after: gap,
    });
    return objectText([
      ...members,
      member("system", system),
      member("messages", `[${messages.join(`${gap},`)}]`),
    ]);
  });
const order = fc.uniqueArray(fc.constantFrom(...rewriterNames), { minLength: 1, maxLength: 3 });

/** All that no rewriter may touch: the texts it may are emptied, and system messages left out. */
function untouchable(body: string, dialect: PromptDialect): unknown {
  const top = JSON.parse(body) as Record<string, unknown>;
  const emptied = (content: unknown): unknown => {
    if (typeof content === "string") return "";
    if (!Array.isArray(content)) return content;
    return content.map((part: unknown) => {
      if (typeof part !== "object" || part === null) return part;
      const { type, text, content: inner } = part as Record<string, unknown>;
      return {
        ...part,
        ...(type === "text" && typeof text === "string" ? { text: "" } : {}),
        ...(type === "tool_result" && dialect === "messages" ? { content: emptied(inner) } : {}),
      };
    });
  };
  const messages = (top["messages"] as unknown[]).flatMap((message: unknown) => {
    if (typeof message !== "object" || message === null) return [message];
    const { role, content } = message as Record<string, unknown>;
    if (role === "system" || role === "developer") return [];
    return [
      role === "user" || role === "tool" ? { ...message, content: emptied(content) } : message,
    ];
  });
  const system =
    dialect === "messages"
      ? Array.isArray(top["system"])
        ? top["system"].filter(
            (block: unknown) => (block as { type?: unknown } | null)?.type !== "text",
          )
        : emptied(top["system"])
      : top["system"];
  return { ...top, messages, system };
}

for (const dialect of ["chat_completions", "messages"] as const) {
  t.test(
    `of any request to ${dialect} valid JSON is left, in any order of rewriters, never longer, with all else as it was, and twice is once`,
    async () => {
      fc.assert(
        fc.property(request, order, (text, names) => {
          const before = Buffer.from(text);
          const { bytes, savedBytes } = rewriteRequest(before, dialect, names);
          assert.deepEqual(untouchable(bytes.toString(), dialect), untouchable(text, dialect));
          assert.ok(bytes.length <= before.length - savedBytes);
          for (const name of names)
            assert.equal(
              rewriteRequest(rewriteRequest(before, dialect, [name]).bytes, dialect, [name])
                .savedBytes,
              0,
              name,
            );
        }),
        { numRuns: 1000 },
      );
    },
  );
}

t.test("a rewriter works below its paths and on its models, in the written order", async (t) => {
  const choose = chooseRewriters({
    rewriters: [
      { name: "minify_tool_json", paths: null, models: null },
      { name: "collapse_white_space", paths: ["/team"], models: null },
      { name: "drop_duplicate_system", paths: ["/", "/x"], models: ["gpt-4o", "local/llama"] },
      { name: "minify_tool_json", paths: ["/team/a"], models: ["openai/gpt-4o"] },
    ],
    providers: [providerConfig({ name: "openai" }), providerConfig({ name: "local" })],
  });
  const [m, c, d] = ["minify_tool_json", "collapse_white_space", "drop_duplicate_system"];
  for (const [path, provider, model, names] of [
    ["/", "openai", "gpt-4", [m]],
    ["/team", "openai", "gpt-4", [m, c]],
    ["/teams", "openai", "gpt-4", [m]],
    ["/Team", "openai", "gpt-4", [m]],
    ["/team/a/b", "OpenAI", "GPT-4o", [m, c, d, m]],
    ["/other", "local", "Llama", [m, d]],
    ["/other", "remote", "llama", [m]],
    ["/other", "remote", "gpt-4o", [m, d]],
    ["/team/a", "remote", "openai/gpt-4o", [m, c]],
    ["/other", "remote", "local/llama", [m]],
  ] as const)
    t.same(choose(path, { provider, model }), names, `${path} ${provider}/${model}`);
});

function drop(body: string, dialect: PromptDialect = "chat_completions"): string {
  return withoutCuts(body, dropDuplicateSystem(body, findPrompt(body, dialect)).cuts);
}

t.test("the first of equal system messages stays, with everything between them", async (t) => {
  const [a, b, user] = [
    '{"role":"system","content":"a"}',
    '{"role":"developer","content":"b"}',
    '{"role":"user","content":"a"}',
  ];
  t.equal(
    drop(`{"messages":[${a},${user},${a},${b},${user},${a},${b}],"seed":12345678901234567890}`),
    `{"messages":[${a},${user},${b},${user}],"seed":12345678901234567890}`,
  );
  t.equal(
    drop(`{ "messages" : [ ${user} , ${a} ,\n ${a} , ${a} ] }`),
    `{ "messages" : [ ${user} , ${a} ] }`,
  );
  t.equal(
    drop(
      `{"system":[{"type":"text","text":"x"}, {"type":"text","text":"x"}],"messages":[${user},${user}]}`,
      "messages",
    ),
    `{"system":[{"type":"text","text":"x"}],"messages":[${user},${user}]}`,
  );
  t.equal(
    dropDuplicateSystem(
      `{"messages":[${a},${a}]}`,
      findPrompt(`{"messages":[${a},${a}]}`, "chat_completions"),
    ).savedBytes,
    a.length,
  );
});

t.test(
  "messages that aren't equal stay, and so does one that marks the end of a cache",
  async (t) => {
    for (const body of [
      '{"messages":[{"role":"system","content":"a"},{"role":"system","content":"a "}]}',
      '{"messages":[{"role":"system","content":"a"},{"role":"developer","content":"a"}]}',
      '{"messages":[{"role":"system","content":"a"},{"content":"a","role":"system"}]}',
      '{"messages":[{"role":"system","content":"a"},{"role":"system","content":"a","name":"b"}]}',
      '{"messages":[{"role":"user","content":"a"},{"role":"user","content":"a"},{"role":"assistant","content":"a"},{"role":"assistant","content":"a"}]}',
      '{"messages":[{"role":"system","content":[{"type":"text","text":"a","cache_control":{}}]},{"role":"system","content":[{"type":"text","text":"a","cache_control":{}}]}]}',
    ])
      t.equal(drop(body), body);
  },
);
