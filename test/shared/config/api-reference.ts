/**
 * The tables of the pages on the HTTP API, the admin API and the usage record: made of
 * docs/openapi.json, the routes, the operations of providers and the error codes. Pure.
 */
import { chooseDialect } from "../../../proxy/dialects/choose-dialect.js";
import { matchRoute, meetsLimits } from "../../../proxy/http/match-route.js";
import { type AdminAccess, adminAccess } from "../../../proxy/http/paths/admin-access.js";
import { adminKeyRoutes, adminRoutes } from "../../../proxy/http/paths/admin-routes.js";
import { presets } from "../../../shared/config/presets.js";
import { providerTraits, providerTypes } from "../../../shared/config/provider-type.js";
import { errorCodes } from "../../../shared/error-code.js";
import { recordFields } from "../../../shared/export/exported-record.js";
import { type Operation, operations } from "../../../shared/operation.js";
import { code, grouped, markdown } from "../../support/markdown-table.js";
import {
  document,
  operations as documented,
  type Parameter,
  type Placed,
  resolved,
  type Schema,
} from "../../support/openapi/document.js";

const isAdmin = ({ path }: Placed): boolean => path.startsWith("/admin/");

/** Nothing if there is any method. */
function methodsOf(places: readonly Placed[]): string {
  if (places.every(isOfAnyMethod)) return "";
  return `${places.map(({ method }) => code(method)).join("/")} `;
}

/** Their summaries begin with the method. */
const isOfAnyMethod = ({ method, operation }: Placed): boolean =>
  operation.summary.startsWith(method);

function summariesOf(places: readonly Placed[]): string {
  const summaries = places.map((place) =>
    isOfAnyMethod(place)
      ? place.operation.summary.replace(place.method, "any method")
      : place.operation.summary,
  );
  return [...new Set(summaries)].join(" · ");
}

/** What the limits count of a request: all of it, a request of its user path, or nothing. */
function countedAs({ method, path }: Placed): string {
  const match = matchRoute(
    method,
    path
      .replace("/{model}:", ":")
      .replace("{path}", "x")
      .replace(/\{\w+\}/g, "x"),
  );
  if (match.kind !== "endpoint") throw new Error(`${method} ${path} has no route`);
  if (!meetsLimits(match.endpoint)) return "–";
  return match.endpoint.endsWith("_submission") ? "a request" : "all";
}

/** Of what providers store one row has all paths of one kind, with what is done without an id. */
function tableOfEndpoints(): string {
  const places = documented.filter((place) => !isAdmin(place) && place.method !== "HEAD");
  const isStored = ({ operation }: Placed): boolean => operation.tags.includes("Stored objects");
  const rows = grouped(places, (place) =>
    isStored(place) ? `stored ${place.path.replace(/\/\{.*/, "")}` : place.path,
  ).map(([, methods]) => {
    const paths = grouped(methods, ({ path }) => path);
    const methodsOfPath = methods.filter((place) => place.path === methods[0]!.path);
    const counts = new Set(methodsOfPath.map(countedAs));
    return [
      paths.map(([path, of]) => `${methodsOf(of)}${code(path)}`).join(", "),
      summariesOf(methodsOfPath),
      counts.size === 1
        ? [...counts].join()
        : methodsOfPath.map((place) => `${code(place.method)}: ${countedAs(place)}`).join(", "),
    ];
  });
  return markdown(["endpoint", "what it does", "counts"], rows);
}

function tableOfAdminEndpoints(): string {
  return markdown(
    ["endpoint", "what it does"],
    grouped(documented.filter(isAdmin), ({ path }) => path).map(([path, methods]) => [
      `${methodsOf(methods)}${code(path)}`,
      summariesOf(methods),
    ]),
  );
}

const parameterName = ({ name }: Parameter): string => name;

/** Those of the query. */
function parametersOf(operation: Placed["operation"]): readonly Parameter[] {
  return (operation.parameters ?? [])
    .map((parameter) => resolved(parameter))
    .filter((parameter) => parameter.in === "query");
}

/** Of parameters with one name the meanings are joined: they differ by endpoint in words alone. */
function tableOfParameters(places: readonly Placed[]): string {
  const byName = grouped(
    places.flatMap(({ operation }) => parametersOf(operation)),
    parameterName,
  );
  return markdown(
    ["parameter", "accepts"],
    byName.map(([name, parameters]) => {
      const meanings = new Set(
        parameters.map(
          ({ description, schema }) => description ?? resolved(schema)["description"] ?? "",
        ),
      );
      meanings.delete("");
      const accepted = either(parameters.map(({ schema }) => schema));
      return [code(name), explained(accepted, [...meanings].join(" Or: "))];
    }),
  );
}

