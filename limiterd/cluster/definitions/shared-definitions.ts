/**
 * Shares definitions between all hosts. The engine decides each change in one step, which fails if
 * another host has changed the same definition meanwhile. Then every host applies the change in the
 * same way, including the one that asked. A host reads missed changes when they are announced, and
 * once a second. If host and engine may each have definitions that the other lacks, the host
 * reconciles them. One operation runs at a time, so that each change is checked against all known
 * definitions.
 */

import type { Change } from "../../store/store.js";
import { EngineAwayError, EngineRefusedError } from "../engine/engine.js";
import { type AuditedProposal, allRules, type Definition } from "./definition.js";
import type { DefinitionCopy } from "./definition-copy.js";
import {
  type DefinitionEngine,
  type DefinitionPage,
  type DefinitionsState,
  definitionsPerPage,
  readAllDefinitions,
  type StampedDefinition,
} from "./definition-engine.js";
import {
  isInForce,
  type OwnDefinition,
  planReconciling,
  type RenumberedKey,
} from "./plan-reconciling.js";

/**
 * The result of applying definitions in memory; both promises resolve as in
 * `handlers/definitions/apply-definitions.ts`.
 */
export interface AppliedHere {
  readonly written: Promise<Error | null>;
  readonly followed: Promise<unknown>;
}

interface Ports {
  readonly engine: DefinitionEngine;
  readonly copy: DefinitionCopy;
  /** Applies definitions in memory immediately; their commit includes `also`. */
  apply(definitions: readonly Definition[], also: readonly Change[]): AppliedHere;
  /** The definitions that this host has made without the engine. */
  own(): readonly OwnDefinition[];
  /** An id for a cluster that has none. */
  newClusterId(): string;
  /** Whether the engine was reachable at its last check. */
  isReached(): boolean;
  /** Resolves once the effects of a change can be applied. */
  readonly ready: Promise<void>;
  readonly log: DefinitionsLog;
}

/** The log messages about definitions. */
export interface DefinitionsLog {
  onJoin(counts: { readonly adopted: number; readonly reported: number }): void;
  onReplaced(definitions: readonly Definition[]): void;
  onRenumbered(keys: readonly RenumberedKey[]): void;
  onUnreadable(fields: readonly string[]): void;
}

/** The outcome of a change. */
export type Decided =
  /** `propose` returned null. */
  | { readonly kind: "withdrawn" }
  | { readonly kind: "applied"; readonly proposal: AuditedProposal; readonly applied: AppliedHere }
  /** `mayHold`: the engine may have applied the change although its answer was lost. */
  | { readonly kind: "away"; readonly reason: string; readonly mayHold: boolean }
  /** Other hosts have changed the same definitions in every attempt. */
  | { readonly kind: "contended" };

/** The state of the copy after an update, and the definitions that the update deletes. */
interface CopyUpdate {
  readonly state: Pick<DefinitionsState, "order" | "clusterId" | "trimmed">;
  readonly forgotten?: readonly StampedDefinition[];
}

/** Attempts at a change that conflicts with other hosts' changes. */
const attemptsMax = 10;

export class SharedDefinitions {
  readonly #ports: Ports;
  /** The end of the last operation. */
  #last: Promise<unknown> = Promise.resolve();
  #isRefreshQueued = false;
  /** Whether host and engine have the same definitions. */
  #isJoined = false;
  /** The most unreadable definitions that a page had. */
  #unreadableCount = 0;

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** As `DefinitionCopy.state`. */
  get state(): DefinitionsState {
    return this.#ports.copy.state;
  }

  /** The generation of a rule's counters, which each reset raises; 0 before the first. */
  generationOf(ruleId: string): number {
    const { copy } = this.#ports;
    return Math.max(copy.resetOf(ruleId), copy.resetOf(allRules));
  }

