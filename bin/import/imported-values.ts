/** What imports from other gateways share: their values, in the forms of Sluice. Pure. */
import { isObject } from "../../shared/checked.js";

export type Fields = Readonly<Record<string, unknown>>;

export interface ImportedConfig {
  /** A configuration of Sluice, as `writeYaml` takes it. */
  readonly config: Fields;
  readonly notes: readonly string[];
}

export interface KeyToImport {
  readonly hash: string;
  /** What may be shown of the key. */
  readonly redacted: string;
  /** The body of POST /admin/auth-keys, without the hash. */
  readonly key: Fields & { readonly user_path: string };
  /** The bodies of PUT /admin/rate-limits. */
  readonly rules: readonly Fields[];
  /** The bodies of PUT /admin/budgets. */
  readonly budgets: readonly Fields[];
}

export interface ImportedKeys {
  readonly keys: readonly KeyToImport[];
  readonly notes: readonly string[];
}

export function objectOf(value: unknown): Fields {
  return isObject(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : [];
}

/** Trimmed; null for an empty text, or none. */
export function trimmedOrNull(value: unknown): string | null {
  return typeof value === "string" && value.trim() !== "" ? value.trim() : null;
}

/** A name as a segment of a user path. */
export function segmentOf(text: string): string {
  const segment = text.trim().replace(/[^\w.@+-]+/g, "-");
  return /^\.*$/.test(segment) ? "-" : segment.slice(0, 100);
}

/** Six decimals are the most that a price has. */
export function perMillion(perToken: number): number {
  return Number((perToken * 1e6).toFixed(6));
}

/** A text of the configuration in which a `$` is no variable. */
export function escapedDollars(text: string): string {
  return text.replaceAll("${", "$${").replace(/^\$(?=\w+$)/, "$$$$");
}

/** The address of a provider of Azure: up to the endpoint. */
export function azureAddress(base: string, version: string | null): string {
  return base.includes("/openai") ? base : `${base}/openai${version === null ? "/v1" : ""}`;
}
