/**
 * Watches the daemon from outside: every frame before and after it is handled, every message that
 * it sends and every change that reaches the disk, and compares all of it with the truth. What a
 * crash takes is decided in `crash-losses.ts`.
 */
import type { PeerState } from "../../../limiterd/peer.js";
import type { DaemonState } from "../../../limiterd/state.js";
import type { Change } from "../../../limiterd/store/store.js";
import { reconnectGraceMs } from "../../../shared/bounds.js";
import type { Admitted, FromDaemon, Refused } from "../../../shared/wire/message-from-daemon.js";
import type {
  Admin,
  Admit,
  FromOtherRelease,
  Hello,
  Reroute,
  Settle,
  ToDaemon,
} from "../../../shared/wire/message-to-daemon.js";
import type { OracleWeights } from "../../limiterd/oracle.js";
import { describeMessage } from "../describe-message.js";
import type { Disk } from "../processes/disk.js";
import type { World } from "../world.js";
import { counterDifference } from "./compare-counters.js";
import { createExpectation, mustAnswer, type Question } from "./expect-verdict.js";
import { LeaseAccount, type LeaseHolder } from "./lease-account.js";
import { type Moment, RequestRegister } from "./request-register.js";
import { RuleHistory } from "./rule-history.js";
import { SettleSequences } from "./settle-sequences.js";
import { Truth } from "./truth.js";
import { UnreadVerdictLog } from "./unread-verdicts.js";
import { type RefusalOf, type WaitingRequest, WaitingRequests } from "./waiting-requests.js";

/** Lets the daemon handle the message. */
type Handle = () => void;

interface WaitedAnswer {
  readonly arrivedMs: number;
  readonly answer: Admitted;
}

export class Witness {
  /** From the first step of the wall clock on. */
  clockStepped = false;
  readonly #world: World;
  readonly #disk: Disk;
  readonly #truth: Truth;
  readonly #rules: RuleHistory;
  /** What the daemon has counted. */
  readonly register: RequestRegister;
  readonly #account: LeaseAccount;
  readonly verdicts = new UnreadVerdictLog();
  readonly #waiting: WaitingRequests;
  readonly #expect: ReturnType<typeof createExpectation>;
  readonly #settles: SettleSequences;
  /** By proxy and lease, the models to which it may go because others are exhausted. */
  readonly #uses = new Map<string, readonly string[]>();
  #holders = new Map<PeerState, LeaseHolder>();
  #state: DaemonState | null = null;
  /** Counts what happens to the daemon. */
  #tick = 0;
  #comparedTick = 0;
  #checks = 0;
  #epoch = 0;
  #startedMs = 0;
  #rulesSinceMs = Number.POSITIVE_INFINITY;
  #expectedProxies: { readonly proxyId: string; readonly isAlive: () => boolean }[] = [];
  /** What the daemon has sent since the last frame arrived. */
  #replies: FromDaemon[] = [];
  #inFrame = false;
  /** Answers to requests that have waited, which are judged once the frame is counted. */
  #late: { readonly waiting: WaitingRequest; readonly answer: Admitted | Refused }[] = [];

