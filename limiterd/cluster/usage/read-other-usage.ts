/**
 * Reads the usage that the other hosts have published, for reports: exact sums, in slices, with the
 * age of each host's part. If the engine is away, a report covers only this host.
 */
import type { ReportHost, ReportHosts } from "../../../shared/api/usage-report.js";
import { greatest } from "../../../shared/long-lists.js";
import { dayMs, dayOf, parseDay } from "../../../shared/time.js";
import { otherUsageMs } from "../../bounds.js";
import { isAtOrBelow, totalPrefix } from "../../usage/rollup-keys.js";
import type {
  EachSum,
  OtherHostsSums,
  OtherHostsUsage,
  SumsQuestion,
} from "../../usage/rollups.js";
import { EngineAwayError, EngineRefusedError } from "../engine/engine.js";
import type { PublishedHost, UsageBoard } from "./usage-board.js";
import { keyOf, pieceOf, rollupFromText, sumPlaceOf } from "./usage-pieces.js";

/** Fields that are read in one turn. */
const fieldsPerTurn = 100;
/** Pieces that are read in one turn: each has a few hundred sums. */
const piecesPerTurn = 8;

/** Maximum number of reported damaged sums, at most one per host and day. */
const damagedMax = 100;

interface ReaderPorts {
  readonly board: UsageBoard;
  readonly host: string;
  readonly name: string;
  monoMs(): number;
  /** Called when a published sum can't be read. */
  onUnreadable(error: Error): void;
}

/** The pieces and fields that a question needs. */
interface WantedPieces {
  readonly kind: "t" | "m" | "o";
  /** Null: every piece of the kind. */
  readonly piece: string | null;
  isWanted(field: string): boolean;
}

export class OtherUsage implements OtherHostsUsage {
  readonly #ports: ReaderPorts;
  /**
   * The hosts as last seen: after an engine has lost its data, hosts are missing until they publish
   * again.
   */
  readonly #seen = new Map<string, PublishedHost>();
  /** The damaged sums that have been reported. */
  readonly #damaged = new Set<string>();

  constructor(ports: ReaderPorts) {
    this.#ports = ports;
  }

  async withOtherHosts<T>(
    report: (otherHosts: OtherHostsSums | null) => Promise<T>,
  ): Promise<{ readonly answer: T; readonly hosts: ReportHosts }> {
    const { board, host, name, monoMs } = this.#ports;
    try {
      const deadlineMs = monoMs() + otherUsageMs;
      const { nowMs, hosts } = await board.hosts();
      const others = hosts.filter((other) => other.host !== host);
      const answer = await report({
        read: (question, each) => this.#read(others, question, { deadlineMs, each }),
      });
      const parts = [
        { host, name, age_seconds: 0, complete: true },
        ...others.map((other) => partOf(other, nowMs)),
        ...this.#missing(others, nowMs),
      ];
      const ages = parts.map(({ age_seconds }) => age_seconds ?? 0);
      return {
        answer,
        hosts: {
          scope: "all_hosts",
          count: others.length + 1,
          oldest_seconds: greatest(ages),
          complete: parts.every(({ complete }) => complete),
          parts,
        },
      };
    } catch (error) {
      if (!(error instanceof EngineAwayError) && !(error instanceof EngineRefusedError))
        throw error;
      return {
        answer: await report(null),
        hosts: {
          scope: "this_host",
          count: 1,
          oldest_seconds: 0,
          complete: false,
          reason: error.message,
          parts: [{ host, name, age_seconds: 0, complete: true }],
        },
      };
    }
  }

  #missing(others: readonly PublishedHost[], nowMs: number): ReportHost[] {
    for (const other of others) this.#seen.set(other.host, other);
    const hostIds = new Set(others.map(({ host }) => host));
    const missing: ReportHost[] = [];
    for (const { host, name, asOfMs } of this.#seen.values()) {
      if (hostIds.has(host)) continue;
      if (asOfMs < nowMs - this.#ports.board.keepMs) this.#seen.delete(host);
      else missing.push({ host, name, age_seconds: null, complete: false });
    }
    return missing;
  }

