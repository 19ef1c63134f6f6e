/**
 * The hosts of a cluster, as this one knows them: each tells the engine each second that it lives
 * and what it is, and learns of the others by the answer.
 */
import { parseJson } from "../../../shared/checked.js";
import { isMoment } from "../../../shared/time.js";
import { dayMs } from "../../../shared/utc-day.js";
import { type EngineConnection, EngineRefusedError } from "../engine/engine.js";
import { rowsOfThree } from "../engine/rows-of-three.js";
import type { HostIdentity } from "./host-identity.js";
import { hostScript } from "./host-script.js";

/** What a host says of itself. */
export interface HostFacts {
  /** The machine's name. */
  readonly name: string;
  /** The release. */
  readonly version: string;
  /** A digest of the rules and budgets that its own configuration declares. */
  readonly configuration: string;
  readonly startedAtMs: number;
  /** Its `cluster.failure_mode`; null: a host of an earlier release doesn't say. */
  readonly failureMode: string | null;
}

export interface KnownHost extends HostFacts {
  readonly id: string;
  /** How long nothing was heard of it, when it was last asked. */
  readonly silentMs: number;
}

/** Between two signs of life. */
export const beatMs = 1000;
/** A host that is silent for so long is away. */
export const hostAliveMs = 10_000;
/** After a day, a silent host isn't listed any more. */
const hostKeptMs = dayMs;

interface BoardPorts {
  readonly engine: Pick<EngineConnection, "call">;
  readonly clusterName: string;
  readonly identity: HostIdentity;
  readonly facts: HostFacts;
  /** A random text without spaces, of this process. */
  readonly mark: string;
  /** A clock that is never set. */
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

  /** By name and id, this one too; as of the last answer, older by the time since. */
  get hosts(): readonly KnownHost[] {
    const sinceMs = this.#heardAtMs === null ? 0 : this.#ports.monoMs() - this.#heardAtMs;
    return this.#hosts.map((host) => ({ ...host, silentMs: host.silentMs + sinceMs }));
  }

  /** The engine's clock, by its last answer: it shows this or more; null before the first. */
  get engineMs(): number | null {
    if (this.#heardAtMs === null) return null;
    return this.#heardEngineMs + Math.floor(this.#ports.monoMs() - this.#heardAtMs);
  }

  /** How many hosts are alive, this one included, as of the last answer. */
  get alive(): number {
    const others = this.#hosts.filter(
      ({ id, silentMs }) => id !== this.#ports.identity.id && silentMs < hostAliveMs,
    );
    return others.length + 1;
  }

  /**
   * Gives a sign of life. `taken`: another daemon lives under this id, as after a disk was copied.
   * Rejects as `EngineConnection.call`.
   */
  async beat(): Promise<"heard" | "taken"> {
    const { engine, clusterName, identity, facts, mark, monoMs } = this.#ports;
    const said = JSON.stringify([
      facts.name,
      facts.version,
      facts.configuration,
      facts.startedAtMs,
      facts.failureMode,
    ]);
    const row = [identity.id, identity.start, mark, said, hostAliveMs, hostKeptMs];
    const answer = await engine.call(hostScript, [`sluice:{${clusterName}}:hosts`], row);
    if (!Array.isArray(answer))
      throw new EngineRefusedError("an answer about hosts that isn't understood");
    const [status, now, ...rows] = (answer as readonly unknown[]).map(String);
    const nowMs = Number(now);
    if (!isMoment(nowMs)) throw new EngineRefusedError("an answer about hosts without a time");
    this.#heardAtMs = monoMs();
    this.#heardEngineMs = nowMs;
    const hosts: KnownHost[] = [];
    for (const [id, at, said] of rowsOfThree(rows)) {
      const facts = factsFromText(said);
      if (facts !== null) hosts.push({ id, ...facts, silentMs: Math.max(0, nowMs - Number(at)) });
    }
    this.#hosts = hosts.sort((a, b) => (a.name + a.id < b.name + b.id ? -1 : 1));
    return status === "taken" ? "taken" : "heard";
  }
}

/** Null for what no host says. */
function factsFromText(text: string): HostFacts | null {
  const value = parseJson(text);
  if (!Array.isArray(value)) return null;
  const [name, version, configuration, startedAtMs, mode] = value as unknown[];
  if (typeof name !== "string" || typeof version !== "string") return null;
  return typeof configuration === "string" && isMoment(startedAtMs)
    ? {
        name,
        version,
        configuration,
        startedAtMs,
        failureMode: typeof mode === "string" ? mode : null,
      }
    : null;
}
