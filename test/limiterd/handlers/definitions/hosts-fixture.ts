/** Hosts that share definitions over an engine in memory. */
import type { SharedDefinitions } from "../../../../limiterd/cluster/definitions/shared-definitions.js";
import { shareDefinitions } from "../../../../limiterd/handlers/definitions/share-definitions.js";
import { makeManagedKey } from "../../../../shared/domain/make-managed-key.js";
import type { RuleDefinition } from "../../../../shared/domain/rule.js";
import { addDefinitionTwins } from "../../../support/cluster/definition-twins.js";
import {
  createFakeEngine,
  type FakeConnection,
  type FakeEngine,
} from "../../../support/cluster/fake-engine.js";
import type { MemoryStore } from "../../../support/memory-store.js";
import { ask, commitUntil, startDaemon, type TestDaemon } from "../../in-memory-daemon.js";

export interface TestHost {
  readonly daemon: TestDaemon;
  readonly connection: FakeConnection;
  readonly definitions: SharedDefinitions;
  /** What was logged: a word and what it is about. */
  readonly log: readonly string[];
  /** Asks the engine for what it has missed, as each second. */
  refresh(): Promise<void>;
  ask(op: Parameters<typeof ask>[1], body: unknown): Promise<Record<string, unknown>>;
}

export function newEngine(): FakeEngine {
  const engine = createFakeEngine();
  addDefinitionTwins(engine);
  return engine;
}

interface HostOptions {
  readonly store?: MemoryStore;
  readonly rules?: readonly RuleDefinition[];
  readonly nowMs?: number;
}

let ids = 0;

/** A host that has joined, unless the engine is away. */
export async function startHost(
  engine: FakeEngine,
  { store, rules = [], nowMs = engine.nowMs }: HostOptions = {},
): Promise<TestHost> {
  const daemon = startDaemon(rules, { ...(store === undefined ? {} : { store }), nowMs });
  await daemon.commit();
  return join(engine, daemon);
}

/** Joins a daemon that has been alone. */
export async function join(engine: FakeEngine, daemon: TestDaemon): Promise<TestHost> {
  const connection = engine.connect();
  const log: string[] = [];
  shareDefinitions(daemon.state, {
    engine: connection,
    clusterName: "test",
    nowMs: () => daemon.nowMs,
    every: () => () => {},
    newId: () => `cluster-${++ids}`,
    accountsLoaded: Promise.resolve(),
    log: {
      onJoin: ({ adopted: taken, reported }) => void log.push(`joined ${taken} ${reported}`),
      onReplaced: (ones) => void log.push(`replaced ${ones.map(({ key }) => key).join()}`),
      onRenumbered: (keys) =>
        void log.push(`renumbered ${keys.map(({ from, to }) => `${from} ${to}`).join()}`),
      onUnreadable: (fields) => void log.push(`unreadable ${fields.join()}`),
      skipped: (flaws) => void log.push(`skipped ${flaws.join()}`),
      refused: (reason) => void log.push(`refused ${reason}`),
    },
    onBroken: (error) => {
      throw error;
    },
  });
  const definitions = daemon.state.sharedDefinitions!;
  const refresh = (): Promise<void> => commitUntil(daemon, definitions.refresh());
  await refresh();
  return {
    daemon,
    connection,
    definitions,
    log,
    refresh,
    ask: (op, body) => ask(daemon, op, body),
  };
}

/** Issues a key; returns its id and its hash. */
export async function issueKey(
  host: Pick<TestHost, "ask">,
  key: object = {},
): Promise<{ readonly id: string; readonly hash: string }> {
  const { hash, redacted } = makeManagedKey();
  const issued = await host.ask("keys.issue", { key_hash: hash, redacted_value: redacted, key });
  return { id: String(issued["id"]), hash };
}

/** What a host enforces of all that hosts share, without what is its own. */
export function sharedOf({ daemon: { state } }: Pick<TestHost, "daemon">): unknown {
  return {
    rules: state.book
      .sorted()
      .filter(({ source }) => source === "manual")
      .map(({ id, definition }) => [id, definition.maxRequests, definition.maxTokens]),
    generations: state.book.sorted().map(({ id }) => state.sharedDefinitions!.generationOf(id)),
    budgets: state.budgets.sorted().map(({ id, definition }) => [id, definition.amountUsd]),
    anchors: state.budgets.anchors,
    keys: state.keys
      .all()
      .map(({ id, hash, oldSecrets, deactivatedAtMs, deletedAtMs, name }) => [
        id,
        hash,
        oldSecrets.map((old) => [old.hash, old.untilMs]),
        deactivatedAtMs !== null,
        deletedAtMs !== null,
        name,
      ]),
    denials: [...state.denials.all()].map(({ value }) => value).sort(),
  };
}
