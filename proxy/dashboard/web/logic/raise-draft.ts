/** A raise being made in a dialog, and its body. Pure. */
import type { RaiseItem } from "../../../../shared/api/raise-item.js";
import { type DraftBody, itemKey, type KeyItem, noSubject, parseAmount } from "./limit-draft.js";

const allFields = [
  "max_requests",
  "max_tokens",
  "max_input_tokens",
  "max_output_tokens",
  "max_cost",
  "max_tool_calls",
  "max_enqueued_tokens",
  "amount",
] as const;
type RaisedField = (typeof allFields)[number];

/** A rule or a budget of a list. */
export interface RaisableItem extends KeyItem, Partial<Readonly<Record<RaisedField, number>>> {
  readonly raises?: readonly RaiseItem[];
}

interface RaiseDraft {
  /** The path that is raised: its own, or for a template that of a child. */
  readonly subject: string;
  /** As typed. */
  readonly values: Readonly<Record<string, string>>;
  readonly seconds: string;
  readonly reason: string;
}

/** The fields that are set and that can be raised. */
export function raisedFields(item: RaisableItem): readonly RaisedField[] {
  return allFields.filter((field) => item[field] !== undefined);
}

export function newRaise(item: RaisableItem): RaiseDraft {
  return { subject: item.subject, values: {}, seconds: "7200", reason: "" };
}

/**
 * The body of a raise. A value that isn't a number is sent as typed: the gateway names the field.
 */
export function raiseBody(
  item: RaisableItem,
  { subject, values, seconds, reason }: RaiseDraft,
  keyField: string,
): DraftBody {
  if (subject.trim() === "") return noSubject;
  const raisedValues = raisedFields(item).flatMap((field): [string, unknown][] => {
    const text = values[field]?.trim() ?? "";
    return text === "" ? [] : [[field, parseAmount(text) ?? text]];
  });
  const body = {
    ...itemKey({ ...item, subject: subject.trim() }, keyField),
    ...Object.fromEntries(raisedValues),
    for_seconds: Number(seconds),
    reason: reason.trim(),
    by: "dashboard",
  };
  return { ok: true, body };
}

/** The body that ends a raise. */
export function endBody(
  item: RaisableItem,
  { subject }: RaiseItem,
  keyField: string,
): Record<string, unknown> {
  return { ...itemKey({ ...item, subject }, keyField), by: "dashboard" };
}
