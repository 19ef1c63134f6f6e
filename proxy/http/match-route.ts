/**
 * The table of endpoints (docs/reference/http-api.md): which endpoint a method and a path mean; and
 * the paths under which clients reach them. An SDK's base URL may lack `/v1` or have a trailing
 * slash, and clients of Azure and Google put the model into the path. Other paths, such as those of
 * administration, health and passthrough, stay as written, because a reverse proxy in front of
 * Sluice may guard them.
 */

import { googleMethods } from "../../shared/operation.js";
import { percentDecoded } from "../../shared/text/percent-decoded.js";
import { type AdminEndpoint, adminIdRoutes, adminRoutes } from "./paths/admin-routes.js";

/** Requests to a model, which are admitted, counted and limited. */
const modelOperations = [
  "chat_completions",
  "responses",
  "messages",
  "completions",
  "compact",
  "embeddings",
  "moderations",
  "rerank",
  "speech",
  "transcriptions",
  "translations",
  "images",
  "image_edits",
  "image_variations",
  "generate_content",
  "stream_generate_content",
  "embed_content",
  "batch_embed_contents",
  "interactions",
] as const;
export type ModelOperation = (typeof modelOperations)[number];

export type Endpoint =
  | ModelOperation
  | "passthrough"
  | "dashboard-sign-in"
  | "dashboard-callback"
  | "mcp"
  | "mcp_session"
  | "realtime"
  | "responses_socket"
  | "count_tokens"
  | "input_tokens"
  | "count_content_tokens"
  | "files"
  | "batches"
  | "stored_responses"
  | "stored_interactions"
  | "uploads"
  | "containers"
  | "conversations"
  | "message_batches"
  | "batch_submission"
  | "message_batch_submission"
  | "model"
  | "models"
  | "usage"
  | AdminEndpoint
  | PublicEndpoint
  | "metrics"
  | "metrics-limiter";

const modelOperationSet: ReadonlySet<Endpoint> = new Set(modelOperations);
const limitedEndpoints = [
  ...modelOperations,
  "batch_submission",
  "message_batch_submission",
  "passthrough",
  "mcp",
  "realtime",
] as const;
type LimitedEndpoint = (typeof limitedEndpoints)[number];
const limited: ReadonlySet<Endpoint> = new Set(limitedEndpoints);

/** Endpoints that need no caller; each bounds its own requests. */
const publicEndpoints = [
  "dashboard",
  "dashboard-session",
  "dashboard-sign-in",
  "dashboard-callback",
  "openapi",
  "hello",
  "health",
  "ready",
] as const;
export type PublicEndpoint = (typeof publicEndpoints)[number];
const publicSet: ReadonlySet<Endpoint> = new Set(publicEndpoints);

export function isPublic(endpoint: Endpoint): endpoint is PublicEndpoint {
  return publicSet.has(endpoint);
}

/** An endpoint whose requests need no admission; `capacity/unlimited-requests.ts` bounds them. */
export type UnlimitedEndpoint = Exclude<Endpoint, LimitedEndpoint | PublicEndpoint>;

export function isModelOperation(endpoint: Endpoint): endpoint is ModelOperation {
  return modelOperationSet.has(endpoint);
}

/** Whether the daemon admits its requests before they are served. */
export function meetsLimits(endpoint: Endpoint): endpoint is LimitedEndpoint {
  return limited.has(endpoint);
}

export type RouteMatch =
  | {
      readonly kind: "endpoint";
      readonly endpoint: Endpoint;
      readonly area: Area;
      readonly route: string;
    }
  | { readonly kind: "wrong-method"; readonly allow: string; readonly area: Area }
  | { readonly kind: "unknown"; readonly area: Area };

/** Which credentials a path accepts, and which shape its errors have. */
export type Area = "model" | "admin" | "dashboard" | "health";

