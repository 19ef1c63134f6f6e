/** What the engine's scripts on definitions do, for the engine in memory. */
import {
  readScript,
  restateScript,
  trimScript,
  writeScript,
} from "../../../limiterd/cluster/definitions/definition-scripts.js";
import type { FakeData, FakeEngine } from "./fake-engine.js";

const modulus = 2 ** 50;

interface Held {
  readonly stamp: number;
  readonly value: string;
}

class Definitions {
  readonly #defs: Map<string, string>;
  readonly #order: Map<string, number>;
  readonly #deleted: Map<string, number>;
  readonly #state: Map<string, string>;
  readonly #nowMs: number;

  constructor(data: FakeData, keys: readonly string[], nowMs: number) {
    this.#defs = hash(data.hashes, keys[0]!);
    this.#order = hash(data.sorted, keys[1]!);
    this.#deleted = hash(data.sorted, keys[2]!);
    this.#state = hash(data.hashes, keys[3]!);
    this.#nowMs = nowMs;
  }

  write(base: number, fields: readonly string[]): readonly string[] {
    const before = this.#read("order");
    if (before < base) return ["behind"];
    for (let i = 0; i < fields.length; i += 2)
      if ((this.#order.get(fields[i]!) ?? 0) > base) return ["conflict"];
    let at = this.#nextOrder(base);
    for (let i = 0; i < fields.length; i += 2)
      at = Math.max(at, (this.#held(fields[i]!)?.stamp ?? 0) + 1);
    for (let i = 0; i < fields.length; i += 2)
      this.#put(fields[i]!, { stamp: at, value: fields[i + 1]! }, at);
    this.#state.set("order", String(at));
    return ["written", String(before), String(at)];
  }

  page(after: number, most: number): readonly string[] {
    const all = [...this.#order].filter(([, at]) => at > after).sort(byScore);
    let found = all.slice(0, most);
    if (found.length === most) {
      const last = found.at(-1)![1];
      found = [...found.filter(([, at]) => at !== last), ...all.filter(([, at]) => at === last)];
    }
    return [
      ...["order", "sum", "live", "trimmed"].map((name) => String(this.#read(name))),
      this.#state.get("id") ?? "",
      ...found.flatMap(([field, at]) => [field, String(at), this.#defs.get(field)!]),
    ];
  }

  restate([id, trimmed, known, ...fields]: readonly string[]): number {
    if (!this.#state.has("id")) this.#state.set("id", id!);
    if (Number(trimmed) > this.#read("trimmed")) this.#state.set("trimmed", trimmed!);
    let at = this.#nextOrder(Math.max(Number(trimmed), Number(known)));
    let refused = 0;
    for (let i = 0; i < fields.length; i += 3) {
      const [field, stamp, value] = fields.slice(i, i + 3) as [string, string, string];
      const held = this.#held(field);
      if (Number(stamp) > (held?.stamp ?? 0))
        this.#put(field, { stamp: Number(stamp), value }, at++);
      else if (held?.value !== value) refused++;
    }
    if (fields.length === 0) {
      const live = [...this.#defs.keys()].map((field) => this.#held(field)!);
      this.#state.set("sum", "0");
      this.#state.set("live", "0");
      for (const { stamp, value } of live) if (value !== "null") this.#count(stamp, 1);
    }
    this.#state.set("order", String(at));
    return refused;
  }

  trim(before: number, most: number): number {
    const gone = [...this.#deleted]
      .filter(([, stamp]) => stamp < before)
      .sort(byScore)
      .slice(0, most);
    for (const [field, stamp] of gone) {
      this.#defs.delete(field);
      this.#order.delete(field);
      this.#deleted.delete(field);
      this.#state.set("trimmed", String(Math.max(stamp, this.#read("trimmed"))));
    }
    return gone.length;
  }

  #read(name: string): number {
    return Number(this.#state.get(name) ?? 0);
  }

  #held(field: string): Held | null {
    const packed = this.#defs.get(field);
    if (packed === undefined) return null;
    const at = packed.indexOf(":");
    return { stamp: Number(packed.slice(0, at)), value: packed.slice(at + 1) };
  }

  #nextOrder(above: number): number {
    return Math.max(this.#nowMs * 1000, this.#read("order") + 1, above + 1);
  }

  #count(stamp: number, sign: 1 | -1): void {
    const sum = (this.#read("sum") + modulus + sign * (stamp % modulus)) % modulus;
    this.#state.set("sum", String(sum));
    this.#state.set("live", String(this.#read("live") + sign));
  }

  #put(field: string, { stamp, value }: Held, at: number): void {
    const before = this.#held(field);
    if (before !== null && before.value !== "null") this.#count(before.stamp, -1);
    this.#defs.set(field, `${stamp}:${value}`);
    this.#order.set(field, at);
    if (value === "null") this.#deleted.set(field, stamp);
    else {
      this.#deleted.delete(field);
      this.#count(stamp, 1);
    }
  }
}

type Member = readonly [name: string, score: number];

/** As a sorted set has its members. */
function byScore(a: Member, b: Member): number {
  return a[1] - b[1] || Buffer.compare(Buffer.from(a[0]), Buffer.from(b[0]));
}

function hash<V>(all: Map<string, Map<string, V>>, key: string): Map<string, V> {
  const found = all.get(key) ?? new Map<string, V>();
  all.set(key, found);
  return found;
}

/** Teaches an engine in memory what definitions need. Nothing is announced: hosts must ask. */
export function addDefinitionTwins(engine: FakeEngine): void {
  engine.script(writeScript.name, (data, keys, [base, _channel, ...fields], nowMs) =>
    new Definitions(data, keys, nowMs).write(Number(base), fields),
  );
  engine.script(readScript.name, (data, keys, [after, most], nowMs) =>
    new Definitions(data, keys, nowMs).page(Number(after), Number(most)),
  );
  engine.script(restateScript.name, (data, keys, [_channel, ...rest], nowMs) =>
    new Definitions(data, keys, nowMs).restate(rest),
  );
  engine.script(trimScript.name, (data, keys, [before, most], nowMs) =>
    new Definitions(data, keys, nowMs).trim(Number(before), Number(most)),
  );
}
