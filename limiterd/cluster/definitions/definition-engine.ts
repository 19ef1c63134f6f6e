/** Reads and writes the engine's definitions with the scripts in `definition-scripts.ts`. */
import { isCount, parseJson } from "../../../shared/checked.js";
import { type EngineConnection, EngineRefusedError, type EngineValue } from "../engine/engine.js";
import { rowsOfThree } from "../engine/rows-of-three.js";
import { type Definition, definitionKinds } from "./definition.js";
import { readScript, restateScript, trimScript, writeScript } from "./definition-scripts.js";

/** A definition in the engine. */
export interface StampedDefinition extends Definition {
  /** If a definition has two values, the one with the later stamp applies. */
  readonly stamp: number;
}

/** The state of all definitions in the engine. */
export interface DefinitionsState {
  /** The order of the last change: a number that grows with each change. */
  readonly order: number;
  /** The sum of all stamps (`stampSum`). Hosts compare it to detect missing definitions. */
  readonly sum: number;
  /** The number of definitions that aren't deleted. */
  readonly live: number;
  /**
   * The engine has forgotten deletions up to this stamp: a missing definition with it or an earlier
   * one was deleted.
   */
  readonly trimmed: number;
  /** Null: the engine is empty. */
  readonly clusterId: string | null;
}

export interface DefinitionPage extends DefinitionsState {
  readonly changed: readonly StampedDefinition[];
  /** The fields of entries that this release can't read, because another release wrote them. */
  readonly unreadable: readonly string[];
  /** The order at the end of this page; if it equals `order`, this is the last page. */
  readonly upTo: number;
}

/**
 * `conflict`: another host has changed a definition after `base`. `behind`: the engine has lost
 * changes that this host has read.
 */
type WriteAnswer =
  /** `before`: the order of the last change before this one. */
  | { readonly kind: "written"; readonly before: number; readonly stamp: number }
  | { readonly kind: "conflict" | "behind" };

/** Rejects as `EngineConnection.call`. */
export interface DefinitionEngine {
  write(base: number, definitions: readonly Definition[]): Promise<WriteAnswer>;
  read(after: number): Promise<DefinitionPage>;
  /** Writes this host's definitions to an engine that lost them. Returns how many it refused. */
  restate(knownState: KnownState, definitions: readonly StampedDefinition[]): Promise<number>;
  trim(beforeStamp: number): Promise<number>;
}

interface KnownState {
  readonly clusterId: string;
  readonly trimmed: number;
  readonly order: number;
}

/** Fields of one answer or question: some hundred kilobytes. */
export const definitionsPerPage = 1000;

const modulus = 2 ** 50;

/** Adds a stamp to the sum that hosts compare, or removes it with `sign` −1. */
export function stampSum(sum: number, stamp: number, sign: 1 | -1): number {
  return (sum + modulus + sign * (stamp % modulus)) % modulus;
}

/** The channel on which changes are announced. */
export function definitionsChannel(clusterName: string): string {
  return `sluice:{${clusterName}}:changes`;
}

export function createDefinitionEngine(
  engine: Pick<EngineConnection, "call">,
  clusterName: string,
): DefinitionEngine {
  const keys = ["definitions", "order", "deleted", "state"].map(
    (name) => `sluice:{${clusterName}}:${name}`,
  );
  const channel = definitionsChannel(clusterName);
  return {
    async write(base, definitions) {
      const fields = definitions.flatMap((definition) => [
        fieldOf(definition),
        JSON.stringify(definition.value),
      ]);
      const answer = await engine.call(writeScript, keys, [base, channel, ...fields]);
      const [kind, before, stamp] = listOf(answer);
      if (kind === "conflict" || kind === "behind") return { kind };
      if (kind !== "written") throw unexpectedAnswer(answer);
      return { kind, before: count(before, answer), stamp: count(stamp, answer) };
    },
    async read(after) {
      const answer = await engine.call(readScript, keys, [after, definitionsPerPage]);
      return pageOf(listOf(answer), after);
    },
    async restate({ clusterId, trimmed, order }, definitions) {
      const fields = definitions.flatMap((definition) => [
        fieldOf(definition),
        definition.stamp,
        JSON.stringify(definition.value),
      ]);
      const state = [channel, clusterId, trimmed, order];
      return Number(await engine.call(restateScript, keys, [...state, ...fields]));
    },
    async trim(beforeStamp) {
      return Number(await engine.call(trimScript, keys, [beforeStamp, definitionsPerPage]));
    },
  };
}