/** The endpoints of one path, by method. */
interface PathEndpoints {
  readonly area: Area;
  readonly methods: Readonly<Record<string, Endpoint>>;
  /** The path with names in the place of ids; of a path without ids it is the path. */
  readonly route?: string;
}

type Methods = PathEndpoints["methods"];
const model = (methods: Methods): PathEndpoints => ({ area: "model", methods });
const admin = (methods: Methods): PathEndpoints => ({ area: "admin", methods });

const sessionMethods: Methods = {
  GET: "dashboard-session",
  POST: "dashboard-session",
  DELETE: "dashboard-session",
};

export const routes: ReadonlyMap<string, PathEndpoints> = new Map<string, PathEndpoints>([
  ["/v1/chat/completions", { area: "model", methods: { POST: "chat_completions" } }],
  ["/v1/responses", model({ GET: "responses_socket", POST: "responses" })],
  ["/v1/messages", { area: "model", methods: { POST: "messages" } }],
  ["/v1/completions", { area: "model", methods: { POST: "completions" } }],
  ["/v1/responses/compact", { area: "model", methods: { POST: "compact" } }],
  ["/v1/responses/input_tokens", { area: "model", methods: { POST: "input_tokens" } }],
  ["/v1/moderations", { area: "model", methods: { POST: "moderations" } }],
  ["/v1/rerank", { area: "model", methods: { POST: "rerank" } }],
  ["/v1/embeddings", { area: "model", methods: { POST: "embeddings" } }],
  ["/v1/audio/speech", { area: "model", methods: { POST: "speech" } }],
  ["/v1/audio/transcriptions", { area: "model", methods: { POST: "transcriptions" } }],
  ["/v1/audio/translations", { area: "model", methods: { POST: "translations" } }],
  ["/v1/images/generations", { area: "model", methods: { POST: "images" } }],
  ["/v1/images/edits", { area: "model", methods: { POST: "image_edits" } }],
  ["/v1/images/variations", { area: "model", methods: { POST: "image_variations" } }],
  ["/v1/messages/count_tokens", { area: "model", methods: { POST: "count_tokens" } }],
  ["/v1/files", { area: "model", methods: { GET: "files", POST: "files" } }],
  ["/v1/batches", { area: "model", methods: { GET: "batches", POST: "batch_submission" } }],
  ["/v1/messages/batches", model({ GET: "message_batches", POST: "message_batch_submission" })],
  ["/v1/uploads", { area: "model", methods: { POST: "uploads" } }],
  ["/v1/containers", { area: "model", methods: { GET: "containers", POST: "containers" } }],
  ["/v1/conversations", { area: "model", methods: { POST: "conversations" } }],
  ["/v1/realtime", { area: "model", methods: { GET: "realtime" } }],
  // `endpointAddress` removed the model before the colon.
  ...Object.entries(googleMethods).map(([endpoint, method]): [string, PathEndpoints] => [
    `/v1beta/models:${method}`,
    { area: "model", methods: { POST: endpoint as keyof typeof googleMethods } },
  ]),
  ["/v1beta/interactions", model({ POST: "interactions" })],
  ["/v1beta/models", { area: "model", methods: { GET: "models" } }],
  ["/v1/models", { area: "model", methods: { GET: "models" } }],
  ["/v1/usage", { area: "model", methods: { GET: "usage" } }],
  ...adminRoutes.map(([path, methods]) => [path, admin(methods)] as const),
  ["/dashboard/sign-in", { area: "dashboard", methods: { GET: "dashboard-sign-in" } }],
  ["/dashboard/sign-in/callback", { area: "dashboard", methods: { GET: "dashboard-callback" } }],
  ["/dashboard/session", { area: "dashboard", methods: sessionMethods }],
  ["/metrics", admin({ GET: "metrics" })],
  ["/metrics/limiter", admin({ GET: "metrics-limiter" })],
  ["/openapi.json", model({ GET: "openapi" })],
  ["/api/hello", model({ GET: "hello" })],
  ["/health", { area: "health", methods: { GET: "health", HEAD: "health" } }],
  ["/ready", { area: "health", methods: { GET: "ready", HEAD: "ready" } }],
]);

