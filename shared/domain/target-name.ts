/**
 * Targets, their names for people (in answers, headers, logs and tables), and the check of model
 * names from outside.
 */
import { subjectBytesMax } from "../bounds.js";
import { utf8Bytes } from "../text/utf8-bytes.js";

/** A provider instance and a model there, to which a request may go. */
export interface Target {
  readonly provider: string;
  /** The canonical name; empty if the request names none: no model rule matches it. */
  readonly model: string;
  /** The name sent to the provider, if it differs: `gpt-4o:nitro`. */
  readonly sent?: string;
  /**
   * Whether it has no price, so that callers under a budget may not use it (`budgets.unpriced`).
   */
  readonly unpriced?: boolean;
  /** The tools that the request carries for the provider to run; absent without any. */
  readonly tools?: readonly string[];
}

/** The provider of an MCP server's tools; no configured provider has a colon in its name. */
export function mcpProvider(server: string): string {
  return `${mcpPrefix}${server}`;
}

/** The server and the tool that a name such as `mcp:github/create_issue` has; null for others. */
export function mcpTarget(name: string, isServer: (provider: string) => boolean): Target | null {
  const at = name.indexOf("/");
  const provider = name.slice(0, Math.max(at, 0)).toLowerCase();
  return isMcpProvider(provider) && isServer(provider)
    ? { provider, model: name.slice(at + 1) }
    : null;
}

export function isMcpProvider(provider: string): boolean {
  return provider.startsWith(mcpPrefix);
}

const mcpPrefix = "mcp:";

/** Where the file declares a provider or an MCP server. */
export function placeOfProvider(name: string): string {
  return isMcpProvider(name) ? `mcp_servers.${name.slice(mcpPrefix.length)}` : `providers.${name}`;
}

/** Whether a target is an MCP server's. */
export function isOfMcp({ provider }: Pick<Target, "provider">): boolean {
  return provider.startsWith(mcpPrefix);
}

/** The recorded name of models that no provider is known to have; none has a model of this name. */
export const unknownModelName = "(unknown)";

/** The model's name as sent to the provider. */
export function sentModel({ model, sent }: Target): string {
  return sent ?? model;
}

/** `provider/model`; `provider/-` for a request that names no model. */
export function targetName({ provider, model }: Target): string {
  return `${provider}/${model === "" ? "-" : model}`;
}

/** Control characters and lone surrogates, which UTF-8 can't express. */
const unprintable = /[\p{Cc}\p{Cs}]/u;

/** Whether a name or label has no control character and no lone surrogate. */
export function isPrintable(name: string): boolean {
  return !unprintable.test(name);
}

/** The name with U+FFFD in place of each character that isn't printable. */
export function printableName(name: string): string {
  return isPrintable(name) ? name : name.replace(/[\p{Cc}\p{Cs}]/gu, "\ufffd");
}

/** Why a request can't name this model, as a sentence about the field; null if it can. */
export function modelNameProblem(name: string): string | null {
  if (utf8Bytes(name) > subjectBytesMax) return `model must be at most ${subjectBytesMax} bytes`;
  // Decoders put U+FFFD in place of bytes that aren't UTF-8.
  if (name.includes("\ufffd")) return "model must be UTF-8, and must not hold U+FFFD";
  // White space around a name is dropped, including line feeds.
  const match = unprintable.exec(name.trim());
  if (match === null) return null;
  const code = match[0].codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
  return `model must not hold control characters or halves of characters, as U+${code}`;
}
