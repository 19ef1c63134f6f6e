/**
 * Maps `/p/{provider}/{rest}?{query}` to a path at the provider's own address, or returns the
 * reason why the path is refused.
 *
 * The rest is a path of the provider's origin, as the provider documents it. A rest that begins
 * with a resource of OpenAI's or Anthropic's API is below the base URL instead, so that an SDK
 * whose base URL is `/p/{provider}` finds it. The origin is always the configured one.
 *
 * Not here: which providers are configured, and who may call them.
 */
import type { ProviderConfig } from "../../shared/config/config.js";
import { cacheByText } from "../../shared/text/remembered.js";
import { apiResources } from "../http/match-route.js";

const parsedUrl = cacheByText((baseUrl) => new URL(baseUrl));

interface PassthroughPath {
  /** As the caller wrote it. */
  readonly provider: string;
  /** Empty, or with its leading slash. */
  readonly rest: string;
}

/** Null for every other path. */
export function splitPassthrough(path: string): PassthroughPath | null {
  const match = /^\/p\/([^/]+)(\/.*)?$/s.exec(path);
  return match === null ? null : { provider: match[1]!, rest: match[2] ?? "" };
}

/** How often a path is decoded: servers behind the provider's front end may decode it again. */
const decodingsMax = 4;

/**
 * The problem of a rest, or null. Refuses parts that servers interpret differently: dot segments,
 * empty segments and backslashes, plain or percent-encoded any number of times; and characters that
 * aren't allowed in paths. An encoded slash passes unchanged, since model names contain it.
 */
export function restProblem(rest: string): string | null {
  return checkedRest(rest).problem;
}

/** Clients request the same few paths. */
const checkedRest = cacheByText((rest) => ({ problem: findRestProblem(rest) }));

