import t from "tap";
import { exactly } from "../../../support/patterns/exactly.js";
import { accepted, refused } from "../resolve-sample.js";

const base = `providers: { openai: , local: { base_url: http://x } }
virtual_models: { smart: { targets: [ { model: openai/gpt-4o } ] } }
aliases:
`;

t.test(
  "an alias stands for a model, a virtual model, or the same name at a provider",
  async (t) => {
    const text = `${base}  best: smart\n  gpt-4-turbo: openai/gpt-4o\n  llama-*: local/*\n  "*": local/x\n  o/x*: local/a/b\n  openai/o1: local/o1\n`;
    t.same(accepted(text).config.aliases, [
      { name: "best", to: { kind: "virtual", source: "smart" } },
      { name: "gpt-4-turbo", to: { kind: "target", provider: "openai", model: "gpt-4o" } },
      { name: "llama-*", to: { kind: "target", provider: "local", model: null } },
      { name: "*", to: { kind: "target", provider: "local", model: "x" } },
      { name: "o/x*", to: { kind: "target", provider: "local", model: "a/b" } },
      { name: "openai/o1", to: { kind: "target", provider: "local", model: "o1" } },
    ]);
  },
);

t.test("a wrong alias is reported with its place", async (t) => {
  const expected = "must be provider/model, provider/* or the name of a virtual model, not";
  for (const [body, problem] of [
    ["a: 5", `aliases.a ${expected} 5`],
    ["a: ''", `aliases.a ${expected} ""`],
    ["a: smrt", `aliases.a ${expected} "smrt"; did you mean smart?`],
    ["a: /x", `aliases.a ${expected} "/x"`],
    ["a: openai/", 'aliases.a must be provider/model, not "openai/"'],
    [
      "a: locl/x",
      'aliases.a names the provider "locl", which isn\'t configured; did you mean local?',
    ],
    ["a: local/*", "aliases.a must name one model: provider/* is for a name that ends in *"],
    ["a*b: smart", 'aliases["a*b"] may hold an asterisk at its end only'],
    ["a**: smart", 'aliases["a**"] may hold an asterisk at its end only'],
    [
      "OpenAI/*: local/*",
      'aliases["OpenAI/*"] would never apply: names that begin with openai/ go to the provider openai; name the models one by one, without an asterisk',
    ],
    ["Smart: openai/x", "aliases.Smart is the name of a virtual model: keep one of them"],
    [
      "/a: smart",
      'aliases["/a"] must be named with a model id, or how ids begin and *, without white space around it or a slash at an end',
    ],
    ["{ a: smart, A: smart }", "aliases.A is the same name as aliases.a: keep one of them"],
  ] as const) {
    const text = body.startsWith("{") ? `${base.trimEnd()} ${body}\n` : `${base}  ${body}\n`;
    t.same(refused(text), [problem], body);
  }
  t.match(refused(`${base.trimEnd()} [a]\n`), exactly([/^aliases must be a mapping of names/]));
});
