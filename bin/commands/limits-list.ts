/** `sluice limits list`. */
import { type Scope, scopes } from "../../shared/rule.js";
import { normalizeUserPath } from "../../shared/user-path.js";
import { usageFailure } from "../command-failure.js";
import { listRules } from "../list-rules.js";
import type { Problem } from "../rule-flags.js";
import { filterRules, renderRules, type RuleFilter } from "../rule-table.js";
import type { Session } from "../terminal.js";
import { withDaemon } from "../with-daemon.js";
import type { CommandFlags } from "./command-flags.js";

export interface ListFlags {
  readonly scope?: string;
  readonly path?: string;
}

/** Prints the rules; with `--json` exactly the API's object. */
export async function listLimits(session: Session, flags: CommandFlags & ListFlags): Promise<void> {
  const filter = filterFromFlags(flags);
  const list = filterRules(await withDaemon(session, flags, listRules), filter);
  session.terminal.out(flags.json === true ? JSON.stringify(list) : renderRules(list));
}

function filterFromFlags(flags: ListFlags): RuleFilter {
  const problems: Problem[] = [];
  const scope = flags.scope === undefined ? null : scopeFrom(flags.scope);
  if (scope === undefined) problems.push({ message: `--scope must be user_path, provider or model, not ${JSON.stringify(flags.scope)}`, param: "--scope" });
  const path = flags.path === undefined ? null : normalizeUserPath(flags.path);
  if (path !== null && !path.ok) problems.push({ message: `--path ${path.reason}, not ${JSON.stringify(flags.path)}`, param: "--path" });
  if (path !== null && scope !== null && scope !== undefined && scope !== "user_path") problems.push({ message: `--path is for user-path rules and can't be combined with --scope ${scope}`, param: "--path" });
  if (problems.length > 0) throw usageFailure(problems);
  return { scope: scope ?? null, path: path !== null && path.ok ? path.path : null };
}

function scopeFrom(text: string): Scope | undefined {
  return scopes.find((known) => known === text.trim().toLowerCase());
}
