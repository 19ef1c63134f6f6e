/** The worked cases against the core alone: rules as definitions, its verdicts as responses. */
import { refusalHeaders, successHeaders } from "../../proxy/http/limit-headers.js";
import { refusalMessage } from "../../shared/domain/refusal-message.js";
import type { RuleDefinition, Scope } from "../../shared/domain/rule.js";
import type { Breach, SuccessHeaders } from "../../shared/domain/verdict.js";
import type { CaseResponse, CaseRule } from "./cases.js";

export function definitionOf(rule: CaseRule): RuleDefinition {
  return {
    scope: (rule.scope ?? "user_path") as Scope,
    subject: rule.subject,
    periodSeconds: rule.period_seconds,
    maxRequests: rule.max_requests ?? null,
    maxTokens: rule.max_tokens ?? null,
    perChild: rule.per_child ?? false,
  };
}

export function admittedResponse(headers: SuccessHeaders | null): CaseResponse {
  return {
    status: 200,
    headers: asRecord(successHeaders(headers)),
    body: null,
    upstreamCalled: true,
  };
}

export function refusedResponse(breach: Breach): CaseResponse {
  return {
    status: 429,
    headers: asRecord(
      refusalHeaders(breach).filter((_, i, all) => all[i - (i % 2)] !== "x-should-retry"),
    ),
    body: {
      error: {
        type: "rate_limit_error",
        message: refusalMessage(breach),
        param: null,
        code: "rate_limit_exceeded",
      },
    },
    upstreamCalled: false,
  };
}

function asRecord(flat: readonly string[]): Record<string, string> {
  const record: Record<string, string> = {};
  for (let i = 0; i < flat.length; i += 2) record[flat[i]!] = flat[i + 1]!;
  return record;
}
