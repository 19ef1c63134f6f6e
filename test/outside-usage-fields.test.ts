import { readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import {
  fieldsOfType,
  readFields,
  unread,
  usageFieldsPage,
  usageTypes,
} from "./outside/usage-fields.js";
import { root } from "./tidy/source-tree.js";

t.test(
  "every field of usage in the providers' types is read, or has a reason why not",
  async (t) => {
    t.ok(
      usageTypes.every(({ fields }) => fields.length > 1),
      "each type has fields",
    );
    const silent = readFields().filter(({ meteredAs }) => meteredAs.length === 0);
    t.same([...new Set(silent.map(({ field }) => field))].sort(), Object.keys(unread).sort());
  },
);

t.test("the table of usage by provider is as the readers are", async (t) => {
  const page = readFileSync(join(root, "test/outside/usage-fields.md"), "utf8");
  t.equal(page, usageFieldsPage(), "npm run heavy -- usage-fields --write");
});

t.test("fields are found in a type and the types in it", async (t) => {
  const text =
    "export interface A {\n    /** a: {; */\n    one: number;\n    two?: A.B | null;\n    three: Array<C>;\n}\nexport declare namespace A {\n    interface B {\n        four: number;\n    }\n}\n";
  t.same(fieldsOfType(text, "A"), ["one", "two.four", "three"]);
});
