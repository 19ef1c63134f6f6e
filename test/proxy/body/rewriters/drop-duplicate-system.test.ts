import t from "tap";
import { dropDuplicateSystem } from "../../../../proxy/body/rewriters/drop-duplicate-system.js";
import {
  findPrompt,
  type PromptDialect,
  withoutCuts,
} from "../../../../proxy/body/rewriters/rewrite-places.js";

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
