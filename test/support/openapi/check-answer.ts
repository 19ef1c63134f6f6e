/**
 * Whether an answer is what `docs/openapi.json` says: its status, its headers, its type and its
 * body.
 */
import { pageHeaders } from "../../../proxy/dashboard/page-head.js";
import {
  type MediaType,
  operationOf,
  type Placed,
  type ResponseObject,
  resolved,
  type Schema,
} from "./document.js";
import { problemsOf } from "./schemas.js";

export interface AnswerHead {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
}

interface Checked {
  readonly problems: readonly string[];
  /** What the body must be; null: anything, or the provider's own. */
  readonly body: Schema | null;
}

/** Of every HTTP answer, or of every one to a web page that may call. */
const usualHeaders =
  /^(?:date|connection|keep-alive|content-(?:length|type)|transfer-encoding|vary|access-control-.*)$/;

/** Everything but the body. */
export function checkHead(answer: AnswerHead): Checked {
  const { method, url, status, headers } = answer;
  const placed = operationOf(method, url);
  // Pages for people.
  if (placed === null && url.startsWith("/dashboard")) return { problems: [], body: null };
  const described =
    (placed === null ? undescribed(answer) : responseOf(placed, status)) ?? notServed(answer);
  const where = `${method} ${url} ${status}`;
  if (described === null)
    return { problems: [`${where}: docs/openapi.json has no such answer`], body: null };
  const { content = {} } = described;
  const type = (headers.get("content-type") ?? "").split(";")[0]!.trim();
  const media = content[type] ?? content["*/*"];
  const problems = headerProblems(described, headers, placed === null || isOurs(content));
  if (media === undefined && type !== "" && method !== "HEAD")
    problems.push(`the type ${type} isn't described`);
  if (media !== undefined && type === "" && headers.get("content-length") !== "0")
    if (!("*/*" in content)) problems.push("it has no type");
  return {
    problems: problems.map((problem) => `${where}: ${problem}`),
    body: media === undefined || type !== "application/json" ? null : bodySchema(media),
  };
}

/** The document's words for a status; an error that isn't named is the default. */
function responseOf({ operation }: Placed, status: number): ResponseObject | null {
  const { responses } = operation;
  // A provider's own successes and redirects pass, whatever their status.
  const response = responses[status] ?? (status >= 400 ? responses["default"] : undefined);
  if (response !== undefined) return resolved(response);
  const success = resolved(responses["200"] ?? responses["default"] ?? {});
  return isOurs(success.content ?? {}) ? null : success;
}

/** Paths and methods that there aren't. */
function undescribed({ url, status, headers }: AnswerHead): ResponseObject | null {
  if (![204, 404, 405, 417, 426, 503].includes(status)) return null;
  if (status === 405 && !headers.has("allow")) return null;
  const schemas = url.startsWith("/admin")
    ? ["AdminError"]
    : ["ErrorEnvelope", "MessagesError", "GoogleError"];
  const schema = { anyOf: schemas.map((name) => ({ $ref: `#/components/schemas/${name}` })) };
  const text = { schema: { type: "string" } };
  return {
    headers: {
      "x-request-id": { required: true, schema: {} },
      "request-id": text,
      allow: text,
      "retry-after": text,
    },
    content: { "application/json": { schema } },
  };
}

/** An endpoint that the other port serves, where administration has one of its own. */
function notServed(answer: AnswerHead): ResponseObject | null {
  if (answer.status !== 404 || !/^\/(?:admin|dashboard)\//.test(answer.url)) return null;
  const code = { type: "null" };
  const message = { type: "string", pattern: "^unknown API endpoint: " };
  const schema = resolved({ $ref: "#/components/schemas/AdminError" } as Schema) as object & {
    readonly properties: object;
  };
  const properties = { ...schema.properties, code, message };
  return {
    ...undescribed(answer),
    content: { "application/json": { schema: { ...schema, properties } } },
  } as ResponseObject;
}

/** What every answer below /dashboard tells browsers. */
const ofDashboard = new Set(pageHeaders.filter((_, i) => i % 2 === 0));

/** Whether it is an answer of Sluice's own; providers' have headers and fields of theirs. */
function isOurs(content: Readonly<Record<string, MediaType>>): boolean {
  return !("*/*" in content);
}

function headerProblems(
  { headers: described = {} }: ResponseObject,
  headers: Headers,
  ours: boolean,
): string[] {
  const problems: string[] = [];
  const known = Object.entries(described).map(
    ([name, header]) => [name, resolved(header)] as const,
  );
  for (const [name, { required = false, schema }] of known) {
    const value = headers.get(name);
    if (value === null && required) problems.push(`the header ${name} is missing`);
    if (value === null) continue;
    const typed = schema["type"] === "integer" ? Number(value) : value;
    for (const problem of problemsOf(schema, typed)) problems.push(`${name}: ${problem}`);
  }
  if (ours)
    for (const name of headers.keys())
      if (!usualHeaders.test(name) && !(name in described) && !ofDashboard.has(name))
        problems.push(`the header ${name} isn't described`);
  return problems;
}

/** Null for those that hold the provider's own. */
function bodySchema({ schema }: MediaType): Schema | null {
  const isOpen = resolved(schema)["additionalProperties"] === true;
  return isOpen || Object.keys(schema).length === 0 ? null : schema;
}

/** What is wrong with a body that was read. */
export function checkBody(
  { method, url, status }: AnswerHead,
  schema: Schema,
  text: string,
): string[] {
  const where = `${method} ${url} ${status}`;
  try {
    return problemsOf(schema, JSON.parse(text)).map((problem) => `${where}: ${problem}`);
  } catch (error) {
    return [`${where}: ${String(error)}`];
  }
}
