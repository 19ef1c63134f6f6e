/**
 * `sluice import litellm`: translates the configuration of LiteLLM's proxy, and imports the keys of
 * its database.
 */
import type { Command } from "commander";
import { parseYaml } from "../../shared/config/file/parse-yaml.js";
import { resolveConfig } from "../../shared/config/resolve/resolve-config.js";
import { translateLitellm } from "../import/litellm-config.js";
import { commandsOf, type KeyToImport, readLitellmKeys } from "../import/litellm-keys.js";
import { writeYaml } from "../import/write-yaml.js";
import { confirmFirstKey } from "../keys/confirm-first-key.js";
import { readInput } from "../limits/read-input.js";
import { usageFailure } from "../session/command-failure.js";
import type { CommandFlags } from "../session/command-flags.js";
import { answered } from "../session/daemon-answer.js";
import type { Session } from "../session/terminal.js";
import { withDaemon } from "../session/with-daemon.js";
import { writeNewFile } from "../session/write-new-file.js";
import { shellWord } from "../text/shell-word.js";

interface ImportFlags extends CommandFlags {
  readonly keys?: string;
  readonly output?: string;
  readonly apply?: boolean;
  readonly yes?: boolean;
}

/** Adds `import` to the program. */
export function addImport(program: Command, session: Session): void {
  program
    .command("import")
    .description("bring configuration and keys from another gateway")
    .command("litellm")
    .description("translate the configuration of LiteLLM's proxy, and import its keys")
    .argument("[file]", "LiteLLM's config.yaml; - for standard input")
    .option("--output <file>", "write the configuration to this new file (default: print it)")
    .option(
      "--keys <file>",
      "an export of its table LiteLLM_VerificationToken, JSON or CSV: print the commands for it",
    )
    .option("--apply", "with --keys: make the keys, rules and budgets instead")
    .option("--yes", "don't ask before the first key closes an open gateway")
    .action((file: string | undefined, _options, command: Command) =>
      importLitellm(session, file, command.optsWithGlobals<ImportFlags>()),
    );
}

async function importLitellm(
  session: Session,
  file: string | undefined,
  flags: ImportFlags,
): Promise<void> {
  if (file === undefined && flags.keys === undefined)
    throw usageFailure([{ message: "a config.yaml or --keys is required", param: "file" }]);
  if (flags.apply === true && flags.keys === undefined)
    throw usageFailure([{ message: "--apply needs --keys", param: "--apply" }]);
  if (file !== undefined) await translate(session, file, flags);
  if (flags.keys !== undefined) await importKeys(session, flags.keys, flags);
}

/** The notes go to standard error, and into the file as comments. */
async function translate(
  { cwd, terminal, env, uid }: Session,
  file: string,
  { output }: ImportFlags,
): Promise<void> {
  const { name, text } = await readInput(file, cwd);
  const { document, problems } = parseYaml(text);
  if (document === undefined || problems.length > 0)
    throw usageFailure(
      problems.map(({ message, position: { line } }) => ({
        message: `${name}:${line}: ${message}`,
        param: "file",
      })),
    );
  const { config, notes } = translateLitellm(document);
  const head = ["Made from LiteLLM's configuration by sluice import litellm."];
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

async function importKeys(session: Session, file: string, flags: ImportFlags): Promise<void> {
  const { terminal, cwd, nowMs } = session;
  const { name, text } = await readInput(file, cwd);
  const read = readLitellmKeys(text, nowMs());
  if (read === null)
    throw usageFailure([
      { message: `${name} must be JSON or CSV with a column token`, param: "--keys" },
    ]);
  for (const note of read.notes) terminal.err(`note: ${note}`);
  if (flags.apply !== true) {
    for (const argv of read.keys.flatMap(commandsOf))
      terminal.out(["sluice", ...argv.map(shellWord)].join(" "));
    return;
  }
  if (flags.yes !== true && read.keys.length > 0) await confirmFirstKey(session, flags);
  for (const key of read.keys) terminal.out(await applyKey(session, key, flags));
}

/** The limits first: without them, the key could spend immediately. A known key stays as it is. */
async function applyKey(
  session: Session,
  { hash, key, rules, budgets }: KeyToImport,
  flags: ImportFlags,
): Promise<string> {
  return await withDaemon(session, flags, async (client) => {
    for (const rule of rules) answered(await client.call("rate-limits.put", rule));
    for (const budget of budgets) answered(await client.call("budgets.put", budget));
    const answer = await client.call("keys.issue", {
      key_hash: hash,
      redacted_value: "…",
      imported: true,
      key,
    });
    if (!answer.ok && answer.failure.param === "hash")
      return `${key.user_path}: ${answer.failure.message}`;
    const { id } = answered(answer) as { readonly id: string };
    return `imported: ${id}, for ${key.user_path}`;
  });
}
