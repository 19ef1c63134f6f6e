/**
 * Every request and attempt that the daemon has counted, one by one, and every settle's charge;
 * what of it a crash takes is decided in `crash-losses.ts`, what windows make of it in `truth.ts`.
 * Which of them a lease holds is in `lease-account.ts`.
 */
import type { Target } from "../../../shared/domain/target-name.js";
import type { Settle } from "../../../shared/wire/message-to-daemon.js";
import { describeTarget } from "../describe-message.js";
import type { World } from "../world.js";
import {
  type DaemonDeath,
  survivors,
  type WitnessedCharge,
  type WitnessedRequest,
} from "./crash-losses.js";
import type { Truth } from "./truth.js";

/** When a message is handled. */
export interface Moment {
  readonly tick: number;
  readonly epoch: number;
  readonly nowMs: number;
  /** The batch in which the daemon counts it. */
  readonly lsn: number;
  /** No rule that is there is older. */
  readonly rulesSinceMs: number;
}

export class RequestRegister {
  readonly #world: World;
  readonly #truth: Truth;
  #charges: WitnessedCharge[] = [];
  #requests: WitnessedRequest[] = [];
  readonly #known = new Map<string, WitnessedRequest>();

  constructor(world: World, truth: Truth) {
    this.#world = world;
    this.#truth = truth;
  }

  /** Every charge that counts, with its proxy. */
  get charges(): readonly WitnessedCharge[] {
    return this.#charges;
  }

  count(
    fields: Pick<WitnessedRequest, "place" | "proxyId" | "lease" | "lsn" | "atMs" | "isUnasked">,
    { tick, epoch, lsn: countedLsn }: Moment,
  ): WitnessedRequest {
    const request: WitnessedRequest = {
      ...fields,
      tick,
      epoch,
      counted: true,
      countedLsn,
      withdrawn: null,
      seq: 0,
    };
    this.#requests.push(request);
    this.#truth.addRequest(request);
    if (!request.isUnasked) this.#known.set(keyOf(request, request.place.target), request);
    return request;
  }

  charge(charge: WitnessedCharge): void {
    this.#charges.push(charge);
    this.#truth.addTokens(charge);
  }

  /**
   * What the daemon has counted under this number, for a message that must name something known.
   */
  find(
    admission: Pick<WitnessedRequest, "proxyId" | "lease" | "lsn">,
    target: Target | null,
  ): WitnessedRequest {
    const key = keyOf(admission, target);
    return (
      this.#known.get(key) ??
      this.#world.fail(`${admission.proxyId} reports a lease that it was never granted: ${key}`)
    );
  }

  /** A request of an earlier epoch is reported again: it must be counted now, if it wasn't. */
  reportedAgain(request: WitnessedRequest, { lsn: countedLsn }: Moment): void {
    if (request.counted || request.withdrawn !== null) return;
    this.#truth.restate(request, () => Object.assign(request, { counted: true, countedLsn }));
    this.#world.count("request reported again after a crash");
  }

  withdraw(request: WitnessedRequest, { lsn }: Moment, kind: string): void {
    const withdrawn = { lsn, wasCounted: request.counted };
    this.#truth.restate(request, () => Object.assign(request, { withdrawn, counted: false }));
    this.#world.count(kind);
  }

  /** What a verdict has counted that its proxy never read. */
  takeBack(unread: readonly WitnessedRequest[], moment: Moment): void {
    for (const request of unread)
      if (request.counted) this.withdraw(request, moment, "unread verdict taken back");
  }

  /**
   * What counts for this proxy though no settle has ended or withdrawn it: its key, or null.
   * `unread` may: its proxy has stopped, and nobody says so in its place.
   */
  neverEnded(proxyId: string, unread: readonly WitnessedRequest[]): string | null {
    const left = this.#requests.find(
      (request) =>
        request.proxyId === proxyId &&
        request.counted &&
        request.seq === 0 &&
        !unread.includes(request),
    );
    return left === undefined ? null : keyOf(left, left.place.target);
  }

  endedBy(request: WitnessedRequest, { seq }: Settle): void {
    if (request.seq !== 0 && request.seq !== seq)
      this.#world.fail(
        `${keyOf(request, request.place.target)} is settled twice, by ${request.seq} and ${seq}`,
      );
    request.seq = seq;
  }

  died(death: DaemonDeath): void {
    const left = survivors(this.#requests, this.#charges, death);
    this.#requests = left.requests;
    this.#charges = left.charges;
    this.#truth.startAgain(left.requests, left.charges);
  }
}

function keyOf(
  { proxyId, lease, lsn }: Pick<WitnessedRequest, "proxyId" | "lease" | "lsn">,
  target: Target | null,
): string {
  return `${proxyId} ${lease} ${lsn} ${target === null ? "path" : describeTarget(target)}`;
}
