import t from "tap";
import {
  aliasByBeginning,
  aliasNamed,
  modelAliases,
} from "../../../proxy/routing/model-aliases.js";
import type { AliasConfig } from "../../../shared/config/config.js";

const to = { kind: "target", provider: "p", model: null } as const;
const aliasesOf = (...names: readonly string[]) =>
  modelAliases(names.map((name): AliasConfig => ({ name, to })));

/** The alias by which a name is found: as a whole, and by how it begins. */
function found(names: readonly string[], asked: string): readonly (string | undefined)[] {
  const aliases = aliasesOf(...names);
  return [aliasNamed(aliases, asked)?.name, aliasByBeginning(aliases, asked)?.name];
}

t.test("an alias is found by its name, or by how a name begins, in any case", async (t) => {
  const none = [undefined, undefined];
  for (const [names, asked, expected] of [
    [[], "best", none],
    [["Best"], "bEST", ["Best", undefined]],
    [["Best"], "best-2", none],
    [["Best", "fast"], "FAST", ["fast", undefined]],
    [["GPT-*"], "gpt-4o", [undefined, "GPT-*"]],
    [["GPT-*"], "gpt-", [undefined, "GPT-*"]],
    [["GPT-*"], "gpt", none],
    [["g*"], "gpt-4o", [undefined, "g*"]],
    [["g*", "gpt-4*", "gpt-*"], "gpt-4o", [undefined, "gpt-4*"]],
    [["g*", "gpt-4*", "gpt-*"], "gpt-3", [undefined, "gpt-*"]],
    [["gpt-4o", "gpt-*"], "gpt-4o", ["gpt-4o", "gpt-*"]],
    [["*"], "gpt-4o", none],
    [["*"], "*", none],
  ] as const)
    t.same(found(names, asked), expected, `${asked} of ${names.join()}`);
});

t.test("the one for any name is told from those that begin a name", async (t) => {
  t.equal(aliasesOf("g*", "best").rest, null);
  t.equal(aliasesOf("g*", "*").rest?.name, "*");
});
