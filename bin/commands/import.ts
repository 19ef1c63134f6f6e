/**
 * `sluice import`: translates the configuration of LiteLLM's proxy, or the channels of one-api or
 * new-api, and imports the keys of their databases.
 */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Command } from "commander";
import { parseYaml } from "../../shared/config/file/parse-yaml.js";
import { resolveConfig } from "../../shared/config/resolve/resolve-config.js";
import { commandsOf } from "../import/import-commands.js";
import type { ImportedConfig, ImportedKeys, KeyToImport } from "../import/imported-values.js";
import { translateLitellm } from "../import/litellm-config.js";
import { readLitellmKeys } from "../import/litellm-keys.js";
import { type OneApiProgram, oneApiPrograms } from "../import/one-api-channels.js";
import { translateOneApi } from "../import/one-api-config.js";
import { readOneApiKeys } from "../import/one-api-keys.js";
import { areNewApis, type OneApiTables, oneApiTables } from "../import/one-api-tables.js";
import { tableRows } from "../import/table-rows.js";
import { writeYaml } from "../import/write-yaml.js";
import { confirmFirstKey } from "../keys/confirm-first-key.js";
import { readInput } from "../limits/read-input.js";
import { usageFailure } from "../session/command-failure.js";
import type { CommandFlags } from "../session/command-flags.js";
import { bodyOrThrow } from "../session/daemon-answer.js";
import type { Session } from "../session/terminal.js";
import { withDaemon } from "../session/with-daemon.js";
import { writeNewFile } from "../session/write-new-file.js";
import { shellWord } from "../text/shell-word.js";

interface ImportFlags extends CommandFlags {
  /** LiteLLM's file of keys; for one-api and new-api whether to import theirs. */
  readonly keys?: string | true;
  readonly output?: string;
  readonly apply?: boolean;
  readonly yes?: boolean;
}

/** Adds `import` to the program. */
export function addImport(program: Command, session: Session): void {
  const group = program
    .command("import")
    .description("bring configuration and keys from another gateway");
  group
    .command("litellm")
    .description("translate the configuration of LiteLLM's proxy, and import its keys")
    .argument("[file]", "LiteLLM's config.yaml; - for standard input")
    .option("--output <file>", "write the configuration to this new file (default: print it)")
    .option(
      "--keys <file>",
      "an export of its table LiteLLM_VerificationToken, JSON or CSV: print the commands that import it",
    )
    .option("--apply", "with --keys: make the keys, rules and budgets instead")
    .option("--yes", "don't ask before the first key closes an open gateway")
    .action((file: string | undefined, _options, command: Command) =>
      importLitellm(session, file, command.optsWithGlobals<ImportFlags>()),
    );
  for (const name of oneApiPrograms)
    group
      .command(name)
      .description(`translate the channels of ${name}, or import its tokens and quotas`)
      .argument(
        "<directory>",
        "exports of its tables: channels, tokens, users and options, each .json, .csv or .tsv",
      )
      .option("--output <file>", "write the configuration to this new file (default: print it)")
      .option("--keys", "print the commands that import tokens and quotas, not the configuration")
      .option("--apply", "with --keys: make the keys and budgets instead")
      .option("--yes", "don't ask before the first key closes an open gateway")
      .action((directory: string, _options, command: Command) =>
        importOneApi(session, name, { directory, ...command.optsWithGlobals<ImportFlags>() }),
      );
}

async function importLitellm(
  session: Session,
  file: string | undefined,
  flags: ImportFlags,
): Promise<void> {
  if (file === undefined && flags.keys === undefined)
    throw usageFailure([{ message: "a config.yaml or --keys is required", param: "file" }]);
  requireKeys(flags);
  if (file !== undefined) {
    const { name, text } = await readInput(file, session.cwd);
    const { document, problems } = parseYaml(text);
    if (document === undefined || problems.length > 0)
      throw usageFailure(
        problems.map(({ message, position: { line } }) => ({
          message: `${name}:${line}: ${message}`,
          param: "file",
        })),
      );
    const from = "Made from LiteLLM's configuration by sluice import litellm.";
    writeConfiguration(session, { ...translateLitellm(document), from }, flags);
  }
  if (typeof flags.keys !== "string") return;
  const { name, text } = await readInput(flags.keys, session.cwd);
  const imported = readLitellmKeys(text, session.nowMs());
  if (imported === null)
    throw usageFailure([
      { message: `${name} must be JSON or CSV with a column token`, param: "--keys" },
    ]);
  await importKeys(session, imported, flags);
}

