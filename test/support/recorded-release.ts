/**
 * What the processes of an earlier release said to each other, frame by frame, as its own code
 * recorded it: `wire-fixtures/wire-9.json` by that of commit 97aa287, the client of a proxy with
 * the daemon's steps, and a command line. Here the proxy of the recording is played to a daemon of
 * this release, and the daemon of the recording to a client of this release.
 */
import { readFileSync } from "node:fs";

type Frame = readonly unknown[];

export interface RecordedLine {
  readonly event?: "connect" | "close";
  readonly from?: "proxy" | "cli" | "daemon";
  readonly frame?: Frame;
}

export function recordedLines(): readonly RecordedLine[] {
  return JSON.parse(
    readFileSync("test/support/wire-fixtures/wire-9.json", "utf8"),
  ) as RecordedLine[];
}

/** Moment and log sequence number of an admission, as a daemon gave them. */
type Admitted = readonly [atMs: unknown, lsn: unknown];

/**
 * The recorded proxy with another daemon, which gives admissions other numbers than the one of the
 * recording did: in what the proxy says of an admission, it says the new ones.
 */
export class RecordedProxy {
  readonly #admissions = new Map<unknown, Admitted>();
  readonly #attempts = new Map<unknown, Admitted>();
  /** The lease of each reroute. */
  readonly #rerouted = new Map<unknown, unknown>();

  /** What it says to this daemon. */
  says(frame: Frame): Frame {
    switch (frame[0]) {
      case "reroute":
        this.#rerouted.set(frame[1], frame[2]);
        return frame;
      case "settle":
        return [...frame.slice(0, 3), ...this.#renumber(frame.slice(3, 8)), ...frame.slice(8)];
      case "hello":
        return frame.map((item, i) =>
          i === 5 ? (item as Frame[]).map((lease) => this.#renumber(lease)) : item,
        );
      default:
        return frame;
    }
  }

  /** What this daemon answers. */
  hears(frame: Frame): void {
    const [kind, id, , atMs, lsn] = frame;
    if (kind !== "admitted") return;
    const rerouted = this.#rerouted.get(id);
    if (rerouted === undefined) this.#admissions.set(id, [atMs, lsn]);
    this.#attempts.set(rerouted ?? id, [atMs, lsn]);
  }

  #renumber([lease, path, atMs, lsn, attempt, ...rest]: Frame): Frame {
    const [provider, model, ...numbers] = attempt as Frame;
    return [
      lease,
      path,
      ...(this.#admissions.get(lease) ?? [atMs, lsn]),
      provider === undefined ? [] : [provider, model, ...(this.#attempts.get(lease) ?? numbers)],
      ...rest,
    ];
  }
}

/**
 * The recorded daemon: it answers with the frames of the recording, and hangs up on a frame that is
 * of another length than those it knew, and on a hello of another version.
 */
export class RecordedDaemon {
  readonly #lengths = new Map<unknown, number>();
  readonly #answers = new Map<unknown, Frame>();
  readonly #refusal: Frame;

  constructor() {
    const lines = recordedLines();
    for (const { from, frame } of lines)
      if (frame !== undefined && from !== "daemon") this.#lengths.set(frame[0], frame.length);
      else if (frame !== undefined) this.#answers.set(frame[0], frame);
    this.#refusal = lines.at(-2)!.frame!;
  }

  /** Its answer, and whether the connection stays. */
  hears(frame: Frame): { readonly answer: Frame | null; readonly stays: boolean } {
    const [kind, id] = frame;
    if (frame.length !== this.#lengths.get(kind)) return { answer: null, stays: false };
    if (kind === "hello" && frame[2] !== 9) return { answer: this.#refusal, stays: false };
    const answer = this.#answers.get(answered.get(kind));
    return {
      answer: answer === undefined ? null : [answer[0], id, ...answer.slice(2)],
      stays: true,
    };
  }
}

const answered: ReadonlyMap<unknown, string> = new Map([
  ["hello", "welcome"],
  ["admit", "admitted"],
  ["reroute", "admitted"],
  ["authorize", "authorized"],
  ["settle", "settled"],
  ["admin", "answer"],
]);