/**
 * Every method that may pass: TRACE would show the caller the provider's key, and CONNECT requests
 * a tunnel to any address.
 */
const passthrough: PathEndpoints = {
  area: "model",
  route: "/p/{provider}/{path}",
  methods: {
    GET: "passthrough",
    HEAD: "passthrough",
    POST: "passthrough",
    PUT: "passthrough",
    PATCH: "passthrough",
    DELETE: "passthrough",
    OPTIONS: "passthrough",
  },
};

/** The methods of stored objects, below one id or two, as their providers document them. */
function storedObjectRoute(
  path: string,
  endpoint: Endpoint,
  ...methods: readonly ("GET" | "POST" | "DELETE")[]
): readonly [RegExp, PathEndpoints] {
  const pattern = path.replaceAll("{id}", "[\\w-][\\w.-]{0,255}");
  const byMethod = Object.fromEntries(methods.map((method) => [method, endpoint]));
  const base = endpoint === "stored_interactions" ? "/v1beta" : "/v1";
  return [new RegExp(`^${base}/${pattern}$`), { ...model(byMethod), route: `${base}/${path}` }];
}

/** Paths that contain an id. Those of providers consist of letters, digits and `_.-`. */
export const patterns: readonly (readonly [path: RegExp, endpoints: PathEndpoints])[] = [
  [/^\/p\/[^/]/, passthrough],
  [
    /^\/mcp\/[^/]+$/,
    {
      ...model({ POST: "mcp", GET: "mcp_session", DELETE: "mcp_session" }),
      route: "/mcp/{server}",
    },
  ],
  [
    /^\/(?:dashboard(?:\/|$)|$)/,
    { area: "dashboard", methods: { GET: "dashboard", HEAD: "dashboard" }, route: "/dashboard" },
  ],
  [/^\/v1(?:beta)?\/models\/.+$/, { ...model({ GET: "model" }), route: "/v1/models/{id}" }],
  storedObjectRoute("files/{id}", "files", "GET", "DELETE"),
  storedObjectRoute("files/{id}/content", "files", "GET"),
  storedObjectRoute("batches/{id}", "batches", "GET"),
  storedObjectRoute("batches/{id}/cancel", "batches", "POST"),
  storedObjectRoute("responses/{id}", "stored_responses", "GET", "DELETE"),
  storedObjectRoute("responses/{id}/input_items", "stored_responses", "GET"),
  storedObjectRoute("responses/{id}/cancel", "stored_responses", "POST"),
  storedObjectRoute("interactions/{id}", "stored_interactions", "GET", "DELETE"),
  storedObjectRoute("interactions/{id}/cancel", "stored_interactions", "POST"),
  storedObjectRoute("messages/batches/{id}", "message_batches", "GET", "DELETE"),
  storedObjectRoute("messages/batches/{id}/cancel", "message_batches", "POST"),
  storedObjectRoute("messages/batches/{id}/results", "message_batches", "GET"),
  ...["parts", "complete", "cancel"].map((last) =>
    storedObjectRoute(`uploads/{id}/${last}`, "uploads", "POST"),
  ),
  storedObjectRoute("containers/{id}", "containers", "GET", "DELETE"),
  storedObjectRoute("containers/{id}/files", "containers", "GET", "POST"),
  storedObjectRoute("containers/{id}/files/{id}", "containers", "GET", "DELETE"),
  storedObjectRoute("containers/{id}/files/{id}/content", "containers", "GET"),
  storedObjectRoute("conversations/{id}", "conversations", "GET", "POST", "DELETE"),
  storedObjectRoute("conversations/{id}/items", "conversations", "GET", "POST"),
  storedObjectRoute("conversations/{id}/items/{id}", "conversations", "GET", "DELETE"),
  ...adminIdRoutes.map(([path, methods, route]) => [path, { ...admin(methods), route }] as const),
];

