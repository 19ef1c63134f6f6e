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
import { code, grouped, meanings } from "../../support/markdown-table.js";
import {
  document,
  operations as documented,
  type Parameter,
  type Placed,
  resolved,
  type Schema,
} from "../../support/openapi/document.js";

const isAdmin = ({ path }: Placed): boolean => path.startsWith("/admin/");

const all = "Limits count the request, its tokens, and a slot (a request in flight) while it runs:";
const requestAlone = "Limits count the request alone:";
const nothing = "Limits count nothing:";

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
  if (!meetsLimits(match.endpoint)) return nothing;
  return match.endpoint.endsWith("_submission") ? requestAlone : all;
}

const tagOf = ({ operation }: Placed): string => operation.tags[0]!;

/** The endpoints that count alike, by subject, without what openapi.json says of each. */
function listsOfEndpoints(): string {
  const places = documented.filter((place) => !isAdmin(place) && place.method !== "HEAD");
  const counted = new Map(grouped(places, countedAs));
  return [all, requestAlone, nothing]
    .map((lead) => {
      const subjects = grouped(counted.get(lead) ?? [], tagOf);
      const rows = subjects.map(([tag, alike]) => `- **${tag}**: ${endpointsOf(alike)}\n`);
      return `${lead}\n\n${rows.join("")}`;
    })
    .join("\n");
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

/**
 * Only their paths: docs/openapi.json says what they do. Those of rules, budgets and keys have
 * sections of their own on the page.
 */
function listOfOperating(): string {
  const places = documented.filter((place) => isAdmin(place) && tagOf(place) === operating);
  return `${endpointsOf(places)}\n`;
}

const parameterName = ({ name }: Parameter): string => name;

/** Those of the query. */
function parametersOf(operation: Placed["operation"]): readonly Parameter[] {
  return (operation.parameters ?? [])
    .map((parameter) => resolved(parameter))
    .filter((parameter) => parameter.in === "query");
}

/** Only their names: docs/openapi.json says what they mean. */
function namesOfParameters(places: readonly Placed[]): string {
  const parameters = places.flatMap(({ operation }) => parametersOf(operation));
  return namesIn(parameters.map(parameterName));
}

const namesIn = (names: readonly string[]): string =>
  `${[...new Set(names)].map(code).join(", ")}.\n`;

/**
 * The names of the fields of the first body of a part of the admin API, except those in `asInFile`,
 * which are on the page on the configuration, and those that are ignored.
 */
function namesOfBody(prefix: string, asInFile: readonly string[] = []): string {
  const body = documented
    .filter(({ path }) => path.startsWith(prefix))
    .map(({ operation }) => operation.requestBody?.content["application/json"]?.schema)
    .find((schema) => schema !== undefined);
  if (body === undefined) throw new Error(`${prefix} has no body`);
  const isIgnored = (field: Schema): boolean =>
    Object.keys(resolved(field)).every((key) => key === "description");
  const fields = Object.entries(propertiesOf(body)).filter(([, field]) => !isIgnored(field));
  return namesIn(fields.map(([name]) => name).filter((name) => !asInFile.includes(name)));
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

function listOfCodes(): string {
  const rows = Object.entries(errorCodes).sort(([, one], [, other]) => one.status - other.status);
  return meanings(
    rows.map(([name, { status, type, meaning }]) => [
      `${code(name)} (${status}, ${code(type)})`,
      meaning,
    ]),
  );
}

const isCount = (operation: Operation): boolean =>
  operation === "input_tokens" || /^count_/.test(operation);

/** The types of providers by what each is asked. A count that none gives is estimated. */
function listOfOperations(): string {
  const works = (asked: Operation, offered: ReadonlySet<Operation>): string => {
    const dialect = chooseDialect(asked, offered);
    if (dialect === null) return isCount(asked) ? "estimated for " : "refused";
    return dialect.translation === null ? "" : "translated for ";
  };
  const typesOf = (operation: Operation): string => {
    const ways = grouped(providerTypes, (type) =>
      works(operation, new Set(providerTraits[type].operations)),
    );
    const named = ["", "translated for ", "estimated for "].flatMap((way) =>
      ways.filter(([each]) => each === way),
    );
    const areAll = named.length === ways.length;
    return named
      .map(([way, types], at) => {
        const isRest = areAll && at > 0 && at === named.length - 1 && types.length > 1;
        return `${way}${isRest ? "all others" : types.map(code).join(", ")}`;
      })
      .join("; ");
  };
  return meanings(
    grouped(operations, typesOf).map(([types, alike]) => [alike.map(code).join(", "), types]),
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
  endpoints: listsOfEndpoints,
  operations: listOfOperations,
  presets: tableOfPresets,
  headers: tableOfHeaders,
  codes: listOfCodes,
  usage: () => namesOfParameters(documented.filter(({ path }) => path === "/v1/usage")),
};

export const adminTables: Tables = {
  operating: listOfOperating,
  rules: () => namesOfBody("/admin/rate-limits", Object.keys(ruleForm.fields)),
  limits: () => namesOfBody("/admin/limits"),
};

export const recordTables: Tables = { record: tableOfRecord };
