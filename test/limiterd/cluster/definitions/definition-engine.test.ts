import t from "tap";
import { createDefinitionEngine } from "../../../../limiterd/cluster/definitions/definition-engine.js";
import {
  EngineRefusedError,
  type EngineValue,
} from "../../../../limiterd/cluster/engine/engine.js";

const answering = (answer: EngineValue) =>
  createDefinitionEngine({ call: () => Promise.resolve(answer) }, "sluice");

t.test("no number that a store can't keep is taken from the engine", async (t) => {
  for (const bad of ["-7", "9007199254740992", "nan", "1.5", "", "abc", null, []] as const) {
    const says = String(JSON.stringify(bad));
    await t.rejects(answering([bad, "0", "0", "0", "id"]).read(0), EngineRefusedError, says);
    await t.rejects(answering(["7", "0", "0", bad, "id"]).read(0), EngineRefusedError, says);
    const entry = ["rules:a", bad, "5:[]"];
    await t.rejects(
      answering(["7", "0", "1", "0", "id", ...entry]).read(0),
      EngineRefusedError,
      says,
    );
    await t.rejects(answering(["written", "7", bad]).write(0, []), EngineRefusedError, says);
  }
});

t.test("an entry with a stamp that no host gives is unreadable, and alone so", async (t) => {
  const entries = ["rules:a", "6", "-5:[1]", "rules:b", "6", "nan:[1]", "rules:c", "7", "5:[1]"];
  const page = await answering(["7", "0", "1", "0", "id", ...entries]).read(0);
  t.same(page.unreadable, ["rules:a", "rules:b"]);
  t.same(page.changed, [{ kind: "rules", key: "c", value: [1], stamp: 5 }]);
  t.equal(page.upTo, 7);
});
