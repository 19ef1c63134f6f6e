/** What a prompt's texts are found by: items, members and strings in the bytes of a body. */
import { type JsonItem, type JsonMember, scanArray, scanObject } from "../scan-json.js";

export interface PromptText extends JsonItem {
  /** Texts of assistants are never changed, and aren't here. */
  readonly by: "user" | "system" | "tool";
}

/** A message, or a block, that instructs the model. */
export interface Instruction extends JsonItem {
  /** Where the item before it in its list ends; null for the first one. */
  readonly after: number | null;
}

export function addString(
  body: string,
  value: JsonItem | null,
  by: PromptText["by"],
  texts: PromptText[],
): void {
  if (value !== null && body[value.start] === '"')
    texts.push({ start: value.start, end: value.end, by });
}

export function itemsOf(
  body: string,
  value: JsonItem | null,
): readonly { readonly item: JsonItem; readonly after: number | null }[] {
  if (value === null || body[value.start] !== "[") return [];
  const items = scanArray(body, value.start);
  return items.map((item, i) => ({ item, after: i === 0 ? null : items[i - 1]!.end }));
}

export function membersOf(body: string, value: JsonItem): readonly JsonMember[] {
  return body[value.start] === "{" ? scanObject(body, value.start) : [];
}

export function typeOf(body: string, item: JsonItem): string | null {
  return stringOf(body, onlyMember(membersOf(body, item), "type"));
}

export function stringOf(body: string, value: JsonItem | null): string | null {
  return value === null || body[value.start] !== '"'
    ? null
    : (JSON.parse(body.slice(value.start, value.end)) as string);
}

/** Null for a repeated key too: which one the provider reads isn't known, so none is touched. */
export function onlyMember(members: readonly JsonMember[], key: string): JsonMember | null {
  let found: JsonMember | null = null;
  for (const member of members) {
    if (member.key !== key) continue;
    if (found !== null) return null;
    found = member;
  }
  return found;
}
