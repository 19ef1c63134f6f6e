/** `sluice usage follow`: exports usage records continuously, to PostgreSQL and elsewhere. */
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { exportedRecordsMax } from "../../../shared/bounds.js";
import { followVariables } from "../../../shared/config/settings/settings.js";
import { plainFailure } from "../../../shared/error-code.js";
import { systemReason } from "../../../shared/text/system-reason.js";
import {
  type ArgumentProblem,
  isAway,
  refusal,
  stoppedFailure,
  usageFailure,
} from "../../session/command-failure.js";
import type { CommandFlags } from "../../session/command-flags.js";
import { withSystemErrors } from "../../session/system-errors.js";
import type { Session } from "../../session/terminal.js";
import { withDaemon } from "../../session/with-daemon.js";
import { CursorFile } from "../../usage/follow/cursor-file.js";
import { type Destination, parseDestination } from "../../usage/follow/destination.js";
import { followRecords, retryPauseMs } from "../../usage/follow/follow-loop.js";
import { FollowReport } from "../../usage/follow/follow-report.js";
import { type Sink, SinkError } from "../../usage/follow/sink.js";
import { fileSink, outputSink } from "../../usage/sinks/ndjson-sinks.js";
import { postgresSink } from "../../usage/sinks/postgres-sink.js";

export interface FollowFlags extends CommandFlags {
  readonly to?: string;
  readonly output?: string;
  readonly cursor?: string;
  readonly name: string;
  readonly fromNow?: boolean;
  readonly batch: string;
  readonly once?: boolean;
  readonly host?: string;
  readonly secretFile?: string;
  readonly createTable?: boolean;
  /** Options of `sluice usage`, which a follower refuses: it passes on all records. */
  readonly path?: string;
  readonly by?: string;
  readonly days?: string;
  readonly month?: string | true;
  readonly from?: string;
}

interface FollowOptions {
  readonly destination: Destination;
  /** Null: none is kept. */
  readonly cursorFile: string | null;
  readonly batchMax: number;
}

/** Runs until it is stopped or, with `--once`, until all records are exported. */
export async function followUsageCommand(session: Session, flags: FollowFlags): Promise<void> {
  const checked = checkFlags(flags);
  const toOutput = checked.destination.kind === "ndjson" && checked.destination.file === null;
  const { terminal, monoMs } = session;
  const report = new FollowReport({
    say: flags.json === true && !toOutput ? terminal.out : terminal.err,
    monoMs,
    json: flags.json === true,
  });
  const sink = await openSink(session, flags, checked);
  const stop = listenForStop(session.pause);
  try {
    await followUntilStopped(session, { flags, batchMax: checked.batchMax, sink, report, stop });
  } finally {
    stop.forget();
    await sink.close();
  }
  report.progress();
  if (stop.received === "SIGINT") throw stoppedFailure();
}

interface Following {
  readonly flags: FollowFlags;
  readonly batchMax: number;
  readonly sink: Sink;
  readonly report: FollowReport;
  readonly stop: StopSignals;
}

