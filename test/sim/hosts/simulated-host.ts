/**
 * One host of the simulation: a daemon with its share of the counters, and one proxy, which asks
 * for requests and ends them. Frames, handlers and store are the product's; the engine is the twin.
 */
import { settleMs } from "../../../limiterd/bounds.js";
import type { Rule } from "../../../limiterd/counters/counter.js";
import { restateBook } from "../../../limiterd/shares/sync/restate-book.js";
import { shareCounters } from "../../../limiterd/shares/sync/share-counters.js";
import type { ShareSync } from "../../../limiterd/shares/sync/share-sync.js";
import type { ClusterFailureMode } from "../../../shared/cluster/cluster-config.js";
import { type RuleDefinition, ruleId } from "../../../shared/domain/rule.js";
import type { Refused } from "../../../shared/wire/message-from-daemon.js";
import type { Lease } from "../../../shared/wire/message-to-daemon.js";
import {
  leaseOf,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
  target,
} from "../../limiterd/in-memory-daemon.js";
import { createMemoryStore } from "../../support/memory-store.js";
import type { Process, World } from "../world.js";
import type { SharedEngine } from "./shared-engine.js";

interface HostPorts {
  readonly world: World;
  readonly engine: SharedEngine;
  readonly rules: readonly RuleDefinition[];
  readonly hosts: number;
  readonly failureMode: ClusterFailureMode;
  /** Called when a request is admitted. The returned function is called when it is withdrawn. */
  onAdmitted(host: SimulatedHost, userPath: string): () => void;
  onRefused(host: SimulatedHost, breach: RuleBreach): void;
  onCharged(userPath: string, tokens: number): void;
  /** An engine that lost its data has granted something to a host that didn't know of it. */
  onGrantedUnaware(): void;
}

export type RuleBreach = Pick<Refused, "subject" | "periodSeconds" | "dimension">;

interface Running {
  readonly lease: Lease;
  readonly withdraw: () => void;
}

export class SimulatedHost {
  readonly id: string;
  readonly #ports: HostPorts;
  readonly #store = createMemoryStore();
  /** How far its wall clock is ahead of the world's time. */
  wallAheadMs: number;
  /** Until then it doesn't reach the engine. */
  cutUntilMs = 0;
  /** The engine's epoch that it knows. */
  #epoch: number;
  #starts = 0;
  #asked = 0;
  #settled = 0;
  /** How many of the daemon's messages the proxy has read. */
  #read = 0;
  process!: Process;
  daemon!: TestDaemon;
  shares!: ShareSync;
  #proxy!: TestPeer;
  readonly #paths = new Map<number, string>();
  readonly running = new Map<number, Running>();
  /** When the engine last answered it. */
  heardMs = 0;

  constructor(id: string, wallAheadMs: number, ports: HostPorts) {
    this.id = id;
    this.wallAheadMs = wallAheadMs;
    this.#ports = ports;
    this.#epoch = ports.engine.epoch;
    this.start();
  }

