/**
 * The path of the endpoint that a client means: people write the base URL of an SDK with `/v1` or
 * without it, and with a slash at its end or without, and the clients of Azure and Google put the
 * model into the path. The paths of administration, health and passthrough are taken as they are
 * written, since what stands in front of Sluice may guard them.
 */
import { googleMethods } from "../../../shared/operation.js";
import { percentDecoded } from "../../../shared/text/percent-decoded.js";

/** What a request line says. */
interface EndpointAddress {
  readonly path: string;
  /** Without its question mark; empty when there is none. */
  readonly query: string;
  /** The model that the path names; null if the body does, or nothing. */
  readonly model: string | null;
}

/** Those of nearly all requests, which needn't be looked at. */
const usual: ReadonlyMap<string, EndpointAddress> = new Map(
  ["/v1/chat/completions", "/v1/messages", "/v1/responses", "/v1/embeddings"].map((path) => [
    path,
    { path, query: "", model: null },
  ]),
);

/** As it is written, if it is no model endpoint's. `url`: of the request line. */
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

/** Of any version, and below the project that clients of Vertex AI name. */
const ofInteractions =
  /^\/+(?:v1(?:beta1?|alpha)?\/+)?(?:projects\/[^/]+\/locations\/[^/]+\/)?interactions(?:\/*$|(?=\/))(.*)$/;

/** The first of these words ends the model's name, which may hold slashes. */
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

/** What isn't UTF-8 becomes a name that no model may have, which is refused with its reason. */
function modelNamed(coded: string): string {
  return percentDecoded(coded) ?? "\ufffd";
}

/** Realtime's clients name the model there, under Azure's word for it. */
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

/** The first segments that SDKs append to their base URL, which mostly ends in `/v1`. */
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
