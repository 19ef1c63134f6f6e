/**
 * Shares this daemon's definitions with the other hosts: decides when to ask the engine for
 * changes, and collects the definitions that this host brings along when it joins.
 */

import { defaultAnchors } from "../../../shared/domain/reset-anchors.js";
import { dayMs } from "../../../shared/time.js";
import { definitionOf } from "../../cluster/definitions/definition.js";
import { DefinitionCopy } from "../../cluster/definitions/definition-copy.js";
import {
  createDefinitionEngine,
  definitionsChannel,
} from "../../cluster/definitions/definition-engine.js";
import type { OwnDefinition } from "../../cluster/definitions/plan-reconciling.js";
import {
  type DefinitionsLog,
  SharedDefinitions,
} from "../../cluster/definitions/shared-definitions.js";
import {
  EngineAwayError,
  type EngineConnection,
  EngineRefusedError,
  type EngineState,
} from "../../cluster/engine/engine.js";
import { ruleChange } from "../../rules/stored-rule.js";
import type { DaemonState } from "../../state.js";
import { anchorsDefinition, budgetDefinition } from "./apply-budgets.js";
import { denialDefinition, keyDefinition } from "./apply-credentials.js";
import { applyDefinitions } from "./apply-definitions.js";
import { allRaises } from "./apply-raises.js";

interface SharingPorts {
  readonly engine: EngineConnection;
  readonly clusterName: string;
  nowMs(): number;
  /** Runs `run` every `ms`; returns a function that stops it. */
  every(ms: number, run: () => void): () => void;
  /** A random id. */
  newId(): string;
  /** Resolves once the spend of budgets is loaded. */
  readonly accountsLoaded: Promise<void>;
  readonly log: SharingLog;
  /** Called with an unexpected error. */
  onBroken(error: Error): void;
}

export interface SharingLog extends DefinitionsLog {
  /** Definitions that were skipped, each with what is wrong with it. */
  skipped(flaws: readonly string[]): void;
  /** The engine has answered with an error. */
  refused(reason: string): void;
}

/**
 * How often the host asks the engine for changes, in case their announcement didn't arrive, in ms.
 */
const refreshMs = 1000;
/** How long the engine remembers deletions. */
const deletedDays = 30;
/** How often the host removes old deletions from the engine, in ms. */
const trimMs = 10 * 60_000;

/** Begins to share definitions; returns a function that stops it. */
export function shareDefinitions(state: DaemonState, ports: SharingPorts): () => void {
  const { engine, clusterName, log, nowMs } = ports;
  const definitions = new SharedDefinitions({
    engine: createDefinitionEngine(engine, clusterName),
    copy: new DefinitionCopy(state.store),
    apply(changed, also) {
      const applied = applyDefinitions(state, changed, nowMs(), also);
      if (applied.flaws.length > 0)
        log.skipped(
          applied.flaws.map(({ definition: { kind, key }, flaw }) => `${kind} ${key}: ${flaw}`),
        );
      return applied;
    },
    own: () => ownDefinitions(state),
    newClusterId: ports.newId,
    isReached: () => engine.state.kind === "connected",
    ready: ports.accountsLoaded,
    log,
  });
  state.sharedDefinitions = definitions;
  const attempt = (work: Promise<unknown>): void =>
    void work.catch((error: unknown) => {
      if (error instanceof EngineAwayError) return;
      if (error instanceof EngineRefusedError) log.refused(error.message);
      else ports.onBroken(error as Error);
    });
  const refresh = (): void => {
    // A failing store must not get more waiting changes.
    if (engine.state.kind === "connected" && !state.writer.isFull) attempt(definitions.refresh());
  };
  let epoch: string | null = null;
  const connected = (now: EngineState): void => {
    if (now.kind !== "connected") return;
    if (epoch !== null && now.epoch !== epoch) definitions.distrust();
    epoch = now.epoch;
    refresh();
  };
  const stops = [
    engine.subscribe(definitionsChannel(clusterName), refresh),
    engine.watch(connected),
    ports.every(refreshMs, refresh),
    ports.every(trimMs, () => {
      const beforeMs = nowMs() - deletedDays * dayMs;
      if (engine.state.kind === "connected") attempt(definitions.trim(beforeMs * 1000));
    }),
  ];
  connected(engine.state);
  return () => {
    for (const stop of stops) stop();
  };
}

/**
 * The definitions that were made on this host. Rules and budgets of its configuration aren't
 * shared.
 */
function ownDefinitions({ book, budgets, keys, denials }: DaemonState): OwnDefinition[] {
  const own: OwnDefinition[] = [];
  for (const rule of book.sorted()) {
    if (rule.source !== "manual") continue;
    const change = ruleChange({ ...rule, id: rule.id, sinceLsn: 0 });
    own.push({ ...definitionOf("rules", change), changedAtMs: rule.updatedAtMs });
  }
  for (const budget of budgets.sorted()) {
    if (budget.source !== "manual") continue;
    const changedAtMs = budget.updatedAtMs;
    own.push({ ...budgetDefinition(budget.definition, budget, changedAtMs), changedAtMs });
  }
  for (const raises of allRaises({ book, budgets })) own.push({ ...raises, changedAtMs: 0 });
  for (const key of keys.all()) own.push({ ...keyDefinition(key), changedAtMs: 0 });
  for (const denial of denials.all())
    own.push({ ...denialDefinition(denial), changedAtMs: denial.deniedAtMs });
  const anchors = anchorsDefinition(budgets.anchors);
  if (JSON.stringify(anchors) !== JSON.stringify(anchorsDefinition(defaultAnchors)))
    own.push({ ...anchors, changedAtMs: 0 });
  return own;
}
