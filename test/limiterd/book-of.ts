/** Rule books for tests, and what they match in words. */
import { type Counter, keepChild } from "../../limiterd/counters/counter.js";
import { RuleBook } from "../../limiterd/rules/rule-book.js";
import { namingsOf } from "../../shared/config/model-name.js";
import type { RuleDefinition, Scope } from "../../shared/domain/rule.js";

/** What is configured. */
const providers = [
  { name: "openai", type: "openai" },
  { name: "groq", type: "openai" },
  { name: "azure", type: "azure" },
  { name: "openrouter", type: "openai" },
  { name: "gemini", type: "gemini" },
  { name: "local", type: "ollama" },
] as const;

/** 2026-01-01T00:00:00Z. */
export const now = 1_767_225_600_000;

interface Caps {
  readonly requests?: number;
  readonly tokens?: number;
  readonly perChild?: boolean;
}

/** A rule with these caps, and no others. */
export const ruleWith = (
  scope: Scope,
  subject: string,
  periodSeconds: number,
  { requests, tokens, perChild = false }: Caps,
): RuleDefinition => ({
  scope,
  subject,
  periodSeconds,
  maxRequests: requests ?? null,
  maxTokens: tokens ?? null,
  perChild,
});

/** A rule of ten requests a minute, unless it is said otherwise. */
export const rule = (
  scope: Scope,
  subject: string,
  periodSeconds = 60,
  caps: Caps = {},
): RuleDefinition => ruleWith(scope, subject, periodSeconds, { requests: 10, ...caps });

/** A book of these rules, where these providers are configured. */
export function bookOf(...rules: readonly RuleDefinition[]): RuleBook {
  const book = new RuleBook([0, 0], namingsOf(providers));
  for (const definition of rules) book.put(definition, { source: "manual", nowMs: now, lsn: 1 });
  return book;
}

/** Counters as `subject period`. */
export const names = (counters: readonly Counter[]): string[] =>
  counters.map(({ subject, rule }) => `${subject} ${rule.definition.periodSeconds}`);

/** The counters of a path, as if a request were about to be counted by them: children are kept. */
export function matchKept(book: RuleBook, path: string, nowMs: number): Counter[] {
  const met = book.matchPath(path, nowMs);
  met.forEach(keepChild);
  return met;
}
