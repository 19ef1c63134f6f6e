/** Whether `docs/openapi.json` is a document that tools can read. */
import { Validator } from "@seriousme/openapi-schema-validator";
import t from "tap";
import {
  document,
  documentText,
  type MediaType,
  operations,
  resolved,
} from "../../../support/openapi/document.js";
import { problemsOf } from "../../../support/openapi/schemas.js";

type Content = Readonly<Record<string, MediaType>>;

t.test("the document is valid OpenAPI 3.1, of version 1.0", async (t) => {
  const validator = new Validator();
  const { valid, errors } = await validator.validate(JSON.parse(documentText));
  t.same([valid, errors ?? null, validator.version], [true, null, "3.1"]);
  t.equal(document.info.version, "1.0");
});

t.test("every reference leads somewhere, and nothing is there that none leads to", async (t) => {
  const named = new Set(
    [...documentText.matchAll(/"\$ref": "([^"]+)"/g)].map(([, reference]) => reference!),
  );
  for (const reference of named) t.ok(resolved({ $ref: reference }), reference);
  const kinds = Object.entries(document.components).filter(([kind]) => kind !== "securitySchemes");
  t.same(
    kinds
      .flatMap(([kind, parts]) => Object.keys(parts).map((name) => `#/components/${kind}/${name}`))
      .filter((reference) => !named.has(reference)),
    [],
  );
});

t.test("operations have names of their own, by which clients call them", async (t) => {
  const ids = operations.map(({ operation }) => operation.operationId);
  t.equal(new Set(ids).size, ids.length);
  t.same(
    ids.filter((id) => !/^[a-z][A-Za-z]+$/.test(id)),
    [],
  );
});

t.test("every example is what its schema says", async (t) => {
  let checked = 0;
  const check = (name: string, content: Content | undefined): void => {
    for (const { schema, example, examples = {} } of Object.values(content ?? {}))
      for (const each of [example, ...Object.values(examples).map(({ value }) => value)]) {
        if (each === undefined) continue;
        t.same(problemsOf(schema, each), [], name);
        checked++;
      }
  };
  for (const { operation } of operations) {
    check(`the request of ${operation.operationId}`, operation.requestBody?.content);
    for (const [status, response] of Object.entries(operation.responses))
      check(`${status} of ${operation.operationId}`, resolved(response).content);
  }
  t.ok(checked > 100, `${checked} examples`);
});
