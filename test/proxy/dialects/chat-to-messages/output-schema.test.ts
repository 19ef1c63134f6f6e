import t from "tap";
import { outputSchema } from "../../../../proxy/dialects/chat-to-messages/output-schema.js";

t.test("constraints that Anthropic doesn't have become text, and objects are closed", async (t) => {
  t.same(
    outputSchema({
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
    }),
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
