import t from "tap";
import { refusedFieldMs, refusedFieldsMax, refusingTargetsMax } from "../../../proxy/bounds.js";
import { LearnedRefusals } from "../../../proxy/routing/learned-refusals.js";

const chat = "chat_completions";
const at = (model: string) => ({ provider: "azure", model });

t.test("refused fields are remembered for each target, for a while", async (t) => {
  let nowMs = 0;
  const refusals = new LearnedRefusals(() => nowMs);
  t.same(refusals.of(at("a"), chat), []);
  refusals.learn(at("a"), chat, "seed");
  nowMs = 1000;
  refusals.learn(at("a"), chat, "user");
  t.same(refusals.of(at("a"), chat), ["seed", "user"]);
  t.same(refusals.of(at("a"), "messages"), [], "another dialect may take them");
  t.same(refusals.of(at("b"), chat), []);
  nowMs = refusedFieldMs;
  t.same(refusals.of(at("a"), chat), ["user"]);
  nowMs = refusedFieldMs + 1000;
  t.same(refusals.of(at("a"), chat), []);
});

t.test("the oldest are forgotten", async (t) => {
  const refusals = new LearnedRefusals(() => 0);
  for (let i = 0; i <= refusedFieldsMax; i++) refusals.learn(at("a"), chat, `f${i}`);
  t.equal(refusals.of(at("a"), chat).length, refusedFieldsMax);
  t.notOk(refusals.of(at("a"), chat).includes("f0"));
  for (let i = 0; i < refusingTargetsMax; i++) refusals.learn(at(`m${i}`), chat, "seed");
  t.same(refusals.of(at("a"), chat), []);
});
