import t from "tap";
import { refusedFieldMs, refusedFieldsMax, refusingTargetsMax } from "../../../proxy/bounds.js";
import { LearnedRefusals } from "../../../proxy/routing/learned-refusals.js";

const at = (model: string) => ({ provider: "azure", model });

t.test("refused fields are remembered for each target, for a while", async (t) => {
  let nowMs = 0;
  const refusals = new LearnedRefusals(() => nowMs);
  t.same(refusals.of(at("a")), []);
  refusals.learn(at("a"), "seed");
  nowMs = 1000;
  refusals.learn(at("a"), "user");
  t.same(refusals.of(at("a")), ["seed", "user"]);
  t.same(refusals.of(at("b")), []);
  nowMs = refusedFieldMs;
  t.same(refusals.of(at("a")), ["user"]);
  nowMs = refusedFieldMs + 1000;
  t.same(refusals.of(at("a")), []);
});

t.test("the oldest are forgotten", async (t) => {
  const refusals = new LearnedRefusals(() => 0);
  for (let i = 0; i <= refusedFieldsMax; i++) refusals.learn(at("a"), `f${i}`);
  t.equal(refusals.of(at("a")).length, refusedFieldsMax);
  t.notOk(refusals.of(at("a")).includes("f0"));
  for (let i = 0; i < refusingTargetsMax; i++) refusals.learn(at(`m${i}`), "seed");
  t.same(refusals.of(at("a")), []);
});
