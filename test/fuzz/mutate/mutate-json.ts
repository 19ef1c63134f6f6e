/**
 * Mutates JSON by its structure: members that are missing, doubled, renamed, of another type or
 * taken from another document; depths and lengths that nobody writes by hand.
 */
import { isObject } from "../../../shared/checked.js";
import type { Random } from "../../sim/random.js";
import { mutateText, oddNumber, oddNumberText, oddText, oddValue } from "./odd-values.js";

/** How many levels, items and characters the largest mutations have. */
export interface MutationSizes {
  readonly levels: number;
  readonly items: number;
  readonly chars: number;
}

/** A large mutation takes as long as hundreds of others; depth costs less than length. */
const deepOdds = 1 / 50;
const largeOdds = 1 / 400;
/** A body may be larger, but not a list in it that is made here. */
const rawCharsMax = 7_000_000;
type Path = readonly string[];
const removed = Symbol("removed");
const removable = new Set(["__proto__", "constructor", "prototype", "toJSON", "length"]);

export class JsonMutator {
  readonly #docs: readonly unknown[];
  readonly #sizes: MutationSizes;
  readonly #keys: string[] = [];
  readonly #words: string[] = [];
  readonly #paths = new Map<unknown, readonly Path[]>();
  /** Every value of the documents, to be put elsewhere. */
  readonly #values: unknown[] = [];
  /** JSON texts that a value stands for, which JSON.stringify wouldn't write. */
  #raws: string[] | null = null;

  /** `docs`: valid ones, whose names and words the mutations use too. */
  constructor(docs: readonly unknown[], sizes: MutationSizes) {
    this.#docs = docs;
    this.#sizes = sizes;
    const keys = new Set<string>(removable);
    const words = new Set<string>();
    const gather = (value: unknown): void => {
      this.#values.push(value);
      if (typeof value === "string" && value.length <= 40) words.add(value);
      if (typeof value !== "object" || value === null) return;
      for (const [key, inner] of Object.entries(value)) {
        if (!Array.isArray(value)) keys.add(key);
        gather(inner);
      }
    };
    for (const doc of docs) gather(doc);
    this.#keys.push(...keys);
    this.#words.push(...words);
  }

