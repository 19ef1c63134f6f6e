/** `sluice keys …`: issues, lists, rotates, deactivates and deletes managed keys. */
import type { Command } from "commander";
import { hashKey, makeManagedKey } from "../../../shared/domain/make-managed-key.js";
import {
  type ImportedKey,
  keyNumber,
  keyStatuses,
  looksLikeManagedKey,
  redactKey,
} from "../../../shared/domain/managed-key.js";
import { plainFailure } from "../../../shared/error-code.js";
import { confirmFirstKey } from "../../keys/confirm-first-key.js";
import {
  asFlagProblem,
  type KeyIssueFlags,
  type KeyRotateFlags,
  keyIssueFromFlags,
  keyOfHash,
  keyOfValue,
  keyRotationFromFlags,
  monthlyBudget,
  notAKey,
} from "../../keys/key-flags.js";
import { oldSecretsText, renderKey, renderKeys } from "../../keys/key-table.js";
import { type ListedKey, listKeys } from "../../keys/list-keys.js";
import { readInput } from "../../limits/read-input.js";
import {
  type ArgumentProblem,
  type ParsedArguments,
  refusal,
  usageFailure,
} from "../../session/command-failure.js";
import {
  type CommandFlags,
  jsonOption,
  pathFromFlag,
  tableView,
} from "../../session/command-flags.js";
import { bodyOrThrow } from "../../session/daemon-answer.js";
import type { Session } from "../../session/terminal.js";
import { withDaemon } from "../../session/with-daemon.js";
import { readDuration } from "../../text/duration.js";
import { formatUsd } from "../../text/number-text.js";

/** Adds `keys` to the program. */
export function addKeys(program: Command, session: Session): void {
  const keys = program
    .command("keys")
    .description("issue, list, rotate, deactivate and delete managed keys");
  keys
    .command("issue")
    .description("issue a key and print it; it is never shown again. Or import an existing key")
    .option(
      "--path <path>",
      "the user path that the key is bound to; by default the caller names its path",
    )
    .option(
      "--role <role>",
      "make it a key of administration: viewer, operator or admin of --path and below, by default of everything; it calls no models",
    )
    .option("--name <name>", "what the key is for")
    .option("--label <label...>", "labels for budgets and reports, separated by spaces or commas")
    .option(
      "--model <model...>",
      "models that the key may use, such as gpt-4o or openai/* (default: any)",
    )
    .option(
      "--expires <when>",
      "after this time, such as 30d or 12h, or at a timestamp such as 2030-01-31T12:00:00Z",
    )
    .option(
      "--hash <sha256>",
      "import an existing key by its SHA-256, in hex or base64url, so that its client keeps it",
    )
    .option("--value-file <file>", "import the existing key in this file; - reads standard input")
    .option("--monthly <usd>", "give the path of --path this monthly budget, in US dollars")
    .option("--yes", "don't ask before the first key closes an open gateway")
    .addOption(jsonOption("print the response of POST /admin/auth-keys"))
    .action((_options, command: Command) =>
      issueKey(session, command.optsWithGlobals<IssueFlags>()),
    );
  keys
    .command("list")
    .description("list the keys, newest first; secrets are redacted")
    .option("--path <path>", "on this user path and below it")
    .option("--status <status>", `only these: ${keyStatuses.join(", ")}`)
    .option("--unused <time>", "those that weren't used in this time, such as 30d")
    .option("--expiring <time>", "active ones that expire within this time, such as 30d")
    .addOption(jsonOption("print the response of GET /admin/auth-keys"))
    .action((_options, command: Command) =>
      printKeys(session, command.optsWithGlobals<KeyListFlags>()),
    );
  keys
    .command("show")
    .description(
      "show one key: whose it is, what it may use, when it was used, until when it works",
    )
    .argument("<id>", "the key's id, such as key_7, or the key itself")
    .addOption(jsonOption("print the key as GET /admin/auth-keys lists it"))
    .action((id: string, _options, command: Command) =>
      showKey(session, id, command.optsWithGlobals<CommandFlags>()),
    );
  keys
    .command("rotate")
    .description("give a key a new secret and print it; the old one works for another day")
    .argument("<id>", "the key's id, such as key_7, or the key itself")
    .option(
      "--overlap <time>",
      "how long the old secret still works, such as 1h or 0 (default: 1d)",
    )
    .option(
      "--model <model...>",
      "models that the key may use from now on, with any of its secrets (default: as before)",
    )
    .addOption(jsonOption("print the response of POST /admin/auth-keys/{id}/rotate"))
    .action((id: string, _options, command: Command) =>
      rotateKey(session, id, command.optsWithGlobals<CommandFlags & KeyRotateFlags>()),
    );
  keys
    .command("deactivate")
    .description("refuse a key in every proxy from its next request on; this can't be undone")
    .argument("<id>", "the key's id, such as key_7, or the key itself")
    .addOption(jsonOption("print the id as an object"))
    .action((id: string, _options, command: Command) =>
      changeKey(session, { id, op: "deactivate" }, command.optsWithGlobals<CommandFlags>()),
    );
  keys
    .command("delete")
    .description(
      "refuse a key from its next request on and remove it from the list; this can't be undone",
    )
    .argument("<id>", "the key's id, such as key_7, or the key itself")
    .addOption(jsonOption("print the id as an object"))
    .action((id: string, _options, command: Command) =>
      changeKey(session, { id, op: "delete" }, command.optsWithGlobals<CommandFlags>()),
    );
}

