/** How much a request's body asks a model to reason. */
import { isAbsent, isObject } from "../../../shared/checked.js";
import type { Operation } from "../../../shared/operation.js";

type Fields = Readonly<Record<string, unknown>>;

/** What decides which of OpenAI's APIs takes the request. */
export interface AskedReasoning {
  readonly hasTools: boolean;
  /** `unsaid`: as much as the model does by itself. */
  readonly effort: "none" | "some" | "unsaid";
}

/** Of the fields of a body, whose types haven't been checked. */
export function askedReasoning(operation: Operation, fields: Fields): AskedReasoning {
  if (operation === "generate_content" || operation === "stream_generate_content")
    return askedOfGoogle(fields);
  const { tools, reasoning_effort: chatEffort, thinking, output_config: config } = fields;
  const hasTools = Array.isArray(tools) && tools.length > 0;
  if (operation !== "messages") return { hasTools, effort: asked(chatEffort) };
  const type = isObject(thinking) ? thinking["type"] : undefined;
  if (type === "disabled") return { hasTools, effort: "none" };
  const effort = isObject(config) ? config["effort"] : undefined;
  return { hasTools, effort: type === "enabled" ? "some" : asked(effort) };
}

/** Gemini's own API, whose servers read names with underscores, too. */
function askedOfGoogle(fields: Fields): AskedReasoning {
  const { tools } = fields;
  const hasTools = Array.isArray(tools) && tools.length > 0;
  const config = eitherField(fields, "generationConfig", "generation_config");
  const thinking = eitherField(config, "thinkingConfig", "thinking_config");
  const level = thinking["thinkingLevel"] ?? thinking["thinking_level"];
  const budget = thinking["thinkingBudget"] ?? thinking["thinking_budget"];
  if (isAbsent(level) && budget === 0) return { hasTools, effort: "none" };
  const isAsked = !isAbsent(level) || (typeof budget === "number" && budget > 0);
  return { hasTools, effort: isAsked ? "some" : "unsaid" };
}

function eitherField(fields: Fields, name: string, other: string): Fields {
  const value = fields[name] ?? fields[other];
  return isObject(value) ? value : {};
}

function asked(effort: unknown): AskedReasoning["effort"] {
  return typeof effort === "string" ? (effort === "none" ? "none" : "some") : "unsaid";
}
