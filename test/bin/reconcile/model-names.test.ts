import t from "tap";
import { joinModels } from "../../../bin/reconcile/model-names.js";

const joined = (
  ours: readonly string[],
  billed: readonly string[],
): readonly (readonly string[])[] => [...joinModels(ours, billed)];

t.test("a snapshot is its model, unless it is in the records itself", async (t) => {
  t.same(joined(["gpt-4o", "gpt-4o-2024-05-13"], ["gpt-4o-2024-08-06", "gpt-4o-2024-05-13"]), [
    ["gpt-4o-2024-08-06", "gpt-4o"],
    ["gpt-4o-2024-05-13", "gpt-4o-2024-05-13"],
  ]);
  t.same(joined(["claude-sonnet-4-5-20250929"], ["claude-sonnet-4-5"]), [
    ["claude-sonnet-4-5", "claude-sonnet-4-5-20250929"],
  ]);
});

t.test("a name that could be two snapshots is neither", async (t) => {
  t.same(joined(["gpt-4o-2024-05-13", "gpt-4o-2024-08-06"], ["gpt-4o"]), [["gpt-4o", "gpt-4o"]]);
});

t.test("vendors, versions and spellings don't matter", async (t) => {
  t.same(
    joined(
      ["us.anthropic.claude-sonnet-4-5-20250929-v1:0", "gemini-2.5-flash"],
      ["Claude Sonnet 4.5", "models/gemini-2.5-flash"],
    ),
    [
      ["Claude Sonnet 4.5", "us.anthropic.claude-sonnet-4-5-20250929-v1:0"],
      ["models/gemini-2.5-flash", "gemini-2.5-flash"],
    ],
  );
});

t.test("a model whose name begins alike is another one", async (t) => {
  t.same(joined(["gpt-4o", "gemini-3.5-flash"], ["gpt-4o-mini", "gemini-3.5-flash-lite"]), [
    ["gpt-4o-mini", "gpt-4o-mini"],
    ["gemini-3.5-flash-lite", "gemini-3.5-flash-lite"],
  ]);
});

t.test("a preview is its model, unless both are in the records", async (t) => {
  t.same(joined(["gemini-3-flash-preview"], ["gemini-3-flash"]), [
    ["gemini-3-flash", "gemini-3-flash-preview"],
  ]);
  t.same(joined(["gemini-3-flash-preview", "gemini-3-flash"], ["gemini-3-flash"]), [
    ["gemini-3-flash", "gemini-3-flash"],
  ]);
});