  constructor(world: World, disk: Disk, tokenWeights: OracleWeights | null) {
    this.#world = world;
    this.#disk = disk;
    this.#truth = new Truth(tokenWeights);
    this.#expect = createExpectation(this.#truth);
    this.#rules = new RuleHistory(world, disk, this.#truth);
    this.register = new RequestRegister(world, this.#truth);
    this.#account = new LeaseAccount(world, this.#truth, this.register);
    this.#settles = new SettleSequences(world);
    this.#waiting = new WaitingRequests(world);
  }

  /** An epoch of the daemon begins: what is on the disk must be what was answered. */
  starting(): void {
    this.#rules.mustBeWhatWasAnswered();
  }

  started(state: DaemonState, isAlive: (proxyId: string) => boolean): void {
    this.#state = state;
    this.#epoch++;
    this.#startedMs = this.#world.nowMs;
    this.#tick++;
    this.#holders = new Map();
    this.#settles.restart();
    this.#rules.restored(this.#tick, state);
    this.#rulesSinceMs = Math.min(...this.#rules.createdAtMs(state));
    this.#expectedProxies = this.#disk
      .entries("proxies")
      .filter(({ value }) => value[1] === true)
      .map(({ key }) => ({ proxyId: String(key), isAlive: () => isAlive(String(key)) }));
  }

  dead(): void {
    this.#waiting.clear();
    if (this.#state === null) return;
    this.#state = null;
    this.register.died({
      durableLsn: this.#settles.durableLsn,
      durableSeq: (proxyId) => this.#settles.durable(proxyId),
    });
  }

  /** A connection is made; `end` is the daemon's. */
  opened(peer: PeerState, end: object): void {
    const made = { proxyId: "?", end, helloId: 0, tellsRead: false, hasLeft: false };
    this.#holders.set(peer, { ...made, leases: new Map() });
  }

  /** A frame arrives; `handle` lets the daemon handle it. */
  frame(
    peer: PeerState,
    message: ToDaemon | FromOtherRelease,
    nowMs: number,
    handle: Handle,
  ): void {
    this.#inFrame = true;
    this.#frame(peer, message, nowMs, handle);
    this.#inFrame = false;
    this.#judgeLate(nowMs);
  }

  #frame(
    peer: PeerState,
    message: ToDaemon | FromOtherRelease,
    nowMs: number,
    handle: Handle,
  ): void {
    this.#tick++;
    this.#replies = [];
    const holder = this.#holders.get(peer)!;
    this.#world.trace(`daemon ← ${holder.proxyId} ${describeMessage(message)}`);
    if (holder.hasLeft && (message.kind === "admit" || message.kind === "reroute"))
      return this.#onIgnored(handle);
    switch (message.kind) {
      case "admit":
        return this.#onAdmit(holder, message, nowMs, handle);
      case "reroute":
        return this.#onReroute(holder, message, nowMs, handle);
      case "settle":
        return this.#onSettle(holder, message, nowMs, handle);
      case "hello":
        return this.#onHello(holder, message, nowMs, handle);
      case "unsupported hello":
        this.#arrives(holder, message.proxyId ?? "?", message.id);
        return handle();
      case "read":
        handle();
        if (holder.hasLeft) return;
        holder.tellsRead = true;
        this.register.takeBack(
          this.verdicts.unread(holder.proxyId, holder.end),
          this.#moment(nowMs),
        );
        return;
      case "hold":
        handle();
        if (holder.hasLeft) return;
        for (const lease of message.leases)
          this.#account.reported(holder, lease, this.#moment(nowMs));
        return;
      case "release":
        this.#account.released(holder, message.id);
        return handle();
      case "refusal":
      case "unknown operation":
        return handle();
      case "cancel":
        handle();
        return this.#waiting.remove(holder, message.id);
      case "admin":
        return this.#onAdmin(peer, message, nowMs, handle);
    }
  }

  #onAdmit(holder: LeaseHolder, message: Admit, nowMs: number, handle: Handle): void {
    const { id, userPath: path, targets, submission, uses = [], fixed = false } = message;
    this.#uses.set(`${holder.proxyId} ${id}`, uses);
    const what = `admission ${id} of ${holder.proxyId}`;
    const asked = { what, id, path, isReroute: false, targets, submission, uses, fixed };
    if (message.wait !== undefined || this.#waiting.size > 0)
      return this.#onAdmitAmongWaiting(holder, message, asked, { nowMs, handle });
    this.#mustAnswer(asked, nowMs, handle, (answer) =>
      this.#admitted(holder, message, answer, nowMs),
    );
  }

