/**
 * The sums of usage that all hosts publish in the engine: for each host and day, its pieces and an
 * index of them; and for each host, how far it has published. All values are absolute and under the
 * host's own id, so a repeated write changes nothing.
 */
import { isObject, parseJson } from "../../../shared/checked.js";
import { dayMs, isMoment, parseDay } from "../../../shared/time.js";
import type { EngineCommands } from "../engine/engine.js";
import type { SumPlace } from "./usage-pieces.js";

/** One sum as text, with its place. */
export interface PublishedSum extends SumPlace {
  readonly sum: string;
}

/** What a host reports about itself; times are by the engine's clock. */
export interface PublishedHost {
  readonly host: string;
  /** The name of its machine. */
  readonly name: string;
  /** The time up to which it has published all of its records. */
  readonly asOfMs: number;
  /** False while it publishes everything again: parts of earlier days are missing. */
  readonly complete: boolean;
}

export interface UsageBoard {
  /**
   * Rejects with `EngineAwayError` or `EngineRefusedError`; some of the sums may be published then.
   */
  publish(sums: readonly PublishedSum[]): Promise<void>;
  /** Call when the engine may have lost what was published. */
  forget(): void;
  /** Reports how far this host has published. */
  announce(state: Pick<PublishedHost, "name" | "asOfMs" | "complete">): Promise<void>;
  /** The engine's clock. */
  timeMs(): Promise<number>;
  /** How long a host that publishes nothing more is kept, in ms. */
  readonly keepMs: number;
  /** All hosts including this one, and the engine's clock. */
  hosts(): Promise<{ readonly nowMs: number; readonly hosts: readonly PublishedHost[] }>;
  /** The names of the pieces of a host's day. */
  pieces(host: string, day: string): Promise<readonly string[]>;
  /** The texts of one field, on several days. */
  fields(host: string, place: Omit<SumPlace, "day">, days: readonly string[]): FieldTexts;
  /** The texts of a whole piece by field. */
  piece(host: string, day: string, piece: string): Promise<ReadonlyMap<string, string>>;
}

type FieldTexts = Promise<readonly (string | null)[]>;

type Commands = Pick<EngineCommands, "hset" | "hget" | "hgetall" | "hdel" | "pexpire" | "time">;

interface BoardOptions {
  readonly clusterName: string;
  readonly host: string;
  /** How long a day is kept after its end. */
  readonly keepMs: number;
  nowMs(): number;
}

/** Maximum number of pieces in `indexedPieces`: about 2 MB. */
const indexedPiecesMax = 10_000;

export function createUsageBoard(
  commands: Commands,
  { clusterName, host, keepMs, nowMs }: BoardOptions,
): UsageBoard {
  const hostsKey = `sluice:${clusterName}:usage-hosts`;
  const dayKey = (hostId: string, day: string): string =>
    `sluice:${clusterName}:usage:${hostId}:${day}`;
  const pieceKey = (hostId: string, day: string, piece: string): string =>
    `${dayKey(hostId, day)}:${piece}`;
  /** Keys of pieces that are in their day's index and have their expiry. */
  const indexedPieces = new Set<string>();
  return {
    forget: () => indexedPieces.clear(),
    async publish(sums) {
      const pieces = new Map<string, { day: string; piece: string; texts: Map<string, string> }>();
      for (const { day, piece, field, sum } of sums) {
        const key = pieceKey(host, day, piece);
        const entry = pieces.get(key) ?? { day, piece, texts: new Map<string, string>() };
        entry.texts.set(field, sum);
        pieces.set(key, entry);
      }
      await Promise.all(
        [...pieces].flatMap(([key, { day, piece, texts }]) => {
          const leftMs = Math.max(dayMs, (parseDay(day) ?? 0) + dayMs + keepMs - nowMs());
          const index = dayKey(host, day);
          const written = commands.hset(key, Object.fromEntries(texts));
          // A piece that may expire soon gets its expiry again: `HSET` after its end would create
          // it without one.
          if (indexedPieces.has(key) && leftMs > 2 * dayMs) return [written];
          return [
            written,
            commands.pexpire(key, leftMs),
            commands.hset(index, { [piece]: "1" }),
            commands.pexpire(index, leftMs),
          ];
        }),
      );
      if (indexedPieces.size + pieces.size > indexedPiecesMax) indexedPieces.clear();
      for (const key of pieces.keys()) indexedPieces.add(key);
    },
    async announce(state) {
      await commands.hset(hostsKey, { [host]: JSON.stringify(state) });
    },
    timeMs: () => commands.time(),
    keepMs,
    async hosts() {
      const [all, now] = await Promise.all([commands.hgetall(hostsKey), commands.time()]);
      const hosts = [...all].flatMap(([id, text]) => hostFromText(id, text) ?? []);
      const goneHosts = hosts.filter(({ asOfMs }) => asOfMs < now - keepMs).map((old) => old.host);
      if (goneHosts.length > 0) await commands.hdel(hostsKey, goneHosts);
      return { nowMs: now, hosts: hosts.filter((host) => !goneHosts.includes(host.host)) };
    },
    async pieces(hostId, day) {
      return [...(await commands.hgetall(dayKey(hostId, day))).keys()];
    },
    fields: (hostId, { piece, field }, days) =>
      Promise.all(days.map((day) => commands.hget(pieceKey(hostId, day, piece), field))),
    piece: (hostId, day, piece) => commands.hgetall(pieceKey(hostId, day, piece)),
  };
}

/** Null for what `announce` never wrote. */
function hostFromText(host: string, text: string): PublishedHost | null {
  const parsed = parseJson(text);
  if (!isObject(parsed)) return null;
  const { name, asOfMs, complete } = parsed;
  if (typeof name !== "string" || !isMoment(asOfMs) || typeof complete !== "boolean") return null;
  return { host, name, asOfMs, complete };
}
