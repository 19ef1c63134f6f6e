/** Holds the README to its length, and the page on dialects to the presets. */
import { readFileSync } from "node:fs";
import t from "tap";
import { presets } from "../shared/config/presets.js";

// The compiled test stands two directories below the repository.
const read = (path: string): string =>
  readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");

t.test("the README is read in minutes", async (t) => {
  t.ok(read("README.md").split(/\s+/).length <= 900);
});

t.test(
  "the page on dialects lists who takes max_completion_tokens, and that all others take max_tokens",
  async (t) => {
    t.same(
      presets
        .filter(({ chat }) => chat.maxTokensField === "max_completion_tokens")
        .map(({ name }) => name),
      ["openai", "azure"],
    );
    t.match(
      read("docs/reference/dialects.md"),
      /`max_completion_tokens` at OpenAI and Azure, `max_tokens` at all others/,
    );
  },
);
