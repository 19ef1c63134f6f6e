/**
 * `POST /v1/responses/compact` at providers that lack it: asks the model for a summary of the
 * conversation, as a `compaction_trigger` does. The answer has OpenAI's form: the user's messages,
 * and the summary as a `compaction`, which later requests can send to any provider.
 */
import { isAbsent, isObject } from "../../../shared/checked.js";
import { readKeptReasoning } from "../shared/kept-reasoning.js";
import { isCompaction } from "../shared/made-by.js";
import {
  type AnswerContext,
  FailedAnswer,
  type JsonObject,
  type Translation,
  UntranslatableAnswer,
} from "../shared/translation.js";
import { compactionTrigger } from "./responses-input-to-chat.js";

/** `responses`: the translation of a request that would be answered. */
export function compactingBy(responses: Translation): Translation {
  return {
    echoedFields: ["input"],
    // A compaction isn't streamed.
    echoSource: (body) => ({ input: itemsOf(body).filter(isOfUser) }),
    request: ({ stream: _stream, ...body }, options) =>
      responses.request(
        { ...body, input: [...itemsOf(body), { type: compactionTrigger }] },
        options,
      ),
    answer: (body, context) => compactedInput(body, context, responses),
    asEvents: noStream,
    events: noStream,
  };
}

/** Throws `FailedAnswer` without a complete summary, so that another target may make it. */
function compactedInput(
  body: JsonObject,
  context: AnswerContext,
  responses: Translation,
): JsonObject {
  const answer = responses.answer(body, { ...context, request: { compacts: true } });
  const summary = (answer["output"] as readonly JsonObject[]).find(isCompaction);
  if (summary === undefined || readKeptReasoning(summary["encrypted_content"])?.text === "")
    throw new FailedAnswer("the provider's answer has no complete summary of the conversation");
  const { id, created_at, usage } = answer;
  // Without ids: an input message has none.
  const users = itemsOf(context.request).map((item) => ({
    type: "message",
    status: "completed",
    role: "user",
    content: partsOf(item),
  }));
  return { id, object: "response.compaction", created_at, output: [...users, summary], usage };
}

function itemsOf({ input }: JsonObject): readonly unknown[] {
  if (typeof input === "string") return [{ role: "user", content: input }];
  return Array.isArray(input) ? input : [];
}

function isOfUser(item: unknown): boolean {
  if (!isObject(item) || item["role"] !== "user") return false;
  return isAbsent(item["type"]) || item["type"] === "message";
}

function partsOf(item: unknown): unknown {
  const content = isObject(item) ? item["content"] : null;
  return typeof content === "string" ? [{ type: "input_text", text: content }] : content;
}

function noStream(): never {
  throw new UntranslatableAnswer("a compaction isn't streamed");
}
