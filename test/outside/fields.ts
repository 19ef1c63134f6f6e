/**
 * What becomes of each field of a dialect at each type of provider: sent alone, with a value that
 * the dialect's description takes, through a real gateway to a provider that holds requests to what
 * it publishes.
 */
import { isDeepStrictEqual } from "node:util";
import { type Description, describedProblem, readDescription } from "./described.js";
import type { OutsideGateway } from "./gateway.js";
import type { Seen } from "./outside-case.js";

type Body = Readonly<Record<string, unknown>>;

/**
 * - passed: the provider gets the field as it is.
 * - mapped: the provider's dialect says it with other fields.
 * - left out: the answer means the same without it.
 * - dropped: the provider doesn't get it, and `x-sluice-dropped` names it.
 * - refused: a 400 that names it.
 */
export const outcomes = ["passed", "mapped", "left out", "dropped", "refused"] as const;
export type Outcome = (typeof outcomes)[number];

export interface FieldResult {
  readonly field: string;
  readonly outcome: Outcome;
  /** Why the provider refused what it got in another dialect than the client's. */
  readonly problem: string | null;
}

export interface FieldDialect {
  readonly name: string;
  readonly description: Description;
  readonly path: (model: string) => string;
  readonly base: Body;
  readonly headers?: Readonly<Record<string, string>>;
  /** Below this member are fields of their own. */
  readonly within?: string;
  /** Values where the description's own are too wide, such as any text. */
  readonly values: Body;
  /** What a field needs beside it. */
  readonly needs?: Readonly<Record<string, Body>>;
}

/** Every request has them; streams have tests of their own. */
const always = new Set(["model", "messages", "input", "contents", "stream", "stream_options"]);

const schema = {
  type: "object",
  properties: { a: { type: "string" } },
  required: ["a"],
  additionalProperties: false,
};
const user = [{ role: "user", content: "Hello" }];
const chatTools = { tools: [{ type: "function", function: { name: "f", parameters: schema } }] };
const responsesTools = {
  tools: [{ type: "function", name: "f", parameters: schema, strict: true }],
};
const messagesTools = { tools: [{ name: "f", input_schema: schema }] };
const googleTools = { tools: [{ functionDeclarations: [{ name: "f", parameters: schema }] }] };

export const fieldDialects: readonly FieldDialect[] = [
  {
    name: "Chat completions",
    description: "chat",
    path: () => "/v1/chat/completions",
    base: { messages: user },
    values: {
      ...chatTools,
      tool_choice: "required",
      parallel_tool_calls: false,
      function_call: "auto",
      functions: [{ name: "f", parameters: schema }],
      response_format: {
        type: "json_schema",
        json_schema: { name: "s", schema, strict: true },
      },
      temperature: 0.5,
      top_p: 0.5,
      n: 2,
      logit_bias: { 50256: -100 },
      logprobs: true,
      top_logprobs: 2,
      modalities: ["text", "audio"],
      max_tokens: 100,
      max_completion_tokens: 100,
      reasoning_effort: "high",
      metadata: { a: "b" },
      service_tier: "flex",
      verbosity: "low",
      prompt_cache_retention: "24h",
      store: true,
    },
    needs: {
      tool_choice: chatTools,
      parallel_tool_calls: chatTools,
      top_logprobs: { logprobs: true },
      function_call: { functions: [{ name: "f", parameters: schema }] },
    },
  },
  {
    name: "Responses",
    description: "responses",
    path: () => "/v1/responses",
    base: { input: "Hello" },
    values: {
      ...responsesTools,
      tool_choice: "required",
      parallel_tool_calls: false,
      include: ["message.output_text.logprobs"],
      max_output_tokens: 100,
      max_tool_calls: 3,
      instructions: "Be brief.",
      metadata: { a: "b" },
      reasoning: { effort: "high" },
      temperature: 0.5,
      top_p: 0.5,
      top_logprobs: 2,
      truncation: "auto",
      text: { format: { type: "json_schema", name: "s", schema, strict: true } },
      service_tier: "flex",
      previous_response_id: "resp_1",
      conversation: "conv_1",
      prompt: { id: "pmpt_1" },
      prompt_cache_retention: "24h",
    },
    needs: { tool_choice: responsesTools, parallel_tool_calls: responsesTools },
  },
  {
    name: "Messages",
    description: "messages-beta",
    path: () => "/v1/messages",
    base: { max_tokens: 4000, messages: user },
    headers: {
      "anthropic-version": "2023-06-01",
      "anthropic-beta": "context-management-2025-06-27",
    },
    values: {
      ...messagesTools,
      max_tokens: 2000,
      tool_choice: { type: "any" },
      temperature: 0.5,
      top_p: 0.5,
      top_k: 10,
      stop_sequences: ["x"],
      system: "Be brief.",
      thinking: { type: "enabled", budget_tokens: 1024 },
      output_config: { format: { type: "json_schema", schema } },
      metadata: { user_id: "u" },
      service_tier: "standard_only",
      speed: "fast",
    },
    needs: { tool_choice: messagesTools },
  },
  {
    name: "Google",
    description: "google",
    path: (model) => `/v1beta/models/${model}:generateContent`,
    base: { contents: [{ role: "user", parts: [{ text: "Hello" }] }] },
    within: "generationConfig",
    values: {
      ...googleTools,
      toolConfig: { functionCallingConfig: { mode: "ANY" } },
      systemInstruction: { parts: [{ text: "Be brief." }] },
      safetySettings: [{ category: "HARM_CATEGORY_HARASSMENT", threshold: "BLOCK_ONLY_HIGH" }],
      temperature: 0.5,
      topP: 0.5,
      topK: 10,
      candidateCount: 2,
      maxOutputTokens: 100,
      stopSequences: ["x"],
      seed: 7,
      presencePenalty: 0.5,
      frequencyPenalty: 0.5,
      responseMimeType: "application/json",
      responseSchema: { type: "OBJECT", properties: { a: { type: "STRING" } } },
      responseJsonSchema: schema,
      thinkingConfig: { thinkingBudget: 1024 },
      responseModalities: ["TEXT"],
      logprobs: 2,
      labels: { a: "b" },
      serviceTier: "flex",
    },
    needs: {
      toolConfig: googleTools,
      responseSchema: { generationConfig: { responseMimeType: "application/json" } },
      responseJsonSchema: { generationConfig: { responseMimeType: "application/json" } },
      logprobs: { generationConfig: { responseLogprobs: true } },
    },
  },
];