  /**
   * Makes a change. `propose` checks the current definitions and is called again if they have
   * changed. It returns null to withdraw.
   */
  change(propose: () => AuditedProposal | null): Promise<Decided> {
    return this.#exclusively(async () => {
      let mayHold = false;
      try {
        await this.#ports.ready;
        if (!this.#isJoined) await this.#reconcile();
        for (let attempt = 0; attempt < attemptsMax; attempt++) {
          const proposal = propose();
          if (proposal === null) return { kind: "withdrawn" };
          mayHold = this.#ports.isReached();
          const applied = await this.#write(proposal);
          if (applied !== null) return { kind: "applied", proposal, applied };
          mayHold = false;
        }
        return { kind: "contended" };
      } catch (error) {
        if (error instanceof EngineAwayError)
          return { kind: "away", reason: error.message, mayHold };
        if (error instanceof EngineRefusedError)
          return { kind: "away", reason: error.message, mayHold: false };
        throw error;
      }
    });
  }

  /**
   * Reads what has changed. Resolves when this host has everything that the engine had, or when a
   * later call will read the rest. Rejects as `EngineConnection.call`.
   */
  refresh(): Promise<void> {
    // The call that waits already will read everything.
    if (this.#isRefreshQueued) return this.#last.then(() => {});
    this.#isRefreshQueued = true;
    return this.#exclusively(async () => {
      this.#isRefreshQueued = false;
      await this.#ports.ready;
      if (this.#isJoined) await this.#read();
      else await this.#reconcile();
    });
  }

  /** Call when the engine may have lost data: the next operation reconciles first. */
  distrust(): void {
    this.#isJoined = false;
  }

  /** Removes definitions that were deleted before a stamp, one page per call. */
  trim(beforeStamp: number): Promise<unknown> {
    return this.#exclusively(() => this.#ports.engine.trim(beforeStamp));
  }

  #exclusively<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => {});
    return done;
  }

  /** Asks the engine to decide a change, and applies it. Null: it must be proposed again. */
  async #write({ definitions, audit }: AuditedProposal): Promise<AppliedHere | null> {
    const { engine, copy } = this.#ports;
    if (definitions.length === 0) return this.#apply([], { state: copy.state });
    const answer = await engine.write(copy.state.order, definitions);
    if (answer.kind === "behind") await this.#reconcile();
    if (answer.kind === "conflict") await this.#read();
    if (answer.kind !== "written") return null;
    const { before, stamp } = answer;
    const { order, clusterId, trimmed } = copy.state;
    // If other hosts have changed definitions before, the next read starts with those; it returns
    // this change again, which is known then.
    const state = { order: before === order ? stamp : order, clusterId, trimmed };
    const stamped = definitions.map((definition) => ({ ...definition, stamp }));
    return this.#apply(stamped, { state }, audit());
  }

  async #read(): Promise<void> {
    const { engine, copy } = this.#ports;
    for (;;) {
      const page = await engine.read(copy.state.order);
      if (page.order < copy.state.order || page.clusterId !== copy.state.clusterId)
        return this.#reconcile();
      this.#noteUnreadable(page);
      const { clusterId, trimmed } = page;
      const newer = page.changed.filter((definition) => this.#isNewer(definition));
      if (newer.length > 0 || page.upTo !== copy.state.order)
        await this.#apply(newer, { state: { order: page.upTo, clusterId, trimmed } }).written;
      if (page.upTo !== page.order) continue;
      const { sum, live } = copy.state;
      // The engine has definitions that this host never read, or has lost some.
      if ((sum !== page.sum || live !== page.live) && this.#unreadableCount === 0)
        await this.#reconcile();
      return;
    }
  }

  #isNewer(definition: StampedDefinition): boolean {
    const known = this.#ports.copy.get(definition);
    return known === null || isInForce(definition, known);
  }

  /** Resolves when both sides have the same definitions. */
  async #reconcile(): Promise<void> {
    const { copy, engine, log } = this.#ports;
    const isFirst = copy.state.clusterId === null;
    for (let attempt = 0; attempt < attemptsMax; attempt++) {
      const { state, all } = await readAllDefinitions(engine, (page) => this.#noteUnreadable(page));
      const plan = planReconciling({
        engine: { state, all },
        copy: { clusterId: copy.state.clusterId, all: copy.all() },
        own: this.#unsharedOwn(),
      });
      const clusterId = state.clusterId ?? copy.state.clusterId ?? this.#ports.newClusterId();
      const trimmed = Math.max(state.trimmed, copy.state.trimmed);
      const knownState = { clusterId, trimmed, order: copy.state.order };
      let refused = 0;
      const reported = [...plan.reported, ...plan.joined];
      for (let i = 0; i < Math.max(reported.length, 1); i += definitionsPerPage)
        refused += await engine.restate(knownState, reported.slice(i, i + definitionsPerPage));
      if (refused > 0) continue;
      const forgotten = plan.deleted.map((definition) => ({ ...definition, value: null }));
      // Applies the engine's definitions first: a key of this host may have been renumbered because
      // one of them has its number.
      await this.#apply([...plan.adopted, ...plan.joined], {
        state: { order: state.order, clusterId, trimmed },
        forgotten,
      }).written;
      this.#isJoined = true;
      if (isFirst) log.onJoin({ adopted: plan.adopted.length, reported: reported.length });
      if (plan.replaced.length > 0) log.onReplaced(plan.replaced);
      if (plan.renumbered.length > 0) log.onRenumbered(plan.renumbered);
      return;
    }
  }

  #unsharedOwn(): readonly OwnDefinition[] {
    return this.#ports.own().filter((definition) => this.#ports.copy.get(definition) === null);
  }

  #apply(
    definitions: readonly StampedDefinition[],
    { state, forgotten = [] }: CopyUpdate,
    audit: readonly Change[] = [],
  ): AppliedHere {
    const update = this.#ports.copy.take(definitions, state, forgotten);
    const applied = this.#ports.apply(
      [...definitions, ...forgotten],
      [...update.changes, ...audit],
    );
    return {
      written: applied.written.then((failing) => {
        if (failing === null) update.committed();
        return failing;
      }),
      followed: applied.followed,
    };
  }

  #noteUnreadable({ unreadable }: DefinitionPage): void {
    if (unreadable.length > this.#unreadableCount) this.#ports.log.onUnreadable(unreadable);
    this.#unreadableCount = Math.max(this.#unreadableCount, unreadable.length);
  }
}
