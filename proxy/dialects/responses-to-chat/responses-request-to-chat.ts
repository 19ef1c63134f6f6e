/**
 * Translates a request of the Responses API to a chat request. `docs/reference/dialects.md` lists
 * the fields.
 */
import { isAbsent } from "../../../shared/checked.js";
import { quote, RequestCheck } from "../shared/request-check.js";
import type { JsonObject, RequestOptions, TranslatedRequest } from "../shared/translation.js";
import { responsesInputToChat, wantsCompaction } from "./responses-input-to-chat.js";
import { responsesToolsToChat } from "./responses-tools-to-chat.js";
import { prewarm, prewarms } from "./warm-up.js";

type Fields = Record<string, unknown>;

/** Checks a field that isn't null, and sets its counterpart in the chat request. */
type FieldRule = (value: unknown, chat: Fields, check: RequestCheck, field: string) => void;

/**
 * Never throws. Fields that chat completions don't have are dropped, or refused by name if the
 * answer would be a different one without them.
 */
export function responsesRequestToChat(
  body: JsonObject,
  options: RequestOptions,
): TranslatedRequest {
  const check = new RequestCheck(options.isStrict, options.takesFileUrls);
  if (!check.isShallowEnough(body)) return check.result({});
  const chat: Fields = {
    model: body["model"],
    messages: responsesInputToChat(body, options, check),
  };
  for (const field of Object.keys(body)) {
    const rule = responsesRequestFields.get(field);
    if (isAbsent(body[field])) continue;
    if (rule === undefined) check.drop(field, "is not a field of the Responses API");
    else rule(body[field], chat, check, field);
  }
  responsesToolsToChat(body, chat, { check, takesCustomTools: options.takesCustomTools });
  if (wantsCompaction(body) && chat["tools"] !== undefined) chat["tool_choice"] = "none";
  // Last, because Sluice itself answers such a request if it is valid otherwise.
  if (prewarms(body))
    check.refuse(
      prewarm,
      "must not be true: the provider can't prepare its cache without an answer",
    );
  return check.result(chat);
}

function copied(kind: "string" | "number" | "boolean" | "object", name?: string): FieldRule {
  return (value, chat, check, field) => {
    chat[name ?? field] = check[kind](value, field);
  };
}

/** A feature that only providers of the Responses API have. */
function refuseWith(why: string): FieldRule {
  return (_value, _chat, check, field) => void check.refuse(field, `can't be passed on: ${why}`);
}

/** A feature that the provider lacks, without which the answer is still valid. */
function dropped(why: string): FieldRule {
  return (_value, _chat, check, field) => void check.drop(field, `can't be passed on: ${why}`);
}

/**
 * Accepts a value that has no effect. Any other value requests a feature that the provider lacks.
 */
function mustBe(value: unknown, why: string, otherwise: "refuse" | "drop"): FieldRule {
  return (fieldValue, _chat, check, field) => {
    if (fieldValue !== value)
      check[otherwise](field, `must be ${JSON.stringify(value)}, not ${quote(fieldValue)}: ${why}`);
  };
}

const readElsewhere: FieldRule = () => {};

export const responsesRequestFields: ReadonlyMap<string, FieldRule> = new Map<string, FieldRule>([
  ["model", copied("string")],
  ["instructions", readElsewhere],
  ["input", readElsewhere],
  ["tools", readElsewhere],
  ["tool_choice", readElsewhere],
  ["parallel_tool_calls", readElsewhere],
  ["max_output_tokens", translateMaxTokens],
  ["temperature", copied("number")],
  ["top_p", copied("number")],
  ["service_tier", copied("string")],
  ["user", copied("string")],
  ["safety_identifier", copied("string")],
  ["prompt_cache_key", copied("string")],
  ["prompt_cache_retention", copied("string")],
  ["prompt_cache_options", copied("object")],
  ["text", translateText],
  ["reasoning", translateReasoning],
  ["include", translateInclude],
  ["top_logprobs", translateTopLogprobs],
  ["stream", translateStream],
  ["stream_options", translateStreamOptions],
  // The answer only repeats it, since responses aren't stored.
  ["metadata", (value, _chat, check, field) => void check.object(value, field)],
  // Codex identifies its installation to OpenAI in this field.
  ["client_metadata", (value, _chat, check, field) => void check.object(value, field)],
  // The limit is for calls of built-in tools, which chat completions don't have.
  ["max_tool_calls", (value, _chat, check, field) => void check.count(value, field)],
  [
    "store",
    mustBe(false, "this provider only has chat completions, which don't store responses", "drop"),
  ],
  [
    "background",
    mustBe(
      false,
      "this provider only has chat completions, which can't run in the background",
      "refuse",
    ),
  ],
  [
    "truncation",
    mustBe(
      "disabled",
      "this provider only has chat completions, which never truncate the input",
      "drop",
    ),
  ],
  [
    "previous_response_id",
    refuseWith("that response isn't stored; send the complete conversation as input"),
  ],
  [
    "conversation",
    refuseWith("conversations aren't stored; send the complete conversation as input"),
  ],
  ["prompt", refuseWith("the template isn't stored; send its text as instructions and input")],
  ["context_management", dropped("chat completions don't compact the input")],
  ["access_programs", dropped("chat completions have no access programs")],
  ["background_options", dropped("chat completions don't run in the background")],
  ["image", dropped("chat completions don't compress images")],
  ["moderation", refuseWith("it isn't translated")],
]);