  /** Counts an admission, and returns its path. */
  #admitted(holder: LeaseHolder, message: Admit, answer: Admitted, nowMs: number): string {
    const missing =
      this.#world.nowMs - this.#startedMs < reconnectGraceMs
        ? this.#expectedProxies.find(({ isAlive }) => isAlive())
        : undefined;
    if (missing !== undefined)
      this.#world.fail(`an admission before ${missing.proxyId} could report its leases`);
    const counted = this.#account.admitted(holder, message, answer, this.#moment(nowMs));
    if (holder.tellsRead) this.verdicts.sent(holder.proxyId, holder.end, counted);
    return message.userPath;
  }

  /**
   * A request that may wait, or that comes while others wait: it may be admitted, refused or queued
   * immediately. Counters for which older requests wait count as exhausted for it.
   */
  #onAdmitAmongWaiting(
    holder: LeaseHolder,
    message: Admit,
    asked: Question,
    { nowMs, handle }: { readonly nowMs: number; readonly handle: Handle },
  ): void {
    const { clockStepped } = this;
    const othersWait = this.#waiting.size > 0;
    const { targets } = asked;
    handle();
    const answer = this.#replies.find(
      (sent): sent is Extract<FromDaemon, { kind: "admitted" | "refused" | "queued" }> =>
        (sent.kind === "admitted" || sent.kind === "refused" || sent.kind === "queued") &&
        sent.id === asked.id,
    );
    if (answer === undefined) return this.#world.fail(`${asked.what} isn't answered at once`);
    this.#world.count(`${answer.kind} among waiting requests`);
    const arrivedMs = this.#world.nowMs - (message.wait?.waitedMs ?? 0);
    if (answer.kind === "admitted") {
      const chosen = asked.submission ? targets : [targets[answer.target]!];
      const admitted = { ...asked, targets: chosen };
      const counted = this.#waiting.mustNotRob(admitted, this.#refusalAt(nowMs));
      this.#admittedWaiter(holder, message, { ...asked, arrivedMs, answer }, nowMs);
      return counted();
    }
    const expected = this.#expect(this.#state!.book, { ...asked, nowMs, clockStepped });
    if (answer.kind === "refused") {
      const wrong = othersWait || clockStepped ? null : expected.verdict(answer);
      if (wrong !== null) this.#world.fail(`${asked.what} ${wrong}`);
      return;
    }
    if (message.wait === undefined)
      return this.#world.fail(`${asked.what} waits, although it may not`);
    if (!othersWait && !clockStepped && expected.refusal === null)
      this.#world.fail(`${asked.what} waits, although nothing refuses it`);
    this.#waiting.add({ holder, message, question: asked }, expected.refusal);
  }

  /** Checks that the target that the daemon has chosen has room now. */
  #admittedWaiter(
    holder: LeaseHolder,
    message: Admit,
    { arrivedMs, answer, ...asked }: Question & WaitedAnswer,
    nowMs: number,
  ): void {
    const { clockStepped } = this;
    this.#waiting.mustNotPass(asked, arrivedMs);
    const chosen = asked.submission ? asked.targets : [asked.targets[answer.target]!];
    const admitted = { ...asked, targets: chosen, nowMs, clockStepped };
    const expected = this.#expect(this.#state!.book, admitted);
    const wrong = expected.isExact ? expected.verdict({ ...answer, target: 0 }) : null;
    if (wrong !== null) this.#world.fail(`${asked.what} ${wrong}`);
    const path = this.#admitted(holder, message, answer, nowMs);
    const wrongHeaders = expected.isExact ? expected.headers({ ...answer, target: 0 }, path) : null;
    if (wrongHeaders !== null) this.#world.fail(`${asked.what} ${wrongHeaders}`);
  }

  /** Judges the answers to requests that have waited, in their order. */
  #judgeLate(nowMs: number): void {
    for (const { waiting, answer } of this.#late.splice(0)) {
      const { holder, message, question, arrivedMs, deadlineMs } = waiting;
      this.#world.count(`${answer.kind} after a wait`);
      this.#tick++;
      if (answer.kind === "admitted") {
        if (this.#world.nowMs > deadlineMs)
          this.#world.fail(`${question.what} is admitted after its deadline`);
        this.#admittedWaiter(holder, message, { ...question, arrivedMs, answer }, nowMs);
      } else if (this.#world.nowMs < deadlineMs) {
        const { dimension, waitSeconds, use } = answer;
        const isPointless =
          ["banned", "children"].includes(dimension) ||
          this.#world.nowMs + (waitSeconds - 1) * 1000 >= deadlineMs;
        if (use === undefined && !isPointless)
          this.#world.fail(`${question.what} is refused before its deadline`);
      }
    }
  }

  /** Call after each event. `pausedUntilMs`: until when the daemon is paused. */
  checkWaiting(nowMs: number, pausedUntilMs: number): void {
    const runs = this.#state?.isStopping === false && pausedUntilMs <= this.#world.nowMs;
    if (!runs) return this.#waiting.pause();
    if (!this.clockStepped) this.#waiting.check(this.#refusalAt(nowMs));
  }

  #refusalAt(nowMs: number): RefusalOf {
    const { clockStepped } = this;
    return ({ question }) =>
      this.#expect(this.#state!.book, { ...question, nowMs, clockStepped }).refusal;
  }

  #onReroute(holder: LeaseHolder, message: Reroute, nowMs: number, handle: Handle): void {
    const { proxyId, leases } = holder;
    const { id, lease, targets } = message;
    const uses = this.#uses.get(`${proxyId} ${lease}`) ?? message.uses ?? [];
    const held = leases.get(lease);
    if (held === undefined)
      return this.#world.fail(
        `${proxyId} reroutes the lease ${lease}, which the daemon doesn't hold`,
      );
    if (held.target !== null) this.#world.count("reroute from a target that was never tried");
    this.#account.leaveTarget(held);
    const what = `reroute ${id} of ${proxyId}`;
    const { path } = held;
    const reroute = { isReroute: true, submission: false, fixed: false };
    const asked = { what, id, path, targets, uses, ...reroute };
    this.#mustAnswer(asked, nowMs, handle, (answer) => {
      const counted = this.#account.rerouted(holder, message, answer, this.#moment(nowMs));
      if (holder.tellsRead) this.verdicts.sent(proxyId, holder.end, counted);
      return path;
    });
  }

  /**
   * Lets the daemon answer, and compares the answer with the expected one. `count` counts an
   * admission and returns its path.
   */
  #mustAnswer(
    asked: Question,
    nowMs: number,
    handle: Handle,
    count: (answer: Admitted) => string,
  ): void {
    const { clockStepped } = this;
    const expected = this.#expect(this.#state!.book, { ...asked, nowMs, clockStepped });
    handle();
    const answer = mustAnswer(this.#world, asked, expected, this.#replies);
    if (answer === null) return;
    const path = count(answer);
    const wrongHeaders = expected.isExact ? expected.headers(answer, path) : null;
    if (wrongHeaders !== null) this.#world.fail(`${asked.what} ${wrongHeaders}`);
  }

  #onHello(holder: LeaseHolder, message: Hello, nowMs: number, handle: Handle): void {
    if (holder.proxyId === "?") this.#arrives(holder, message.proxyId, message.id);
    if (!message.more)
      this.#expectedProxies = this.#expectedProxies.filter(
        ({ proxyId }) => proxyId !== message.proxyId,
      );
    handle();
    if (holder.hasLeft) return;
    for (const lease of message.leases) this.#account.reported(holder, lease, this.#moment(nowMs));
  }

  /** Messages that still arrive on the proxy's earlier connection aren't answered any more. */
  #arrives(holder: LeaseHolder, proxyId: string, helloId: number): void {
    for (const known of this.#holders.values()) {
      if (known.proxyId !== proxyId || known.hasLeft) continue;
      const earlier = known.helloId > helloId ? holder : known;
      earlier.hasLeft = true;
      this.#waiting.left(earlier);
      this.#account.closed(earlier);
    }
    Object.assign(holder, { proxyId, helloId });
  }

  #onIgnored(handle: Handle): void {
    handle();
    if (this.#replies.length > 0) this.#world.fail("a connection that was left is answered");
    this.#world.count("question of a connection that was left");
  }

  #onSettle(holder: LeaseHolder, message: Settle, nowMs: number, handle: Handle): void {
    const isNew = this.#settles.arrived(holder.proxyId, message.seq);
    handle();
    if (isNew) return this.#account.settled(holder, message, this.#moment(nowMs));
    this.#world.count("settle repeated");
    this.#account.repeated(holder, message);
  }

  #onAdmin(peer: PeerState, message: Admin, nowMs: number, handle: Handle): void {
    const before = new Set(this.#truth.generations.keys());
    handle();
    this.#rules.operated(peer, message, {
      tick: this.#tick,
      nowMs,
      state: this.#state!,
      answered: this.#replies.some((sent) => sent.kind === "answer" && sent.id === message.id),
    });
    if ([...this.#truth.generations.keys()].some((id) => !before.has(id)))
      this.#rulesSinceMs = before.size === 0 ? nowMs : Math.min(this.#rulesSinceMs, nowMs);
    if ([...before].some((id) => !this.#truth.generations.has(id)))
      this.#rulesSinceMs = Math.min(
        ...[...this.#state!.book.rules.values()].map(({ createdAtMs }) => createdAtMs),
      );
  }

  #moment(nowMs: number): Moment {
    return {
      tick: this.#tick,
      epoch: this.#epoch,
      nowMs,
      lsn: this.#state!.writer.lsn,
      rulesSinceMs: this.#rulesSinceMs,
    };
  }

  sent(peer: PeerState, message: FromDaemon, nowMs: number): void {
    this.#replies.push(message);
    const holder = this.#holders.get(peer);
    const proxyId = holder?.proxyId ?? "?";
    this.#world.trace(`daemon → ${proxyId} ${describeMessage(message)}`);
    if (message.kind === "answer") this.#rules.answered(peer, message.id);
    if (message.kind === "settled")
      this.#settles.acknowledged(proxyId, message.seq, { inWelcome: false });
    if (message.kind === "welcome")
      this.#settles.acknowledged(proxyId, message.settledSeq, { inWelcome: true });
    if (holder !== undefined && (message.kind === "admitted" || message.kind === "refused"))
      this.#answered(holder, message, nowMs);
  }

  /**
   * An answer must be sent while its question's frame is handled, unless the request has waited.
   */
  #answered(holder: LeaseHolder, answer: Admitted | Refused, nowMs: number): void {
    const waiting = this.#waiting.find(holder, answer.id);
    if (waiting === undefined) {
      if (!this.#inFrame) this.#world.fail(`${holder.proxyId} is answered without a question`);
      return;
    }
    this.#waiting.remove(holder, answer.id);
    this.#late.push({ waiting, answer });
    if (!this.#inFrame) this.#judgeLate(nowMs);
  }

  closed(peer: PeerState): void {
    this.#tick++;
    const holder = this.#holders.get(peer);
    this.#holders.delete(peer);
    this.#world.trace(
      `daemon lost ${holder?.proxyId ?? "?"} with ${holder?.leases.size ?? 0} leases`,
    );
    if (holder === undefined) return;
    this.#waiting.left(holder);
    this.#account.closed(holder);
  }

  /** A commit is on the disk. */
  applied(changes: readonly Change[]): void {
    this.#settles.applied(changes);
    const tables = new Set(changes.map(({ table }) => table));
    this.#world.trace(`disk has ${changes.length} changes: ${[...tables].join(" ")}`);
  }

  /** Compares the daemon's counters with the truth. */
  check(nowMs: number): void {
    this.#rules.latestMs = Math.max(this.#rules.latestMs, nowMs);
    // Comparing would load the rules that the daemon has left in its store.
    if (this.#state?.book.ruleSet.isRead !== true) return;
    this.#checks++;
    // Only messages change counters, except for the sweep of idle children, which every 32nd check
    // covers.
    if (this.#comparedTick === this.#tick && this.#checks % 32 !== 0) return;
    this.#comparedTick = this.#tick;
    const { clockStepped } = this;
    const found = counterDifference(this.#truth, this.#state.book, { nowMs, clockStepped });
    if (found !== null) this.#world.fail(found);
  }
}