/** The area of a path, whether there is an endpoint or not. */
export function areaOf(path: string): Area {
  return /^\/(?:admin|metrics)(?:\/|$)/.test(path) ? "admin" : "model";
}

/** The endpoints of a listener: all; one half if /admin has its own port; or metrics. */
export type ServedEndpoints = "all" | "models" | "admin" | "metrics";

/** Both halves serve health, metrics, the description of the API, and the caller's own usage. */
const servedByBothHalves: ReadonlySet<Endpoint> = new Set([
  "openapi",
  "usage",
  "metrics",
  "metrics-limiter",
]);

export function isScrape(endpoint: Endpoint): boolean {
  return endpoint === "metrics" || endpoint === "metrics-limiter";
}

function isServed({ area, methods }: PathEndpoints, served: ServedEndpoints): boolean {
  if (served === "all" || area === "health") return true;
  if (served === "metrics") return Object.values(methods).some(isScrape);
  const isAdmin = area === "admin" || area === "dashboard";
  if (isAdmin === (served === "admin")) return true;
  return Object.values(methods).some((endpoint) => servedByBothHalves.has(endpoint));
}

export function matchRoute(
  method: string,
  path: string,
  served: ServedEndpoints = "all",
): RouteMatch {
  const pathEndpoints = routes.get(path) ?? patterns.find(([pattern]) => pattern.test(path))?.[1];
  if (pathEndpoints === undefined) return { kind: "unknown", area: areaOf(path) };
  if (!isServed(pathEndpoints, served)) return { kind: "unknown", area: pathEndpoints.area };
  const { area, methods, route = path } = pathEndpoints;
  const effectiveMethod = method === "HEAD" && headIsGet(pathEndpoints) ? "GET" : method;
  const endpoint = Object.hasOwn(methods, effectiveMethod) ? methods[effectiveMethod] : undefined;
  return endpoint === undefined
    ? { kind: "wrong-method", allow: allowedMethods(pathEndpoints).join(", "), area }
    : { kind: "endpoint", endpoint, area, route };
}

/** On model paths, HEAD is a GET without a body. */
function headIsGet({ area, methods }: PathEndpoints): boolean {
  return area === "model" && methods["GET"] !== undefined && methods["HEAD"] === undefined;
}

function allowedMethods(pathEndpoints: PathEndpoints): readonly string[] {
  const methods = Object.keys(pathEndpoints.methods);
  return headIsGet(pathEndpoints) ? [...methods, "HEAD"] : methods;
}

/** The parts of a request's URL. */
interface EndpointAddress {
  readonly path: string;
  /** The query without its question mark; empty if there is none. */
  readonly query: string;
  /** The model in the path; null if the path names none. */
  readonly model: string | null;
}

/** The paths of nearly all requests, which need no parsing. */
const usualAddresses: ReadonlyMap<string, EndpointAddress> = new Map(
  ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings"].map((path) => [
    path,
    { path, query: "", model: null },
  ]),
);

/** `url`: that of the request line. Paths of other endpoints stay as written. */
export function endpointAddress(url: string): EndpointAddress {
  return usualAddresses.get(url) ?? readAddress(url);
}

function readAddress(url: string): EndpointAddress {
  const queryMark = url.indexOf("?");
  const path = queryMark === -1 ? url : url.slice(0, queryMark);
  const query = queryMark === -1 ? "" : url.slice(queryMark + 1);
  const google = path.includes(":") ? googlePath.exec(path) : null;
  if (google !== null)
    return { path: `/v1beta/models:${google[2]!}`, query, model: decodeModelName(google[1]!) };
  const interaction = path.includes("/interactions") ? interactionsPath.exec(path) : null;
  if (interaction !== null)
    return { path: `/v1beta/interactions${interaction[1]!}`, query, model: null };
  if (!path.startsWith("/openai/")) return { path: endpointPath(path), query, model: null };
  return azureRoute(endpointPath(path.slice("/openai".length)), { written: path, query });
}

