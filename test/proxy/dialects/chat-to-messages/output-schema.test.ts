import t from "tap";
import { SchemaBudget } from "../../../../proxy/dialects/chat-to-messages/output-schema.js";

t.test("constraints that Anthropic doesn't have become text, and objects are closed", async (t) => {
  t.same(
    new SchemaBudget().take(
      {
        $schema: "https://json-schema.org/draft/2020-12/schema",
        type: "object",
        properties: {
          age: { type: "integer", minimum: 0, maximum: 150, description: "In years" },
          mail: { type: "string", format: "email", minLength: 3 },
          path: { type: "string", format: "path" },
          tags: { type: "array", items: { type: "string", pattern: "^a" }, minItems: 2 },
          // A field with the name of a keyword.
          minimum: { type: "null" },
          either: {
            oneOf: [{ const: 1 }, { type: "object", properties: { a: { $ref: "#/$defs/b" } } }],
          },
        },
        required: ["age"],
        $defs: { b: { type: "number", multipleOf: 2 } },
      },
      false,
    ),
    {
      type: "object",
      properties: {
        age: { type: "integer", description: "In years (minimum: 0, maximum: 150)" },
        mail: { type: "string", format: "email", description: "(minLength: 3)" },
        path: { type: "string", description: '(format: "path")' },
        tags: {
          type: "array",
          items: { type: "string", description: '(pattern: "^a")' },
          description: "(minItems: 2)",
        },
        minimum: { type: "null" },
        either: {
          anyOf: [
            { const: 1 },
            {
              type: "object",
              properties: { a: { $ref: "#/$defs/b" } },
              additionalProperties: false,
            },
          ],
        },
      },
      required: ["age"],
      $defs: { b: { type: "number", description: "(multipleOf: 2)" } },
      additionalProperties: false,
    },
  );
});

t.test("a reference to itself, or out of the schema, can't be enforced", async (t) => {
  const enforced = (schema: object): boolean =>
    new SchemaBudget().take(schema as Record<string, unknown>, false) !== null;
  const list = { type: "array", items: { $ref: "#/$defs/a~1b" } };
  const leaf = { type: "string" };
  t.notOk(enforced({ $ref: "#/$defs/a~1b", $defs: { "a/b": list } }), "through a list");
  t.notOk(enforced({ anyOf: [{ $ref: "#" }, leaf] }), "to the root");
  t.notOk(enforced({ $ref: "https://a.example/schema" }), "to another schema");
  t.ok(enforced({ anyOf: [list, list], $defs: { "a/b": leaf } }), "twice, without a cycle");
});

t.test("a request has one budget for its schemas", async (t) => {
  const budget = new SchemaBudget();
  const optional = (count: number) => ({
    type: "object",
    properties: Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, {}])),
  });
  t.ok(budget.take(optional(23), false));
  t.equal(budget.take(optional(2), true), null);
  t.ok(budget.take(optional(1), true));
  for (let i = 1; i < 20; i++) t.ok(budget.take({ type: "object" }, true), `tool ${i}`);
  t.equal(budget.take({ type: "object" }, true), null, "the 21st tool");
});