/** What is accepted, and what it means; that a text is one goes without saying. */
function explained(accepted: string, meaning: string): string {
  if (meaning === "") return accepted;
  if (accepted === "text" || accepted.startsWith("text, up to")) return meaning;
  return `${accepted}. ${meaning}`;
}

/** What a schema takes, in a few words, and its default. */
function accepts(given: Schema): string {
  const preset = given["default"];
  const isSaid = preset === undefined || preset === false;
  return isSaid
    ? kindOf(resolved(given))
    : `${kindOf(resolved(given))}; default ${code(`${preset}`)}`;
}

function kindOf(schema: Schema): string {
  const { type, minimum, maximum, maxLength, format, items } = schema;
  const alternatives = schema["anyOf"] as readonly Schema[] | undefined;
  if (alternatives !== undefined) return either(alternatives);
  const words = schema["enum"] as readonly unknown[] | undefined;
  if (words !== undefined) return words.map((word) => code(`${word}`)).join(", ");
  if ("const" in schema) return code(`${schema["const"]}`);
  if (items !== undefined) return "list";
  const fields = Object.keys(propertiesOf(schema));
  if (fields.length > 0) return fields.map(code).join(", ");
  if (type === undefined) return "anything";
  const kind = [type]
    .flat()
    .map((each) => kinds[`${each}`] ?? `${each}`)
    .join(" or ");
  if (format === "date") return "`YYYY-MM-DD`";
  if (format === "date-time") return "RFC 3339";
  if (minimum !== undefined) {
    const isUnbounded = maximum === undefined || maximum === Number.MAX_SAFE_INTEGER;
    return `${kind}, ${isUnbounded ? `from ${minimum}` : `${minimum} to ${maximum}`}`;
  }
  return maxLength === undefined ? kind : `${kind}, up to ${maxLength} characters`;
}

/** What several schemas take, each alternative once. */
function either(schemas: readonly Schema[]): string {
  return [...new Set(schemas.flatMap((schema) => accepts(schema).split("; or ")))].join("; or ");
}

const kinds: Readonly<Record<string, string>> = { string: "text", boolean: "`true`" };

/**
 * The fields of the first body of a part of the admin API. Fields that mean the same share a row;
 * those that mean the same in the body of another part are only named. What is ignored is left out.
 */
function tableOfBody(prefix: string, like?: string): string {
  const known = new Set(like === undefined ? [] : fieldsOf(like).map((field) => field.join()));
  const fields = fieldsOf(prefix);
  const own = fields.filter((field) => !known.has(field.join()));
  const named = fields.filter((field) => known.has(field.join())).map(([name]) => code(name));
  const table = markdown(
    ["field", "accepts"],
    grouped(own, ([, text]) => text).map(([text, alike]) => [
      alike.map(([name]) => code(name)).join(", "),
      text,
    ]),
  );
  return named.length === 0 ? table : `${table}\n${named.join(", ")}: as for a rule.\n`;
}

function fieldsOf(prefix: string): readonly (readonly [name: string, text: string])[] {
  const body = documented
    .filter(({ path }) => path.startsWith(prefix))
    .map(({ operation }) => operation.requestBody?.content["application/json"]?.schema)
    .find((schema) => schema !== undefined);
  if (body === undefined) throw new Error(`${prefix} has no body`);
  return Object.entries(propertiesOf(body))
    .filter(([, field]) => accepts(field) !== "anything")
    .map(([name, field]) => {
      const meaning = `${field["description"] ?? resolved(field)["description"] ?? ""}`;
      return [name, explained(accepts(field), meaning)];
    });
}

function propertiesOf(schema: Schema): Readonly<Record<string, Schema>> {
  return (resolved(schema)["properties"] ?? {}) as Readonly<Record<string, Schema>>;
}

/** What Sluice reads of the requests to models, and requires. */
function tableOfRead(): string {
  const places = documented.filter(
    ({ operation }) =>
      operation.tags.includes("Model requests") && operation.requestBody !== undefined,
  );
  const rows = places.flatMap(({ path, operation }) =>
    Object.values(operation.requestBody?.content ?? {})
      .slice(0, 1)
      .filter(({ schema }) => propertiesOf(schema)["model"] !== undefined)
      .map(({ schema }) => {
        const required = new Set(resolved(schema)["required"] as readonly string[] | undefined);
        const fields = Object.keys(propertiesOf(schema)).map((name) =>
          required.has(name) ? `**${code(name)}**` : code(name),
        );
        return { path, fields: fields.join(", ") };
      }),
  );
  return markdown(
    ["endpoints", "fields"],
    grouped(rows, ({ fields }) => fields).map(([fields, alike]) => [
      alike.map(({ path }) => code(path)).join(", "),
      fields,
    ]),
  );
}