/** All definitions in the engine, and its state. */
export async function readAllDefinitions(
  engine: DefinitionEngine,
  onPage: (page: DefinitionPage) => void,
): Promise<{ readonly state: DefinitionsState; readonly all: readonly StampedDefinition[] }> {
  const all = new Map<string, StampedDefinition>();
  let after = 0;
  for (;;) {
    const page = await engine.read(after);
    onPage(page);
    // A definition that changes meanwhile is read again.
    for (const definition of page.changed) all.set(fieldOf(definition), definition);
    if (page.upTo === page.order) return { state: page, all: [...all.values()] };
    after = page.upTo;
  }
}

/** A definition's field in the engine. */
export function fieldOf({ kind, key }: Pick<Definition, "kind" | "key">): string {
  return `${kind}:${key}`;
}

/** Null if it isn't a definition's field. */
export function nameOfField(field: string): Pick<Definition, "kind" | "key"> | null {
  const colon = field.indexOf(":");
  const kind = definitionKinds.find((candidate) => candidate === field.slice(0, colon));
  return kind === undefined ? null : { kind, key: field.slice(colon + 1) };
}

/** Null if it isn't a definition's value. */
function parseValue(json: string): Pick<Definition, "value"> | null {
  const value = json.length <= valueMax ? parseJson(json) : undefined;
  if (value === null) return { value };
  return Array.isArray(value) && depthOf(value, depthMax) <= depthMax ? { value } : null;
}

/** The maximum size of one definition, in characters. */
const valueMax = 2 ** 20;
/**
 * No definition is nested deeper, and values that are nested too deeply can't be written as JSON.
 */
const depthMax = 10;

/** How deeply a value is nested; it examines `max` levels and one more. */
function depthOf(value: unknown, max: number): number {
  if (typeof value !== "object" || value === null) return 0;
  if (max === 0) return 1;
  return (
    1 +
    Object.values(value).reduce((most: number, item) => Math.max(most, depthOf(item, max - 1)), 0)
  );
}

function pageOf(answer: readonly EngineValue[], after: number): DefinitionPage {
  const [, sum, live, , id, ...rest] = answer.map(String);
  const order = count(answer[0], answer);
  const trimmed = count(answer[3], answer);
  const changed: StampedDefinition[] = [];
  const unreadable: string[] = [];
  let upTo = after;
  for (const [field, fieldOrder, packed] of rowsOfThree(rest)) {
    upTo = count(fieldOrder, answer);
    const colon = packed.indexOf(":");
    const stamp = Number(packed.slice(0, colon));
    const name = nameOfField(field);
    const value = parseValue(packed.slice(colon + 1));
    if (name === null || value === null || !isCount(stamp)) unreadable.push(field);
    else changed.push({ ...name, ...value, stamp });
  }
  const isLast = rest.length < 3 * definitionsPerPage;
  return {
    order,
    sum: count(sum, answer),
    live: count(live, answer),
    trimmed,
    clusterId: id === "" || id === undefined ? null : id,
    changed,
    unreadable,
    upTo: isLast ? order : upTo,
  };
}

/** The number in a part of an answer; throws if it isn't a count. */
function count(value: EngineValue | undefined, answer: EngineValue): number {
  const number = typeof value === "string" && value !== "" ? Number(value) : value;
  if (!isCount(number)) throw unexpectedAnswer(answer);
  return number;
}

function listOf(answer: EngineValue): readonly EngineValue[] {
  if (!Array.isArray(answer)) throw unexpectedAnswer(answer);
  return answer as readonly EngineValue[];
}

function unexpectedAnswer(answer: EngineValue): Error {
  const text = JSON.stringify(answer).slice(0, 200);
  return new EngineRefusedError(`an answer about definitions that isn't understood: ${text}`);
}
