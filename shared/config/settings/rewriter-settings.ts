/**
 * The fields of an entry of `rewriters` in the file. What each rewriter does is in
 * `proxy/body/rewriters/`.
 */
import { parseSubject } from "../../domain/rule.js";
import { normalizeUserPath } from "../../domain/user-path.js";
import type { RewriterName } from "../config.js";
import { choice } from "../kinds/choice-kinds.js";
import { listOf } from "../kinds/list-kinds.js";
import { textOf } from "../kinds/text-kinds.js";
import { type FieldValues, field } from "./setting.js";

export const rewriterNames: readonly RewriterName[] = [
  "collapse_white_space",
  "minify_tool_json",
  "drop_duplicate_system",
];

const userPaths = listOf(
  "must be a list of user paths, such as [/team/app]",
  (raw) => {
    const text = textOf(raw);
    const path = text === undefined ? null : normalizeUserPath(text);
    return path?.ok === true ? path.path : undefined;
  },
  { itemsMin: 1 },
);

const models = listOf(
  "must be a list of model ids, such as [openai/gpt-4o]",
  (raw) => {
    const model = parseSubject("model", textOf(raw), "");
    return model.ok ? model.value.toLowerCase() : undefined;
  },
  { itemsMin: 1 },
);

/** By the key in the file. */
export const rewriterSettings = {
  name: field({
    kind: choice(rewriterNames),
    defaultText: null,
    example: "collapse_white_space",
    meaning: "Which rewriter.",
  }),
  paths: field({
    kind: userPaths,
    defaultText: "all paths",
    example: "[/team/app]",
    meaning: "User paths with all below them.",
  }),
  models: field({
    kind: models,
    defaultText: "all models",
    example: "[openai/gpt-4o]",
    meaning: "Models, as provider/id, or id for every provider's.",
  }),
} as const;

/** The checked fields of a rewriter; null for those that the file leaves out. */
export type RewriterFields = FieldValues<typeof rewriterSettings>;
