/** `sluice init`: writes an initial configuration. */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { variable } from "../../../shared/config/environment.js";
import { presets } from "../../../shared/config/presets.js";
import { configFileVariable } from "../../../shared/config/settings/settings.js";
import { plainFailure } from "../../../shared/error-code.js";
import { systemReason } from "../../../shared/text/system-reason.js";
import { refusal } from "../../session/command-failure.js";
import type { CommandFlags } from "../../session/command-flags.js";
import type { Session } from "../../session/terminal.js";
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

/** Never overwrites a file. The file contains a key, so no other user may read it. */
function writeStarter({ terminal, env, cwd }: Session, flags: CommandFlags): void {
  const file = flags.config ?? "sluice.yaml";
  const found = presets.filter(({ keyVariable }) => (env[keyVariable] ?? "").trim() !== "");
  const text = starterFile(found, randomBytes(24).toString("base64url"));
  try {
    writeFileSync(file.startsWith("/") ? file : join(cwd, file), text, { flag: "wx", mode: 0o600 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason =
      code === "EEXIST"
        ? `${file} is there already: it stays as it is`
        : `can't write ${file}: ${systemReason(error)}`;
    throw refusal(plainFailure(400, "invalid_request_error", reason));
  }
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