  async #read(
    hosts: readonly PublishedHost[],
    question: SumsQuestion,
    { deadlineMs, each }: { readonly deadlineMs: number; readonly each: EachSum },
  ): Promise<void> {
    const checkDeadline = (): void => {
      if (this.#ports.monoMs() > deadlineMs)
        throw new EngineAwayError(`the other hosts' usage isn't read in ${otherUsageMs} ms`);
    };
    for (const host of hosts) {
      const days = daysOf(question, host);
      if (question.kind === "totals")
        await this.#readTotals(host, days, { question, each, checkDeadline });
      else await this.#readPieces(host, days, { wanted: wantedBy(question), each, checkDeadline });
    }
  }

  async #readTotals(
    { host }: PublishedHost,
    days: readonly string[],
    { question, each, checkDeadline }: Reading & { readonly question: SumsQuestion },
  ): Promise<void> {
    const place = sumPlaceOf(totalPrefix(question.userPath) + question.fromDay)!;
    for (let i = 0; i < days.length; i += fieldsPerTurn) {
      checkDeadline();
      const batch = days.slice(i, i + fieldsPerTurn);
      const texts = await this.#ports.board.fields(host, place, batch);
      texts.forEach((text, index) => {
        if (text !== null) this.#passOn(host, { ...place, day: batch[index]! }, text, each);
      });
    }
  }

  async #readPieces(
    { host }: PublishedHost,
    days: readonly string[],
    { wanted, each, checkDeadline }: Reading & { readonly wanted: WantedPieces },
  ): Promise<void> {
    const { board } = this.#ports;
    const readBatch = async (pieces: readonly { day: string; piece: string }[]): Promise<void> => {
      checkDeadline();
      const texts = await Promise.all(
        pieces.map(({ day, piece }) => board.piece(host, day, piece)),
      );
      pieces.forEach(({ day, piece }, i) => {
        for (const [field, text] of texts[i]!)
          if (wanted.isWanted(field)) this.#passOn(host, { day, piece, field }, text, each);
      });
    };
    let batch: { day: string; piece: string }[] = [];
    for (const day of days) {
      const pieces =
        wanted.piece === null
          ? (await board.pieces(host, day)).filter((piece) => piece.startsWith(wanted.kind))
          : [wanted.piece];
      for (const piece of pieces) {
        batch.push({ day, piece });
        if (batch.length < piecesPerTurn) continue;
        await readBatch(batch);
        batch = [];
      }
    }
    await readBatch(batch);
  }

  /** Passes a published sum to `each`. Reports a damaged one. */
  #passOn(host: string, place: Parameters<typeof keyOf>[0], text: string, each: EachSum): void {
    const sum = rollupFromText(text);
    if (sum !== null) return each(keyOf(place), sum);
    const flaw = `a sum of ${place.day} that the host ${host} has published is damaged`;
    if (this.#damaged.size >= damagedMax || this.#damaged.has(flaw)) return;
    this.#damaged.add(flaw);
    this.#ports.onUnreadable(new Error(flaw));
  }
}

interface Reading {
  readonly each: EachSum;
  checkDeadline(): void;
}

function partOf({ host, name, asOfMs, complete }: PublishedHost, nowMs: number): ReportHost {
  const ageMs = Math.max(0, nowMs - asOfMs);
  return { host, name, age_seconds: Math.round(ageMs / 100) / 10, complete };
}

function wantedBy({ kind, userPath }: SumsQuestion): WantedPieces {
  const below = `${userPath}\n`;
  if (kind === "models")
    return {
      kind: "m",
      piece: pieceOf("m", userPath),
      isWanted: (field) => field.startsWith(below),
    };
  if (kind === "children")
    return { kind: "t", piece: null, isWanted: (field) => field.startsWith(below) };
  return {
    kind: "o",
    piece: null,
    isWanted: (field) => isAtOrBelow(field.slice(0, field.indexOf("\n")), userPath),
  };
}

/** The days of a question until a day after the host last published: later it has nothing. */
function daysOf({ fromDay, toDay }: SumsQuestion, { asOfMs }: PublishedHost): string[] {
  const days: string[] = [];
  const lastMs = Math.min(parseDay(toDay)!, asOfMs + dayMs);
  for (let ms = parseDay(fromDay)!; ms <= lastMs; ms += dayMs) days.push(dayOf(ms));
  return days;
}
