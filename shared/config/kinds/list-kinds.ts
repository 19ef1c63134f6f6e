/** The kinds of values that are lists: written as a list, or as a text with commas. */
import { parseSubject } from "../../domain/rule.js";
import { textOf } from "./text-kinds.js";
import { always, type ValueKind } from "./value-kind.js";

/** A list whose items `parseItem` accepts; it returns undefined for a wrong one. */
export function listOf<T>(
  expected: string,
  parseItem: (raw: unknown) => T | undefined,
  { itemsMin }: { readonly itemsMin: 0 | 1 },
): ValueKind<readonly T[]> {
  return {
    label: "list",
    expected,
    quotable: always,
    parse: (raw) => {
      const rawItems = itemsOf(raw);
      if (rawItems === undefined || rawItems.length < itemsMin) return undefined;
      const items: T[] = [];
      for (const rawItem of rawItems) {
        const item = parseItem(rawItem);
        if (item === undefined) return undefined;
        items.push(item);
      }
      return items;
    },
  };
}

function itemsOf(raw: unknown): readonly unknown[] | undefined {
  if (Array.isArray(raw)) return raw;
  return typeof raw === "string"
    ? raw.split(",").filter((piece) => piece.trim() !== "")
    : undefined;
}

/** One or more texts. */
export const list = listOf("must be a text or a list of texts", textOf, { itemsMin: 1 });

/** Known names only. */
export function names<const T extends string>(
  known: readonly T[],
  size: { readonly itemsMin: 0 | 1 } = { itemsMin: 0 },
): ValueKind<readonly T[]> {
  return listOf(
    `must be a list that holds nothing but ${known.join(", ")}`,
    (raw) => known.find((name) => name === textOf(raw)),
    size,
  );
}

/** Model ids. `*` stands for any. */
export const modelList = listOf(
  'must be a list of model ids, or ["*"] for any',
  (raw) => {
    const id = parseSubject("model", raw, "");
    return id.ok ? id.value : undefined;
  },
  { itemsMin: 0 },
);
