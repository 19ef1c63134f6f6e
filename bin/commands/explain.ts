/**
 * `sluice explain`: what would happen to a request now and why, or why a request was refused. It
 * counts nothing.
 */

import type { Command } from "commander";
import { hashKey } from "../../shared/domain/key-secret.js";
import { keyNumber, looksLikeManagedKey } from "../../shared/domain/managed-key.js";
import { append } from "../../shared/long-lists.js";
import { notAKey } from "../keys/key-flags.js";
import { renderExplanation } from "../limits/explanation-text.js";
import { type ArgumentProblem, usageFailure } from "../session/command-failure.js";
import { type CommandFlags, jsonOption, pathFromFlag } from "../session/command-flags.js";
import { requireConfiguration } from "../session/configuration.js";
import { answered } from "../session/daemon-answer.js";
import { resolveTargets } from "../session/resolve-targets.js";
import type { Session } from "../session/terminal.js";
import { remotePlace, withDaemon } from "../session/with-daemon.js";

interface ExplainFlags extends CommandFlags {
  readonly path?: string;
  readonly key?: string;
  readonly model?: string;
  readonly request?: string;
}

/** Adds `explain` to the program. */
export function addExplain(program: Command, session: Session): void {
  program
    .command("explain")
    .description(
      "show which rules apply to a request, their state and the verdict now; consume nothing",
    )
    .option("--path <path>", "the caller's user path (default: /)")
    .option(
      "--key <id>",
      "the caller's managed key or its id; the path of a bound key takes precedence over --path",
    )
    .option("--model <model>", "the model, as a request would name it")
    .option(
      "--request <id>",
      "the X-Request-ID of a refused request, instead of --path, --key and --model",
    )
    .addOption(jsonOption("print the response of POST /admin/explain"))
    .action((_options, command: Command) =>
      explainCommand(session, command.optsWithGlobals<ExplainFlags>()),
    );
}

/**
 * Resolves the model by the configuration, as a proxy does; a remote gateway resolves it itself.
 * With `--request` the daemon knows the targets.
 */
async function explainCommand(session: Session, flags: ExplainFlags): Promise<void> {
  const path = checkFlags(flags);
  const { model, request, key } = flags;
  const body =
    request !== undefined
      ? { request_id: request }
      : remotePlace(session, flags) !== null
        ? { user_path: path, ...(key === undefined ? {} : { key }), model }
        : { user_path: path, ...keyFields(flags), ...(await targetFields(session, flags, model!)) };
  const explanation = await withDaemon(session, flags, async (client) =>
    answered(await client.call("explain", body)),
  );
  const shown = { ...(request === undefined ? { model } : {}), ...(explanation as object) };
  session.terminal.out(flags.json === true ? JSON.stringify(shown) : renderExplanation(shown));
}

/** The daemon receives the hash of a key, never the key. */
function keyFields({ key }: ExplainFlags): object {
  if (key === undefined) return {};
  return { key: looksLikeManagedKey(key) ? { key_hash: hashKey(key) } : { id: key } };
}

async function targetFields(session: Session, flags: ExplainFlags, model: string): Promise<object> {
  const resolved = await resolveTargets(
    requireConfiguration(session, flags, () => {}),
    model,
  );
  if (!resolved.ok) throw usageFailure([{ message: resolved.reason, param: "--model" }]);
  return { targets: resolved.targets, model_names: resolved.names };
}

/** The normalized path; throws all problems together. */
function checkFlags({ path: typed, key, model, request }: ExplainFlags): string {
  const problems: ArgumentProblem[] = [];
  const path = pathFromFlag(typed);
  if (!path.ok) append(problems, path.problems);
  if (key !== undefined && !looksLikeManagedKey(key) && keyNumber(key) === null)
    problems.push({ message: notAKey("--key", key), param: "--key" });
  if (request === undefined && (model ?? "").trim() === "")
    problems.push({ message: "--model or --request is required", param: "--model" });
  if (request !== undefined && (model !== undefined || key !== undefined || typed !== undefined))
    problems.push({
      message: "--request can't be combined with --path, --key and --model: the daemon knows them",
      param: "--request",
    });
  if (request?.trim() === "")
    problems.push({
      message: "--request must be the X-Request-ID of a refused request",
      param: "--request",
    });
  if (!path.ok || problems.length > 0) throw usageFailure(problems);
  return path.value;
}
