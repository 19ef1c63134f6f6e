/** On which lines of the file limits are declared. */
import { isObject } from "../../checked.js";
import { placesInFile } from "../limits/file-limits.js";
import type { ConfigFile } from "./config-file.js";
import type { ItemStarts } from "./parse-yaml.js";
import type { ParsedFile } from "./parsed-file.js";
import { budgetSection, listNames, ruleSection } from "./read-limit-lists.js";
import { positionsOf } from "./yaml-fault.js";

/** A file that was parsed; text null: there is none. */
interface ParsedText {
  readonly text: string | null;
  readonly document: unknown;
  readonly itemStarts: ItemStarts;
}

/** Where a file declares its rules and its budgets, with their lines. */
export function placeLimits(
  { text, document, itemStarts }: ParsedText,
  { rules, budgets }: Pick<ConfigFile, "rules" | "budgets">,
): Pick<ParsedFile, "declaredAt" | "budgetsAt"> {
  const lines = limitLines(text ?? "", document, itemStarts);
  return {
    declaredAt: placesInFile(rules, lines.rules),
    budgetsAt: placesInFile(budgets, lines.budgets),
  };
}

interface LimitLines {
  readonly rules: readonly number[];
  readonly budgets: readonly number[];
}

/**
 * Of each rule and each budget of a valid document, in the order in which they are read; 0 where
 * the line isn't known. What an alias stands for is where its anchor is.
 */
function limitLines(text: string, document: unknown, starts: ItemStarts): LimitLines {
  const rules = limitStarts(document, ruleSection, starts);
  const budgets = limitStarts(document, budgetSection, starts);
  const offsets = [...new Set([...rules, ...budgets])].filter((at) => at >= 0);
  offsets.sort((a, b) => a - b);
  const lines = new Map(positionsOf(text, offsets).map(({ line }, i) => [offsets[i]!, line]));
  const lineAt = (offset: number): number => lines.get(offset) ?? 0;
  return { rules: rules.map(lineAt), budgets: budgets.map(lineAt) };
}

/** −1: it isn't known. */
function limitStarts(
  document: unknown,
  section: Parameters<typeof listNames>[0],
  starts: ItemStarts,
): number[] {
  const lists = isObject(document) ? document[section.name] : undefined;
  return listNames(section).flatMap((name) =>
    itemsOf(isObject(lists) ? lists[name] : undefined).flatMap((entry) =>
      itemsOf(isObject(entry) ? entry["limits"] : undefined).map((limit) =>
        isObject(limit) ? (starts.get(limit) ?? -1) : -1,
      ),
    ),
  );
}

function itemsOf(list: unknown): readonly unknown[] {
  return Array.isArray(list) ? list : [];
}
