/** A usage record as the daemon exports it, and its fields in the order of a CSV file. Pure. */
import { isAbsent, isCount, isObject } from "../checked.js";
import { signedPicoFromUsd } from "../domain/money.js";

/**
 * `text` is any text; `texts` a list of them; `count` an integer from 0; `tokens` an integer and
 * `usd` US dollars, both negative in a record that takes an estimate back; `usd` is null if
 * unpriced; `flag` a boolean. A text is null if absent, a count if it wasn't measured. A `later`
 * field is missing in records from a daemon of an earlier release.
 */
export type FieldKind =
  | "text"
  | "text or null"
  | "count"
  | "count or null"
  | "usd"
  | "tokens"
  | "tokens or null"
  | "flag"
  | "later text"
  | "later texts"
  | "later count";

/** The JSON names and kinds of a record's fields; docs/reference/usage-record.md explains them. */
export const recordFields = [
  ["id", "text"],
  ["time", "text"],
  ["request_id", "text"],
  ["user_path", "text"],
  ["key_id", "text or null"],
  ["provider", "text"],
  ["provider_type", "text"],
  ["model", "text or null"],
  ["endpoint", "text"],
  ["status", "count"],
  ["input_tokens", "tokens"],
  ["output_tokens", "tokens"],
  ["total_tokens", "tokens"],
  ["cached_input_tokens", "tokens"],
  ["cache_write_input_tokens", "tokens"],
  ["input_cost", "usd"],
  ["output_cost", "usd"],
  ["total_cost", "usd"],
  ["rewrite_tokens_saved", "count"],
  ["rewrite_cost_saved", "usd"],
  ["cache_hit", "flag"],
  ["estimated", "flag"],
  ["latency_ms", "count"],
  ["first_byte_ms", "count or null"],
  ["requested_model", "later text"],
  ["key_name", "later text"],
  ["labels", "later texts"],
  ["service_tier", "later text"],
  ["region", "later text"],
  ["cache_write_1h_input_tokens", "later count"],
  ["audio_input_tokens", "later count"],
  ["cached_audio_input_tokens", "later count"],
  ["image_input_tokens", "later count"],
  ["cached_image_input_tokens", "later count"],
  ["reasoning_tokens", "later count"],
  ["audio_output_tokens", "later count"],
  ["image_output_tokens", "later count"],
  ["web_searches", "later count"],
  ["file_searches", "later count"],
  ["maps_searches", "later count"],
  ["search_units", "later count"],
  ["audio_ms", "later count"],
  ["characters", "later count"],
  ["images", "later count"],
  ["containers", "later count"],
  ["pages", "later count"],
  ["cache_write_12h_input_tokens", "later count"],
  ["tokens_at_most", "tokens or null"],
  ["cost_at_most", "usd"],
  ["repriced_cost", "usd"],
  ["repriced_at", "later text"],
  ["corrects", "later text"],
  ["session", "later text"],
  ["cost_source", "later text"],
  ["price_list", "later text"],
  ["provider_request_id", "later text"],
  ["provider_key", "later text"],
  ["loop", "later count"],
  ["tool_calls", "later texts"],
  ["cut_by", "later text"],
] as const satisfies readonly (readonly [name: string, kind: FieldKind])[];

type FieldName = (typeof recordFields)[number][0];

/** A record whose fields are of the kinds above. */
export type ExportedRecord = Readonly<Record<FieldName, ExportedValue>>;
export type ExportedValue = string | number | boolean | null | undefined | readonly string[];

export function isExportedRecord(value: unknown): value is ExportedRecord {
  return isObject(value) && recordFields.every(([name, kind]) => isOfKind(value[name], kind));
}

function isOfKind(value: unknown, kind: FieldKind): boolean {
  switch (kind) {
    case "text":
      return typeof value === "string";
    case "text or null":
      return value === null || typeof value === "string";
    case "count":
      return isCount(value);
    case "count or null":
      return value === null || isCount(value);
    case "usd":
      return value === null || signedPicoFromUsd(value) !== null;
    case "tokens":
      return Number.isSafeInteger(value);
    case "tokens or null":
      return value === null || Number.isSafeInteger(value);
    case "later text":
      return isAbsent(value) || typeof value === "string";
    case "later texts":
      return (
        value === undefined ||
        (Array.isArray(value) && value.every((item) => typeof item === "string"))
      );
    case "later count":
      return value === undefined || isCount(value);
    case "flag":
      return typeof value === "boolean";
  }
}
