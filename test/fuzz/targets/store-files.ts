/**
 * Stores whose entries were damaged: values of another form, keys that are gone, doubled or
 * changed. A start says which entry can't be read, or goes on without it; a daemon that has started
 * works, and what it finds later it reports.
 */
import type { Change, Table } from "../../../limiterd/store/store.js";
import { StoreUnreadableError, tables } from "../../../limiterd/store/store.js";
import { isObject } from "../../../shared/checked.js";
import { wireVersion } from "../../../shared/version.js";
import { adminOps } from "../../../shared/wire/admin-op.js";
import { encodeFrame } from "../../../shared/wire/codec.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { writeFromDaemon } from "../../../shared/wire/message-from-daemon.js";
import type { ToDaemon } from "../../../shared/wire/message-to-daemon.js";
import {
  ask,
  askFor,
  executed,
  settleOf,
  startDaemon,
  type TestDaemon,
} from "../../limiterd/in-memory-daemon.js";
import type { Random } from "../../sim/random.js";
import { createMemoryStore, type MemoryStore } from "../../support/memory-store.js";
import { type FuzzTarget, must } from "../fuzz-target.js";
import { JsonMutator } from "../mutate/mutate-json.js";
import { mutateText, oddNumber } from "../mutate/odd-values.js";
import { keyHash, toDaemonSamples } from "../samples/frame-samples.js";
import { committing, mustCountSanely } from "./daemon-checks.js";
import { configuredBudgets, configuredRules } from "./daemon-scene.js";

const options = { budgets: configuredBudgets, labelsOf: () => ["research"] };

/** A store with something in every table, some of it not written to its end. */
async function workedStore(): Promise<MemoryStore> {
  const daemon = startDaemon(configuredRules, options);
  for (const message of toDaemonSamples)
    if (message.kind === "admin" && /put|issue/.test(message.op))
      await ask(daemon, message.op, message.body).catch(() => {});
  const proxy = daemon.proxy("p1");
  for (let id = 1; id <= 12; id++) {
    const lease = askFor(proxy, id, id % 2 === 0 ? "/team/app" : "/team/x");
    if (lease !== null)
      proxy.send({ ...settleOf(lease, id, 30), record: executed({ requestId: `req_${id}` }) });
    daemon.nowMs += 3_600_000 * 5;
    if (id === 6) {
      await daemon.snapshot();
      await daemon.flush();
    }
    await daemon.commit();
  }
  await daemon.commit();
  return daemon.store;
}

class DamagedStores {
  readonly #entries: Change[] = [];
  readonly #mutator: JsonMutator;

  constructor(store: MemoryStore) {
    for (const table of tables)
      for (const { key, value } of store.entries(table)) this.#entries.push({ table, key, value });
    this.#mutator = new JsonMutator(
      this.#entries.map(({ value }) => value),
      { levels: 1000, items: 10_000, chars: 100_000 },
    );
  }

  /** The worked store, with a few entries changed. */
  make(random: Random): MemoryStore {
    const maps = new Map<Table, Map<string | number, readonly unknown[]>>();
    for (const table of tables) maps.set(table, new Map());
    for (const { table, key, value } of this.#entries) maps.get(table)!.set(key, value!);
    for (let left = random.int(1, 3); left > 0; left--) {
      const { table, key, value } = random.pick(this.#entries);
      const map = maps.get(table)!;
      const kind = random.next();
      if (kind < 0.7) map.set(key, this.#damaged(value, random));
      else if (kind < 0.8) map.delete(key);
      else {
        if (random.chance(0.5)) map.delete(key);
        map.set(
          damagedKey(key, random),
          random.chance(0.5) ? value! : this.#damaged(value, random),
        );
      }
    }
    return createMemoryStore(maps);
  }

  #damaged(value: unknown, random: Random): readonly unknown[] {
    const mutated = this.#mutator.value(value, random);
    return Array.isArray(mutated) ? (mutated as unknown[]) : [mutated];
  }
}

/** Texts and numbers stay in order apart, as in LMDB: a table has keys of one type. */
function damagedKey(key: string | number, random: Random): string | number {
  return typeof key === "number"
    ? Math.abs(Math.round(oddNumber(random)))
    : mutateText(key, random);
}

/** An ordinary hour: everything is read once, something is counted, all is written. */
async function work(daemon: TestDaemon, random: Random): Promise<void> {
  const heard: FromDaemon[] = [];
  const cli = daemon.connect();
  cli.send({
    kind: "hello",
    id: 1,
    wireVersion,
    role: "cli",
    proxyId: "cli",
    leases: [],
    more: false,
  });
  const proxy = daemon.proxy("p1");
  const said: ToDaemon[] = adminOps
    .filter((op) => random.chance(0.4) && !/put|issue/.test(op))
    .map((op, i) => ({ kind: "admin", id: 10 + i, op, body: random.pick(bodiesOf(op)) }));
  for (const message of said) cli.send(message);
  const lease = askFor(proxy, 100, "/team/app");
  if (lease !== null) proxy.send({ ...settleOf(lease, 100, 7), record: executed() });
  proxy.send({
    read: 0,
    kind: "admit",
    id: 101,
    userPath: "/",
    credential: keyHash,
    targets: [{ provider: "openai", model: "gpt-4o" }],
    submission: false,
  });
  await committing(daemon, daemon.snapshot());
  await committing(daemon, daemon.flush());
  daemon.nowMs += 86_400_000;
  for (let turns = 0; turns < 3; turns++) await daemon.commit();
  heard.push(...cli.received, ...proxy.received);
  for (const message of heard) encodeFrame(writeFromDaemon(message));
}

function bodiesOf(op: string): readonly unknown[] {
  const bodies = toDaemonSamples.flatMap((message) =>
    message.kind === "admin" && message.op === op ? [message.body] : [],
  );
  must(bodies.every(isObject), "bodies are objects");
  return bodies;
}

export const storeFiles: FuzzTarget = {
  name: "store-files",
  share: 0.25,
  async open() {
    const stores = new DamagedStores(await workedStore());
    return {
      async run(random) {
        let daemon: TestDaemon;
        try {
          daemon = startDaemon(configuredRules, { ...options, store: stores.make(random) });
        } catch (error) {
          if (!(error instanceof StoreUnreadableError)) throw error;
          must(
            /the entry [^]* of [a-z]+/.test(error.message),
            `it names no entry: ${error.message}`,
          );
          return 1;
        }
        await work(daemon, random);
        mustCountSanely(daemon);
        return 1;
      },
      close: () => Promise.resolve(),
    };
  },
};
