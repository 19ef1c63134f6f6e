/**
 * `sluice explain`: what would happen to a request now and why, or why a request was refused. It
 * counts nothing.
 */

import type { Command } from "commander";
import { show } from "../../shared/checked.js";
import type { Config } from "../../shared/config/config.js";
import { remoteVariables } from "../../shared/config/settings/settings.js";
import { hashKey } from "../../shared/domain/make-managed-key.js";
import { keyNumber, looksLikeManagedKey } from "../../shared/domain/managed-key.js";
import { append } from "../../shared/long-lists.js";
import { DaemonError } from "../../shared/wire/daemon-error.js";
import { isSession, sessionCharsMax } from "../../shared/wire/execution.js";
import { notAKey } from "../keys/key-flags.js";
import { renderExplanation } from "../limits/explanation-text.js";
import {
  type ArgumentProblem,
  type CommandFailure,
  usageFailure,
} from "../session/command-failure.js";
import {
  type CommandFlags,
  jsonOption,
  pathFromFlag,
  tableView,
} from "../session/command-flags.js";
import { requireConfiguration } from "../session/configuration.js";
import { bodyOrThrow } from "../session/daemon-answer.js";
import { masterKeyOf } from "../session/operator-key.js";
import { resolveTargets } from "../session/resolve-targets.js";
import type { Session } from "../session/terminal.js";
import { remotePlace, withDaemon } from "../session/with-daemon.js";
import { adminUrl } from "../text/http-url.js";

interface ExplainFlags extends CommandFlags {
  readonly path?: string;
  readonly key?: string;
  readonly model?: string;
  readonly request?: string;
  readonly session?: string;
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
    .option("--session <name>", "the session of an agent, which may have a budget")
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
  const { model, request, key, session: sessionFlag } = flags;
  const sessionField = sessionFlag === undefined ? {} : { session: sessionFlag };
  const question = {
    user_path: path,
    ...(key === undefined ? {} : { key }),
    model,
    ...sessionField,
  };
  const isElsewhere = remotePlace(session, flags) !== null;
  const fields =
    request !== undefined || isElsewhere ? null : await targetFields(session, flags, model!);
  const body =
    request !== undefined
      ? { request_id: request }
      : fields === null
        ? question
        : { user_path: path, ...keyFields(flags), ...sessionField, ...fields };
  const explanation =
    fields !== null && "config" in fields
      ? await askGateway(session, fields, question)
      : await withDaemon(session, flags, async (client) =>
          bodyOrThrow(await client.call("explain", body)),
        );
  const answer = { ...(request === undefined ? { model } : {}), ...(explanation as object) };
  session.terminal.out(
    flags.json === true
      ? JSON.stringify(answer)
      : renderExplanation(answer, tableView(session, flags)),
  );
}

/** The daemon receives the hash of a key, never the key. */
function keyFields({ key }: ExplainFlags): object {
  if (key === undefined) return {};
  return { key: looksLikeManagedKey(key) ? { key_hash: hashKey(key) } : { id: key } };
}

/** The targets by the configuration, or why only the running gateway can resolve them. */
type TargetFields = { readonly targets: unknown; readonly model_names: unknown } | OnlyProxyKnows;

interface OnlyProxyKnows {
  readonly config: Config;
  /** Why the configuration can't resolve the model. */
  readonly reason: string;
}

async function targetFields(
  session: Session,
  flags: ExplainFlags,
  model: string,
): Promise<TargetFields> {
  const config = requireConfiguration(session, flags, () => {});
  const resolved = await resolveTargets(config, model);
  if (resolved.ok) return { targets: resolved.targets, model_names: resolved.names };
  const { reason, proxyKnows } = resolved;
  if (proxyKnows) return { config, reason };
  throw usageFailure([{ message: reason, param: "--model" }]);
}

/** The gateway of this host, by its admin API. */
async function askGateway(
  { nowMs }: Session,
  { config, reason }: OnlyProxyKnows,
  question: object,
): Promise<unknown> {
  const fail = (why: string): CommandFailure =>
    usageFailure([{ message: `${reason}, or start the gateway: ${why}`, param: "--model" }]);
  const url = adminUrl(config);
  if (url === null) throw fail("its port is chosen when it starts");
  const { openRemote } = await import("../remote/open-remote.js");
  const env = { [remoteVariables.masterKey]: masterKeyOf(config) ?? undefined };
  const gateway = openRemote({ url, keyFile: null }, { env, nowMs });
  try {
    return bodyOrThrow(await gateway.call("explain", question));
  } catch (error) {
    throw error instanceof DaemonError ? fail(error.message) : error;
  } finally {
    gateway.close();
  }
}

/** The normalized path; throws all problems together. */
function checkFlags({ path: pathText, key, model, request, session }: ExplainFlags): string {
  const problems: ArgumentProblem[] = [];
  const path = pathFromFlag(pathText);
  if (!path.ok) append(problems, path.problems);
  if (key !== undefined && !looksLikeManagedKey(key) && keyNumber(key) === null)
    problems.push({ message: notAKey("--key", key), param: "--key" });
  if (request === undefined && (model ?? "").trim() === "")
    problems.push({ message: "--model or --request is required", param: "--model" });
  if (request !== undefined && [model, key, pathText, session].some((flag) => flag !== undefined))
    problems.push({
      message:
        "--request can't be combined with --path, --key, --model and --session: the daemon knows them",
      param: "--request",
    });
  if (session !== undefined && !isSession(session))
    problems.push({
      message: `--session must be the name of a session, up to ${sessionCharsMax} characters, not ${show(session)}`,
      param: "--session",
    });
  if (request?.trim() === "")
    problems.push({
      message: "--request must be the X-Request-ID of a refused request",
      param: "--request",
    });
  if (!path.ok || problems.length > 0) throw usageFailure(problems);
  return path.value;
}