/** Retries temporary errors; with `once` they are failures. */
async function followUntilStopped(
  session: Session,
  { flags, batchMax, sink, report, stop }: Following,
): Promise<void> {
  const once = flags.once === true;
  let failures = 0;
  while (stop.received === null) {
    try {
      return await withDaemon(session, flags, (client) =>
        followRecords(client, {
          sink,
          name: flags.name,
          from: flags.fromNow === true ? "now" : "start",
          batchMax,
          once,
          host: flags.host ?? null,
          isStopping: () => stop.received !== null,
          pause: stop.pause,
          onPage(page) {
            failures = 0;
            report.page(page);
          },
          onNotice: (notice) => report.notice(notice),
        }),
      );
    } catch (error) {
      if (once || !isPassing(error)) throw failureOf(error);
      failures++;
      const { message } = error as Error;
      report.noteFailure(message.replace(/^error: /, ""));
      await sink.close();
      const retryAfterMs = error instanceof SinkError ? error.retryAfterMs : null;
      await stop.pause(retryPauseMs(failures, retryAfterMs, Math.random()));
    }
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof SinkError ? error.isPassing : isAway(error);
}

function failureOf(error: unknown): unknown {
  return error instanceof SinkError
    ? refusal(plainFailure(500, "internal_error", error.message))
    : error;
}

async function openSink(
  { terminal, env, cwd }: Session,
  flags: FollowFlags,
  { destination, cursorFile }: FollowOptions,
): Promise<Sink> {
  const cursorAt = (file: string): CursorFile => new CursorFile(resolve(cwd, file));
  const secret = readSecret(flags.secretFile, env[followVariables.secret]);
  switch (destination.kind) {
    case "postgres":
      return postgresSink({
        destination,
        follower: flags.name,
        password: secret,
        createsTables: flags.createTable === true,
      });
    case "https": {
      const { url, displayUrl } = destination;
      const { httpsSink } = await import("../../usage/sinks/https-sink.js");
      return httpsSink({ url, displayUrl, token: secret, cursor: cursorAt(cursorFile!) });
    }
    case "ndjson": {
      const cursor = cursorFile === null ? null : cursorAt(cursorFile);
      const write = (text: string): Promise<void> =>
        withSystemErrors("standard output", () => terminal.write(text));
      return destination.file === null
        ? outputSink(write, cursor)
        : fileSink(resolve(cwd, destination.file), cursor!);
    }
  }
}

/** Null without a secret. */
function readSecret(file: string | undefined, variable: string | undefined): string | null {
  if (file === undefined) return variable?.trim() || null;
  try {
    const secret = readFileSync(file, "utf8").trim();
    if (secret !== "") return secret;
    throw new Error("it is empty");
  } catch (error) {
    const message = `--secret-file ${file} can't be read: ${systemReason(error)}`;
    throw usageFailure([{ message, param: "--secret-file" }]);
  }
}

/** Throws all problems together. */
function checkFlags(flags: FollowFlags): FollowOptions {
  const problems: ArgumentProblem[] = [];
  const wrong = (param: string, message: string): void => void problems.push({ message, param });
  const destination = parseDestination(flags.to ?? "", flags.output ?? null);
  if (!destination.ok) wrong("--to", destination.message);
  const kind = destination.ok ? destination.value.kind : null;
  const file =
    destination.ok && destination.value.kind === "ndjson" ? destination.value.file : null;
  if (file !== null && file.trim() === "") wrong("--output", "--output must name a file");
  const cursorFile = flags.cursor ?? (file === null ? null : `${file}.cursor`);
  if (kind === "https" && cursorFile === null)
    wrong("--cursor", "--cursor is required with an address: it stores the position");
  if (kind === "postgres" && flags.cursor !== undefined)
    wrong("--cursor", "--cursor isn't for PostgreSQL, which stores the position itself");
  if (kind !== "postgres" && flags.createTable === true)
    wrong("--create-table", "--create-table is for PostgreSQL");
  for (const name of ["path", "by", "days", "month", "from"] as const)
    if (flags[name] !== undefined)
      wrong(`--${name}`, `--${name} is for sluice usage: a follower exports all records`);
  if (!/^[\w.-]{1,64}$/.test(flags.name))
    wrong("--name", "--name must have 1 to 64 letters, digits, -, _ and .");
  const batchMax = /^\d{1,4}$/.test(flags.batch) ? Number(flags.batch) : 0;
  if (batchMax < 1 || batchMax > exportedRecordsMax)
    wrong(
      "--batch",
      `--batch must be an integer from 1 to ${exportedRecordsMax}, not ${JSON.stringify(flags.batch)}`,
    );
  if (!destination.ok || problems.length > 0) throw usageFailure(problems);
  return { destination: destination.value, cursorFile, batchMax };
}

/**
 * SIGTERM, SIGINT and SIGHUP end a follower after the current batch; a second signal ends it
 * immediately.
 */
interface StopSignals {
  /** The first received signal, or null. */
  readonly received: NodeJS.Signals | null;
  /** Waits for `ms` or for a signal. One pause at a time. */
  pause(ms: number): Promise<void>;
  /** Restores the signals' default actions. */
  forget(): void;
}

const signals = ["SIGTERM", "SIGINT", "SIGHUP"] as const;

function listenForStop(wait: (ms: number) => Promise<void>): StopSignals {
  let received: NodeJS.Signals | null = null;
  let wake = (): void => {};
  const onSignal = (signal: NodeJS.Signals): void => {
    forget();
    received = signal;
    wake();
  };
  const forget = (): void => {
    for (const signal of signals) process.off(signal, onSignal);
  };
  for (const signal of signals) process.on(signal, onSignal);
  return {
    get received() {
      return received;
    },
    async pause(ms) {
      if (received !== null) return;
      // A promise of its own for each pause: a shared one would keep a callback of every pause.
      const came = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await Promise.race([wait(ms), came]);
    },
    forget,
  };
}