interface Schema {
  readonly $ref?: string;
  readonly anyOf?: readonly Schema[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly type?: string;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
}

/** A small value of a schema. */
function sampleOf(schema: Schema, definitions: Readonly<Record<string, Schema>>): unknown {
  if (schema.$ref !== undefined)
    return sampleOf(definitions[schema.$ref.slice("#/$defs/".length)]!, definitions);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.anyOf !== undefined)
    return sampleOf(schema.anyOf.find(({ type }) => type !== "null")!, definitions);
  switch (schema.type) {
    case "array":
      return [sampleOf(schema.items ?? {}, definitions)];
    case "integer":
    case "number":
      return 1;
    case "boolean":
      return true;
    case "object": {
      const required = schema.required ?? [];
      const members = required.map((name) => [
        name,
        sampleOf(schema.properties?.[name] ?? {}, definitions),
      ]);
      return Object.fromEntries(members) as unknown;
    }
    default:
      return "x";
  }
}

interface SampleField {
  readonly field: string;
  /** The path of its place in a body. */
  readonly place: readonly string[];
  readonly value: unknown;
}

/** Each field of the dialect with a value. */
export function fieldsOf(dialect: FieldDialect): readonly SampleField[] {
  const { properties, $defs } = readDescription(dialect.description);
  const definitions = $defs as Readonly<Record<string, Schema>>;
  const at = (fields: Readonly<Record<string, Schema>>, before: readonly string[]) =>
    Object.entries(fields)
      .filter(([name]) => !always.has(name) && name !== dialect.within)
      .map(([name, schema]) => ({
        field: [...before, name].join("."),
        place: [...before, name],
        value: dialect.values[name] ?? sampleOf(schema, definitions),
      }));
  const outer = at(properties as Readonly<Record<string, Schema>>, []);
  if (dialect.within === undefined) return outer;
  const inner = (properties[dialect.within] as Schema).properties ?? {};
  return [...outer, ...at(inner, [dialect.within])];
}

function withMember(body: Body, [name = "", ...rest]: readonly string[], value: unknown): Body {
  return {
    ...body,
    [name]: rest.length === 0 ? value : withMember((body[name] ?? {}) as Body, rest, value),
  };
}

function memberAt(body: unknown, place: readonly string[]): unknown {
  return place.reduce<unknown>((value, name) => (value as Body | undefined)?.[name], body);
}

/** What becomes of every field of the dialect at this model. */
export async function playFields(
  gateway: OutsideGateway,
  dialect: FieldDialect,
  model: string,
): Promise<readonly FieldResult[]> {
  const send = (body: Body): Promise<Seen> =>
    gateway.play({
      id: dialect.name,
      kind: "fields",
      source: [],
      right: "",
      request: {
        path: dialect.path(model),
        body: dialect.within === undefined ? { model, ...body } : body,
        ...(dialect.headers === undefined ? {} : { headers: dialect.headers }),
      },
    });
  const results: FieldResult[] = [];
  const bases = new Map<string, Seen>();
  for (const { field, place, value } of fieldsOf(dialect)) {
    const base = { ...dialect.base, ...dialect.needs?.[place.at(-1)!] };
    const body = withMember(base, place, value);
    const problem = describedProblem(dialect.description, { model, ...body });
    if (problem !== null && dialect.within === undefined)
      throw new Error(`the value of ${dialect.name} ${field} isn't valid: ${problem}`);
    const key = JSON.stringify(base);
    const without = bases.get(key) ?? (await send(base));
    bases.set(key, without);
    const seen = await send(body);
    results.push({
      field,
      outcome: outcomeOf({ field, place, value }, without, seen),
      problem: isOwn(dialect, seen) ? null : (seen.refused[0] ?? null),
    });
  }
  return results;
}

/** Whether the provider got the request in the client's dialect: then it refuses the client. */
function isOwn({ path }: FieldDialect, { sent }: Seen): boolean {
  const ending = /[^/:]+$/.exec(path(""))![0];
  return sent[0]?.path.replace(/\?.*/, "").endsWith(ending) === true;
}

function outcomeOf({ place, value }: SampleField, without: Seen, seen: Seen): Outcome {
  // The last, where Sluice tries once more without what was refused.
  const sent = seen.sent.at(-1);
  if (sent === undefined) return "refused";
  if (isDeepStrictEqual(memberAt(sent.body, place), value)) return "passed";
  const before = droppedIn(without);
  if (droppedIn(seen).some((name) => !before.includes(name))) return "dropped";
  return isDeepStrictEqual(sent.body, without.sent.at(-1)?.body) ? "left out" : "mapped";
}

/** The names are those of the dialect between, where a request is translated twice. */
function droppedIn({ headers }: Seen): readonly string[] {
  return (headers.get("x-sluice-dropped") ?? "").split(", ");
}
