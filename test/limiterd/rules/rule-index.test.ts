import fc from "fast-check";
import t from "tap";
import { inRuleOrder, RuleBook } from "../../../limiterd/rules/rule-book.js";
import { bookOf, names, now, rule } from "../book-of.js";

t.test(
  "a path meets the rules on itself and on every path above it, in order, and no others",
  async (t) => {
    const book = bookOf(
      rule("user_path", "/team/app", 60),
      rule("user_path", "/team", 3600),
      rule("user_path", "/team", 60),
      rule("user_path", "/", 86_400),
      rule("user_path", "/team/app/x"),
      rule("user_path", "/teams"),
      rule("user_path", "/Team"),
      rule("user_path", "/te"),
    );
    const table: readonly (readonly [path: string, met: readonly string[]])[] = [
      ["/", ["/ 86400"]],
      ["/other", ["/ 86400"]],
      ["/team", ["/ 86400", "/team 60", "/team 3600"]],
      ["/team/other", ["/ 86400", "/team 60", "/team 3600"]],
      ["/team/app", ["/ 86400", "/team 60", "/team 3600", "/team/app 60"]],
      ["/team/app/x/y", ["/ 86400", "/team 60", "/team 3600", "/team/app 60", "/team/app/x 60"]],
      ["/team/app/xy", ["/ 86400", "/team 60", "/team 3600", "/team/app 60"]],
      ["/teams", ["/ 86400", "/teams 60"]],
      ["/Team/app", ["/ 86400", "/Team 60"]],
    ];
    for (const [path, met] of table) t.same(names(book.matchPath(path, now)), met, path);
  },
);

t.test(
  "a target meets the rules on its model and on its provider, in any case; a model under the name of a provider is that provider's alone",
  async (t) => {
    const book = bookOf(
      rule("provider", "OpenAI"),
      rule("model", "gpt-4o"),
      rule("model", "OpenAI/GPT-4o", 3600),
      rule("model", "openrouter/gpt-4o"),
      rule("model", "meta/llama-3"),
      rule("model", "Groq/openai/gpt-4o"),
      rule("provider", "openai-eu"),
      rule("model", "zephyr"),
      rule("user_path", "/"),
    );
    const table: readonly (readonly [provider: string, model: string, met: readonly string[]])[] = [
      ["openai", "gpt-4o", ["gpt-4o 60", "OpenAI/GPT-4o 3600", "OpenAI 60"]],
      ["OPENAI", "GPT-4O", ["gpt-4o 60", "OpenAI/GPT-4o 3600", "OpenAI 60"]],
      ["azure", "gpt-4o", ["gpt-4o 60"]],
      ["openrouter", "gpt-4o", ["gpt-4o 60", "openrouter/gpt-4o 60"]],
      ["openrouter", "meta/llama-3", ["meta/llama-3 60"]],
      ["groq", "meta/llama-3", ["meta/llama-3 60"]],
      ["groq", "openai/gpt-4o", ["Groq/openai/gpt-4o 60"]],
      ["groq", "OpenAI/GPT-4o", ["Groq/openai/gpt-4o 60"]],
      ["openrouter", "openai/gpt-4o", []],
      ["openai", "openai/gpt-4o", ["OpenAI 60"]],
      ["openrouter", "groq/openai/gpt-4o", []],
      ["azure", "openrouter/gpt-4o", []],
      // A provider that the daemon's configuration doesn't have.
      ["meta", "llama-3", ["meta/llama-3 60"]],
      ["openai", "gpt-4o-mini", ["OpenAI 60"]],
      ["openai", "zephyr", ["zephyr 60", "OpenAI 60"]],
      ["anthropic", "claude", []],
      ["openai", "", ["OpenAI 60"]],
      ["anthropic", "", []],
    ];
    for (const [provider, model, met] of table)
      t.same(names(book.matchTarget({ provider, model }, "/", now)), met, `${provider}/${model}`);
  },
);

t.test("a rule names a model by any of the names that its provider knows it by", async (t) => {
  const book = bookOf(
    rule("model", "models/gemini-2.5-pro"),
    rule("model", "local/library/llama-3:latest"),
  );
  t.same(names(book.matchTarget({ provider: "gemini", model: "gemini-2.5-pro" }, "/", now)), [
    "models/gemini-2.5-pro 60",
  ]);
  t.same(names(book.matchTarget({ provider: "local", model: "llama-3" }, "/", now)), [
    "local/library/llama-3:latest 60",
  ]);
  t.same(names(book.matchTarget({ provider: "openai", model: "gemini-2.5-pro" }, "/", now)), []);
});

t.test("the counters of a request are in the order of all rules", async (t) => {
  const definitions = [
    rule("user_path", "/team"),
    rule("provider", "openai"),
    rule("model", "gpt-4o"),
    rule("model", "openai/gpt-4o"),
    rule("user_path", "/"),
    rule("model", "gpt-4o", 3600),
  ];
  const book = bookOf(...definitions);
  const met = inRuleOrder(
    book.matchTarget({ provider: "openai", model: "gpt-4o" }, "/", now),
    book.matchPath("/team/app", now),
  );
  t.same(
    met.map((counter) => counter.rule),
    book.sorted(),
  );
  t.equal(met.length, definitions.length);
});

t.test("an empty book meets nothing", async (t) => {
  const book = new RuleBook();
  t.same(book.matchPath("/team", now), []);
  t.same(book.matchTarget({ provider: "openai", model: "gpt-4o" }, "/", now), []);
  t.same(book.sorted(), []);
});

/** Paths of few names, so that they often meet. */
const path = fc
  .array(fc.constantFrom("a", "ab", "b", "A", "a.b"), { maxLength: 4 })
  .map((segments) => `/${segments.join("/")}`);

t.test(
  "a path meets exactly the rules on its prefixes by segments, templates by their child",
  async (t) => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            subject: path,
            periodSeconds: fc.constantFrom(0, 60, 3600),
            perChild: fc.boolean(),
          }),
          { maxLength: 8 },
        ),
        path,
        (rules, asked) => {
          const book = bookOf(
            ...rules.map(({ subject, periodSeconds, perChild }) =>
              rule("user_path", subject, periodSeconds, { perChild }),
            ),
          );
          const expected = book.sorted().flatMap(({ definition }) => {
            const of = definition.subject === "/" ? [] : definition.subject.slice(1).split("/");
            const to = asked === "/" ? [] : asked.slice(1).split("/");
            const covers = of.every((segment, i) => to[i] === segment) && of.length <= to.length;
            if (!covers || (definition.perChild && to.length === of.length)) return [];
            const { perChild, subject, periodSeconds } = definition;
            const child = `/${to.slice(0, of.length + 1).join("/")}`;
            return [`${perChild ? child : subject} ${periodSeconds}`];
          });
          return JSON.stringify(names(book.matchPath(asked, now))) === JSON.stringify(expected);
        },
      ),
      { numRuns: 2000 },
    );
    t.pass("2000 books");
  },
);
