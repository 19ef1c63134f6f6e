/**
 * What the daemon's counters must hold: every request and every charge since the beginning, one by
 * one, and what each rule makes of them. It shares no code with the daemon and has no windows that
 * roll: a count is in the period of its moment.
 */

import { type RuleDefinition, ruleId } from "../../../shared/domain/rule.js";
import type { Target } from "../../../shared/domain/target-name.js";
import { counted, isOfTarget, type OracleRaise } from "../../limiterd/oracle.js";

/** Which rules count something: a path's, a target's, or both. */
export interface Place {
  readonly path: string;
  /** False: only the rules that count attempts at the target. */
  readonly atPath: boolean;
  readonly target: Target | null;
}

/** A request at its path, or one attempt at its target. */
export interface CountedRequest {
  readonly of: Place;
  readonly tick: number;
  readonly atMs: number;
  /** False: it was taken back, or a crash has taken it until its proxy reports it again. */
  counted: boolean;
}

export interface CountedTokens {
  readonly of: Place;
  readonly tick: number;
  readonly atMs: number;
  readonly tokens: number;
}

export interface Cell {
  requests: number;
  tokens: number;
}

/** A rule from its creation to its deletion or its next creation. */
export interface Generation {
  definition: RuleDefinition;
  /** What happened up to here isn't counted by it. */
  sinceTick: number;
  /**
   * By the period of the moment, then by the subject that the rule counts: a child's path, or
   * empty.
   */
  readonly cells: Map<number, Map<string, Cell>>;
  raises: readonly OracleRaise[];
  /** Requests in flight, by the subject that the rule counts. */
  readonly slots: Map<string, number>;
}

/** Which period of a rule a moment lies in. */
export function periodOf(definition: RuleDefinition, atMs: number): number {
  return Math.floor(atMs / (definition.periodSeconds * 1000));
}

/** Which subject a rule counts there: itself, a child of its path, or none (null). */
function countedAt(definition: RuleDefinition, { path, atPath, target }: Place): string | null {
  if (!isOfTarget(definition))
    return atPath ? counted(definition, { path, provider: "", model: "" }) : null;
  return target === null ? null : counted(definition, { path, ...target });
}

function addTo(cell: Cell, { counted }: CountedRequest, times: 1 | -1): void {
  if (counted) cell.requests += times;
}

function cellOf(
  { definition, sinceTick, cells }: Generation,
  { of, tick, atMs }: Pick<CountedRequest, "of" | "tick" | "atMs">,
): Cell | null {
  if (definition.periodSeconds === 0 || tick <= sinceTick) return null;
  const subject = countedAt(definition, of);
  if (subject === null) return null;
  const period = periodOf(definition, atMs);
  const ofPeriod = cells.get(period) ?? new Map<string, Cell>();
  cells.set(period, ofPeriod);
  const key = definition.perChild ? subject : "";
  const known = ofPeriod.get(key) ?? { requests: 0, tokens: 0 };
  ofPeriod.set(key, known);
  return known;
}

export class Truth {
  readonly #generations = new Map<string, Generation>();
  #requests: CountedRequest[] = [];
  #charges: CountedTokens[] = [];
  #version = 0;

  get generations(): ReadonlyMap<string, Generation> {
    return this.#generations;
  }

  /** Counts every change of the set of rules. */
  get version(): number {
    return this.#version;
  }

  addRequest(request: CountedRequest): void {
    this.#requests.push(request);
    for (const cell of this.#cellsOf(request)) addTo(cell, request, 1);
  }

  addTokens(charge: CountedTokens): void {
    this.#charges.push(charge);
    for (const cell of this.#cellsOf(charge)) cell.tokens += charge.tokens;
  }

  /** Lets `change` change what is known of a request. */
  restate(request: CountedRequest, change: () => void): void {
    const cells = this.#cellsOf(request);
    for (const cell of cells) addTo(cell, request, -1);
    change();
    for (const cell of cells) addTo(cell, request, 1);
  }

  setRule(definition: RuleDefinition, sinceTick: number): Generation {
    this.#version++;
    const known = this.#generations.get(ruleId(definition));
    if (known !== undefined && known.definition.perChild === definition.perChild) {
      known.definition = definition;
      return known;
    }
    const counts = { cells: new Map(), slots: new Map() };
    const generation: Generation = { definition, sinceTick, raises: [], ...counts };
    this.#generations.set(ruleId(definition), generation);
    this.#fill(generation);
    return generation;
  }

  removeRule(id: string): void {
    this.#version++;
    this.#generations.delete(id);
  }

  reset(generation: Generation, sinceTick: number): void {
    generation.sinceTick = sinceTick;
    this.#fill(generation);
  }

  /**
   * After a crash: these requests and charges are what is left, and no rule counts a request in
   * flight.
   */
  startOver(requests: readonly CountedRequest[], charges: readonly CountedTokens[]): void {
    this.#version++;
    this.#requests = [...requests];
    this.#charges = [...charges];
    this.#generations.clear();
  }

  /** Takes a slot of each rule that counts this; the returned function gives them back. */
  hold(of: Place): () => void {
    const held: { readonly slots: Map<string, number>; readonly subject: string }[] = [];
    for (const { definition, slots } of this.#generations.values()) {
      const subject = countedAt(definition, of);
      if (subject !== null) held.push({ slots, subject: definition.perChild ? subject : "" });
    }
    for (const { slots, subject } of held) slots.set(subject, (slots.get(subject) ?? 0) + 1);
    return () => {
      for (const { slots, subject } of held) slots.set(subject, slots.get(subject)! - 1);
    };
  }

  #cellsOf(counted: Pick<CountedRequest, "of" | "tick" | "atMs">): Cell[] {
    return [...this.#generations.values()]
      .map((generation) => cellOf(generation, counted))
      .filter((cell) => cell !== null);
  }

  #fill(generation: Generation): void {
    generation.cells.clear();
    for (const request of this.#requests) {
      const cell = cellOf(generation, request);
      if (cell !== null) addTo(cell, request, 1);
    }
    for (const charge of this.#charges) {
      const cell = cellOf(generation, charge);
      if (cell !== null) cell.tokens += charge.tokens;
    }
  }
}
