/**
 * An engine in memory, and connections of several hosts to it. Scripts are answered by twins in
 * TypeScript, registered by the script's name. Everything happens at once, in the order of the
 * calls; answers come in a later turn. Nothing is heard on channels: hosts must ask.
 */
import {
  EngineAwayError,
  type EngineCommands,
  type EngineConnection,
  EngineRefusedError,
  type EngineState,
  type EngineValue,
} from "../../../limiterd/cluster/engine/engine.js";

/** What a twin works on: as the commands, but at once. */
export interface FakeData {
  readonly strings: Map<string, string>;
  readonly hashes: Map<string, Map<string, string>>;
  /** Members with their scores. */
  readonly sorted: Map<string, Map<string, number>>;
}

export type ScriptTwin = (
  data: FakeData,
  keys: readonly string[],
  args: readonly string[],
  nowMs: number,
) => EngineValue;

export interface FakeEngine {
  readonly data: FakeData;
  nowMs: number;
  /** Connections are `connected` from the start. */
  connect(): FakeConnection;
  script(name: string, twin: ScriptTwin): void;
  /** Forgets all, and is another epoch. */
  wipe(): void;
}

export interface FakeConnection extends EngineConnection {
  away(reason: string): void;
  back(): void;
  /** The next answers are lost: what was asked is done, and the call rejects. */
  loseAnswers(count: number): void;
}

export function createFakeEngine(nowMs = 1_800_000_000_000): FakeEngine {
  const data: FakeData = { strings: new Map(), hashes: new Map(), sorted: new Map() };
  const expiries = new Map<string, number>();
  const twins = new Map<string, ScriptTwin>();
  const connections = new Set<{ changed(): void }>();
  const engine = {
    data,
    nowMs,
    epoch: 1,
    expiries,
    twins,
    connections,
    connect: () => connect(engine),
    script: (name: string, twin: ScriptTwin) => void twins.set(name, twin),
    wipe() {
      data.strings.clear();
      data.hashes.clear();
      data.sorted.clear();
      engine.epoch++;
      for (const connection of connections) connection.changed();
    },
  };
  return engine;
}

interface Inner extends FakeEngine {
  readonly epoch: number;
  readonly expiries: Map<string, number>;
  readonly twins: ReadonlyMap<string, ScriptTwin>;
  readonly connections: Set<{ changed(): void }>;
}

function connect(engine: Inner): FakeConnection {
  const watchers = new Set<(state: EngineState) => void>();
  let state: EngineState = connected();
  let lost = 0;
  function connected(): EngineState {
    return { kind: "connected", epoch: `epoch-${engine.epoch}`, serversAway: [] };
  }
  function become(next: EngineState): void {
    state = next;
    for (const changed of watchers) changed(state);
  }
  async function ask<T>(work: () => T): Promise<T> {
    if (state.kind !== "connected") throw new EngineAwayError("the engine is away");
    expire(engine);
    const answer = work();
    await new Promise<void>((resolve) => setImmediate(resolve));
    if (lost > 0) {
      lost--;
      throw new EngineAwayError("no answer in time");
    }
    return answer;
  }
  const inList = { changed: () => state.kind === "connected" && become(connected()) };
  engine.connections.add(inList);
  return {
    get state() {
      return state;
    },
    commands: commandsOn(engine, ask),
    call: (script, keys, args) =>
      ask(() => {
        const twin = engine.twins.get(script.name);
        if (twin === undefined) throw new Error(`no twin of the script ${script.name}`);
        return twin(engine.data, keys, args.map(String), engine.nowMs);
      }),
    subscribe: () => () => {},
    reception: () => ({
      isConfirmed: state.kind === "connected",
      subscribers: engine.connections.size,
    }),
    watch(changed) {
      watchers.add(changed);
      return () => void watchers.delete(changed);
    },
    async close() {
      engine.connections.delete(inList);
      state = { kind: "away", reason: "closed", sinceMs: engine.nowMs };
    },
    away: (reason) => become({ kind: "away", reason, sinceMs: engine.nowMs }),
    back: () => become(connected()),
    loseAnswers(count) {
      lost = count;
    },
  };
}

function expire({ data, expiries, nowMs }: Inner): void {
  for (const [key, atMs] of expiries)
    if (atMs <= nowMs) {
      expiries.delete(key);
      remove(data, key);
    }
}

function remove(data: FakeData, key: string): number {
  const maps = [data.strings, data.hashes, data.sorted];
  return maps.map((map) => map.delete(key)).includes(true) ? 1 : 0;
}

function commandsOn(engine: Inner, ask: <T>(work: () => T) => Promise<T>): EngineCommands {
  const { data } = engine;
  const strings = (key: string) => checked(data, data.strings, key);
  const hash = (key: string) => part(data, data.hashes, key);
  return {
    get: (key) => ask(() => strings(key).get(key) ?? null),
    set: (key, value, options) =>
      ask(() => {
        remove(data, key);
        data.strings.set(key, value);
        engine.expiries.delete(key);
        if (options?.expiresMs !== undefined)
          engine.expiries.set(key, engine.nowMs + options.expiresMs);
      }),
    del: (key) => ask(() => remove(data, key)),
    pexpire: (key, ms) =>
      ask(() => {
        if (!Object.values(data).some((map) => map.has(key))) return false;
        engine.expiries.set(key, engine.nowMs + ms);
        return true;
      }),
    hget: (key, field) => ask(() => hash(key).get(field) ?? null),
    hgetall: (key) => ask(() => new Map(hash(key))),
    hset: (key, fields) =>
      ask(() => {
        const before = hash(key).size;
        for (const [field, value] of Object.entries(fields)) hash(key).set(field, value);
        return hash(key).size - before;
      }),
    hdel: (key, fields) => ask(() => fields.filter((field) => hash(key).delete(field)).length),
    time: () => ask(() => engine.nowMs),
  };
}

/** As the engine: a key has one type, and what is empty isn't there. */
function checked<M>(data: FakeData, own: ReadonlyMap<string, M>, key: string): typeof own {
  for (const other of Object.values(data))
    if (other !== own && other.has(key) && (other.get(key).size ?? 1) > 0)
      throw new EngineRefusedError(
        "WRONGTYPE Operation against a key holding the wrong kind of value",
      );
  return own;
}

function part<V>(data: FakeData, own: Map<string, Map<string, V>>, key: string): Map<string, V> {
  checked(data, own, key);
  const found = own.get(key) ?? new Map<string, V>();
  own.set(key, found);
  return found;
}
