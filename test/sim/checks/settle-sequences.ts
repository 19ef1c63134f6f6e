/**
 * The settles of each proxy by their numbers: they arrive in order and without gaps, what is
 * acknowledged is on the disk, and what was acknowledged stays so.
 */
import type { Change } from "../../../limiterd/store/store.js";
import type { World } from "../world.js";

export class SettleSequences {
  /** The last batch that is on the disk. */
  durableLsn = 0;
  readonly #world: World;
  /** The last settle of each proxy that was acknowledged. */
  readonly #acknowledged = new Map<string, number>();
  /** The last that is on the disk. */
  readonly #durable = new Map<string, number>();
  /** The last that this epoch has counted. */
  #settled = new Map<string, number>();

  constructor(world: World) {
    this.#world = world;
  }

  /** A daemon has started from what is on the disk. */
  restart(): void {
    this.#settled = new Map(this.#durable);
  }

  durable(proxyId: string): number {
    return this.#durable.get(proxyId) ?? 0;
  }

  /** A settle arrives. False: it is a repeated one. */
  arrived(proxyId: string, seq: number): boolean {
    const last = this.#settled.get(proxyId) ?? 0;
    if (seq <= last) return false;
    if (seq !== last + 1) this.#world.fail(`settle ${seq} of ${proxyId} follows ${last}`);
    this.#settled.set(proxyId, seq);
    return true;
  }

  /** The daemon acknowledges a settle; `inWelcome`: as the last that it knows of the proxy. */
  acknowledged(proxyId: string, seq: number, { inWelcome }: { readonly inWelcome: boolean }): void {
    const last = this.#acknowledged.get(proxyId) ?? 0;
    if (seq > this.durable(proxyId))
      this.#world.fail(
        `settle ${seq} of ${proxyId} is acknowledged, but the disk has only ${this.durable(proxyId)}`,
      );
    if (inWelcome && seq < last)
      this.#world.fail(`${proxyId} is welcomed with settle ${seq}, but ${last} was acknowledged`);
    this.#acknowledged.set(proxyId, Math.max(seq, last));
  }

  /** A commit is on the disk. */
  applied(changes: readonly Change[]): void {
    for (const { table, key, value } of changes) {
      if (table !== "journal" || value === undefined) continue;
      this.durableLsn = Math.max(this.durableLsn, Number(key));
      const settles = value[0] as (string | number)[];
      for (let i = 0; i < settles.length; i += 2) {
        const proxyId = String(settles[i]);
        this.#durable.set(proxyId, Math.max(Number(settles[i + 1]), this.durable(proxyId)));
      }
    }
  }
}
