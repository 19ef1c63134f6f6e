/**
 * The hosts of a cluster. Each reports itself to the engine every second; the answer lists the
 * others.
 */
import { parseJson } from "../../../shared/checked.js";
import { dayMs, isMoment } from "../../../shared/time.js";
import { type EngineConnection, EngineRefusedError, type EngineScript } from "../engine/engine.js";
import { rowsOfThree } from "../engine/rows-of-three.js";
import type { HostIdentity } from "./host-identity.js";

/** What a host reports about itself. */
export interface HostFacts {
  /** The machine's name. */
  readonly name: string;
  /** The release. */
  readonly version: string;
  /** A digest of the rules and budgets that its own configuration declares. */
  readonly configuration: string;
  readonly startedAtMs: number;
  /** Its `cluster.failure_mode`. */
  readonly failureMode: string;
}

export interface KnownHost extends HostFacts {
  readonly id: string;
  /** How long it was silent at the last question, in ms. */
  readonly silentMs: number;
}

/** Interval of reports, in ms. */
export const beatMs = 1000;
/** A host that is silent for this long is away, in ms. */
export const hostAliveMs = 10_000;
/** How long a silent host is listed, in ms. */
const hostKeptMs = dayMs;

interface BoardPorts {
  readonly engine: Pick<EngineConnection, "call">;
  readonly clusterName: string;
  readonly identity: HostIdentity;
  readonly facts: HostFacts;
  /** A random text without spaces, of this process. */
  readonly mark: string;
  /** The monotonic clock. */
  monoMs(): number;
}

export class HostBoard {
  readonly #ports: BoardPorts;
  #hosts: readonly KnownHost[] = [];
  #heardAtMs: number | null = null;
  #heardEngineMs = 0;

  constructor(ports: BoardPorts) {
    this.#ports = ports;
  }

  get identity(): HostIdentity {
    return this.#ports.identity;
  }

  get facts(): HostFacts {
    return this.#ports.facts;
  }

  /** All hosts including this one, by name and id, as of the last answer. */
  get hosts(): readonly KnownHost[] {
    const sinceMs = this.#heardAtMs === null ? 0 : this.#ports.monoMs() - this.#heardAtMs;
    return this.#hosts.map((host) => ({ ...host, silentMs: host.silentMs + sinceMs }));
  }

  /** A lower bound of the engine's clock, from its last answer; null before the first. */
  get engineMs(): number | null {
    if (this.#heardAtMs === null) return null;
    return this.#heardEngineMs + Math.floor(this.#ports.monoMs() - this.#heardAtMs);
  }

  /** The number of live hosts, including this one, as of the last answer. */
  get alive(): number {
    const others = this.#hosts.filter(
      ({ id, silentMs }) => id !== this.#ports.identity.id && silentMs < hostAliveMs,
    );
    return others.length + 1;
  }

  /**
   * Reports this host. `taken`: another live daemon has this id, as after a disk was copied.
   * Rejects as `EngineConnection.call`.
   */
  async beat(): Promise<"heard" | "taken"> {
    const { engine, clusterName, identity, facts, mark, monoMs } = this.#ports;
    const report = JSON.stringify([
      facts.name,
      facts.version,
      facts.configuration,
      facts.startedAtMs,
      facts.failureMode,
    ]);
    const row = [identity.id, identity.start, mark, report, hostAliveMs, hostKeptMs];
    const answer = await engine.call(hostScript, [`sluice:{${clusterName}}:hosts`], row);
    if (!Array.isArray(answer))
      throw new EngineRefusedError("an answer about hosts that isn't understood");
    const [status, now, ...rows] = (answer as readonly unknown[]).map(String);
    const nowMs = Number(now);
    if (!isMoment(nowMs)) throw new EngineRefusedError("an answer about hosts without a time");
    this.#heardAtMs = monoMs();
    this.#heardEngineMs = nowMs;
    const hosts: KnownHost[] = [];
    for (const [id, at, lastReport] of rowsOfThree(rows)) {
      const facts = factsFromText(lastReport);
      if (facts !== null) hosts.push({ id, ...facts, silentMs: Math.max(0, nowMs - Number(at)) });
    }
    this.#hosts = hosts.sort((a, b) => (a.name + a.id < b.name + b.id ? -1 : 1));
    return status === "taken" ? "taken" : "heard";
  }
}

/** Null for a text that no host writes. */
function factsFromText(text: string): HostFacts | null {
  const value = parseJson(text);
  if (!Array.isArray(value)) return null;
  const [name, version, configuration, startedAtMs, failureMode] = value as unknown[];
  if (typeof name !== "string" || typeof version !== "string") return null;
  if (typeof configuration !== "string" || typeof failureMode !== "string") return null;
  return isMoment(startedAtMs) ? { name, version, configuration, startedAtMs, failureMode } : null;
}

/**
 * Arguments: the host's id, start number, mark and facts; for how many ms a silent host counts as
 * alive; after how many ms its row is removed. Answers with `heard`, or `taken` if another daemon
 * with this id is alive and isn't an earlier start of this one; the engine's time; and id, time and
 * facts of each host.
 */
export const hostScript: EngineScript = {
  name: "host",
  source: `
local clock = redis.call('TIME')
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
local text = function(n) return string.format('%.0f', n) end
-- nil for a row that no host has written, or one of the future, which would never expire.
local parse = function(row)
  local at, start, mark, said = string.match(row, '^(%d+) (%d+) (%S+) (.*)$')
  at, start = tonumber(at), tonumber(start)
  if not at or #row > 2000 or at > now + tonumber(ARGV[5]) then return nil end
  return at, start, mark, said
end
local status = 'heard'
local row = redis.pcall('HGET', KEYS[1], ARGV[1])
if type(row) == 'table' and row.err then
  if not string.find(row.err, 'WRONGTYPE', 1, true) then return row end
  redis.call('DEL', KEYS[1])
  row = nil
end
if row then
  local at, start, mark = parse(row)
  if at and mark ~= ARGV[3] and start >= tonumber(ARGV[2]) and now - at < tonumber(ARGV[5]) then
    status = 'taken'
  end
end
if status == 'heard' then
  redis.call('HSET', KEYS[1], ARGV[1], text(now) .. ' ' .. ARGV[2] .. ' ' .. ARGV[3] .. ' ' .. ARGV[4])
end
local answer = {status, text(now)}
local rows = redis.call('HGETALL', KEYS[1])
for i = 1, #rows, 2 do
  local at, start, mark, said = parse(rows[i + 1])
  if not at or now - at > tonumber(ARGV[6]) then redis.call('HDEL', KEYS[1], rows[i])
  else
    answer[#answer + 1] = rows[i]
    answer[#answer + 1] = text(at)
    answer[#answer + 1] = said
  end
end
return answer`,
};