/**
 * `/v1beta/models/{model}:generateContent`, of any version of that API; a model may have colons.
 * The base URL of a client may have the version that its SDK adds, or neither may.
 */
const googlePath = new RegExp(
  `^(?:/+v1(?:beta|alpha)?)*/+(?:models/|(?=tunedModels/))(.+):(${Object.values(googleMethods).join("|")})$`,
);

/** A path of interactions, of any version. Clients of Vertex AI write it below their project. */
const interactionsPath =
  /^\/+(?:v1(?:beta1?|alpha)?\/+)?(?:projects\/[^/]+\/locations\/[^/]+\/)?interactions(?:\/*$|(?=\/))(.*)$/;

/** The first of these words ends the model's name, which may contain slashes. */
const operationOf = "/(?:chat|completions|embeddings|audio|images|responses|batches|files)(?![^/])";
const deploymentPath = new RegExp(`^/deployments/(.+?)(${operationOf}.*)$`);

/** `/openai/deployments/{model}/…` and `/openai/…`; its `api-version` is Azure's own. */
function azureRoute(
  path: string,
  { written, query }: { readonly written: string; readonly query: string },
): EndpointAddress {
  const deployed = deploymentPath.exec(path);
  if (deployed !== null) {
    const model = decodeModelName(deployed[1]!);
    return { path: endpointPath(deployed[2]!), query: withoutDates(query), model };
  }
  return path.startsWith("/v1/")
    ? { path, query: withoutDates(query), model: null }
    : { path: written, query, model: null };
}

/** Invalid UTF-8 becomes a name that no model may have, so that the request is refused. */
function decodeModelName(coded: string): string {
  return percentDecoded(coded) ?? "\ufffd";
}

/** Realtime clients of Azure name the model in the query, as `deployment`. */
function withoutDates(query: string): string {
  return query
    .split("&")
    .filter((parameter) => !/^api-version=/i.test(parameter))
    .map((parameter) => parameter.replace(/^deployment=/, "model="))
    .join("&");
}

function endpointPath(writtenPath: string): string {
  if (isUsual(writtenPath)) return writtenPath;
  let path = writtenPath.replace(/\/{2,}/g, "/");
  if (path.endsWith("/")) path = path.slice(0, -1);
  path = path.replace(/^(?:\/v1)+(?=\/v1\/)/, "");
  // Cohere's SDK appends its version, too.
  if (path === "/v2/rerank") return "/v1/rerank";
  if (path.startsWith("/v1/")) return path;
  return apiResources.has(path.split("/", 2)[1] ?? "") ? `/v1${path}` : writtenPath;
}

/** Whether nothing in the path needs a change, the usual case, which allocates nothing. */
function isUsual(path: string): boolean {
  return (
    path.startsWith("/v1/") &&
    !path.startsWith("v1/", 4) &&
    !path.endsWith("/") &&
    !path.includes("//")
  );
}

/** The first segments that SDKs append to their base URL, which usually ends in `/v1`. */
export const apiResources: ReadonlySet<string> = new Set([
  "agents",
  "assistants",
  "audio",
  "batches",
  "chat",
  "chatkit",
  "complete",
  "completions",
  "containers",
  "content_provenance_checks",
  "conversations",
  "decisions",
  "embeddings",
  "evals",
  "files",
  "fine_tuning",
  "images",
  "live",
  "messages",
  "models",
  "moderations",
  "organization",
  "projects",
  "realtime",
  "rerank",
  "responses",
  "safety",
  "skills",
  "threads",
  "uploads",
  "vaults",
  "vector_stores",
  "videos",
  "webhook_endpoints",
  "webhook_event_types",
]);
