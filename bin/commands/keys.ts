/** `sluice keys …`: managed keys, and the three commands on them. */
import type { Command } from "commander";
import { hashKey, newKey } from "../../shared/domain/key-secret.js";
import { keyNumber, looksLikeManagedKey } from "../../shared/domain/managed-key.js";
import {
  inFlagWords,
  type KeyIssueFlags,
  keyIssueFromFlags,
  notAKey,
} from "../limits/key-flags.js";
import { type ListedKey, listKeys, renderKeys } from "../limits/list-keys.js";
import { answered } from "../session/answered.js";
import { usageFailure } from "../session/command-failure.js";
import type { Session } from "../session/terminal.js";
import { withDaemon } from "../session/with-daemon.js";
import { type CommandFlags, jsonOption } from "./command-flags.js";

/** Adds `keys` to the program. */
export function addKeys(program: Command, session: Session): void {
  const keys = program.command("keys").description("issue, list and deactivate managed keys");
  keys
    .command("issue")
    .description("make a key and print it, this once")
    .option(
      "--path <path>",
      "the user path that the key is bound to; without it the caller names its path",
    )
    .option("--name <name>", "what the key is for")
    .option(
      "--label <label...>",
      "labels, for budgets and reports, with spaces or commas between them",
    )
    .option(
      "--expires <when>",
      "after this time, such as 30d or 12h, or at a timestamp such as 2030-01-31T12:00:00Z",
    )
    .addOption(jsonOption("print what POST /admin/auth-keys answers"))
    .action((_options, command: Command) =>
      issueKey(session, command.optsWithGlobals<CommandFlags & KeyIssueFlags>()),
    );
  keys
    .command("list")
    .description("the keys, newest first; what is shown of them opens nothing")
    .addOption(jsonOption("print what GET /admin/auth-keys answers"))
    .action((_options, command: Command) =>
      printKeys(session, command.optsWithGlobals<CommandFlags>()),
    );
  keys
    .command("deactivate")
    .description("refuse a key from its next request on, in every proxy; it can't be undone")
    .argument("<id>", "the key's id, such as key_7, or the key itself")
    .addOption(jsonOption("print the id as an object"))
    .action((id: string, _options, command: Command) =>
      deactivateKey(session, id, command.optsWithGlobals<CommandFlags>()),
    );
}

/**
 * The key stands alone on standard output, so that a script can take it; what there is to say about
 * it goes to standard error.
 */
async function issueKey(session: Session, flags: CommandFlags & KeyIssueFlags): Promise<void> {
  const asked = keyIssueFromFlags(flags);
  if (!asked.ok) throw usageFailure(asked.problems);
  const { value, hash, redacted } = newKey();
  const key = await withDaemon(session, flags, async (client) => {
    const answer = await client.call("keys.issue", {
      key_hash: hash,
      redacted_value: redacted,
      ...asked.value,
    });
    // Whether a moment lies in the future, the daemon's clock says.
    return answered(
      answer.ok
        ? answer
        : { ok: false, failure: { ...answer.failure, ...inFlagWords(answer.failure) } },
    ) as ListedKey;
  });
  if (flags.json === true) return session.terminal.out(JSON.stringify({ ...key, value }));
  const { id, user_path: path, expires_at: expires } = key;
  session.terminal.err(
    `issued ${String(id)}, ${path === null ? "for a path that the caller names" : `for ${String(path)}`}, ${expires === null ? "without an end" : `until ${String(expires)}`}; it is shown this once:`,
  );
  session.terminal.out(value);
}

async function printKeys(session: Session, flags: CommandFlags): Promise<void> {
  const keys = await withDaemon(session, flags, listKeys);
  session.terminal.out(flags.json === true ? JSON.stringify(keys) : renderKeys(keys));
}

/** Whoever finds a key where it shouldn't be has the key, and not its id. */
async function deactivateKey(session: Session, id: string, flags: CommandFlags): Promise<void> {
  const isKey = looksLikeManagedKey(id);
  if (!isKey && keyNumber(id) === null)
    throw usageFailure([{ message: notAKey("the key", id), param: "id" }]);
  const done = await withDaemon(
    session,
    flags,
    async (client) =>
      answered(
        await client.call("keys.deactivate", isKey ? { key_hash: hashKey(id) } : { id }),
      ) as { readonly id: string },
  );
  session.terminal.out(flags.json === true ? JSON.stringify(done) : `deactivated: ${done.id}`);
}
