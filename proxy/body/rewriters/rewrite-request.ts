/**
 * Request rewriters: what the operator lets Sluice remove from a prompt before it goes to a
 * provider. Each is a function of the body alone, and idempotent.
 *
 * Not here: the rewriters' rules (`collapse-white-space.ts`, `minify-tool-json.ts`), and the record
 * of the saved bytes.
 */
import type { Config, RewriterName } from "../../../shared/config/config.js";
import { modelSubjects, namingsOf } from "../../../shared/config/model-name.js";
import { namesProvider } from "../../../shared/domain/rule.js";
import type { Target } from "../../../shared/domain/target-name.js";
import { isPathWithin } from "../../../shared/domain/user-path.js";
import type { JsonOperation } from "../model-body.js";
import { collapseWhiteSpace } from "./collapse-white-space.js";
import { minifyToolJson } from "./minify-tool-json.js";
import {
  type Cuts,
  findPrompt,
  type Prompt,
  promptDialect,
  type TextRange,
  withoutCuts,
} from "./rewrite-places.js";

type Rewriter = (body: string, prompt: Prompt) => Cuts;

const rewriters: Readonly<Record<RewriterName, Rewriter>> = {
  collapse_white_space: collapseWhiteSpace,
  minify_tool_json: minifyToolJson,
  drop_duplicate_system: dropDuplicateSystem,
};

export interface RewrittenBody {
  /** The same Buffer if nothing was removed. */
  readonly bytes: Buffer;
  readonly savedBytes: number;
}

/**
 * Applies rewriters in order, each to the result of the previous one. `bytes`: a JSON object in
 * UTF-8.
 */
export function rewriteRequest(
  bytes: Buffer,
  operation: JsonOperation,
  names: readonly RewriterName[],
): RewrittenBody {
  const dialect = promptDialect(operation);
  if (dialect === null) return { bytes, savedBytes: 0 };
  let body = bytes.toString("latin1");
  let saved = 0;
  for (const name of names) {
    const { cuts, savedBytes } = rewriters[name](body, findPrompt(body, dialect));
    if (cuts.length > 0) body = withoutCuts(body, cuts);
    saved += savedBytes;
  }
  return saved === 0
    ? { bytes, savedBytes: 0 }
    : { bytes: Buffer.from(body, "latin1"), savedBytes: saved };
}

/** The rewriters of a request, in order. */
export type RewriterChoice = (userPath: string, target: Target) => readonly RewriterName[];

/**
 * Paths cover everything below them. Models are the executed ones, named as in rules
 * (docs/cache-and-rewriters.md).
 */
export function chooseRewriters({
  rewriters: configs,
  providers,
}: Pick<Config, "rewriters" | "providers">): RewriterChoice {
  const namings = namingsOf(providers);
  const chosen = configs.map(({ models, ...config }) => ({
    ...config,
    models: models?.flatMap((model) => modelSubjects(model, namings)) ?? null,
  }));
  return (userPath, { provider, model }) => {
    const names: RewriterName[] = [];
    const bare = model.toLowerCase();
    const anyProvidersModel = namesProvider(bare, namings) ? null : bare;
    const qualified = `${provider}/${model}`.toLowerCase();
    for (const { name, paths, models } of chosen) {
      if (paths !== null && !paths.some((path) => isPathWithin(userPath, path))) continue;
      if (
        models !== null &&
        !models.some((candidate) => candidate === anyProvidersModel || candidate === qualified)
      )
        continue;
      names.push(name);
    }
    return names;
  };
}

/**
 * The rewriter `drop_duplicate_system`, for messages of the roles `system` and `developer`, and
 * text blocks of Anthropic's `system`. A duplicate with `cache_control` stays: it marks where the
 * provider's own cache ends, and the first one doesn't.
 */
export function dropDuplicateSystem(body: string, { instructions }: Prompt): Cuts {
  const texts = new Set<string>();
  const cuts: TextRange[] = [];
  let savedBytes = 0;
  for (const { start, end, previousEnd } of instructions) {
    const text = body.slice(start, end);
    if (!texts.has(text)) {
      texts.add(text);
      continue;
    }
    if (text.includes('"cache_control"')) continue;
    // An equal item precedes it, so the comma between them goes too.
    cuts.push({ start: previousEnd ?? start, end });
    savedBytes += end - start;
  }
  return { cuts, savedBytes };
}
