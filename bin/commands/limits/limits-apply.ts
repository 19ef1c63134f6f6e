/**
 * `sluice limits apply`: makes rules, budgets, keys and denied JWTs match a file. It shows the
 * plan, then carries it out as a whole if nothing has changed since.
 */
import type { Command } from "commander";
import { isObject } from "../../../shared/checked.js";
import { problemLine } from "../../../shared/config/problems.js";
import type { Failure } from "../../../shared/error-code.js";
import { invalid, plainFailure } from "../../../shared/error-code.js";
import { applyLimits } from "../../../shared/limit-files/apply-limits.js";
import { denialEntry, keyEntry } from "../../../shared/limit-files/credential-entry.js";
import { budgetEntry, ruleEntry } from "../../../shared/limit-files/limit-entry.js";
import type { LimitsPlan } from "../../../shared/limit-files/limits-plan.js";
import {
  type LimitsFile,
  problemsOfFile,
  readLimitsFile,
} from "../../../shared/limit-files/read-limits-file.js";
import { confirmFirstKey } from "../../keys/confirm-first-key.js";
import { keptLines, lockedText, renderPlan } from "../../limits/plan-text.js";
import { newFileId, readInput } from "../../limits/read-input.js";
import {
  CommandFailure,
  DifferencesFound,
  refusal,
  usageFailure,
} from "../../session/command-failure.js";
import { type CommandFlags, jsonOption, tableView } from "../../session/command-flags.js";
import { confirm } from "../../session/confirm.js";
import { unreadableAnswer } from "../../session/daemon-answer.js";
import { exitCodes } from "../../session/exit-code.js";
import type { Session } from "../../session/terminal.js";
import { withDaemon } from "../../session/with-daemon.js";

interface ApplyFlags extends CommandFlags {
  readonly dryRun?: boolean;
  readonly exitCode?: boolean;
  readonly prune?: boolean;
  readonly takeOver?: boolean;
  readonly yes?: boolean;
}

/** Adds `apply` to `limits`. */
export function addLimitsApply(parent: Command, session: Session): void {
  parent
    .command("apply")
    .description("apply a file of rules, budgets, keys and denied JWTs: all of it, or nothing")
    .argument("<file>", "what limits export has written; - for standard input")
    .option("--dry-run", "show the plan, change nothing")
    .option("--exit-code", "with --dry-run: end with 2 for differences, 0 for none, 1 for an error")
    .option("--prune", "remove what was made by hand and is missing in its section of the file")
    .option("--take-over", "override rules and budgets of the configuration")
    .option("--yes", "don't ask; required without a terminal")
    .addOption(jsonOption("print the response of POST /admin/limits"))
    .action((file: string, _options, command: Command) =>
      runApply(session, file, command.optsWithGlobals<ApplyFlags>()),
    );
}

async function runApply(session: Session, file: string, flags: ApplyFlags): Promise<void> {
  const { terminal, env, cwd } = session;
  if (flags.exitCode === true && flags.dryRun !== true)
    throw usageFailure([
      { message: "--exit-code is for --dry-run, which changes nothing", param: "--exit-code" },
    ]);
  if (flags.dryRun !== true && flags.yes !== true && terminal.ask === null)
    throw usageFailure([
      {
        message: "--yes is required to change limits without a terminal; --dry-run shows the plan",
        param: "--yes",
      },
    ]);
  const { name, text } = await readInput(file, cwd);
  const parsed = readLimitsFile({ file: name, text, env });
  if (!parsed.ok) throw wrongFile(parsed.problems.map(problemLine));
  const body = {
    ...(parsed.rules === null ? {} : { rate_limits: parsed.rules.map(ruleEntry) }),
    ...(parsed.budgets === null ? {} : { budgets: parsed.budgets.map(budgetEntry) }),
    ...(parsed.keys === null ? {} : { keys: parsed.keys.map(keyEntry) }),
    ...(parsed.denials === null ? {} : { denied_jwts: parsed.denials.map(denialEntry) }),
    prune: flags.prune === true,
    take_over: flags.takeOver === true,
  };
  const ask = (more: object): Promise<LimitsPlan> =>
    askPlan(session, flags, { ...body, ...more }, { ...parsed, name, text });
  const plan = await ask({ dry_run: true });
  const isSettled = plan.changes.length === 0 || flags.dryRun === true;
  if (flags.json !== true) {
    terminal.out(renderPlan(plan, false, tableView(session, flags)));
    for (const line of keptLines(plan.counts)) terminal.err(line);
  } else if (isSettled) terminal.out(JSON.stringify(plan));
  if (flags.exitCode === true && plan.changes.length > 0) throw new DifferencesFound();
  if (isSettled) return;
  if (plan.counts.locked > 0)
    throw refusal(plainFailure(409, "invalid_request_error", lockedText(plan)));
  const addsKey = plan.changes.some(({ kind, action }) => kind === "key" && action === "add");
  if (addsKey && flags.yes !== true) await confirmFirstKey(session, flags);
  if (flags.yes !== true) await confirm(terminal.ask!, "Apply this?", nothingChanged);
  const done = await ask({ revision: plan.revision });
  terminal.out(flags.json === true ? JSON.stringify(done) : renderPlan(done, true));
}

/** Requests the plan, or its execution; throws errors with their place in the file. */
async function askPlan(
  session: Session,
  flags: ApplyFlags,
  body: Readonly<Record<string, unknown>>,
  file: LimitsFile & { readonly name: string; readonly text: string },
): Promise<LimitsPlan> {
  const answer = await withDaemon(session, flags, async ({ call, remote }) => {
    if (remote === null) {
      const done = await applyLimits(body, { call, newId: newFileId });
      return done.ok ? { ok: true as const, body: done.plan } : done;
    }
    return remote.call(body["dry_run"] === true ? "limits.plan" : "limits.apply", body);
  });
  if (!answer.ok) throw entryFailure(answer.failure, file);
  if (!isPlan(answer.body)) throw unreadableAnswer("plan");
  return answer.body;
}

function isPlan(body: unknown): body is LimitsPlan {
  return isObject(body) && Array.isArray(body["changes"]) && isObject(body["counts"]);
}

/** The daemon's error about an entry, with the entry's place. */
function entryFailure(
  failed: Failure,
  { name, text, ruleAt, budgetAt }: LimitsFile & { readonly name: string; readonly text: string },
): CommandFailure {
  const [entry, section, index] =
    /^(rate_limits|budgets|keys|denied_jwts)\[(\d+)\]/.exec(failed.param ?? "") ?? [];
  const path =
    section === "rate_limits" || section === "budgets"
      ? (section === "budgets" ? budgetAt : ruleAt)[Number(index)]
      : entry;
  if (entry === undefined || path === undefined) return refusal(failed);
  const problem = failed.message.replace(`${entry}: `, "");
  const lines = problemsOfFile(name, text, [`${path}: ${problem}`]).map(problemLine);
  return new CommandFailure({
    exitCode: exitCodes.failed,
    lines: [...lines, nothingChanged],
    error: { ...failed, message: lines.join("; ") },
  });
}

const nothingChanged = "nothing was changed";

function wrongFile(lines: readonly string[]): CommandFailure {
  const { type, code, param } = invalid("", "file");
  return new CommandFailure({
    exitCode: exitCodes.usage,
    lines: [...lines, nothingChanged],
    error: { type, message: lines.join("; "), code, param },
  });
}
