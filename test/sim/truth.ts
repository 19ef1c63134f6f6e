/**
 * What the daemon's counters must say: every request and every charge since the beginning, one by one,
 * and what each rule makes of them. It shares no code with the daemon and has no windows that roll: a
 * count lies in the period of its moment. A request is certain, or after a crash doubtful: it may be in
 * a window or not, until whoever knows of it has told of it again.
 */
import { counted, type OracleRequest } from "../limiterd/oracle.js";
import { type RuleDefinition, ruleId } from "../../shared/rule.js";

/** One admission, or one request that was let through unasked. */
export interface CountedRequest {
  readonly of: OracleRequest;
  readonly tick: number;
  readonly atMs: number;
  certain: boolean;
}

export interface CountedTokens {
  readonly of: OracleRequest;
  readonly tick: number;
  readonly atMs: number;
  readonly tokens: number;
}

export interface Cell {
  requests: number;
  doubtful: number;
  tokens: number;
}

/** A rule from the day it was made to the day it goes or is made anew. */
export interface Generation {
  definition: RuleDefinition;
  /** What happened up to here isn't counted by it. */
  sinceTick: number;
  /** By the period of the moment, then by whom the rule counts: a child's path, or empty. */
  readonly cells: Map<number, Map<string, Cell>>;
  /** Requests in flight, by whom the rule counts. */
  readonly slots: Map<string, number>;
}

export interface Truth {
  readonly generations: ReadonlyMap<string, Generation>;
  /** Counts every change of the set of rules. */
  readonly version: number;
  addRequest(request: CountedRequest): void;
  addTokens(charge: CountedTokens): void;
  /** A doubtful request has been told of again. */
  makeCertain(request: CountedRequest): void;
  setRule(definition: RuleDefinition, sinceTick: number): Generation;
  removeRule(id: string): void;
  reset(generation: Generation, sinceTick: number): void;
  /** After a crash: these requests and charges are what is left, and no rule counts anybody in flight. */
  startOver(requests: readonly CountedRequest[], charges: readonly CountedTokens[]): void;
  /** Who is counted by which rules; `release` takes it back. */
  hold(of: OracleRequest): () => void;
}

/** Which period of a rule a moment lies in. */
export function periodOf(definition: RuleDefinition, atMs: number): number {
  return Math.floor(atMs / (definition.periodSeconds * 1000));
}

export function createTruth(): Truth {
  const generations = new Map<string, Generation>();
  let requests: CountedRequest[] = [];
  let charges: CountedTokens[] = [];
  let version = 0;

  function cellsOf(of: OracleRequest, tick: number, atMs: number): Cell[] {
    const found: Cell[] = [];
    for (const generation of generations.values()) {
      const cell = cellOf(generation, of, tick, atMs);
      if (cell !== null) found.push(cell);
    }
    return found;
  }

  function cellOf({ definition, sinceTick, cells }: Generation, of: OracleRequest, tick: number, atMs: number): Cell | null {
    if (definition.periodSeconds === 0 || tick <= sinceTick) return null;
    const who = counted(definition, of);
    if (who === null) return null;
    const period = periodOf(definition, atMs);
    const ofPeriod = cells.get(period) ?? new Map<string, Cell>();
    cells.set(period, ofPeriod);
    const key = definition.perChild ? who : "";
    const known = ofPeriod.get(key) ?? { requests: 0, doubtful: 0, tokens: 0 };
    ofPeriod.set(key, known);
    return known;
  }

  function fill(generation: Generation): void {
    generation.cells.clear();
    for (const { of, tick, atMs, certain } of requests) {
      const cell = cellOf(generation, of, tick, atMs);
      if (cell !== null) cell[certain ? "requests" : "doubtful"]++;
    }
    for (const { of, tick, atMs, tokens } of charges) {
      const cell = cellOf(generation, of, tick, atMs);
      if (cell !== null) cell.tokens += tokens;
    }
  }

  return {
    generations,
    get version() { return version; },
    addRequest(request) {
      requests.push(request);
      for (const cell of cellsOf(request.of, request.tick, request.atMs)) cell[request.certain ? "requests" : "doubtful"]++;
    },
    addTokens(charge) {
      charges.push(charge);
      for (const cell of cellsOf(charge.of, charge.tick, charge.atMs)) cell.tokens += charge.tokens;
    },
    makeCertain(request) {
      if (request.certain) return;
      request.certain = true;
      for (const cell of cellsOf(request.of, request.tick, request.atMs)) {
        cell.doubtful--;
        cell.requests++;
      }
    },
    setRule(definition, sinceTick) {
      version++;
      const known = generations.get(ruleId(definition));
      if (known !== undefined && known.definition.perChild === definition.perChild) {
        known.definition = definition;
        return known;
      }
      const generation: Generation = { definition, sinceTick, cells: new Map(), slots: new Map() };
      generations.set(ruleId(definition), generation);
      fill(generation);
      return generation;
    },
    removeRule(id) {
      version++;
      generations.delete(id);
    },
    reset(generation, sinceTick) {
      generation.sinceTick = sinceTick;
      fill(generation);
    },
    startOver(requestsLeft, chargesLeft) {
      version++;
      requests = [...requestsLeft];
      charges = [...chargesLeft];
      generations.clear();
    },
    hold(of) {
      const held: { readonly slots: Map<string, number>; readonly who: string }[] = [];
      for (const { definition, slots } of generations.values()) {
        const who = counted(definition, of);
        if (who !== null) held.push({ slots, who: definition.perChild ? who : "" });
      }
      for (const { slots, who } of held) slots.set(who, (slots.get(who) ?? 0) + 1);
      return () => {
        for (const { slots, who } of held) slots.set(who, slots.get(who)! - 1);
      };
    },
  };
}
