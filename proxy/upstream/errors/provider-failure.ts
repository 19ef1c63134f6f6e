/**
 * The failures of a provider that gave no usable answer: no response, a broken one, one that isn't
 * an answer, or one that can't be translated.
 *
 * Not here: errors that the provider itself describes (`upstream-error.ts`).
 */
import { type Failure, failure, invalid, plainFailure } from "../../../shared/error-code.js";
import type { Operation } from "../../../shared/operation.js";
import type { UpstreamFailure } from "./upstream-failure.js";

/**
 * The failure for a missing or incomplete response: 502 if the provider can't be reached or broke
 * off, 504 if a deadline passed, 400 and 413 if the client's own body is at fault, 503 if Sluice
 * has no file descriptor left. `begun`: whether a response had begun.
 */
export function unansweredFailure(
  provider: string,
  hasBegun: boolean,
  { kind, reason }: UpstreamFailure,
): Failure {
  if (kind === "too_large") return failure("request_too_large", reason);
  if (kind === "refused") return invalid(reason, "body");
  if (kind === "exhausted")
    return failure(
      "overloaded",
      `Sluice has no file descriptor left for a connection to provider ${provider} (${reason})`,
    );
  if (kind === "timed_out")
    return {
      ...plainFailure(504, "provider_error", `provider ${provider} was silent past its deadline`),
      provider,
    };
  const problem = hasBegun || kind === "broken" ? "broke off its answer" : "can't be reached";
  return {
    ...failure("provider_unavailable", `provider ${provider} ${problem} (${reason})`),
    provider,
  };
}

/** A redirect to an address at another host than the provider's. */
export function redirectFailure(provider: string, status: number): Failure {
  const problem = `answered ${status} with an address at another host, where clients would send their key`;
  return { ...failure("provider_unavailable", `provider ${provider} ${problem}`), provider };
}

/**
 * A successful response that isn't an answer. `given`: its status and a description of its body.
 */
export function noAnswer(provider: string, description: string): Failure {
  return {
    ...failure("provider_unavailable", `provider ${provider} answered ${description}`),
    provider,
  };
}

/**
 * An answer that the client's dialect can't express, or that can't be read at all. `operation`: the
 * operation that the client called.
 */
export function untranslatableFailure(
  provider: string,
  operation: Operation,
  reason: string,
): Failure {
  const dialect = dialects[operation];
  const action = dialect === undefined ? "passed on" : `translated into ${dialect}`;
  return {
    ...failure(
      "answer_untranslatable",
      `the answer of provider ${provider} can't be ${action}: ${reason}`,
    ),
    provider,
  };
}

const dialects: Readonly<Partial<Record<Operation, string>>> = {
  chat_completions: "chat completions",
  messages: "Anthropic messages",
  responses: "the Responses API",
  generate_content: "Gemini's generateContent",
  stream_generate_content: "Gemini's generateContent",
};