  pick(random: Random): unknown {
    return random.pick(this.#docs);
  }

  /** A document, mutated a few times, as a value. */
  value(doc: unknown, random: Random): unknown {
    this.#raws = null;
    return this.#mutated(doc, random);
  }

  /** A document, mutated a few times, as JSON; with repeated names, and numbers of any length. */
  text(doc: unknown, random: Random): string {
    const raws: string[] = [];
    this.#raws = raws;
    const text = JSON.stringify(this.#mutated(doc, random)) ?? "null";
    this.#raws = null;
    if (raws.length === 0) return text;
    return text.replace(/"@raw (\d+)@"/g, (_, at: string) => raws[Number(at)]!);
  }

  #mutated(doc: unknown, random: Random): unknown {
    // Alone, so that nothing else is wrong with it.
    if (random.chance(deepOdds))
      return changedAt(doc, random.pick(this.#pathsOf(doc)), (inner) =>
        this.#nested(Math.round(random.skewed(500, this.#sizes.levels)), inner, random),
      );
    if (random.chance(largeOdds))
      return changedAt(doc, random.pick(this.#pathsOf(doc)), (inner) => this.#large(inner, random));
    let value = doc;
    for (let left = Math.round(random.skewed(1, 6)); left > 0; left--) {
      const next = this.#descend(value, random);
      value = next === removed ? null : next;
    }
    return value;
  }

  /** The places of a document, any of which is as likely for what is rare. */
  #pathsOf(doc: unknown): readonly Path[] {
    let paths = this.#paths.get(doc);
    if (paths === undefined) {
      paths = [...pathsIn(doc, [])];
      this.#paths.set(doc, paths);
    }
    return paths;
  }

  /** Mutates one place within a value, which stays as it is; `removed`: the place goes. */
  #descend(value: unknown, random: Random): unknown {
    if (typeof value !== "object" || value === null || random.chance(0.12))
      return this.#change(value, random);
    const keys = Object.keys(value);
    if (keys.length === 0) return this.#change(value, random);
    const key = random.pick(keys);
    const inner = this.#descend((value as Record<string, unknown>)[key], random);
    if (Array.isArray(value)) {
      const at = Number(key);
      if (inner === removed) return value.filter((_, i) => i !== at);
      return value.map((item: unknown, i) => (i === at ? inner : item));
    }
    if (inner === removed) {
      const { [key]: _, ...rest } = value as Record<string, unknown>;
      return rest;
    }
    return { ...value, [key]: inner };
  }

  #change(value: unknown, random: Random): unknown {
    // What stands for a raw text stays whole.
    if (typeof value === "string" && value.startsWith("@raw ")) return oddValue(random);
    if (typeof value === "string" && random.chance(0.5)) return this.#changeText(value, random);
    if (typeof value === "number" && random.chance(0.5)) return this.#number(random);
    if (Array.isArray(value) && random.chance(0.5)) return this.#changeList(value, random);
    if (isObject(value) && random.chance(0.6)) return this.#changeObject(value, random);
    switch (random.int(0, 7)) {
      case 0:
        return removed;
      case 1:
        return [value];
      case 2:
        return { [random.pick(this.#keys)]: value };
      case 3:
        return this.#nested(Math.round(random.skewed(1, 40)), value, random);
      case 4:
      case 5:
        return random.pick(this.#values);
      default:
        return oddValue(random);
    }
  }

  #changeText(text: string, random: Random): string {
    if (random.chance(0.4)) return random.pick(this.#words);
    return random.chance(0.5) ? mutateText(text, random) : oddText(random);
  }

  #number(random: Random): unknown {
    return this.#raws !== null && random.chance(0.3)
      ? this.#raw(oddNumberText(random))
      : oddNumber(random);
  }

  #changeList(list: readonly unknown[], random: Random): unknown[] {
    const at = random.int(0, Math.max(0, list.length - 1));
    switch (random.int(0, 4)) {
      case 0:
        return list.slice(0, at);
      case 1:
        return [...list].reverse();
      case 2:
        return [...list, ...list];
      case 3:
        return [...list.slice(0, at), random.pick(this.#values), ...list.slice(at)];
      default:
        return [...list, ...Array<unknown>(random.int(1, 30)).fill(list[at])];
    }
  }

  #changeObject(object: Readonly<Record<string, unknown>>, random: Random): unknown {
    const keys = Object.keys(object);
    const key = random.pick(keys.length === 0 ? this.#keys : keys);
    const value = random.chance(0.5) ? random.pick(this.#values) : oddValue(random);
    switch (random.int(0, 3)) {
      case 0: {
        const { [key]: inner, ...rest } = object;
        return { ...rest, [random.chance(0.8) ? random.pick(this.#keys) : oddText(random)]: inner };
      }
      case 1:
        return {
          ...object,
          [random.chance(0.8) ? random.pick(this.#keys) : oddText(random)]: value,
        };
      case 2:
        return Object.fromEntries(Object.entries(object).reverse());
      default:
        return this.#repeated(object, key, value);
    }
  }

  /** The same name twice. */
  #repeated(object: object, key: string, value: unknown): unknown {
    if (this.#raws === null) return { ...object, [key]: value };
    const rest = JSON.stringify(object).slice(1);
    const twice = `{${JSON.stringify(key)}:${JSON.stringify(value)}${rest === "}" ? "" : ","}${rest}`;
    return this.#raw(twice.replace(/"@raw (\d+)@"/g, (_, at: string) => this.#raws![Number(at)]!));
  }

  #large(value: unknown, random: Random): unknown {
    const { items, chars } = this.#sizes;
    if (random.chance(0.5)) {
      const unit =
        typeof value === "string" && value !== "" ? value : random.pick(["-", " ", "a\n"]);
      return unit.repeat(Math.ceil(random.skewed(chars / 100, chars) / unit.length));
    }
    const count = Math.round(random.skewed(items / 20, items));
    const item = Array.isArray(value) ? (value[0] as unknown) : value;
    if (this.#raws === null) return Array<unknown>(count).fill(item);
    const text = JSON.stringify(item)?.replace(
      /"@raw (\d+)@"/g,
      (_, at: string) => this.#raws![Number(at)]!,
    );
    if (text === undefined) return [];
    const most = Math.min(count, Math.ceil(rawCharsMax / text.length));
    return this.#raw(`[${`${text},`.repeat(most - 1)}${text}]`);
  }

  /** A value below so many lists or objects. */
  #nested(levels: number, value: unknown, random: Random): unknown {
    const key = random.chance(0.5) ? null : random.pick(this.#keys);
    if (this.#raws !== null) {
      const name = key === null ? "" : `${JSON.stringify(key)}:`;
      const [open, close] = key === null ? ["[", "]"] : [`{${name}`, "}"];
      return this.#raw(`${open.repeat(levels)}${random.int(0, 1)}${close.repeat(levels)}`);
    }
    let nested: unknown = value;
    for (let level = 0; level < levels; level++)
      nested = key === null ? [nested] : { [key]: nested };
    return nested;
  }

  #raw(text: string): string {
    this.#raws!.push(text);
    return `@raw ${this.#raws!.length - 1}@`;
  }
}

function* pathsIn(value: unknown, path: Path): Generator<Path> {
  yield path;
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) yield* pathsIn(inner, [...path, key]);
}

/** A copy of a value with the one at a path changed. */
function changedAt(value: unknown, path: Path, change: (inner: unknown) => unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return change(value);
  const inner = changedAt((value as Record<string, unknown>)[key], rest, change);
  if (Array.isArray(value))
    return value.map((item: unknown, i) => (String(i) === key ? inner : item));
  return { ...(value as object), [key]: inner };
}
