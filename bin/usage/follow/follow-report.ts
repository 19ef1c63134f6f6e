/** The messages of `sluice usage follow`, as lines for people or as objects. */
import { formatDuration } from "../../text/duration.js";
import { formatCount } from "../../text/number-text.js";
import type { FollowedPage } from "./followed-page.js";

interface ReportPorts {
  /** Prints a line. */
  say(line: string): void;
  monoMs(): number;
  readonly json: boolean;
}

/** The interval between two progress lines. */
const everyMs = 60_000;

export class FollowReport {
  readonly #ports: ReportPorts;
  #records = 0;
  #missedCommits = 0;
  #lagSeconds = 0;
  #cursor: string | null = null;
  #reportedMs: number;
  /** The current failure: its reason, and since when. */
  #failing: { readonly reason: string; readonly sinceMs: number } | null = null;

  constructor(ports: ReportPorts) {
    this.#ports = ports;
    this.#reportedMs = ports.monoMs();
  }

  /** A page was passed on, or there were no new records. */
  page({ records, missed_commits: missed, lag_seconds: lag, next }: FollowedPage): void {
    this.#records += records.length;
    this.#missedCommits += missed;
    this.#lagSeconds = lag;
    this.#cursor = next;
    const { monoMs } = this.#ports;
    if (this.#failing !== null) {
      const seconds = (monoMs() - this.#failing.sinceMs) / 1000;
      this.#failing = null;
      this.notice(`it goes on after ${formatDuration(seconds)}`);
    }
    if (monoMs() - this.#reportedMs < everyMs) return;
    this.progress();
  }

  /** Reports each failure once, however often it repeats. */
  noteFailure(reason: string): void {
    if (this.#failing?.reason === reason) return;
    this.#failing = { reason, sinceMs: this.#failing?.sinceMs ?? this.#ports.monoMs() };
    this.notice(`${reason}: it is tried again`);
  }

  notice(message: string): void {
    const { json, say } = this.#ports;
    say(json ? JSON.stringify({ kind: "notice", message }) : message);
  }

  /** Prints the progress. */
  progress(): void {
    const { json, say, monoMs } = this.#ports;
    this.#reportedMs = monoMs();
    say(
      json
        ? JSON.stringify({
            kind: "progress",
            records: this.#records,
            lag_seconds: this.#lagSeconds,
            missed_commits: this.#missedCommits,
            cursor: this.#cursor,
          })
        : this.#text(),
    );
  }

  #text(): string {
    const records = `${formatCount(this.#records)} ${this.#records === 1 ? "record" : "records"}`;
    const lag =
      this.#lagSeconds === 0 ? "nothing is left" : `${formatDuration(this.#lagSeconds)} behind`;
    return `handed on: ${records}, ${lag}`;
  }
}
