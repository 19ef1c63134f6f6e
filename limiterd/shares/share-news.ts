/**
 * What the engine hasn't been told of one share, and how soon it has to be: far from the caps
 * within seconds, since nobody would decide otherwise if they knew it.
 */
import type { Rule } from "../counters/counter.js";
import { farRenewMs, renewMs } from "./share-bounds.js";
import type { ShareDemand } from "./share-demand.js";
import type { Standing } from "./share-schedule.js";
import type { ShareSlots } from "./share-slots.js";
import type { ShareTokens } from "./share-tokens.js";
import type { ShareUnits } from "./share-units.js";

/** What a share consists of. */
interface Parts {
  readonly rule: Rule;
  readonly units: ShareUnits;
  readonly slots: ShareSlots;
  readonly tokens: ShareTokens;
  readonly demand: ShareDemand;
  readonly isLowered: boolean;
}

const never = Number.POSITIVE_INFINITY;

export class ShareNews {
  readonly #parts: Parts;
  /** Something that others have to hear of, or that an answer hasn't confirmed. */
  isUrgent = false;

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Slots were taken or freed. */
  changed(): void {
    const { demand, slots } = this.#parts;
    // Where some are held, they are told each second.
    if (!demand.isFew || !slots.holds) this.isUrgent = true;
  }

  charged(tokens: number): void {
    if (!this.#parts.tokens.charged(tokens)) this.isUrgent = true;
  }

  /** Whether it counts what the engine hasn't been told, urgent or not. */
  get isThere(): boolean {
    const { tokens, units } = this.#parts;
    return this.isUrgent || tokens.isUntold || units.isUntold;
  }

  /** The same, or something is held: a host that ends says so. */
  get owes(): boolean {
    const { units, slots } = this.#parts;
    return units.held > 0 || slots.holds || this.isThere;
  }

  /** Whether the engine may as well be asked when it is asked about others. */
  get goesAlong(): boolean {
    const { units, tokens, demand } = this.#parts;
    if (this.isUrgent || units.isUsed) return true;
    return (!demand.isFew && units.isUntold) || (!tokens.isFar && tokens.isUntold);
  }

  get standing(): Standing {
    const { rule, units, slots, tokens, demand, isLowered } = this.#parts;
    const hasCap = rule.definition.maxRequests !== null;
    const isFar = demand.isFew && tokens.isFar && !slots.holds;
    const keeps = units.held > 0 || slots.keeps;
    return {
      // Under a lower cap others may need what was few before.
      isUntold:
        this.isUrgent || (isLowered && keeps) || (hasCap && !demand.isFew && units.isUntold),
      idleMs: keeps ? demand.idleMs : never,
      renewMs: this.owes ? (isFar ? farRenewMs : renewMs) : never,
      isTold: units.isTold,
    };
  }
}
