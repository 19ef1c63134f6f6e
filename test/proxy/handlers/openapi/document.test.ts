/** Whether `docs/openapi.json` is a document that tools can read. */
import { Validator } from "@seriousme/openapi-schema-validator";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import t from "tap";
import { adminAccess } from "../../../../proxy/http/paths/admin-access.js";
import {
  type AdminEndpoint,
  adminIdRoutes,
  adminRoutes,
} from "../../../../proxy/http/paths/admin-routes.js";
import { errorCodes } from "../../../../shared/error-code.js";
import { roleText } from "../../../shared/config/api-reference.js";
import { faultsOf } from "../../../support/openapi/any-body.js";
import {
  document,
  documentText,
  type MediaType,
  operations,
  resolved,
  type Schema,
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

t.test("every error code is named by the description of an answer with its status", async (t) => {
  const described = operations.flatMap(({ operation }) =>
    Object.entries(operation.responses).map(([status, answer]) => ({
      status,
      text: (resolved(answer) as { readonly description?: string }).description ?? "",
    })),
  );
  for (const [code, { status }] of Object.entries(errorCodes))
    t.ok(
      described.some(
        (answer) =>
          [String(status), "default"].includes(answer.status) &&
          answer.text.includes(`\`${code}\``),
      ),
      `${status} ${code}`,
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

interface Example {
  readonly name: string;
  readonly schema: Schema;
  readonly value: unknown;
}

function examplesIn(name: string, content: Content = {}): readonly Example[] {
  return Object.values(content).flatMap(({ schema, example, examples = {} }) =>
    [example, ...Object.values(examples).map(({ value }) => value)]
      .filter((value) => value !== undefined)
      .map((value) => ({ name, schema, value })),
  );
}

const examples = operations.flatMap(({ operation: { operationId, requestBody, responses } }) => [
  ...examplesIn(`the request of ${operationId}`, requestBody?.content),
  ...Object.entries(responses).flatMap(([status, response]) =>
    examplesIn(`${status} of ${operationId}`, resolved(response).content),
  ),
]);

t.test("every example is what its schema says", async (t) => {
  for (const { name, schema, value } of examples) t.same(problemsOf(schema, value), [], name);
  t.ok(examples.length > 100, `${examples.length} examples`);
});

t.test(
  "integers that may be large say so, for clients whose integers are of 32 bits",
  async (t) => {
    const small: string[] = [];
    const look = (part: unknown, at: string): void => {
      if (typeof part !== "object" || part === null) return;
      const { type, format, maximum } = part as Schema;
      const isSmall = typeof maximum === "number" && maximum < 2 ** 31;
      if ([type].flat().includes("integer") && format !== "int64" && !isSmall) small.push(at);
      for (const [name, each] of Object.entries(part)) look(each, `${at}/${name}`);
    };
    look(document, "");
    t.same(small, []);
  },
);

/** A copy in which an object has the fields that are described, and no others. */
function closed(part: unknown): unknown {
  if (Array.isArray(part)) return part.map(closed);
  if (typeof part !== "object" || part === null) return part;
  const copy = Object.fromEntries(Object.entries(part).map(([name, each]) => [name, closed(each)]));
  const isOpen = copy["properties"] === undefined || copy["additionalProperties"] !== undefined;
  return isOpen ? copy : { ...copy, additionalProperties: false };
}

t.test("the checker of answers judges as ajv does", async (t) => {
  const formats = {
    "date-time": /T[\d:.]+Z$/,
    date: /^[\d-]{10}$/,
    int64: true,
    binary: true,
  } as const;
  const ajv = new Ajv2020({ strict: false, formats, meta: false, validateSchema: false });
  ajv.addSchema({ components: { schemas: closed(document.components.schemas) } }, "document");
  const judges = new Map<string, ValidateFunction>();
  const counts = { right: 0, wrong: 0 };
  for (const { name, schema, value } of examples) {
    const text = JSON.stringify(closed(schema)).replaceAll('"#/', '"document#/');
    const isRight = judges.get(text) ?? ajv.compile(JSON.parse(text) as Schema);
    if (judges.has(text)) continue;
    judges.set(text, isRight);
    const faults = isFields(value) ? faultsOf(schema, value).map(({ body }) => body) : [];
    for (const each of [value, null, 1, "a", [], {}, ...faults]) {
      const judged = isRight(each);
      counts[judged ? "right" : "wrong"]++;
      if ((problemsOf(schema, each).length === 0) !== judged)
        t.fail(`${name}: ${JSON.stringify(each)}: ${problemsOf(schema, each)}`);
    }
  }
  t.ok(counts.right > 50 && counts.wrong > 1000, JSON.stringify(counts));
});

function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

t.test("each operation of the admin API says which role it needs", async (t) => {
  const routes = new Map<string, Readonly<Record<string, AdminEndpoint>>>([
    ...adminRoutes,
    ...adminIdRoutes.map(([, methods, route]) => [route, methods] as const),
  ]);
  for (const { method, path, operation } of operations) {
    const methods = routes.get(path);
    const access = methods && adminAccess[methods[method]!][method]!;
    t.equal(operation["x-sluice-role"], access && roleText(access), `${method} ${path}`);
  }
});