async function importOneApi(
  session: Session,
  program: OneApiProgram,
  { directory, ...flags }: ImportFlags & { readonly directory: string },
): Promise<void> {
  requireKeys(flags);
  const tables = await readTables(session, directory);
  if (program === "one-api" && areNewApis(tables))
    throw usageFailure([
      { message: `${directory} has tables of new-api: sluice import new-api`, param: "directory" },
    ]);
  if (flags.keys !== undefined)
    return importKeys(session, readOneApiKeys(tables, session.nowMs()), flags);
  const from = `Made from channels of ${program} by sluice import ${program}.`;
  writeConfiguration(session, { ...translateOneApi(program, tables), from }, flags);
}

/** Rejects with the name of a table that isn't there. */
async function readTables({ cwd }: Session, directory: string): Promise<OneApiTables> {
  const readRows = async (table: keyof OneApiTables): Promise<OneApiTables["users"]> => {
    const files = ["json", "csv", "tsv"].map((type) => join(directory, `${table}.${type}`));
    const file = files.find((name) => existsSync(resolve(cwd, name)));
    if (file === undefined)
      throw usageFailure([
        { message: `${files[0]} isn't there, nor as .csv or .tsv`, param: "directory" },
      ]);
    const { name, text } = await readInput(file, cwd);
    const column = oneApiTables[table];
    // SQLite writes nothing for an empty table.
    const rows = text.trim() === "" ? [] : tableRows(text, column);
    if (rows === null)
      throw usageFailure([
        { message: `${name} must be JSON, CSV or TSV with a column ${column}`, param: "directory" },
      ]);
    return rows;
  };
  return {
    channels: await readRows("channels"),
    tokens: await readRows("tokens"),
    users: await readRows("users"),
    options: await readRows("options"),
  };
}

function requireKeys({ apply, keys }: ImportFlags): void {
  if (apply === true && keys === undefined)
    throw usageFailure([{ message: "--apply needs --keys", param: "--apply" }]);
}

/** The notes go to standard error, and into the file as comments. */
function writeConfiguration(
  { cwd, terminal, env, uid }: Session,
  { config, notes, from }: ImportedConfig & { readonly from: string },
  { output }: ImportFlags,
): void {
  const head = [from];
  if (notes.length > 0) head.push("What has no counterpart, or another meaning:");
  const comments = [...head, ...notes.map((note) => `- ${note}`)];
  const yaml = `${comments.map((line) => `# ${line.replace(/\s+/g, " ")}\n`).join("")}\n${writeYaml(config)}`;
  for (const note of notes) terminal.err(`note: ${note}`);
  const checked = resolveConfig({
    file: { path: output ?? "sluice.yaml", text: yaml },
    flags: {},
    env,
    cwd,
    uid,
  });
  if (!checked.ok)
    for (const { place, message } of checked.problems)
      terminal.err(`to mend: ${place === "" ? "" : `${place}: `}${message}`);
  if (output === undefined) return terminal.out(yaml.trimEnd());
  writeNewFile(output, cwd, yaml);
  terminal.err(`written: ${output}`);
}

async function importKeys(
  session: Session,
  imported: ImportedKeys,
  flags: ImportFlags,
): Promise<void> {
  const { terminal } = session;
  for (const note of imported.notes) terminal.err(`note: ${note}`);
  if (flags.apply !== true) {
    for (const argv of imported.keys.flatMap(commandsOf))
      terminal.out(["sluice", ...argv.map(shellWord)].join(" "));
    return;
  }
  if (flags.yes !== true && imported.keys.length > 0) await confirmFirstKey(session, flags);
  for (const key of imported.keys) terminal.out(await applyKey(session, key, flags));
}

/** The limits first: without them, the key could spend immediately. A known key stays as it is. */
async function applyKey(
  session: Session,
  { hash, redacted, key, rules, budgets }: KeyToImport,
  flags: ImportFlags,
): Promise<string> {
  return await withDaemon(session, flags, async (client) => {
    for (const rule of rules) bodyOrThrow(await client.call("rate-limits.put", rule));
    for (const budget of budgets) bodyOrThrow(await client.call("budgets.put", budget));
    const answer = await client.call("keys.issue", {
      key_hash: hash,
      redacted_value: redacted,
      imported: true,
      key,
    });
    if (!answer.ok && answer.failure.param === "hash")
      return `${key.user_path}: ${answer.failure.message}`;
    const { id } = bodyOrThrow(answer) as { readonly id: string };
    return `imported: ${id}, for ${key.user_path}`;
  });
}
