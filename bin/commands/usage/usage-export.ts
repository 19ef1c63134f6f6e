/** `sluice usage export`: writes usage records as lines, to standard output or a file. */
import { resolve } from "node:path";
import { type ArgumentProblem, usageFailure } from "../../session/command-failure.js";
import { type CommandFlags, pathFromFlag } from "../../session/command-flags.js";
import { type Session, showsUnicode } from "../../session/terminal.js";
import { withDaemon } from "../../session/with-daemon.js";
import { formatCount } from "../../text/number-text.js";
import { beginExportFile, type ExportFile } from "../../usage/export-file.js";
import { withOutputErrors } from "../../usage/output-errors.js";
import { createProgressLine, type ProgressLine } from "../../usage/progress-line.js";
import { type UsageQuery, usagePages } from "../../usage/usage-pages.js";
import {
  openWindowFromFlags,
  type WindowFlags,
  windowFromFlags,
} from "../../usage/window-flags.js";
import { type ExportFormat, exportFormats, writeExport } from "../../usage/write-export.js";

export interface ExportFlags extends CommandFlags, WindowFlags {
  readonly format: string;
  readonly path?: string;
  readonly output?: string;
  /** An option of `sluice usage`, which an export refuses. */
  readonly by?: string;
}

/** Writes the records that the flags select; prints how many were written to a file. */
export async function exportUsageCommand(session: Session, flags: ExportFlags): Promise<void> {
  const { format, query } = checkFlags(flags, session.nowMs());
  const into =
    flags.output === undefined
      ? null
      : await withFileErrors(flags.output, () =>
          beginExportFile(resolve(session.cwd, flags.output!)),
        );
  try {
    let isOfOneHost = false;
    const records = await withDaemon(session, flags, (client) =>
      writeExport(
        peekedAt(usagePages(client, query), (page) => {
          isOfOneHost ||= page.isOfOneHost === true;
        }),
        {
          format,
          write: writerOf(session, flags, into),
          progress: progressOf(session, into),
        },
      ),
    );
    if (isOfOneHost)
      session.terminal.err(
        "note: these are the records of this host alone; each host keeps its own, and sluice usage adds up all of them",
      );
    if (into === null) return;
    await withFileErrors(flags.output!, () => into.finish());
    session.terminal.out(
      `exported: ${formatCount(records)} ${records === 1 ? "record" : "records"} to ${flags.output!}`,
    );
  } catch (error) {
    await into?.abandon();
    throw error;
  }
}

/** The same items; each is passed to `peek` first. */
async function* peekedAt<T>(items: AsyncIterable<T>, peek: (item: T) => void): AsyncGenerator<T> {
  for await (const item of items) {
    peek(item);
    yield item;
  }
}

function writerOf(
  { terminal }: Session,
  { output }: ExportFlags,
  into: ExportFile | null,
): (text: string) => Promise<void> {
  if (into !== null) return (text) => withFileErrors(output!, () => into.write(text));
  return (text) => withFileErrors("standard output", () => terminal.write(text));
}

/** No progress line if the records themselves are printed to a terminal. */
function progressOf(
  { terminal, env, monoMs }: Session,
  into: ExportFile | null,
): ProgressLine | null {
  const { showProgress } = terminal;
  if (showProgress === null || (into === null && terminal.columns !== null)) return null;
  return createProgressLine({ draw: showProgress, monoMs, unicode: showsUnicode(env) });
}

/** A path that isn't a file is wrong usage. */
function withFileErrors<T>(name: string, work: () => Promise<T>): Promise<T> {
  const message = `--output must be a regular file, and ${name} isn't one: redirect standard output there`;
  return withOutputErrors({ name, notAFile: { message, param: "--output" } }, work);
}

/** Throws all problems together. */
function checkFlags(
  flags: ExportFlags,
  nowMs: number,
): { readonly format: ExportFormat; readonly query: UsageQuery } {
  const path = pathFromFlag(flags.path);
  const window =
    flags.days === undefined && flags.month === undefined
      ? openWindowFromFlags(flags, nowMs, { takesTimes: true })
      : windowFromFlags(flags, nowMs, { takesTimes: true });
  const format = exportFormats.find((candidate) => candidate === flags.format.trim().toLowerCase());
  const problems: ArgumentProblem[] = [
    ...(path.ok ? [] : path.problems),
    ...(window.ok ? [] : window.problems),
  ];
  if (format === undefined)
    problems.push({
      message: `--format must be ${exportFormats.join(" or ")}, not ${JSON.stringify(flags.format)}`,
      param: "--format",
    });
  if (flags.by !== undefined)
    problems.push({
      message: "--by is for sluice usage: an export has every record",
      param: "--by",
    });
  if (flags.json === true)
    problems.push({ message: "--json is for sluice usage: give --format ndjson", param: "--json" });
  if (flags.output?.trim() === "")
    problems.push({ message: "--output must name a file", param: "--output" });
  if (!path.ok || !window.ok || format === undefined || problems.length > 0)
    throw usageFailure(problems);
  return { format, query: { userPath: path.value, ...window.value } };
}
