/**
 * Checks the requests that wait for room, from outside the daemon: no younger request of the same
 * kind passes one, each is admitted soon after there is room, and each is answered at its deadline.
 * What an admission must be is in `expect-verdict.ts`.
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
  /** When it first asked, by its proxy's report. */
  readonly arrivedMs: number;
  readonly deadlineMs: number;
  /** For how long there has been room while the daemon ran. */
  roomMs: number;
  overdueMs: number;
  /** The limit that refused it last. */
  refusedBy: ExpectedRefusal | null;
}

/** Returns the limit that refuses a request now; null if it has room. */
export type RefusalOf = (waiting: WaitingRequest) => ExpectedRefusal | null;

/** A freed slot wakes the next request; a window that rolls wakes none. */
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

  /** `refusedBy`: the limit for which it waits, if known. */
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
      holder,
      message,
      question,
      arrivedMs,
      deadlineMs: arrivedMs + askedMs!,
      roomMs: 0,
      overdueMs: 0,
      refusedBy,
    });
    this.#world.count(waitedMs > 0 ? "waits again" : "waits");
  }

  remove(holder: LeaseHolder, id: number): void {
    this.#all.get(holder)?.delete(id);
  }

  /** Forgets the requests of a connection: its proxy asks again on another one. */
  left(holder: LeaseHolder): void {
    this.#all.delete(holder);
  }

  clear(): void {
    this.#all.clear();
  }

  /** Call when a request is admitted: fails if an older equal request still waits. */
  mustNotPass(question: Question, arrivedMs: number): void {
    for (const waiting of this.#each()) {
      const isYounger = waiting.arrivedMs >= arrivedMs - roundedMs;
      if (isYounger || !isSame(waiting.question, question)) continue;
      this.#world.fail(`${question.what} has overtaken ${waiting.question.what}`);
    }
  }

  /**
   * Call when a new request is admitted without waiting, and call the result once it is counted.
   * Fails if it took the room of a request that waits for a limit that counts both.
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

  /** Checks rooms and deadlines; call it only while the daemon runs. */
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

  /** Call while the daemon doesn't run, so that its answers aren't late. */
  pause(): void {
    this.#checkedMs = this.#world.nowMs;
    for (const waiting of this.#each()) waiting.roomMs = 0;
  }

  *#each(): Iterable<WaitingRequest> {
    for (const ofHolder of this.#all.values()) yield* ofHolder.values();
  }
}

/** Whether the same rules count both. */
function isSame(a: Question, b: Question): boolean {
  const facts = ({ path, targets, submission, uses, fixed }: Question): unknown[] => [
    ...[path, targets, submission, uses, fixed],
  ];
  return isDeepStrictEqual(facts(a), facts(b));
}
