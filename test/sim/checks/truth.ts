/**
 * What the daemon's counters must be. The truth lists every request and every charge since the
 * beginning, and adds up those that each rule counts. It shares no code with the daemon, and has no
 * rolling windows: each count is in the period of its time.
 */

import { type RuleDefinition, ruleId } from "../../../shared/domain/rule.js";
import type { Target } from "../../../shared/domain/target-name.js";
import {
  amountUsed,
  counted,
  isOff,
  isOfTarget,
  type OracleMeasure,
  type OracleRaise,
  type OracleUse,
  type OracleWeights,
  oracleMeasures,
  withCalledTools,
} from "../../limiterd/oracle.js";

/** Where a request or charge counts: for the rules of its path, of its target, or both. */
export interface Place {
  readonly path: string;
  /** False: only the rules that count attempts at the target. */
  readonly atPath: boolean;
  readonly target: Target | null;
}

/** A request at its path, or one attempt at its target. */
export interface CountedRequest {
  readonly place: Place;
  readonly tick: number;
  readonly atMs: number;
  /** False if it was taken back, or if a crash has lost it until its proxy reports it again. */
  counted: boolean;
}

export interface CountedTokens {
  readonly place: Place;
  readonly tick: number;
  readonly atMs: number;
  readonly use: OracleUse;
}

/** What a rule counts of a subject in a period. */
export type Cell = Record<"requests" | "tokens" | OracleMeasure, number>;
export const noCounts: Readonly<Cell> = {
  requests: 0,
  tokens: 0,
  input_tokens: 0,
  output_tokens: 0,
  cost: 0,
  tool_calls: 0,
};

/** A rule from its creation to its deletion or its next creation. */
export interface Generation {
  definition: RuleDefinition;
  /** The rule doesn't count what happened up to this tick. */
  sinceTick: number;
  /** As `sinceTick`, for each measure that it caps. */
  readonly measuresSince: Map<OracleMeasure, number>;
  /** The counts by period, then by the subject that the rule counts: a child's path, or "". */
  readonly cells: Map<number, Map<string, Cell>>;
  raises: readonly OracleRaise[];
  /** Requests in flight, by the subject that the rule counts. */
  readonly slots: Map<string, number>;
}

/** The fields in a fixed order, so that equal objects give equal texts. */
function sorted(value: object | null | undefined): unknown {
  if (value === null || value === undefined) return null;
  return Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
}

/** A rule's definition as a text; equal definitions have equal texts. */
export function definitionText(definition: RuleDefinition): string {
  const { scope, subject, periodSeconds, models, when, maxRequests, maxTokens, perChild } =
    definition;
  const { measureCaps, tokenWeights, onExhausted } = definition;
  return JSON.stringify([
    scope,
    subject,
    periodSeconds,
    models ?? null,
    when ?? null,
    maxRequests,
    maxTokens,
    perChild,
    sorted(measureCaps),
    sorted(tokenWeights),
    onExhausted ?? null,
  ]);
}

function weightsText(weights: OracleWeights | null | undefined): string {
  return JSON.stringify(sorted(weights));
}

/** The number of the rule's period that contains a time. */
export function periodOf(definition: RuleDefinition, atMs: number): number {
  return Math.floor(atMs / (definition.periodSeconds * 1000));
}

/** The subject for which a rule counts a place: the rule's own or a child; null if for none. */
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
  { place, tick, atMs }: Pick<CountedRequest, "place" | "tick" | "atMs">,
): Cell | null {
  if (definition.periodSeconds === 0 || tick <= sinceTick || isOff(definition, atMs)) return null;
  const subject = countedAt(definition, place);
  if (subject === null) return null;
  const period = periodOf(definition, atMs);
  const periodCells = cells.get(period) ?? new Map<string, Cell>();
  cells.set(period, periodCells);
  const key = definition.perChild ? subject : "";
  const cell = periodCells.get(key) ?? { ...noCounts };
  periodCells.set(key, cell);
  return cell;
}

/** A rule's weights from a tick on. */
interface Weighing {
  readonly tick: number;
  readonly weights: OracleWeights | null;
}

export class Truth {
  /** For rules without weights of their own. */
  readonly #tokenWeights: OracleWeights | null;
  /**
   * The weights of each rule over time, also across crashes: a charge keeps the weights of its own
   * tick.
   */
  readonly #weighings = new Map<string, Weighing[]>();
  readonly #generations = new Map<string, Generation>();
  #requests: CountedRequest[] = [];
  #charges: CountedTokens[] = [];
  #version = 0;

  constructor(tokenWeights: OracleWeights | null) {
    this.#tokenWeights = tokenWeights;
  }

  get generations(): ReadonlyMap<string, Generation> {
    return this.#generations;
  }

  /** Grows with each change of the set of rules. */
  get version(): number {
    return this.#version;
  }

