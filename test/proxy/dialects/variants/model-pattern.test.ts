import t from "tap";
import { namesModel } from "../../../../proxy/dialects/variants/model-pattern.js";

t.test("an asterisk stands for any characters", async (t) => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ["gpt-5.4", "gpt-5.4", true],
    ["gpt-5.4", "gpt-5.4-mini", false],
    ["gpt-5.4*", "gpt-5.4-mini", true],
    ["*", "", true],
    ["*-mini", "gpt-mini", true],
    ["*-mini", "gpt-mini-2", false],
    ["a*b*c", "a-b-b-c", true],
    ["a*b*c", "ac", false],
    ["ab*ba", "aba", false],
    ["a**b", "ab", true],
    ["gpt.5", "gpt-5", false],
  ];
  for (const [pattern, name, matches] of cases)
    t.equal(namesModel(pattern, name), matches, `${pattern} ${name}`);
  const long = "a".repeat(20_000);
  t.equal(namesModel(`${"a*".repeat(100)}b`, long), false);
});
