/**
 * The models that a limit on a user path applies to (docs/limit-options.md): patterns as for
 * managed keys, with `!` before patterns that exclude models. `../config/model-filter.ts` matches
 * targets with them.
 */
import {
  isExcluding,
  isModelPattern,
  leavesOutOnly,
  modelPatternsMax,
} from "../access/allowed-models.js";
import { bad, type Checked, good, isAbsent, show } from "../checked.js";
import { utf8Bytes } from "../text/utf8-bytes.js";
import { providersTools, toolName } from "../usage/tool-calls.js";
import { type RuleHours, textOfWhen, whenField } from "./rule-hours.js";

/**
 * Patterns in lower case, each once, in order, with a space between them. The text is part of the
 * limit's identity, so the same models have the same text however they were written.
 */
export type LimitedModels = string;

/** Bytes of the text: it is part of a key of the store, which holds 1,978 bytes. */
export const limitedModelsBytesMax = 512;

const expected =
  "a model's name such as gpt-4o or openai/gpt-4o, how names begin and *, or one of these after !";

/** Checks a list; undefined if it is absent, or names all models. */
export function parseLimitedModels(
  raw: unknown,
  param: string,
): Checked<LimitedModels | undefined> {
  const models = parsePatterns(raw, param);
  if (!models.ok || !namesTools(models.value)) return models;
  const unknown = toolPatterns(models.value).find((pattern) => !mayMeetTool(pattern));
  return unknown === undefined
    ? models
    : bad(
        `${param} must name tools that requests may include: ${providersTools.join(", ")}, or mcp:{server}/{tool}, or how these begin and *, not ${show(unknown.replace("!", ""))}`,
        param,
      );
}

/** Whether any request may include a tool of this name. */
function mayMeetTool(pattern: string): boolean {
  const name = isExcluding(pattern) ? pattern.slice(1) : pattern;
  if (!name.endsWith("*"))
    return /^mcp:.+\/./.test(name) || providersTools.some((tool) => tool === toolName(name));
  const beginning = name.slice(0, -1);
  return ["mcp:", ...providersTools].some(
    (tool) => tool.startsWith(beginning) || (tool === "mcp:" && beginning.startsWith(tool)),
  );
}

/** Checks patterns. A stored pattern may name a tool that this release doesn't know. */
function parsePatterns(raw: unknown, param: string): Checked<LimitedModels | undefined> {
  if (isAbsent(raw)) return good(undefined);
  if (!Array.isArray(raw) || raw.length === 0 || raw.length > modelPatternsMax)
    return bad(
      `${param} must be a list of 1 to ${modelPatternsMax} names of models, not ${
        Array.isArray(raw) ? `one of ${raw.length}` : show(raw)
      }`,
      param,
    );
  const patterns = new Set<string>();
  for (const [i, item] of (raw as unknown[]).entries()) {
    const pattern = typeof item === "string" ? item.trim().toLowerCase() : "";
    const path = `${param}[${i}]`;
    if (pattern.includes(",") || !isModelPattern(isExcluding(pattern) ? pattern.slice(1) : pattern))
      return bad(`${path} must be ${expected}, not ${show(item)}`, path);
    patterns.add(pattern);
  }
  const toolEntries = [...patterns].filter(isToolPattern);
  if (toolEntries.length > 0 && toolEntries.length < patterns.size)
    return bad(`${param} names tools and models: make a limit for each`, param);
  if (leavesOutOnly([...patterns]))
    return bad(`${param} names only models to leave out: add "*" for all others`, param);
  if (patterns.has("*") && patterns.size === 1) return good(undefined);
  const text = [...patterns].sort(byKindAndName).join(" ");
  return utf8Bytes(text) > limitedModelsBytesMax
    ? bad(`${param} must be at most ${limitedModelsBytesMax} bytes together`, param)
    : good(text);
}

/** Begins a pattern for tools (`../usage/tool-calls.ts`). */
const toolPrefix = /^!?tool:/;

function isToolPattern(pattern: string): boolean {
  return toolPrefix.test(pattern);
}

/** Whether a limit is for the requests that carry certain tools, whatever their models. */
export function namesTools(models: LimitedModels | undefined): models is LimitedModels {
  return models !== undefined && isToolPattern(models);
}

/** Whether a limit applies only to tools: of requests, or of MCP servers. */
export function isForTools(models: LimitedModels | undefined): boolean {
  if (models === undefined) return false;
  return namesTools(models) || modelPatterns(models).every((pattern) => /^!?mcp:/.test(pattern));
}

/** Checks the list of a budget, which can't be for tools: only models have costs. */
export function parseBudgetModels(raw: unknown, param: string): Checked<LimitedModels | undefined> {
  const models = parsePatterns(raw, param);
  return models.ok && namesTools(models.value)
    ? bad(`${param} of a budget can't name tools, as ${show(raw)} does`, param)
    : models;
}

/** The patterns of a limit for tools, without the prefix. */
export function toolPatterns(models: LimitedModels): readonly string[] {
  return modelPatterns(models).map((pattern) => pattern.replace("tool:", ""));
}

/** Whether a value from the store is what `parseLimitedModels` returns. */
export function isLimitedModels(value: unknown): value is LimitedModels {
  if (typeof value !== "string") return false;
  const parsed = parsePatterns(modelPatterns(value), "models");
  return parsed.ok && parsed.value === value;
}

/** First what is included. */
function byKindAndName(a: string, b: string): number {
  if (isExcluding(a) !== isExcluding(b)) return isExcluding(a) ? 1 : -1;
  return a < b ? -1 : 1;
}

/** The patterns, as bodies and lists have them. */
export function modelPatterns(models: LimitedModels): readonly string[] {
  return models.split(" ");
}

/** The field of a list item or a body: absent for all models. */
export function modelsField(models: LimitedModels | undefined): {
  readonly models?: readonly string[];
} {
  return models === undefined ? {} : { models: modelPatterns(models) };
}

/**
 * A limit's subject in messages: `/team`, `/team on claude-opus-*, openai/*`, `/team during mon-fri
 * 09:00-17:00 Europe/Berlin`, `/team (shadow)`.
 */
export function subjectWithModels({
  subject,
  models,
  when,
  mode,
}: {
  readonly subject: string;
  readonly models?: LimitedModels | undefined;
  readonly when?: RuleHours | undefined;
  readonly mode?: "shadow" | undefined;
}): string {
  const name = models === undefined ? subject : `${subject} on ${modelPatterns(models).join(", ")}`;
  const timed = when === undefined ? name : `${name} during ${textOfWhen(whenField(when).when!)}`;
  return mode === undefined ? timed : `${timed} (${mode})`;
}
