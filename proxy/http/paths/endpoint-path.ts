/**
 * Normalizes the path of a model endpoint: an SDK's base URL may lack `/v1` or have a trailing
 * slash, and clients of Azure and Google put the model into the path. Other paths, such as those of
 * administration, health and passthrough, stay as written, because a reverse proxy in front of
 * Sluice may guard them.
 */
import { googleMethods } from "../../../shared/operation.js";
import { percentDecoded } from "../../../shared/text/percent-decoded.js";

/** The parts of a request's URL. */
interface EndpointAddress {
  readonly path: string;
  /** The query without its question mark; empty if there is none. */
  readonly query: string;
  /** The model in the path; null if the path names none. */
  readonly model: string | null;
}

/** The paths of nearly all requests, which need no parsing. */
const usual: ReadonlyMap<string, EndpointAddress> = new Map(
  ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings"].map((path) => [
    path,
    { path, query: "", model: null },
  ]),
);

/** `url`: that of the request line. Paths of other endpoints stay as written. */
export function endpointAddress(url: string): EndpointAddress {
  return usual.get(url) ?? readAddress(url);
}

function readAddress(url: string): EndpointAddress {
  const mark = url.indexOf("?");
  const written = mark === -1 ? url : url.slice(0, mark);
  const query = mark === -1 ? "" : url.slice(mark + 1);
  const google = written.includes(":") ? ofGoogle.exec(written) : null;
  if (google !== null)
    return { path: `/v1beta/models:${google[2]!}`, query, model: modelNamed(google[1]!) };
  const interaction = written.includes("/interactions") ? ofInteractions.exec(written) : null;
  if (interaction !== null)
    return { path: `/v1beta/interactions${interaction[1]!}`, query, model: null };
  if (!written.startsWith("/openai/")) return { path: endpointPath(written), query, model: null };
  return ofAzure(endpointPath(written.slice("/openai".length)), { written, query });
}

/**
 * `/v1beta/models/{model}:generateContent`, of any version of that API; a model may have colons.
 */
const ofGoogle = new RegExp(
  `^/+v1(?:beta|alpha)?/(?:models/|(?=tunedModels/))(.+):(${Object.values(googleMethods).join("|")})$`,
);

/** A path of interactions, of any version, which clients of Vertex AI write below their project. */
const ofInteractions =
  /^\/+(?:v1(?:beta1?|alpha)?\/+)?(?:projects\/[^/]+\/locations\/[^/]+\/)?interactions(?:\/*$|(?=\/))(.*)$/;

/** The first of these words ends the model's name, which may contain slashes. */
const operationOf = "/(?:chat|completions|embeddings|audio|images|responses|batches|files)(?![^/])";
const ofDeployment = new RegExp(`^/deployments/(.+?)(${operationOf}.*)$`);

/** `/openai/deployments/{model}/…` and `/openai/…`; its `api-version` is Azure's own. */
function ofAzure(
  path: string,
  { written, query }: { readonly written: string; readonly query: string },
): EndpointAddress {
  const deployed = ofDeployment.exec(path);
  if (deployed !== null) {
    const model = modelNamed(deployed[1]!);
    return { path: endpointPath(deployed[2]!), query: withoutDates(query), model };
  }
  return path.startsWith("/v1/")
    ? { path, query: withoutDates(query), model: null }
    : { path: written, query, model: null };
}

/** Invalid UTF-8 becomes a name that no model may have, so that the request is refused. */
function modelNamed(coded: string): string {
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

function endpointPath(written: string): string {
  if (isUsual(written)) return written;
  let path = written.replace(/\/{2,}/g, "/");
  if (path.endsWith("/")) path = path.slice(0, -1);
  path = path.replace(/^(?:\/v1)+(?=\/v1\/)/, "");
  if (path.startsWith("/v1/")) return path;
  return apiResources.has(path.split("/", 2)[1] ?? "") ? `/v1${path}` : written;
}

/** Usually nothing changes, so nothing is allocated. */
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
