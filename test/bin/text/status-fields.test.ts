import t from "tap";
import { statusFields } from "../../../bin/text/status-fields.js";

t.test(
  "every plain field is shown, those of nested objects under their own name, durations readable",
  async (t) => {
    const body = {
      version: "0.1.0",
      uptime_seconds: 200,
      enabled: true,
      inert: [],
      names: ["a", "b"],
      reasons: ["a: x, y", "b: z"],
      store: { bytes: 5, failing: null },
      odd: [{ a: 1 }],
    };
    t.same(statusFields(body), [
      ["version", "0.1.0"],
      ["uptime", "3m 20s"],
      ["enabled", "yes"],
      ["inert", "none"],
      ["names", "a, b"],
      ["reasons", "a: x, y"],
      ["", "b: z"],
      ["store bytes", "5"],
      ["store failing", "none"],
    ]);
  },
);

t.test("a value that isn't an object has no fields", async (t) => {
  for (const body of [null, "text", 3, undefined]) t.same(statusFields(body), []);
});