interface IssueFlags extends CommandFlags, KeyIssueFlags {
  readonly monthly?: string;
  readonly yes?: boolean;
}

/**
 * Prints only the key on standard output, so that a script can read it; the line about the key goes
 * to standard error.
 */
async function issueKey(session: Session, flags: IssueFlags): Promise<void> {
  const issue = keyIssueFromFlags(flags);
  const budget = monthlyBudget(flags);
  const existing = await existingKey(session, flags);
  if (!issue.ok || !budget.ok || !existing.ok)
    throw usageFailure([
      ...(issue.ok ? [] : issue.problems),
      ...(budget.ok ? [] : budget.problems),
      ...(existing.ok ? [] : existing.problems),
    ]);
  const imported = existing.value;
  if (flags.yes !== true) await confirmFirstKey(session, flags);
  const newKey = imported === null ? makeManagedKey() : null;
  const { hash, redacted } = imported ?? newKey!;
  const key = await withDaemon(session, flags, async (client) => {
    // The budget first: without it, the key could spend immediately.
    if (budget.value !== null) bodyOrThrow(await client.call("budgets.put", budget.value));
    const answer = await client.call("keys.issue", {
      key_hash: hash,
      redacted_value: redacted,
      ...(imported === null ? {} : { imported: true }),
      ...issue.value,
    });
    // The daemon's clock decides whether an expiry is in the future.
    return bodyOrThrow(
      answer.ok
        ? answer
        : { ok: false, failure: { ...answer.failure, ...asFlagProblem(answer.failure) } },
    ) as ListedKey;
  });
  const value = newKey === null ? undefined : (secretOfGateway(key) ?? newKey.value);
  if (flags.json === true) return session.terminal.out(JSON.stringify({ ...key, value }));
  if (typeof key["notice"] === "string") session.terminal.err(`note: ${key["notice"]}`);
  const { id, user_path: path, expires_at: expires } = key;
  const role = typeof key["role"] === "string" ? key["role"] : null;
  const bound =
    role !== null
      ? `${role} of ${String(path ?? "/")}`
      : path === null
        ? "for a path that the caller names"
        : `for ${String(path)}`;
  const until = expires === null ? "without expiry" : `until ${String(expires)}`;
  const only =
    role === null && Array.isArray(key["models"]) ? `, only for ${key["models"].join(", ")}` : "";
  if (budget.value !== null)
    session.terminal.err(`budget of ${String(path)}: ${formatUsd(budget.value.amount, 2)} a month`);
  if (value === undefined) {
    session.terminal.err(`imported ${String(id)}, ${bound}${only}, ${until}`);
    return session.terminal.out(String(id));
  }
  session.terminal.err(`issued ${String(id)}, ${bound}${only}, ${until}; it is shown only once:`);
  session.terminal.out(value);
}

/** The key of `--hash` or `--value-file`; null without them. */
async function existingKey(
  { cwd }: Pick<Session, "cwd">,
  { hash, valueFile }: KeyIssueFlags,
): Promise<ParsedArguments<ImportedKey | null>> {
  if (valueFile === undefined) return keyOfHash(hash);
  if (hash === undefined) return keyOfValue((await readInput(valueFile, cwd)).text);
  const message = "--hash can't be combined with --value-file: one of them names the key";
  return { ok: false, problems: [{ message, param: "--hash" }] };
}

interface KeyListFlags extends CommandFlags {
  readonly path?: string;
  readonly status?: string;
  readonly unused?: string;
  readonly expiring?: string;
}