  addRequest(request: CountedRequest): void {
    this.#requests.push(request);
    for (const cell of this.#cellsOf(request)) addTo(cell, request, 1);
  }

  addTokens(charge: CountedTokens): void {
    this.#charges.push(charge);
    for (const generation of this.#generations.values()) this.#charge(generation, charge);
  }

  /** Runs `change`, which changes a request, and updates the counts. */
  restate(request: CountedRequest, change: () => void): void {
    const cells = this.#cellsOf(request);
    for (const cell of cells) addTo(cell, request, -1);
    change();
    for (const cell of cells) addTo(cell, request, 1);
  }

  /** Adds or edits a rule. `tick`: when; `sinceTick`: a new rule counts what happens after it. */
  setRule(definition: RuleDefinition, tick: number, sinceTick = tick): Generation {
    this.#version++;
    const id = ruleId(definition);
    this.#weigh(id, { tick, weights: definition.tokenWeights ?? null });
    const known = this.#generations.get(id);
    if (known !== undefined && known.definition.perChild === definition.perChild) {
      this.#editMeasures(known, definition, tick);
      known.definition = definition;
      return known;
    }
    const measuresSince = new Map(
      oracleMeasures
        .filter((measure) => definition.measureCaps?.[measure] !== undefined)
        .map((measure) => [measure, sinceTick]),
    );
    const counts = { cells: new Map(), slots: new Map(), measuresSince };
    const generation: Generation = { definition, sinceTick, raises: [], ...counts };
    this.#generations.set(id, generation);
    this.#fill(generation);
    return generation;
  }

  /**
   * Adds a rule as a start has found it in the store. Changes of its weights after the stored one
   * were lost in a crash.
   */
  restoreRule(
    definition: RuleDefinition,
    tick: number,
    since: Pick<Generation, "sinceTick" | "measuresSince">,
  ): Generation {
    const id = ruleId(definition);
    const weights = weightsText(definition.tokenWeights);
    const weighings = this.#weighings.get(id) ?? [];
    const last = weighings.findLastIndex((each) => weightsText(each.weights) === weights);
    if (last !== -1) weighings.splice(last + 1);
    const generation = this.setRule(definition, tick, since.sinceTick);
    for (const [measure, sinceTick] of since.measuresSince)
      generation.measuresSince.set(measure, sinceTick);
    this.#fill(generation);
    return generation;
  }

  #weigh(id: string, weighing: Weighing): void {
    const weighings = this.#weighings.get(id) ?? [];
    this.#weighings.set(id, weighings);
    const last = weighings.at(-1);
    if (last === undefined || weightsText(last.weights) !== weightsText(weighing.weights))
      weighings.push(weighing);
  }

  #weightsAt({ definition }: Generation, tick: number): OracleWeights | null {
    const weighings = this.#weighings.get(ruleId(definition)) ?? [];
    return weighings.findLast((each) => each.tick <= tick)?.weights ?? this.#tokenWeights;
  }

  /** A new cap on a measure counts from this tick on. */
  #editMeasures(generation: Generation, { measureCaps }: RuleDefinition, tick: number): void {
    const { measuresSince, cells } = generation;
    for (const measure of oracleMeasures) {
      if (measureCaps?.[measure] === undefined) measuresSince.delete(measure);
      else if (!measuresSince.has(measure)) {
        measuresSince.set(measure, tick);
        for (const cell of [...cells.values()].flatMap((each) => [...each.values()]))
          cell[measure] = 0;
      }
    }
  }

  removeRule(id: string): void {
    this.#version++;
    this.#generations.delete(id);
  }

  reset(generation: Generation, sinceTick: number): void {
    generation.sinceTick = sinceTick;
    for (const measure of generation.measuresSince.keys())
      generation.measuresSince.set(measure, sinceTick);
    this.#fill(generation);
  }

  /**
   * Starts again with the requests and charges that a crash has left. No rule counts a request in
   * flight then.
   */
  startAgain(requests: readonly CountedRequest[], charges: readonly CountedTokens[]): void {
    this.#version++;
    this.#requests = [...requests];
    this.#charges = [...charges];
    this.#generations.clear();
  }

  /**
   * Takes a slot of each rule that counts this place; the returned function gives the slots back.
   */
  hold(place: Place): () => void {
    const held: { readonly slots: Map<string, number>; readonly subject: string }[] = [];
    for (const { definition, slots } of this.#generations.values()) {
      const subject = countedAt(definition, place);
      if (subject !== null) held.push({ slots, subject: definition.perChild ? subject : "" });
    }
    for (const { slots, subject } of held) slots.set(subject, (slots.get(subject) ?? 0) + 1);
    return () => {
      for (const { slots, subject } of held) slots.set(subject, slots.get(subject)! - 1);
    };
  }

  #cellsOf(counted: Pick<CountedRequest, "place" | "tick" | "atMs">): Cell[] {
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
    for (const charge of this.#charges) this.#charge(generation, charge);
  }

  /** Adds a charge to a rule's counts. */
  #charge(generation: Generation, charge: CountedTokens): void {
    const { definition, measuresSince } = generation;
    const { place, use, tick } = charge;
    const target = place.target === null ? null : withCalledTools(place.target, use);
    const cell = cellOf(generation, { ...charge, place: { ...place, target } });
    if (cell === null) return;
    const weights = this.#weightsAt(generation, tick);
    cell.tokens += amountUsed(definition, weights, "tokens", use);
    for (const [measure, sinceTick] of measuresSince)
      if (tick > sinceTick) cell[measure] += amountUsed(definition, weights, measure, use);
  }
}
