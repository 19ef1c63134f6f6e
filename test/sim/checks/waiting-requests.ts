/**
 * The requests that wait for room, seen from outside: none is passed by a younger one for the same,
 * each is admitted soon after there is room, and answered at its deadline. What an admission must
 * be is in `expect-verdict.ts`.
 */
import { isDeepStrictEqual } from "node:util";
import { judgeAgainMs, waitTickMs } from "../../../limiterd/bounds.js";
import type { Admit } from "../../../shared/wire/message-to-daemon.js";
import type { World } from "../world.js";
import { type ExpectedRefusal, meets, type Question } from "./expect-verdict.js";
import type { LeaseHolder } from "./lease-account.js";

export interface WaitingRequest {
  readonly holder: LeaseHolder;
  readonly message: Admit;
  readonly question: Question;
  /** When it asked for the first time, as its proxy says. */
  readonly arrivedMs: number;
  readonly deadlineMs: number;
  /** For how long there has been room while the daemon ran. */
  roomMs: number;
  overdueMs: number;
  /** What refused it last. */
  refusedBy: ExpectedRefusal | null;
}

/** What refuses a request now; null: it has room. */
export type RefusalOf = (waiting: WaitingRequest) => ExpectedRefusal | null;

/** A slot that becomes free wakes the next request; nothing says that a window has moved on. */
const slotMsMax = 4 * waitTickMs;
const windowMsMax = judgeAgainMs + 4 * waitTickMs;
const overdueMsMax = 4 * waitTickMs;
/** Waited times are rounded. */
const roundedMs = 2;

export class WaitingRequests {
  readonly #world: World;
  readonly #all = new Map<LeaseHolder, Map<number, WaitingRequest>>();
  #checkedMs = 0;

  constructor(world: World) {
    this.#world = world;
  }

  get size(): number {
    let size = 0;
    for (const ofHolder of this.#all.values()) size += ofHolder.size;
    return size;
  }

  find(holder: LeaseHolder, id: number): WaitingRequest | undefined {
    return this.#all.get(holder)?.get(id);
  }

  /** `refusedBy`: what made it wait, as far as that is known. */
  add(
    { holder, message, question }: Pick<WaitingRequest, "holder" | "message" | "question">,
    refusedBy: ExpectedRefusal | null,
  ): void {
    const { nowMs } = this.#world;
    const { askedMs, waitedMs } = message.wait!;
    const arrivedMs = nowMs - waitedMs;
    const ofHolder = this.#all.get(holder) ?? new Map<number, WaitingRequest>();
    this.#all.set(holder, ofHolder);
    ofHolder.set(message.id, {
      ...{ holder, message, question, arrivedMs },
      ...{ deadlineMs: arrivedMs + askedMs!, roomMs: 0, overdueMs: 0, refusedBy },
    });
    this.#world.count(waitedMs > 0 ? "waits again" : "waits");
  }

  remove(holder: LeaseHolder, id: number): void {
    this.#all.get(holder)?.delete(id);
  }

  /** Its proxy asks again on another connection. */
  left(holder: LeaseHolder): void {
    this.#all.delete(holder);
  }

  clear(): void {
    this.#all.clear();
  }

  /** A request is admitted that arrived then: no older one for the same may wait. */
  mustNotPass(question: Question, arrivedMs: number): void {
    for (const other of this.#each()) {
      if (other.arrivedMs >= arrivedMs - roundedMs || !isSame(other.question, question)) continue;
      this.#world.fail(`${question.what} has overtaken ${other.question.what}`);
    }
  }

  /**
   * A request comes and is admitted at once; call the result when it is counted: it must not have
   * taken the room of one that waits for a limit that counts it, too.
   */
  mustNotRob(question: Question, refusalOf: RefusalOf): () => void {
    const withRoom = [...this.#each()].filter(
      (waiting) =>
        waiting.refusedBy !== null &&
        meets(waiting.refusedBy, question) &&
        refusalOf(waiting) === null,
    );
    return () => {
      for (const waiting of withRoom)
        if (refusalOf(waiting) !== null)
          this.#world.fail(`${question.what} took the room of ${waiting.question.what}`);
    };
  }

  /** Only while the daemon runs. */
  check(refusalOf: RefusalOf): void {
    const { nowMs } = this.#world;
    const passedMs = Math.min(nowMs - this.#checkedMs, waitTickMs);
    if (passedMs < waitTickMs / 2) return;
    this.#checkedMs = nowMs;
    for (const waiting of this.#each()) {
      const { question, deadlineMs } = waiting;
      const refusedBy = refusalOf(waiting);
      waiting.roomMs = refusedBy === null ? waiting.roomMs + passedMs : 0;
      waiting.refusedBy = refusedBy ?? waiting.refusedBy;
      const roomMsMax = waiting.refusedBy?.dimension === "concurrent" ? slotMsMax : windowMsMax;
      if (waiting.roomMs > roomMsMax)
        this.#world.fail(`${question.what} waits, although there is room`);
      if (nowMs > deadlineMs) waiting.overdueMs += passedMs;
      if (waiting.overdueMs > overdueMsMax)
        this.#world.fail(`${question.what} waits after its deadline`);
    }
  }

  /** The daemon doesn't run: what it owes isn't late. */
  pause(): void {
    this.#checkedMs = this.#world.nowMs;
    for (const waiting of this.#each()) waiting.roomMs = 0;
  }

  *#each(): Iterable<WaitingRequest> {
    for (const ofHolder of this.#all.values()) yield* ofHolder.values();
  }
}

/** Whether both meet the same rules. */
function isSame(a: Question, b: Question): boolean {
  const facts = ({ path, targets, submission, uses, fixed }: Question): unknown[] => [
    ...[path, targets, submission, uses, fixed],
  ];
  return isDeepStrictEqual(facts(a), facts(b));
}
