/**
 * After which failures of a target another target is tried (docs/reference/http-api.md), and which
 * failure the client gets when all have failed. Pure tables; `fail-over.ts` tries the next target.
 *
 * These failures are a 5xx, a 429, no answer at all, a target that refuses our credentials or
 * account, and a target that reports that its model is missing, unavailable, deprecated or retired,
 * or that the request is too long for its context. Any other failure goes to the client
 * immediately, because the next target would refuse the request, too.
 */
import type { Failure } from "../../../shared/error-code.js";
import { isContextFull } from "./context-full.js";

/**
 * Codes by which providers report that a model isn't available, in lower case. With one of these
 * codes every 4xx counts.
 */
const modelCodes: ReadonlySet<string> = new Set([
  // OpenAI, Groq, Cerebras and others; Groq for a retired model.
  "model_not_found",
  "model_decommissioned",
  // Azure; GitHub Models; Mistral and Perplexity, which send it as the type.
  "deploymentnotfound",
  "unknown_model",
  "unavailable_model",
  "invalid_model",
  // GitHub Copilot, SambaNova, gateways behind an OpenAI-compatible API.
  "model_not_supported",
  "unsupported_model",
  "model_not_available",
  "model_unavailable",
  "model_deprecated",
  "model_retired",
  "model_overloaded",
]);

/**
 * Matches "model", optionally with its name and a few words. The words mustn't include a parameter
 * or a feature, which would then be the deprecated or unavailable thing.
 */
const model =
  "\\bmodels?\\b[:,]?(?:\\s+(?!['\"`]?(?:param|field|argument|option|property|value|feature|function|tool|role|header|format|api|endpoint|input|output|image|audio|video|vision|stream|with|when|if|for|that|which|does|do)[a-z]*\\b)\\S{1,300}){0,5}?\\s+";
const is = "(?:is|was|are|were|has|have|will be|got)(?: (?!not\\b)\\w+){0,3}?";

/**
 * Messages that mean the same, from providers that have no code for it. Each comes from an error of
 * the provider that is named with it.
 */
const modelMessages = new RegExp(
  [
    // OpenAI, vLLM, xAI: "The model `x` does not exist"; DeepSeek: "Model Not Exist".
    "\\bmodels?\\b.{0,600}\\b(?:does not|do not|doesn't|not) exist\\b",
    // Ollama: "model "x" not found, try pulling it first"; Cohere; Gemini: "models/x is not found
    // for API version v1beta".
    "\\bmodels?\\b.{0,600}\\b(?:not|not be|couldn't be) found\\b",
    // Groq: "The model `x` has been decommissioned"; OpenAI: "… has been deprecated"; others: "is
    // deprecated", "was retired on …", "is temporarily unavailable", "is currently overloaded".
    `${model}${is} (?:decommissioned|deprecated|retired|removed|discontinued|shut ?down|sunset(?:ted)?|disabled|offline|obsolete|unavailable|overloaded|at capacity|end[- ]of[- ]life)\\b`,
    // "Model x is not available in your region", "is not currently supported".
    `${model}(?:is|are|was)(?: \\w+)?(?: not|n't)(?: \\w+)? (?:available|accessible|supported|deployed|served)\\b`,
    "\\b(?:deprecated|retired|decommissioned|discontinued) model\\b",
    // Bedrock: "This model version has reached the end of its life".
    "\\bmodel\\b.{0,600}\\breached (?:the |its )?end[- ]of",
    // Gemini: "This model models/x is no longer available".
    "\\bmodels?\\b.{0,600}\\bno longer (?:available|supported|served|hosted|offered)\\b",
    // Mistral: "Invalid model: x"; Perplexity: "Invalid model 'x'"; LiteLLM: "Invalid model name
    // passed in model=x".
    "^(?:[\\d: {'\"]*error[\"']?: ?[\"'])?(?:invalid|unknown|unavailable) model\\b",
    // OpenRouter: "x is not a valid model ID", "No endpoints found for x"; Bedrock: "The provided
    // model identifier is invalid".
    "\\bis not a valid model\\b",
    "^no endpoints (?:found|available)\\b",
    "\\bmodel identifier is invalid\\b",
  ].join("|"),
  "i",
);

/**
 * The reason, for the log line, why another target may answer instead; null if the client caused
 * the failure. `failure`: the provider's error, mapped.
 */
export function failoverReason(failure: Failure): string | null {
  const { status, code, message } = failure;
  if (isRefusal(failure)) return `${status} ${code}`;
  if (status >= 500 || status === 429 || status === 408) return String(status);
  // At a chat endpoint only the model, or its endpoint, can be missing.
  if (status === 404 || status === 410)
    return code === null || code === String(status) ? String(status) : `${status} ${code}`;
  if (code !== null && modelCodes.has(code.toLowerCase())) return `${status} ${code}`;
  if (modelMessages.test(message)) return `${status} model`;
  return isContextFull(failure) ? `${status} context` : null;
}

/** Whether the provider refuses our credentials or account. */
export function isRefusal({ code }: Pick<Failure, "code">): boolean {
  return code === "provider_credentials";
}

/** Codes of a 429 that lasts until the operator pays. */
const unpaidCodes: ReadonlySet<string> = new Set([
  "insufficient_quota",
  "billing_hard_limit_reached",
]);

/**
 * Whether the same target may answer if it is asked again soon: it is overloaded, or something in
 * it has failed. 501 and 505 mean that it never can.
 */
export function isTransient({ status, code }: Failure): boolean {
  if (status === 429) return code === null || !unpaidCodes.has(code);
  return (
    status === 408 || (status >= 500 && status !== 501 && status !== 505 && !isRefusal({ code }))
  );
}

/** A failure of one target, with the fields by which failures are compared. */
export interface TargetFailure {
  /** For the log line: a status, with its code if it has one, or why there was no answer. */
  readonly why: string;
  /** The status that the client would get. */
  readonly status: number;
  /** The provider refused our credentials or account: a retry won't help. */
  readonly refusesCredentials: boolean;
  /** Whether the target responded. False if it couldn't be reached, or timed out. */
  readonly isAnswered: boolean;
  /** How long the provider asks to wait before the next request; null if it doesn't say. */
  readonly retryAfterMs: number | null;
  /** Whether the target may answer if it is asked again soon. */
  readonly isWorthRetrying: boolean;
}

/**
 * Whether a later target's failure is more useful to the client than an earlier target's. A
 * response is more useful than an unreachable target. A temporary failure (429, 5xx) is more useful
 * than a missing model, since the client may try again. Of two 429s the one with the shorter wait
 * is more useful, since that is when a target is available again. In all other cases the later one
 * is.
 */
export function isMoreUseful(later: TargetFailure, earlier: TargetFailure): boolean {
  if (later.isAnswered !== earlier.isAnswered) return later.isAnswered;
  if (isTemporary(later) !== isTemporary(earlier)) return isTemporary(later);
  return later.status !== 429 || earlier.status !== 429 || waitOf(later) <= waitOf(earlier);
}

function isTemporary({ status, refusesCredentials }: TargetFailure): boolean {
  return (status >= 500 && !refusesCredentials) || status === 429;
}

/** No wait at all counts as the longest. */
function waitOf({ retryAfterMs }: TargetFailure): number {
  return retryAfterMs ?? Infinity;
}
