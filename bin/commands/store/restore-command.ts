/** `sluice restore`: puts a backup in the place of a stopped daemon's store. */
import type { Command } from "commander";
import { becomeOwnerOf, OpenDirectoryError } from "../../../limiterd/maintenance/as-owner.js";
import { holdStore } from "../../../limiterd/maintenance/hold-store.js";
import {
  type Backup,
  makeDataDirectory,
  openBackup,
  type StagedStore,
  stageStore,
} from "../../../limiterd/maintenance/replace-store.js";
import type { Config } from "../../../shared/config/config.js";
import { plainFailure } from "../../../shared/error-code.js";
import { refusal, usageFailure } from "../../session/command-failure.js";
import { type CommandFlags, jsonOption } from "../../session/command-flags.js";
import { flagOptions, requireConfiguration } from "../../session/configuration.js";
import { confirm } from "../../session/confirm.js";
import { withSystemErrors } from "../../session/system-errors.js";
import type { Session } from "../../session/terminal.js";
import { storeBody, storeText } from "../../store/store-text.js";
import { takenFailure } from "../../store/taken-failure.js";
import { damage, verifiedReport } from "../../store/verified-report.js";

interface RestoreFlags extends CommandFlags {
  readonly yes?: boolean;
}

/** Adds `restore` to the program. */
export function addRestore(program: Command, session: Session): void {
  program
    .command("restore")
    .description("replace the store of a stopped daemon by a backup")
    .argument("<file>", "what sluice backup has written")
    .option("--yes", "don't ask")
    .option(...flagOptions.dataDir)
    .addOption(jsonOption("print what is in it as JSON"))
    .action((file: string, _options, command: Command) =>
      restoreCommand(session, file, command.optsWithGlobals<RestoreFlags>()),
    );
}

interface Restoring {
  readonly session: Session;
  readonly file: string;
  readonly backup: Backup;
  readonly flags: RestoreFlags;
}

async function restoreCommand(session: Session, file: string, flags: RestoreFlags): Promise<void> {
  const { terminal } = session;
  if (flags.yes !== true && terminal.ask === null)
    throw usageFailure([
      { message: "--yes is required to restore without a terminal", param: "--yes" },
    ]);
  const { limiter } = requireConfiguration(session, flags, terminal.err);
  const backup = await withStoreErrors(file, async () => openBackup(file));
  try {
    const removeMadeDirectories = await withStoreErrors(limiter.dataDir, async () => {
      becomeOwnerOf(limiter.dataDir);
      return makeDataDirectory(limiter.dataDir);
    });
    try {
      await restoreTo(limiter, { session, file, backup, flags });
    } finally {
      removeMadeDirectories();
    }
  } finally {
    backup.close();
  }
}

async function restoreTo(
  limiter: Config["limiter"],
  { session, file, backup, flags }: Restoring,
): Promise<void> {
  const { terminal } = session;
  const lock = await holdStore(limiter).catch(takenFailure);
  let staged: StagedStore | null = null;
  try {
    staged = await withStoreErrors(limiter.dataDir, async () => stageStore(backup, lock.file));
    const report = await verifiedReport(session, staged.file, file);
    if (report.problems.length > 0) throw damage(report.problems);
    if (flags.json !== true) terminal.out(`${file}\n${storeText(report)}`);
    if (flags.yes !== true)
      await confirm(terminal.ask!, `Put it in the place of ${lock.file}?`, "nothing was restored");
    const placing = staged;
    const replacedFile = await withStoreErrors(limiter.dataDir, () =>
      placing.place(session.nowMs()),
    );
    terminal.out(
      flags.json === true
        ? JSON.stringify({ file: lock.file, before: replacedFile, ...storeBody(report) })
        : `restored: ${lock.file}${replacedFile === null ? "" : `\nthe store from before is ${replacedFile}`}`,
    );
  } finally {
    staged?.discard();
    lock.release();
  }
}

async function withStoreErrors<T>(directory: string, work: () => Promise<T>): Promise<T> {
  try {
    return await withSystemErrors(directory, work);
  } catch (error) {
    if (error instanceof Error && error.name === "StoreUnreadableError")
      throw damage([error.message]);
    if (error instanceof OpenDirectoryError)
      throw refusal(plainFailure(500, "internal_error", error.message));
    throw error;
  }
}
