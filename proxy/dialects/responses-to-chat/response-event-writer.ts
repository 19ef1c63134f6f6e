/**
 * Writes the events of a response's stream: one method for each kind, numbered in the order of the
 * calls.
 *
 * Not here: when to emit each event. `response-builder.ts` calls the methods in the API's order. An
 * event refers to the live item or part, so `emit` must write it out immediately.
 */
import { unreachable } from "../../../shared/assert.js";
import type { Logprob } from "../shared/chat-pieces.js";
import type { JsonObject } from "../shared/translation.js";
import type { CallItem, ContentItem, ContentPart, OutputItem } from "./response-items.js";
import type { Progress } from "./response-object.js";

export type ResponseEvent = {
  readonly type: string;
  readonly sequence_number: number;
} & JsonObject;

/** `outputIndex`: the item's index in the response's `output`. A delta belongs to the last part. */
export class ResponseEventWriter {
  readonly #emit: (event: ResponseEvent) => void;
  #sequence = 0;

  constructor(emit: (event: ResponseEvent) => void) {
    this.#emit = emit;
  }

  response(step: "created" | Progress["status"], response: JsonObject): void {
    this.#emit({ type: `response.${step}`, sequence_number: this.#sequence++, response });
  }

  itemAdded(item: OutputItem, outputIndex: number): void {
    this.#emit({
      type: "response.output_item.added",
      sequence_number: this.#sequence++,
      output_index: outputIndex,
      item,
    });
  }

  itemDone(item: OutputItem, outputIndex: number): void {
    this.#emit({
      type: "response.output_item.done",
      sequence_number: this.#sequence++,
      output_index: outputIndex,
      item,
    });
  }

  partAdded(item: ContentItem, outputIndex: number, part: ContentPart): void {
    this.#emit({
      type: "response.content_part.added",
      sequence_number: this.#sequence++,
      item_id: item.id,
      output_index: outputIndex,
      content_index: item.content.length - 1,
      part,
    });
  }

  /** Emits two events: the end of the part's text, and the end of the part. */
  partDone(item: ContentItem, outputIndex: number, part: ContentPart): void {
    const content_index = item.content.length - 1;
    this.#textDone(item.id, outputIndex, content_index, part);
    this.#emit({
      type: "response.content_part.done",
      sequence_number: this.#sequence++,
      item_id: item.id,
      output_index: outputIndex,
      content_index,
      part,
    });
  }

  #textDone(item_id: string, output_index: number, content_index: number, part: ContentPart): void {
    const sequence_number = this.#sequence++;
    const place = { item_id, output_index, content_index };
    switch (part.type) {
      case "output_text": {
        const { text, logprobs } = part;
        const type = "response.output_text.done";
        return this.#emit({ type, sequence_number, ...place, text, logprobs });
      }
      case "refusal": {
        const type = "response.refusal.done";
        return this.#emit({ type, sequence_number, ...place, refusal: part.refusal });
      }
      case "reasoning_text": {
        const type = "response.reasoning_text.done";
        return this.#emit({ type, sequence_number, ...place, text: part.text });
      }
      default:
        unreachable(part);
    }
  }

  textDelta(
    item: ContentItem,
    outputIndex: number,
    delta: string,
    logprobs: readonly Logprob[],
  ): void {
    this.#emit({
      type: "response.output_text.delta",
      sequence_number: this.#sequence++,
      item_id: item.id,
      output_index: outputIndex,
      content_index: item.content.length - 1,
      delta,
      logprobs,
    });
  }

  annotationAdded(
    item: ContentItem,
    outputIndex: number,
    annotation: JsonObject,
    annotationIndex: number,
  ): void {
    this.#emit({
      type: "response.output_text.annotation.added",
      sequence_number: this.#sequence++,
      item_id: item.id,
      output_index: outputIndex,
      content_index: item.content.length - 1,
      annotation_index: annotationIndex,
      annotation,
    });
  }

  refusalDelta(item: ContentItem, outputIndex: number, delta: string): void {
    this.#partDelta("response.refusal.delta", item, outputIndex, delta);
  }

  reasoningDelta(item: ContentItem, outputIndex: number, delta: string): void {
    this.#partDelta("response.reasoning_text.delta", item, outputIndex, delta);
  }

  #partDelta(type: string, item: ContentItem, outputIndex: number, delta: string): void {
    this.#emit({
      type,
      sequence_number: this.#sequence++,
      item_id: item.id,
      output_index: outputIndex,
      content_index: item.content.length - 1,
      delta,
    });
  }

  callDelta(item: CallItem, outputIndex: number, delta: string): void {
    this.#emit({
      type:
        item.type === "function_call"
          ? "response.function_call_arguments.delta"
          : "response.custom_tool_call_input.delta",
      sequence_number: this.#sequence++,
      item_id: item.id,
      output_index: outputIndex,
      delta,
    });
  }

  callDone(item: CallItem, outputIndex: number): void {
    if (item.type === "function_call")
      this.#emit({
        type: "response.function_call_arguments.done",
        sequence_number: this.#sequence++,
        item_id: item.id,
        output_index: outputIndex,
        arguments: item.arguments,
        name: item.name,
      });
    else
      this.#emit({
        type: "response.custom_tool_call_input.done",
        sequence_number: this.#sequence++,
        item_id: item.id,
        output_index: outputIndex,
        input: item.input,
      });
  }
}
