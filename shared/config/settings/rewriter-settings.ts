/**
 * What an entry of `rewriters` is made of in the file, in one table that `docs/configuration.md` is
 * checked against. What each rewriter does is the proxy's
 * (`proxy/body/rewriters/rewrite-request.ts`).
 */
import { parseSubject } from "../../domain/rule.js";
import { normalizeUserPath } from "../../domain/user-path.js";
import type { RewriterName } from "../config.js";
import { choice, list, type ValueKind } from "./setting-kind.js";

export const rewriterNames: readonly RewriterName[] = [
  "collapse_white_space",
  "minify_tool_json",
  "drop_duplicate_system",
];

export interface RewriterSetting<T> {
  readonly kind: ValueKind<T>;
  /** The default as an operator reads it; null: required. */
  readonly shown: string | null;
  readonly meaning: string;
}

function field<T>(row: RewriterSetting<T>): RewriterSetting<T> {
  return row;
}

const paths: ValueKind<readonly string[]> = {
  label: "list",
  expected: "must be a list of user paths, such as [/team/app]",
  quotable: () => true,
  parse: (raw) =>
    eachOf(raw, (item) => {
      const path = normalizeUserPath(item);
      return path.ok ? path.path : undefined;
    }),
};

const models: ValueKind<readonly string[]> = {
  label: "list",
  expected: "must be a list of model ids, such as [openai/gpt-4o]",
  quotable: () => true,
  parse: (raw) =>
    eachOf(raw, (item) => {
      const model = parseSubject("model", item, "");
      return model.ok ? model.value.toLowerCase() : undefined;
    }),
};

function eachOf(
  raw: unknown,
  parse: (item: string) => string | undefined,
): readonly string[] | undefined {
  const items = list.parse(raw)?.map(parse);
  return items === undefined || items.includes(undefined)
    ? undefined
    : items.filter((item) => item !== undefined);
}

/** By the key in the file. */
export const rewriterSettings = {
  name: field({ kind: choice(rewriterNames), shown: null, meaning: "What is done." }),
  paths: field({
    kind: paths,
    shown: "all paths",
    meaning: "The user paths that it is done for, with all below them.",
  }),
  models: field({
    kind: models,
    shown: "all models",
    meaning:
      "The models that it is done for, named as in rules: provider/id, or id for every provider's.",
  }),
} as const;

type Parsed<K> = K extends RewriterSetting<infer T> ? T : never;
/** The checked fields; null for those that weren't given. */
export type RewriterFields = {
  readonly [K in keyof typeof rewriterSettings]: Parsed<(typeof rewriterSettings)[K]> | null;
};