function tableOfHeaders(): string {
  const shown = Object.entries(document.components.headers).filter(([name]) =>
    /^(?:X-(?!Content)|Request-ID|Retry-After|Age)/.test(name),
  );
  return markdown(
    ["header", "meaning"],
    grouped(shown, ([, { description }]) => description).map(([description, alike]) => [
      alike.map(([name]) => code(name.toLowerCase())).join(", "),
      description,
    ]),
  );
}

/** A role as the page and the OpenAPI document name it. */
export function roleText({ role, ofSubtree }: AdminAccess): string {
  return ofSubtree ? role : `${role} of /`;
}

/** Which endpoints of the admin API each role opens. */
function tableOfRoles(): string {
  const routes = [
    ...adminRoutes,
    ...adminKeyRoutes.map(([, methods, route]) => [route, methods] as const),
  ];
  const calls = routes.flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, endpoint]) => ({
      role: roleText(adminAccess[endpoint][method]!),
      call: code(`${method} ${path}`),
    })),
  );
  return markdown(
    ["role", "endpoints"],
    grouped(calls, ({ role }) => role).map(([role, alike]) => [
      role,
      alike.map(({ call }) => call).join(", "),
    ]),
  );
}

export const roleTables = { roles: tableOfRoles };

function tableOfCodes(): string {
  const rows = Object.entries(errorCodes).sort(([, one], [, other]) => one.status - other.status);
  return markdown(
    ["code", "status", "type", "meaning"],
    rows.map(([name, { status, type, meaning }]) => [code(name), `${status}`, code(type), meaning]),
  );
}

const isCount = (operation: Operation): boolean =>
  operation === "input_tokens" || /^count_/.test(operation);

/** What each type of provider is asked for an operation. A count that none gives is estimated. */
function tableOfOperations(): string {
  const works = (asked: Operation, offered: ReadonlySet<Operation>): string => {
    const dialect = chooseDialect(asked, offered);
    if (dialect === null) return isCount(asked) ? "estimated" : "–";
    return dialect.translation === null ? "yes" : "translated";
  };
  const cells = (operation: Operation): readonly string[] =>
    providerTypes.map((type) => works(operation, new Set(providerTraits[type].operations)));
  return markdown(
    ["operation", ...providerTypes.map(code)],
    grouped(operations, (operation) => cells(operation).join()).map(([, alike]) => [
      alike.map(code).join(", "),
      ...cells(alike[0]!),
    ]),
  );
}

function tableOfPresets(): string {
  const known = presets.filter(({ name }) => !(providerTypes as readonly string[]).includes(name));
  return markdown(
    ["providers", "operations"],
    grouped(known, ({ operations: offered }) => offered.map(code).join(", ")).map(
      ([offered, alike]) => [alike.map(({ name }) => code(name)).join(", "), offered],
    ),
  );
}

/** The fields of a usage record in the order of an export; those that mean the same share a row. */
function tableOfRecord(): string {
  const fields = propertiesOf(document.components.schemas["Record"]!);
  const rows = recordFields.map(([name]) => {
    const meaning = fields[name]?.["description"];
    if (meaning === undefined) throw new Error(`docs/openapi.json doesn't describe Record.${name}`);
    return { name, meaning: `${meaning}` };
  });
  return markdown(
    ["field", "meaning"],
    grouped(rows, ({ meaning }) => meaning).map(([meaning, alike]) => [
      alike.map(({ name }) => code(name)).join(", "),
      meaning,
    ]),
  );
}

type Tables = Readonly<Record<string, () => string>>;

export const apiTables: Tables = {
  endpoints: tableOfEndpoints,
  operations: tableOfOperations,
  presets: tableOfPresets,
  fields: tableOfRead,
  headers: tableOfHeaders,
  codes: tableOfCodes,
  usage: () => tableOfParameters(documented.filter(({ path }) => path === "/v1/usage")),
};

export const adminTables: Tables = {
  endpoints: tableOfAdminEndpoints,
  rules: () => tableOfBody("/admin/rate-limits"),
  limits: () => tableOfBody("/admin/limits"),
  budgets: () => tableOfBody("/admin/budgets", "/admin/rate-limits"),
  keys: () => tableOfBody("/admin/auth-keys"),
  denials: () => tableOfBody("/admin/denied-jwts"),
  explain: () => tableOfBody("/admin/explain"),
};

export const recordTables: Tables = { record: tableOfRecord };
