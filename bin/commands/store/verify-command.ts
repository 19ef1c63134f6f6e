/**
 * `sluice verify-store`: reads all of a stopped daemon's store, or of a backup, and says what is
 * wrong.
 */
import type { Command } from "commander";
import { holdStore } from "../../../limiterd/maintenance/hold-store.js";
import { type CommandFlags, jsonOption } from "../../session/command-flags.js";
import { flagOptions, requireConfiguration } from "../../session/configuration.js";
import type { Session } from "../../session/terminal.js";
import { storeBody, storeText } from "../../store/store-text.js";
import { takenFailure } from "../../store/taken-failure.js";
import { damage, verifiedReport } from "../../store/verified-report.js";

/** Adds `verify-store` to the program. */
export function addVerifyStore(program: Command, session: Session): void {
  program
    .command("verify-store")
    .description("verify the store of a stopped daemon, or a backup")
    .argument("[file]", "a backup (default: the store of the configuration)")
    .option(...flagOptions.dataDir)
    .addOption(jsonOption("print what is in it as JSON"))
    .action((file: string | undefined, _options, command: Command) =>
      verifyStoreCommand(session, file, command.optsWithGlobals<CommandFlags>()),
    );
}

async function verifyStoreCommand(
  session: Session,
  file: string | undefined,
  flags: CommandFlags,
): Promise<void> {
  if (file !== undefined) return verify(session, file, flags);
  const { limiter } = requireConfiguration(session, flags, session.terminal.err);
  const lock = await holdStore(limiter).catch(takenFailure);
  try {
    await verify(session, lock.file, flags);
  } finally {
    lock.release();
  }
}

async function verify(session: Session, file: string, flags: CommandFlags): Promise<void> {
  const report = await verifiedReport(session, file);
  session.terminal.out(
    flags.json === true
      ? JSON.stringify({ file, ...storeBody(report) })
      : `${file}\n${storeText(report)}`,
  );
  if (report.problems.length > 0) throw damage(report.problems);
}
