import t from "tap";
import { fitResponsesRequest } from "../../../../proxy/dialects/fit/fit-responses-request.js";
import { chatTraitsOf } from "../../../../proxy/dialects/fit/target-traits.js";
import { RequestCheck } from "../../../../proxy/dialects/shared/request-check.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { openaiChat } from "../../../../shared/config/host-traits.js";

const host = { chat: openaiChat, modelTraits: [] };
const include = ["reasoning.encrypted_content"];

function fitted(model: string, body: JsonObject): unknown {
  const check = new RequestCheck(false);
  const sent = fitResponsesRequest({ input: [], ...body }, model, chatTraitsOf(host, model), check);
  return check.result(sent);
}

t.test("a request of the Responses API is fitted to its model", async (t) => {
  const cases: readonly (readonly [string, JsonObject, JsonObject, readonly string[]])[] = [
    [
      "gpt-5.4",
      { reasoning: { effort: "max" }, temperature: 0.5, max_output_tokens: 200_000 },
      { reasoning: { effort: "xhigh" }, max_output_tokens: 128_000, include },
      ["temperature"],
    ],
    [
      "gpt-5.4",
      { reasoning: { effort: "none" }, temperature: 0.5 },
      { reasoning: { effort: "none" }, temperature: 0.5 },
      [],
    ],
    [
      "gpt-5-codex",
      { reasoning: { effort: "none" }, include: ["message.output_text.logprobs"] },
      { include: ["reasoning.encrypted_content", "message.output_text.logprobs"] },
      ["reasoning_effort"],
    ],
    ["gpt-5.6", {}, { include }, []],
    ["gpt-5.6", { reasoning: { effort: "max" } }, { reasoning: { effort: "max" }, include }, []],
    [
      "gpt-6-astra",
      { reasoning: { effort: "none" }, temperature: 0.5 },
      { include },
      ["reasoning_effort", "temperature"],
    ],
    ["gpt-4o", { reasoning: { effort: "high" } }, {}, ["reasoning_effort"]],
  ];
  for (const [model, given, sent, dropped] of cases)
    t.same(
      fitted(model, given),
      { ok: true, body: { input: [], ...sent, model }, dropped },
      `${model} ${JSON.stringify(given)}`,
    );
});

t.test(
  "ids of calls are no longer than the API takes, and a result keeps its call's",
  async (t) => {
    const call_id = "call".repeat(20);
    const sent = fitted("gpt-5.4", {
      input: [{ call_id }, { call_id }, { call_id: `${call_id}b` }, { call_id: "short" }],
    }) as { body: { input: { call_id: string }[] } };
    const ids = sent.body.input.map((item) => item.call_id);
    t.equal(ids[0], ids[1]);
    t.not(ids[0], ids[2]);
    t.ok(ids.every((id) => id.length <= 64));
    t.equal(ids[3], "short");
  },
);