async function printKeys(session: Session, flags: KeyListFlags): Promise<void> {
  const { status } = flags;
  const path = pathFromFlag(flags.path);
  const problems: ArgumentProblem[] = path.ok ? [] : [...path.problems];
  if (status !== undefined && !keyStatuses.some((candidate) => candidate === status))
    problems.push({
      message: `--status must be one of ${keyStatuses.join(", ")}, not ${JSON.stringify(status)}`,
      param: "--status",
    });
  const secondsOf = (name: "unused" | "expiring"): number | null => {
    const flag = flags[name];
    const seconds = flag === undefined ? null : readDuration(flag);
    if (flag !== undefined && seconds === null)
      problems.push({
        message: `--${name} must be a length of time such as 30d (s, m, h, d or w), not ${JSON.stringify(flag)}`,
        param: `--${name}`,
      });
    return seconds;
  };
  const ages = { unused_seconds: secondsOf("unused"), expires_seconds: secondsOf("expiring") };
  if (!path.ok || problems.length > 0) throw usageFailure(problems);
  const filter = { user_path: path.value, status: status ?? null, ...ages };
  const keys = await withDaemon(session, flags, (client) => listKeys(client, filter));
  session.terminal.out(
    flags.json === true ? JSON.stringify(keys) : renderKeys(keys, tableView(session, flags)),
  );
}

async function showKey(session: Session, id: string, flags: CommandFlags): Promise<void> {
  const isId = keyNumber(id) !== null;
  if (!isId && !looksLikeManagedKey(id))
    throw usageFailure([{ message: notAKey("the key", id), param: "id" }]);
  const keys = await withDaemon(session, flags, (client) => listKeys(client));
  // The list has no hashes, but the beginning of each key.
  const redacted = redactKey(id);
  const [key, ...ambiguous] = keys.filter((candidate) =>
    isId ? candidate["id"] === id : candidate["redacted_value"] === redacted,
  );
  if (key === undefined) {
    const message = isId ? `no key ${id} is known` : `no key that begins with ${redacted} is known`;
    throw refusal({ ...plainFailure(404, "not_found_error", message), param: "id" });
  }
  if (ambiguous.length > 0) {
    const ids = [key, ...ambiguous].map((match) => String(match["id"])).join(", ");
    throw usageFailure([
      { message: `${ids} begin with ${redacted}: give the id of one`, param: "id" },
    ]);
  }
  session.terminal.out(flags.json === true ? JSON.stringify(key) : renderKey(key));
}

/** Like `issueKey`: prints only the new secret on standard output. */
async function rotateKey(
  session: Session,
  id: string,
  flags: CommandFlags & KeyRotateFlags,
): Promise<void> {
  const nameOfKey = keyReference(id);
  const rotation = keyRotationFromFlags(flags);
  if (!rotation.ok) throw usageFailure(rotation.problems);
  const { value: newKey, hash, redacted } = makeManagedKey();
  const request = { ...nameOfKey, new_hash: hash, redacted_value: redacted, ...rotation.value };
  const key = await withDaemon(
    session,
    flags,
    async (client) => bodyOrThrow(await client.call("keys.rotate", request)) as ListedKey,
  );
  const value = secretOfGateway(key) ?? newKey;
  if (flags.json === true) return session.terminal.out(JSON.stringify({ ...key, value }));
  session.terminal.err(`rotated ${String(key["id"])}; ${oldSecretsText(key)}`);
  session.terminal.err("the new one is shown only once:");
  session.terminal.out(value);
}

/**
 * The secret that a remote gateway generated; null if this program did, and the daemon has its
 * hash.
 */
function secretOfGateway({ value }: ListedKey): string | null {
  return typeof value === "string" ? value : null;
}

/** Accepts a key instead of its id, since a leaked key is known by its text. */
function keyReference(id: string): Readonly<Record<string, string>> {
  if (looksLikeManagedKey(id)) return { key_hash: hashKey(id) };
  if (keyNumber(id) !== null) return { id };
  throw usageFailure([{ message: notAKey("the key", id), param: "id" }]);
}

async function changeKey(
  session: Session,
  { id, op }: { readonly id: string; readonly op: "deactivate" | "delete" },
  flags: CommandFlags,
): Promise<void> {
  const nameOfKey = keyReference(id);
  const done = await withDaemon(
    session,
    flags,
    async (client) =>
      bodyOrThrow(await client.call(`keys.${op}`, nameOfKey)) as { readonly id: string },
  );
  session.terminal.out(flags.json === true ? JSON.stringify(done) : `${op}d: ${done.id}`);
}