/**
 * `proxy/handlers/json-call.ts` chooses between the field's two names, depending on the provider.
 */
function translateMaxTokens(
  value: unknown,
  chat: Fields,
  check: RequestCheck,
  field: string,
): void {
  chat["max_tokens"] = check.count(value, field);
}

function translateText(value: unknown, chat: Fields, check: RequestCheck): void {
  const text = check.fields(value, "text", new Set(["format", "verbosity"]));
  if (text === undefined) return;
  if (!isAbsent(text["verbosity"]))
    chat["verbosity"] = check.string(text["verbosity"], "text.verbosity");
  if (isAbsent(text["format"])) return;
  const type = check.object(text["format"], "text.format")?.["type"];
  if (type === "text" || type === "json_object") {
    check.fields(text["format"], "text.format", new Set(["type"]));
    // Plain text is the default, so it sets no field.
    if (type === "json_object") chat["response_format"] = { type };
    return;
  }
  if (type !== "json_schema")
    return check.refuse(
      "text.format.type",
      `must be text, json_object or json_schema, not ${quote(type)}`,
    );
  const format = check.fields(
    text["format"],
    "text.format",
    new Set(["type", "name", "description", "schema", "strict"]),
  );
  if (format === undefined) return;
  const schema: Fields = {
    name: check.string(format["name"], "text.format.name"),
    schema: check.object(format["schema"], "text.format.schema"),
  };
  if (!isAbsent(format["description"]))
    schema["description"] = check.string(format["description"], "text.format.description");
  if (!isAbsent(format["strict"]))
    schema["strict"] = check.boolean(format["strict"], "text.format.strict");
  chat["response_format"] = { type, json_schema: schema };
}

/**
 * A provider that returns its reasoning returns all of it, which `auto` allows. Chat completions
 * can't request a particular kind of summary.
 */
function translateReasoning(value: unknown, chat: Fields, check: RequestCheck): void {
  const reasoning = check.fields(
    value,
    "reasoning",
    new Set(["effort", "summary", "generate_summary", "context", "mode"]),
  );
  if (reasoning === undefined) return;
  if (!isAbsent(reasoning["effort"]))
    chat["reasoning_effort"] = check.string(reasoning["effort"], "reasoning.effort");
  for (const [field, value] of [
    ["summary", "auto"],
    ["generate_summary", "auto"],
    ["context", "auto"],
    ["mode", "standard"],
  ] as const) {
    if (!isAbsent(reasoning[field]) && reasoning[field] !== value)
      check.drop(
        `reasoning.${field}`,
        `must be "${value}", not ${quote(reasoning[field])}: chat completions have no such field`,
      );
  }
}

const logprobs = "message.output_text.logprobs";

/**
 * All except `logprobs` refer to items that a chat completion never has, so they have no effect.
 */
const includable: readonly unknown[] = [
  logprobs,
  "reasoning.encrypted_content",
  "message.input_image.image_url",
  "computer_call_output.output.image_url",
  "code_interpreter_call.outputs",
  "file_search_call.results",
  "web_search_call.results",
  "web_search_call.action.sources",
];

function translateInclude(value: unknown, chat: Fields, check: RequestCheck): void {
  const include = check.list(value, "include") ?? [];
  const unknown = include.findIndex((item) => !includable.includes(item));
  if (unknown !== -1) check.drop(`include[${unknown}]`, `is not known: ${quote(include[unknown])}`);
  if (include.includes(logprobs)) chat["logprobs"] = true;
}

function translateTopLogprobs(
  value: unknown,
  chat: Fields,
  check: RequestCheck,
  field: string,
): void {
  if (value === 0) return;
  chat["top_logprobs"] = check.count(value, field);
  chat["logprobs"] = true;
}

/** The last event of a response's stream always has the usage. */
function translateStream(value: unknown, chat: Fields, check: RequestCheck, field: string): void {
  chat["stream"] = check.boolean(value, field);
  if (value === true) chat["stream_options"] = { include_usage: true };
}

function translateStreamOptions(value: unknown, _chat: Fields, check: RequestCheck): void {
  const obfuscation = check.fields(value, "stream_options", new Set(["include_obfuscation"]))?.[
    "include_obfuscation"
  ];
  if (!isAbsent(obfuscation) && obfuscation !== false)
    check.drop(
      "stream_options.include_obfuscation",
      "must be false: a translated stream isn't obfuscated",
    );
}