  get nowMs(): number {
    return Math.floor(this.#ports.world.nowMs + this.wallAheadMs);
  }

  get isCut(): boolean {
    return this.#ports.world.nowMs < this.cutUntilMs;
  }

  start(): void {
    const { world, engine, rules, hosts, failureMode } = this.#ports;
    const process = world.process(this.id);
    this.process = process;
    const daemon = startDaemon(rules, { store: this.#store, nowMs: this.nowMs });
    this.daemon = daemon;
    const asker = { hostId: this.id, start: ++this.#starts };
    const port = engine.portOf(asker, process, () => this.isCut);
    const shares = shareCounters(
      daemon.state.book,
      {
        shared: {
          read: port.read,
          sync: async (questions) => {
            const known = this.#epoch;
            const replies = await port.sync(questions);
            this.heardMs = world.nowMs;
            const grants = replies.some(({ granted, slotsGranted }) => granted + slotsGranted > 0);
            if (grants && known !== engine.epoch) this.#ports.onGrantedUnaware();
            return replies;
          },
        },
        monoMs: () => world.nowMs,
        nowMs: () => this.nowMs,
        lsn: () => daemon.state.writer.lsn,
        schedule: (ms, run) => void world.after(ms, process, run),
        isRestoring: () => false,
        generationOf: () => 0,
        onShared() {},
      },
      failureMode,
    );
    shares.turn.hostCount = hosts;
    daemon.state.shares = shares;
    this.shares = shares;
    world.every(50, process, () => this.#turn(() => void daemon.commit()));
    world.every(10, process, () => this.#noticeEpoch());
    const leases = [...this.running.values()].map(({ lease }) => lease);
    this.#proxy = daemon.proxy(`proxy-of-${this.id}`, leases);
    this.#read = 0;
  }

  /** Tells the host of another cap. */
  edit(definition: RuleDefinition): void {
    if (this.process.alive) this.#rule(definition).edit(definition, "config", this.nowMs);
  }

  /** The cap by which it judges. */
  capOf(definition: RuleDefinition): number {
    return this.#rule(definition).definition.maxRequests!;
  }

  #rule(definition: RuleDefinition): Rule {
    return this.daemon.state.book.ruleSet.get(ruleId(definition))!;
  }

  /** Notices another epoch of the engine as soon as it reaches the engine. */
  #noticeEpoch(): void {
    const { engine } = this.#ports;
    if (this.isCut || this.#epoch === engine.epoch) return;
    this.#epoch = engine.epoch;
    this.shares.restateAll(settleMs);
    const { book } = this.daemon.state;
    void restateBook(book, this.shares, { nowMs: this.nowMs, yieldToEventLoop: async () => {} });
  }

  /** Kills the daemon, and perhaps the proxy with its requests; the daemon starts again later. */
  kill(afterMs: number, endsRequests: boolean): void {
    const { world } = this.#ports;
    world.kill(this.process);
    if (endsRequests) this.running.clear();
    this.#paths.clear();
    world.after(afterMs, null, () => this.start());
  }

  ask(userPath: string): number {
    const id = ++this.#asked;
    this.#paths.set(id, userPath);
    this.#turn(() =>
      this.#proxy.send({
        read: 0,
        kind: "admit",
        id,
        userPath,
        credential: "authenticated",
        targets: [target],
        submission: false,
      }),
    );
    return id;
  }

  /** The kind of the answer to a request; null if there is none yet. */
  answerTo(id: number): string | null {
    return this.#proxy.received.find((each) => "id" in each && each.id === id)?.kind ?? null;
  }

  end(id: number, tokens: number): void {
    const running = this.running.get(id);
    if (running === undefined) return;
    this.running.delete(id);
    this.#ports.onCharged(running.lease.userPath, tokens);
    this.#turn(() => this.#proxy.send(settleOf(running.lease, ++this.#settled, tokens)));
  }

  withdraw(id: number): void {
    const running = this.running.get(id);
    if (running === undefined) return;
    this.running.delete(id);
    running.withdraw();
    const settle = settleOf(running.lease, ++this.#settled, 0);
    this.#turn(() => this.#proxy.send({ ...settle, part: "withdrawn" }));
  }

  #turn(run: () => void): void {
    this.daemon.nowMs = this.nowMs;
    run();
  }

  /** Reads new verdicts. */
  read(onAdmitted: (id: number) => void): void {
    this.daemon.nowMs = this.nowMs;
    const { received } = this.#proxy;
    for (; this.#read < received.length; this.#read++) {
      const answer = received[this.#read]!;
      if (answer.kind === "refused") this.#ports.onRefused(this, answer);
      if (answer.kind !== "admitted") continue;
      const userPath = this.#paths.get(answer.id)!;
      this.running.set(answer.id, {
        lease: leaseOf(answer, userPath),
        withdraw: this.#ports.onAdmitted(this, userPath),
      });
      onAdmitted(answer.id);
    }
  }
}
