/**
 * From `/p/{provider}/{rest}?{query}` to a path at the provider's own address, or why there is
 * none.
 *
 * The rest is a path of the provider's origin, as the provider documents it. One that begins with a
 * resource of OpenAI's or Anthropic's API stands below the base URL instead, so that an SDK whose
 * base URL is `/p/{provider}` finds them. The origin is the configured one, whatever the path
 * holds.
 *
 * Not here: which providers there are, and who may call.
 */

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

/**
 * How often a path is decoded to look at what a server behind the provider's front may make of it.
 */
const decodingsMax = 4;

/**
 * Why a rest isn't passed on, or null. Refused is what servers read differently: dot segments,
 * empty segments and backslashes, in plain or percent-encoded however often; and what belongs into
 * no path. An encoded slash alone passes as it is: it stands in model names.
 */
export function restProblem(rest: string): string | null {
  if (!/^[A-Za-z0-9\-._~!$&'()*+,;=:@/%]*$/.test(rest))
    return "it holds a character that has no place in a path";
  if (/%(?![0-9A-Fa-f]{2})/.test(rest)) return "it holds a percent sign that encodes nothing";
  // http-proxy would make it "http://".
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
  // eslint-disable-next-line no-control-regex
  if (/[\u0000-\u001f\u007f]/.test(text)) return "it holds a control character";
  if (text.includes("\\")) return "it holds a backslash";
  if (text.includes("//")) return "it holds an empty segment";
  // Some servers cut what follows a semicolon before they look at the dots.
  for (const segment of text.split("/"))
    if (/^\.{1,2}(?:;|$)/.test(segment)) return "it holds a dot segment";
  return null;
}

/** The first segments below a base URL: what the SDKs of OpenAI and Anthropic append to theirs. */
const resources: ReadonlySet<string> = new Set([
  "assistants",
  "audio",
  "batches",
  "chat",
  "complete",
  "completions",
  "containers",
  "conversations",
  "embeddings",
  "evals",
  "files",
  "fine_tuning",
  "images",
  "messages",
  "models",
  "moderations",
  "realtime",
  "rerank",
  "responses",
  "skills",
  "threads",
  "uploads",
  "vector_stores",
  "videos",
]);

/** The path at the origin of a base URL; `rest` has no problem. */
export function originPath(baseUrl: string, rest: string): string {
  const base = new URL(baseUrl).pathname.replace(/\/$/, "");
  if (rest === "") return "/";
  const first = rest.split("/", 2)[1]!;
  return resources.has(first) && !isAtOrBelow(base, rest) ? base + rest : rest;
}

function isAtOrBelow(base: string, path: string): boolean {
  return base !== "" && (path === base || path.startsWith(`${base}/`));
}

/**
 * Parameters that carry credentials, the caller's: Gemini's `key`, and those of Azure's SDK in
 * browsers.
 */
const credentialParameters: ReadonlySet<string> = new Set([
  "key",
  "api-key",
  "api_key",
  "access_token",
  "authorization",
]);

/**
 * The query for the provider, with its question mark, or nothing: without credentials, with the
 * provider's API version if it has one and the caller named none.
 */
export function passedQuery(query: string, apiVersion: string | null): string {
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

/** A query without a parameter of the caller's, however it spells it; `name` is in lower case. */
export function withoutParameter(query: string, name: string): string {
  return query
    .split("&")
    .filter((parameter) => parameterName(parameter).toLowerCase() !== name)
    .join("&");
}

/** Whether a query can stand in a request as it is. */
export function isCleanQuery(query: string): boolean {
  return /^[\x21\x22\x24-\x7e]*$/.test(query);
}

/** The first value of a parameter, or null. */
export function parameterOf(query: string, name: string): string | null {
  return new URLSearchParams(query).get(name);
}

/** A query with one parameter in the place of another, which it has. */
export function exchangeParameter(query: string, old: string, name: string, value: string): string {
  let done = false;
  const parameters = query.split("&").flatMap((parameter) => {
    if (parameterName(parameter) !== old) return [parameter];
    if (done) return [];
    done = true;
    return [`${name}=${encodeURIComponent(value)}`];
  });
  return parameters.join("&");
}

function parameterName(parameter: string): string {
  const [name] = new URLSearchParams(parameter).keys();
  return name ?? "";
}
