/** `sluice init`: writes an initial configuration. */
import { randomBytes } from "node:crypto";
import type { Command } from "commander";
import { variable } from "../../../shared/config/environment.js";
import { presets } from "../../../shared/config/presets.js";
import { configFileVariable } from "../../../shared/config/settings/settings.js";
import type { CommandFlags } from "../../session/command-flags.js";
import type { Session } from "../../session/terminal.js";
import { writeNewFile } from "../../session/write-new-file.js";
import { shellWord } from "../../text/shell-word.js";
import { starterFile } from "../../text/starter-file.js";

/** Adds `init` to the program. */
export function addInit(program: Command, session: Session): void {
  program
    .command("init")
    .description("write a sluice.yaml to begin with, with a new master key")
    .action((_options, command: Command) =>
      writeStarter(session, command.optsWithGlobals<CommandFlags>()),
    );
}

/** The file contains a key, so no other user may read it. */
function writeStarter({ terminal, env, cwd }: Session, flags: CommandFlags): void {
  const file = flags.config ?? "sluice.yaml";
  const found = presets.filter(({ keyVariable }) => (env[keyVariable] ?? "").trim() !== "");
  const text = starterFile(found, randomBytes(24).toString("base64url"));
  writeNewFile(file, cwd, text);
  const names = found.map(({ name }) => name).join(", ");
  // Without the file's name, commands would read another file or none.
  const isFound = flags.config === undefined && variable(env, configFileVariable) === null;
  const sluice = isFound ? "sluice" : `sluice --config ${shellWord(file)}`;
  terminal.out(
    [
      `written: ${file}${names === "" ? "" : `, with ${names}`}`,
      `next:    ${sluice} config check`,
      `         ${sluice} up`,
    ].join("\n"),
  );
}
