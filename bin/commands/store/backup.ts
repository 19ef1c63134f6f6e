/**
 * `sluice backup`: copies a running daemon's store to a file, to standard output, or to a directory
 * that keeps the latest backups.
 */
import type { Command } from "commander";
import type { StoreReport } from "../../../limiterd/maintenance/store-report.js";
import { CommandFailure, usageFailure } from "../../session/command-failure.js";
import { type CommandFlags, jsonOption } from "../../session/command-flags.js";
import { withSystemErrors } from "../../session/system-errors.js";
import type { Session } from "../../session/terminal.js";
import { withDaemon } from "../../session/with-daemon.js";
import { backupPieces, noteBackup } from "../../store/backup-pieces.js";
import { keptPath, removeOlder } from "../../store/kept-backups.js";
import { storeBody, storeText } from "../../store/store-text.js";
import { damage, progressOf, verifiedReport } from "../../store/verified-report.js";
import { formatBytes } from "../../text/number-text.js";
import { beginExportFile } from "../../usage/export-file.js";
import { withOutputErrors } from "../../usage/output-errors.js";

interface BackupFlags extends CommandFlags {
  readonly verify: boolean;
  readonly keep?: string;
}

/** Backups contain names, paths and usage: only the owner may read them. */
const fileMode = 0o600;

/** Adds `backup` to the program. */
export function addBackup(program: Command, session: Session): void {
  program
    .command("backup")
    .description("write a consistent copy of the daemon's store, while it runs")
    .argument("<file>", "the file to write; - for standard output; with --keep a directory")
    .option("--no-verify", "don't verify the copy")
    .option("--keep <n>", "write into a directory, and keep the last n backups there")
    .addOption(jsonOption("print what is in it as JSON"))
    .action((file: string, _options, command: Command) => {
      const flags = command.optsWithGlobals<BackupFlags>();
      if (flags.keep !== undefined) return backupToDirectory(session, file, flags);
      return file === "-" ? backupToOutput(session, flags) : backupToFile(session, file, flags);
    });
}

const keptMax = 10_000;

/** Older backups are removed once the new one is complete: a failed backup removes nothing. */
async function backupToDirectory(
  session: Session,
  directory: string,
  flags: BackupFlags,
): Promise<void> {
  const keep = /^\d{1,5}$/.test(flags.keep!) ? Number(flags.keep) : 0;
  if (keep < 1 || keep > keptMax)
    throw usageFailure([
      {
        message: `--keep must be a number from 1 to ${keptMax}, not ${JSON.stringify(flags.keep)}`,
        param: "--keep",
      },
    ]);
  if (!flags.verify || directory === "-")
    throw usageFailure([
      {
        message: flags.verify
          ? "--keep needs a directory: standard output keeps nothing"
          : "--keep removes older backups, and so needs a verified one: leave out --no-verify",
        param: "--keep",
      },
    ]);
  const backupFile = keptPath(directory, session.nowMs());
  await backupToFile(session, backupFile, flags);
  const removed = await withSystemErrors(directory, () => removeOlder(backupFile, keep));
  if (flags.json !== true) for (const file of removed) session.terminal.out(`removed: ${file}`);
}

/** A file gets its name only once it is complete; an existing file is kept until then. */
async function backupToFile(session: Session, file: string, flags: BackupFlags): Promise<void> {
  const into = await withFileErrors(file, () => beginExportFile(file, fileMode));
  try {
    const { bytes, asOf } = await receive(session, flags, (piece) =>
      withFileErrors(file, () => into.write(piece)),
    );
    let report: StoreReport | null = null;
    await withFileErrors(file, () =>
      into.finish(async (path) => {
        if (!flags.verify) return;
        report = await verifiedReport(session, path);
        if (report.problems.length > 0) throw damage(report.problems);
      }),
    );
    await reportBackup(session, flags, asOf);
    print(session, flags, { file, bytes, report });
  } catch (error) {
    await into.abandon();
    throw error;
  }
}

async function backupToOutput(session: Session, flags: BackupFlags): Promise<void> {
  const { terminal } = session;
  if (terminal.columns !== null)
    throw usageFailure([
      { message: "a backup isn't text: redirect standard output, or name a file", param: "file" },
    ]);
  if (flags.json === true)
    throw usageFailure([
      { message: "--json needs a file: standard output has the backup", param: "--json" },
    ]);
  const { asOf } = await receive(session, flags, (piece) =>
    withSystemErrors("standard output", () => terminal.write(piece)),
  );
  await reportBackup(session, flags, asOf);
}

interface ReceivedBackup {
  readonly bytes: number;
  /** As in `BackupPiece`. */
  readonly asOf: string | null;
}

async function receive(
  session: Session,
  flags: BackupFlags,
  write: (piece: Uint8Array) => Promise<void>,
): Promise<ReceivedBackup> {
  const progress = progressOf(session);
  try {
    return await withDaemon(session, flags, async (client) => {
      let received: ReceivedBackup = { bytes: 0, asOf: null };
      const onCopying = (copied: number, total: number): void =>
        progress?.show(total === 0 ? 0 : copied / total, `${formatBytes(copied)} copied`);
      for await (const piece of backupPieces(client, onCopying)) {
        await write(piece.bytes);
        received = { bytes: piece.received, asOf: piece.asOf };
        progress?.show(piece.received / piece.total, `${formatBytes(piece.received)} received`);
      }
      return received;
    });
  } finally {
    progress?.clear();
  }
}

/**
 * Reports the backup to the daemon, for `sluice doctor` and its metrics. A failure doesn't matter.
 */
async function reportBackup(
  session: Session,
  flags: BackupFlags,
  asOf: string | null,
): Promise<void> {
  if (asOf === null) return;
  try {
    await withDaemon(session, flags, (client) => noteBackup(client, asOf));
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    const reason = error.message.replace(/^error: /, "");
    session.terminal.err(`warning: the backup is whole, and isn't noted: ${reason}`);
  }
}

function print(
  { terminal }: Session,
  flags: BackupFlags,
  { file, bytes, report }: { file: string; bytes: number; report: StoreReport | null },
): void {
  if (flags.json === true)
    return terminal.out(
      JSON.stringify({ file, bytes, verified: report !== null, ...(report && storeBody(report)) }),
    );
  terminal.out(
    `backup: ${formatBytes(bytes)} to ${file}${report === null ? ", not verified" : ", verified"}`,
  );
  if (report !== null) terminal.out(storeText(report));
}

function withFileErrors<T>(name: string, work: () => Promise<T>): Promise<T> {
  const message = `a backup goes to a regular file, and ${name} isn't one`;
  return withOutputErrors({ name, notAFile: { message, param: "file" } }, work);
}
