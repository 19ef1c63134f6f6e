import t from "tap";
import { thinkingBudget, withHiddenReasoning } from "../../../proxy/usage/hidden-reasoning.js";
import { type SentRequest, sentRequestOf } from "../../../proxy/usage/usage-bound.js";
import { detailsOf } from "../../../shared/usage/usage-details.js";

const bodyOf = (fields: object): Buffer => Buffer.from(JSON.stringify(fields));

t.test("a request says how much a model may think, in each provider's words", async (t) => {
  const google = { google: { thinking_config: { thinking_budget: 700 } } };
  const table: readonly (readonly [fields: object, budget: number | null])[] = [
    [{}, null],
    [{ reasoning_effort: "none" }, 0],
    [{ reasoning_effort: "minimal" }, 1024],
    [{ reasoning_effort: "low" }, 1024],
    [{ reasoning_effort: "MEDIUM" }, 8192],
    [{ reasoning_effort: "high" }, 24_576],
    [{ reasoning_effort: "unheard of" }, null],
    [{ reasoning_effort: 5 }, null],
    [{ reasoning: { effort: "xhigh" } }, 32_768],
    [{ reasoning: { effort: "low", max_tokens: 900 } }, 900],
    [{ reasoning: { enabled: true } }, 8192],
    [{ reasoning: { enabled: false } }, 0],
    [{ reasoning: { summary: "auto" } }, null],
    [{ thinking: { type: "enabled", budget_tokens: 2000 } }, 2000],
    [{ thinking: { type: "adaptive" } }, 8192],
    [{ thinking: { type: "adaptive" }, output_config: { effort: "max" } }, 32_768],
    [{ thinking: { type: "disabled" }, output_config: { effort: "max" } }, 0],
    [{ generationConfig: { thinkingConfig: { thinkingBudget: 600 } } }, 600],
    [{ generationConfig: { thinkingConfig: { thinkingBudget: 0 } } }, 0],
    [{ generationConfig: { thinkingConfig: { thinkingBudget: -1 } } }, null],
    [{ generationConfig: { thinkingConfig: { thinkingLevel: "HIGH" } } }, 24_576],
    [{ generation_config: { thinking_config: { thinking_level: "low" } } }, 1024],
    [{ extra_body: google }, 700],
    [{ enable_thinking: true }, 8192],
    [{ enable_thinking: true, thinking_budget: 50 }, 50],
    [{ enable_thinking: false }, 0],
    [{ chat_template_kwargs: { enable_thinking: false } }, 0],
    [{ chat_template_kwargs: { thinking: true } }, 8192],
    [{ max_tokens: 5, metadata: { effort: "high" } }, null],
  ];
  for (const [fields, budget] of table) {
    const text = JSON.stringify(fields);
    t.equal(thinkingBudget(sent(fields, { reasonsByDefault: false })), budget ?? 0, text);
    t.equal(thinkingBudget(sent(fields)), budget ?? 8192, `${text}, of a reasoning model`);
  }
  t.equal(thinkingBudget({ fields: () => ({}), reasonsByDefault: true }), 8192);
  t.equal(thinkingBudget(ofBody(Buffer.from("no JSON"))), 8192);
});

const prompt = {
  inputTokens: 10,
  outputTokens: 0,
  totalTokens: 10,
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  reportedCost: null,
  details: null,
};

function ofBody(body: Buffer): SentRequest {
  return sentRequestOf({
    operation: "chat_completions",
    request: { body },
    promptBytes: () => 40,
    reasonsByDefault: () => true,
  });
}

function sent(fields: object, changes: Partial<SentRequest> = {}): SentRequest {
  return { ...ofBody(bodyOf(fields)), ...changes };
}

t.test("a body is parsed once, however often it is asked", async (t) => {
  const request = sent({ max_tokens: 5, thinking: { type: "enabled" }, messages: ["x"] });
  t.equal(request.fields(), request.fields());
  t.same(request.fields(), { max_tokens: 5, thinking: { type: "enabled" } });
});

t.test("a stream that shows all reasoning has none that is hidden", async (t) => {
  const shows = (fields: object) =>
    withHiddenReasoning(prompt, sent(fields, { showsReasoning: true }), 5000).outputTokens;
  t.equal(shows({ stream: true }), 0);
  t.equal(shows({}), 500, "a whole answer shows nothing before its end");
  for (const hides of [
    { reasoning: { exclude: true } },
    { include_reasoning: false },
    { reasoning_format: "hidden" },
  ])
    t.equal(shows({ stream: true, ...hides }), 500);
});

t.test("a lost answer is charged what its model generates in its time", async (t) => {
  const outputs = (
    fields: object,
    seconds: readonly number[],
    changes: Partial<SentRequest> = {},
  ) =>
    seconds.map(
      (each) => withHiddenReasoning(prompt, sent(fields, changes), each * 1000).outputTokens,
    );
  t.same(outputs({}, [0, 0.9, 1, 2.9, 60, 600]), [0, 0, 100, 200, 6000, 8192], "by default");
  t.same(outputs({}, [60], { reasonsByDefault: false }), [0], "a model that doesn't reason");
  t.same(outputs({ reasoning_effort: "low" }, [5, 60], { reasonsByDefault: false }), [500, 1024]);
  t.same(outputs({ max_completion_tokens: 300 }, [2, 60]), [200, 300], "the output's limit");
  t.same(outputs({}, [60], { modelOutputMax: 700 }), [700], "the model's limit");
  t.same(outputs({}, [60], { operation: "embeddings" }), [0], "no text is generated");
});

t.test("text that was seen counts as it is, and the reasoning on top of it", async (t) => {
  const details = detailsOf("flex", { webSearches: 2 }, "us");
  const seen = { ...prompt, outputTokens: 150, totalTokens: 160, details };
  t.equal(withHiddenReasoning(seen, sent({}), 1900), seen, "the text took the time");
  const charged = withHiddenReasoning(seen, sent({}), 5000);
  t.match(charged, { inputTokens: 10, outputTokens: 500, totalTokens: 510 });
  t.match(charged.details, {
    ...{ serviceTier: "flex", region: "us" },
    counts: { webSearches: 2, reasoningTokens: 350 },
  });
  const short = sent({ reasoning_effort: "low" });
  t.equal(withHiddenReasoning(seen, short, 600_000).outputTokens, 150 + 1024);
  const full = sent({ max_tokens: 100 });
  t.equal(withHiddenReasoning(seen, full, 5000).outputTokens, 150, "never less than was seen");
});
