/**
 * The tables of the pages on the HTTP API, the admin API and the usage record: made of
 * docs/openapi.json, the routes, the operations of providers and the error codes. Pure.
 */
import { chooseDialect } from "../../../proxy/dialects/choose-dialect.js";
import { matchRoute, meetsLimits } from "../../../proxy/http/match-route.js";
import type { AdminAccess } from "../../../proxy/http/paths/admin-access.js";
import { ruleForm } from "../../../shared/config/limits/rule-limits.js";
import { presets } from "../../../shared/config/presets.js";
import { providerTraits, providerTypes } from "../../../shared/config/provider-type.js";
import { errorCodes } from "../../../shared/error-code.js";
import { recordFields } from "../../../shared/export/exported-record.js";
import { type Operation, operations } from "../../../shared/operation.js";
import { code, grouped, markdown, meanings } from "../../support/markdown-table.js";
import {
  document,
  operations as documented,
  type Parameter,
  type Placed,
  resolved,
  type Schema,
} from "../../support/openapi/document.js";

const isAdmin = ({ path }: Placed): boolean => path.startsWith("/admin/");

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

const tagOf = ({ operation }: Placed): string => operation.tags[0]!;

/** The endpoints of a subject that count alike, without what openapi.json says of each. */
function tableOfEndpoints(): string {
  const places = documented.filter((place) => !isAdmin(place) && place.method !== "HEAD");
  const rows = grouped(places, (place) => `${tagOf(place)}|${countedAs(place)}`);
  return markdown(
    ["subject", "endpoints", "counts"],
    rows.map(([, alike]) => [tagOf(alike[0]!), endpointsOf(alike), countedAs(alike[0]!)]),
  );
}

/** By their methods. What providers store is named by its collection, with all that is below. */
function endpointsOf(places: readonly Placed[]): string {
  if (tagOf(places[0]!) === "Stored objects" && places.some(({ path }) => path.includes("{"))) {
    const roots = new Set(places.map(({ path }) => code(path.replace(/\/\{.*/, ""))));
    return `${[...roots].join(", ")}, and below`;
  }
  const paths = grouped(places, ({ path }) => path);
  const methods = (of: readonly Placed[]): string =>
    of.length > 4 ? "any method" : of.map(({ method }) => code(method)).join("/");
  return grouped(paths, ([, of]) => methods(of))
    .map(([method, alike]) => `${method}: ${alike.map(([path]) => code(path)).join(", ")}`)
    .join("; ");
}

const operating = "What is going on";

/** Those of rules, budgets and keys have sections of their own on the page. */
function listOfAdminEndpoints(): string {
  const others = documented.filter((place) => isAdmin(place) && tagOf(place) !== operating);
  return grouped(others, tagOf)
    .map(([tag, places]) => `- **${tag}**: ${endpointsOf(places)}\n`)
    .join("");
}

function tableOfOperating(): string {
  const places = documented.filter((place) => isAdmin(place) && tagOf(place) === operating);
  return meanings(
    grouped(places, ({ path }) => path).map(([path, methods]) => [
      `${methods.map(({ method }) => code(method)).join("/")} ${code(path)}`,
      [...new Set(methods.map(({ operation }) => operation.summary))].join(" · "),
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
  return meanings(
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
 * The fields of the first body of a part of the admin API that the file doesn't have with the same
 * meaning; those in `asInFile` are on the page on the configuration. What is ignored is left out.
 */
function tableOfBody(prefix: string, asInFile: readonly string[] = []): string {
  const own = fieldsOf(prefix).filter(([name]) => !asInFile.includes(name));
  return meanings(
    grouped(own, ([, text]) => text).map(([text, alike]) => [
      alike.map(([name]) => code(name)).join(", "),
      text,
    ]),
  );
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

function tableOfHeaders(): string {
  const shown = Object.entries(document.components.headers).filter(([name]) =>
    /^(?:X-(?!Content)|Request-ID|Retry-After|Age)/.test(name),
  );
  return meanings(
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
  return meanings(
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
  return meanings(
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
  headers: tableOfHeaders,
  codes: tableOfCodes,
  usage: () => tableOfParameters(documented.filter(({ path }) => path === "/v1/usage")),
};

export const adminTables: Tables = {
  endpoints: listOfAdminEndpoints,
  operating: tableOfOperating,
  rules: () => tableOfBody("/admin/rate-limits", Object.keys(ruleForm.fields)),
  limits: () => tableOfBody("/admin/limits"),
};

export const recordTables: Tables = { record: tableOfRecord };