function findRestProblem(rest: string): string | null {
  if (!/^[A-Za-z0-9\-._~!$&'()*+,;=:@/%]*$/.test(rest))
    return "it holds a character that has no place in a path";
  if (/%(?![0-9A-Fa-f]{2})/.test(rest)) return "it holds a percent sign that encodes nothing";
  // http-proxy would change it to "http://".
  if (/https?:\//.test(rest)) return "it holds an address";
  let text = rest;
  for (let round = 0; round <= decodingsMax; round++) {
    const problem = segmentProblem(text);
    if (problem !== null) return problem;
    const decoded = text.replace(/%([0-9A-Fa-f]{2})/g, (_, digits: string) =>
      String.fromCharCode(parseInt(digits, 16)),
    );
    if (decoded === text) return null;
    text = decoded;
  }
  return "it is percent-encoded too often";
}

function segmentProblem(text: string): string | null {
  if (/[\u0000-\u001f\u007f]/.test(text)) return "it holds a control character";
  if (text.includes("\\")) return "it holds a backslash";
  if (text.includes("//")) return "it holds an empty segment";
  // Some servers cut a segment at its semicolon before they look for dots.
  for (const segment of text.split("/"))
    if (/^\.{1,2}(?:;|$)/.test(segment)) return "it holds a dot segment";
  return null;
}

/** The path at the origin of a base URL. `rest` must have passed `restProblem`. */
export function originPath(baseUrl: string, rest: string): string {
  const base = parsedUrl(baseUrl).pathname.replace(/\/$/, "");
  if (rest === "") return "/";
  const first = rest.split("/", 2)[1]!;
  return apiResources.has(first) && !isAtOrBelow(base, rest) ? base + rest : rest;
}

function isAtOrBelow(base: string, path: string): boolean {
  return base !== "" && (path === base || path.startsWith(`${base}/`));
}

/**
 * Parameters that contain the caller's credentials: Google's `key` and tokens, and those that
 * Azure's SDK uses in browsers.
 */
const credentialParameters: ReadonlySet<string> = new Set([
  "key",
  "api-key",
  "api_key",
  "access_token",
  "oauth_token",
  "authorization",
]);

/**
 * The query for the provider with its question mark, or an empty text. Credentials are removed, and
 * the provider's API version is added if it has one and the caller named none.
 */
export function passedQuery(query: string, apiVersion: string | null): string {
  if (query === "" && apiVersion === null) return "";
  const parameters = query
    .split("&")
    .filter(
      (parameter) =>
        parameter !== "" && !credentialParameters.has(parameterName(parameter).toLowerCase()),
    );
  if (
    apiVersion !== null &&
    !parameters.some((parameter) => parameterName(parameter).toLowerCase() === "api-version")
  )
    parameters.push(`api-version=${encodeURIComponent(apiVersion)}`);
  return parameters.length === 0 ? "" : `?${parameters.join("&")}`;
}

/** A query without one parameter, however the caller spells its name; `name` is in lower case. */
export function withoutParameter(query: string, name: string): string {
  return query
    .split("&")
    .filter((parameter) => parameterName(parameter).toLowerCase() !== name)
    .join("&");
}

/** Whether a query is valid in a request line as written. */
export function isCleanQuery(query: string): boolean {
  return /^[\x21\x22\x24-\x7e]*$/.test(query);
}

/** Parameters that every method of Google's APIs accepts and that change the form of its answer. */
const googleParameter = /^\s*(?:\$.*|fields|alt|callback)\s*$/is;
const harmlessGoogleParameter = /^\s*\$(?:\.xgafv|prettyPrint)\s*$/i;

/** A query without these parameters. */
export function withoutGoogleParameters(query: string): string {
  return query
    .split("&")
    .filter((part) => !queryPairs(part).some(([name]) => googleParameter.test(name)))
    .join("&");
}

/** The problem of a query, or null. */
export function queryProblem(
  method: string,
  query: string,
  provider: Pick<ProviderConfig, "type" | "baseUrl">,
): string | null {
  if (!isCleanQuery(query)) return "its query holds a character that has no place there";
  return isGoogle(provider) ? googleProblem(method, query) : null;
}

/**
 * Refuses Google's parameters that keep the usage of a `POST` from being read: `fields` selects the
 * fields of an answer, `alt` and `callback` turn it into something other than JSON. Parameters with
 * a dollar sign can also replace headers and the method, so only known ones pass.
 */
function googleProblem(method: string, query: string): string | null {
  for (const [name, value] of queryPairs(query)) {
    if (!googleParameter.test(name) || harmlessGoogleParameter.test(name)) continue;
    const plain = name.trim().toLowerCase().replace(/^\$/, "");
    const isAnswer = ["fields", "alt", "callback"].includes(plain);
    if (isAnswer && method !== "POST") continue;
    const problem = `its query holds ${JSON.stringify(name.slice(0, 64))}`;
    if (plain !== "alt") return `${problem}, with which Google's answer may have no usage`;
    if (!/^(?:json|sse)$/i.test(value))
      return `${problem} with a value other than "json" and "sse": no usage could be read`;
  }
  return null;
}

/**
 * The problem of a body's type, or null: Google may answer a protobuf body with protobuf. Uploads
 * aren't checked, since a file may have any content type.
 */
export function bodyTypeProblem(
  rest: string,
  rawHeaders: readonly string[],
  provider: Pick<ProviderConfig, "type" | "baseUrl">,
): string | null {
  if (!isGoogle(provider) || rest.startsWith("/upload/")) return null;
  const isProtobuf = rawHeaders.some(
    (name, index) =>
      index % 2 === 0 && /^content-type$/i.test(name) && /proto/i.test(rawHeaders[index + 1] ?? ""),
  );
  return isProtobuf ? "its content-type is of protobuf: no usage could be read" : null;
}

/** For any provider type: Google has hosts that speak OpenAI's dialect. */
function isGoogle({ type, baseUrl }: Pick<ProviderConfig, "type" | "baseUrl">): boolean {
  return type === "gemini" || /(?:^|\.)googleapis\.com\.?$/.test(parsedUrl(baseUrl).hostname);
}

/** Names and values. A semicolon separates too, because some servers read it so. */
function queryPairs(query: string): readonly (readonly [name: string, value: string])[] {
  return query.split(/[&;]/).flatMap((part) => [...new URLSearchParams(part)]);
}

/** The first value of a parameter, or null. */
export function parameterOf(query: string, name: string): string | null {
  return new URLSearchParams(query).get(name);
}

/** A query in which one parameter is replaced and its repetitions are removed. */
export function replaceParameter(query: string, old: string, name: string, value: string): string {
  let isReplaced = false;
  const parameters = query.split("&").flatMap((parameter) => {
    if (parameterName(parameter) !== old) return [parameter];
    if (isReplaced) return [];
    isReplaced = true;
    return [`${name}=${encodeURIComponent(value)}`];
  });
  return parameters.join("&");
}

function parameterName(parameter: string): string {
  const [name] = new URLSearchParams(parameter).keys();
  return name ?? "";
}
