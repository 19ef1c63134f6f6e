/**
 * The rules as the admin operations leave them, one state after the other: what is on the disk must
 * be one of them, and none that is older than what was answered.
 */

import type { Rule } from "../../../limiterd/counters/counter.js";
import type { PeerState } from "../../../limiterd/peer.js";
import { resetKey, ruleFromStored } from "../../../limiterd/rules/stored-rule.js";
import type { DaemonState } from "../../../limiterd/state.js";
import { raisesFromStored } from "../../../shared/domain/raise.js";
import {
  type CapFields,
  measureId,
  type RuleDefinition,
  ruleId,
  type Scope,
} from "../../../shared/domain/rule.js";
import type { Admin } from "../../../shared/wire/message-to-daemon.js";
import { type OracleMeasure, type OracleRaise, oracleMeasures } from "../../limiterd/oracle.js";
import type { Disk } from "../processes/disk.js";
import { hoursOfBody, type WhenBody } from "../workload.js";
import type { World } from "../world.js";
import { definitionText, type Generation, type Truth } from "./truth.js";

/** The bodies that the workload sends. */
interface RuleBody extends Omit<CapFields, "on_exhausted"> {
  readonly scope: Scope;
  readonly subject: string;
  readonly models?: readonly string[];
  readonly limit_key?: { readonly period_seconds: number };
  readonly period?: string;
  readonly when?: WhenBody;
  readonly on_exhausted?: "refuse" | "warn" | { readonly use: string };
  readonly per_child?: boolean;
  readonly for_seconds?: number;
  readonly mode?: string;
}

/** The raises of a rule after an operation. */
interface Raising {
  readonly generation: Generation;
  readonly id: string;
  readonly raises: readonly OracleRaise[];
}

/** A rule as a start has found it. */
interface FoundRule {
  readonly definition: RuleDefinition;
  readonly sinceLsn: number;
  readonly measuresSince: Readonly<Partial<Record<OracleMeasure, number>>>;
}

/** When an operation is seen. */
interface Seen {
  readonly tick: number;
  readonly nowMs: number;
  readonly state: DaemonState;
}

export class RuleHistory {
  /** The latest time that the wall clock has shown: a raise that ended before stays ended. */
  latestMs = 0;
  readonly #world: World;
  readonly #disk: Disk;
  readonly #truth: Truth;
  /** When a rule was created or reset, by its id and the `sinceLsn` of that moment. */
  readonly #sinceTicks = new Map<string, number>();
  readonly #sinceLsns = new Map<Generation, number>();
  /** By its peer and its id: which state an operation led to that isn't answered yet. */
  readonly #waiting = new Map<PeerState, Map<number, number>>();
  /** Raises that aren't answered yet. */
  readonly #raising = new Map<PeerState, Map<number, Raising>>();
  #history: string[] = ["[]"];
  #answered = 0;
  /** A start may end in the middle, with the configuration's rules written or not. */
  #isStarting = false;

  constructor(world: World, disk: Disk, truth: Truth) {
    this.#world = world;
    this.#disk = disk;
    this.#truth = truth;
  }

  /** The daemon has handled an operation; `answered`: it has answered in the same turn. */
  operated(peer: PeerState, message: Admin, at: Seen & { readonly answered: boolean }): void {
    const { op, id } = message;
    if (op === "status" || op === "rate-limits.list" || op === "explain") return;
    if ((message.body as RuleBody).mode === "shadow") return this.#world.count(`shadow ${op}`);
    this.#world.count(op);
    if (op === "rate-limits.raise" || op === "rate-limits.end-raise") {
      const raised = this.#raise(message, at);
      if (raised !== null) {
        const ids = this.#raising.get(peer) ?? new Map<number, Raising>();
        this.#raising.set(peer, ids.set(id, raised));
        this.#world.count(`${op}, done`);
        if (at.answered) this.#raised(peer, id);
      }
      return;
    }
    this.#operate(message, at);
    const now = asText(
      [...this.#truth.generations.values()].map((generation) => [
        generation.definition,
        this.#sinceLsns.get(generation)!,
      ]),
    );
    // What changes nothing isn't written.
    if (now === this.#history.at(-1)) return;
    const ids = this.#waiting.get(peer) ?? new Map<number, number>();
    this.#waiting.set(peer, ids);
    ids.set(id, this.#history.length);
    this.#history.push(now);
    if (at.answered) this.answered(peer, id);
  }

  answered(peer: PeerState, id: number): void {
    this.#raised(peer, id);
    const at = this.#waiting.get(peer)?.get(id);
    if (at === undefined) return;
    this.#answered = Math.max(this.#answered, at);
    const now = this.#diskText();
    if (this.#history.lastIndexOf(now) < at)
      this.#world.fail(
        `an admin operation is answered, but the disk has ${now}, not ${this.#history[at]}`,
      );
  }

  /**
   * A daemon has started: its rules are those on the disk, and those of the configuration that a
   * disk which takes nothing doesn't have yet.
   */
  restored(tick: number, { book }: DaemonState): void {
    const rules: FoundRule[] = this.#onDisk();
    const known = new Set(rules.map(({ definition }) => ruleId(definition)));
    this.#history = [this.#diskText()];
    // It reads what is in the store, too, unless all that is configured is there.
    if (book.ruleSet.isRead)
      for (const rule of book.rules.values())
        if (rule.source === "config" && !known.has(rule.id) && isEnforced(rule))
          rules.push({ ...rule, measuresSince: sinceOfParts(rule) });
    for (const { definition, sinceLsn, measuresSince } of rules) {
      const id = ruleId(definition);
      const sinceTick = this.#tickOf(id, sinceLsn, tick);
      const ofMeasures = oracleMeasures.flatMap((measure) => {
        const lsn = measuresSince[measure];
        return lsn === undefined
          ? []
          : [[measure, this.#tickOf(measureId(id, measure), lsn, sinceTick)] as const];
      });
      const since = { sinceTick, measuresSince: new Map(ofMeasures) };
      const generation = this.#truth.restoreRule(definition, tick, since);
      this.#sinceLsns.set(generation, sinceLsn);
      generation.raises = this.#raisesOnDisk(definition);
    }
    this.#history.push(asText(rules.map(({ definition, sinceLsn }) => [definition, sinceLsn])));
    this.#answered = 0;
    this.#isStarting = false;
    this.#waiting.clear();
    this.#raising.clear();
  }

  /** When a rule, or its cap of a measure, was made or reset with this log sequence number. */
  #tickOf(id: string, sinceLsn: number, otherwise: number): number {
    const tick = this.#sinceTicks.get(`${id} ${sinceLsn}`) ?? otherwise;
    this.#sinceTicks.set(`${id} ${sinceLsn}`, tick);
    return tick;
  }

  /** When each rule was made; as `restored`. */
  createdAtMs({ book }: DaemonState): readonly number[] {
    const inMemory = book.ruleSet.isRead ? [...book.rules.values()].filter(isEnforced) : [];
    return [...this.#onDisk(), ...inMemory].map(({ createdAtMs }) => createdAtMs);
  }

  mustBeWhatWasAnswered(): void {
    const now = this.#diskText();
    if (!this.#isStarting && this.#history.lastIndexOf(now) < this.#answered)
      this.#world.fail(
        `the disk has the rules ${now}, but ${this.#history[this.#answered]} were answered`,
      );
    this.#isStarting = true;
  }

  #operate({ op, body }: Admin, seen: Seen): void {
    const truth = this.#truth;
    if (op === "rate-limits.reset") {
      for (const generation of truth.generations.values()) this.#reset(generation, seen);
      return;
    }
    const definition = definitionOf(body as RuleBody);
    const id = ruleId(definition);
    const known = truth.generations.get(id);
    switch (op) {
      case "rate-limits.put": {
        const generation = truth.setRule(definition, seen.tick);
        if (generation === known) return this.#noteMeasures(id, generation, seen);
        return this.#noteCreated(id, generation, seen);
      }
      case "rate-limits.delete":
        return known === undefined ? undefined : truth.removeRule(id);
      case "rate-limits.reset-one":
        return known === undefined ? undefined : this.#reset(known, seen);
      default:
        return;
    }
  }

  /** What a raise or its end leaves, or null if it is refused. */
  #raise({ op, body }: Admin, { nowMs }: Seen): Raising | null {
    const { for_seconds: seconds, ...key } = body as RuleBody;
    const asked = definitionOf(key);
    const generation = this.#raisable(asked);
    if (generation === undefined) return null;
    const { definition, raises } = generation;
    const { subject, maxRequests, maxTokens, measureCaps } = asked;
    const others = raises.filter((raise) => raise.untilMs > nowMs && raise.subject !== subject);
    const ended = { generation, id: ruleId(definition), raises: others };
    if (op === "rate-limits.end-raise") {
      if (!raises.some((raise) => raise.untilMs > nowMs && raise.subject === subject)) return null;
      generation.raises = others;
      return ended;
    }
    const inForce = raises.filter(
      (raise) => raise.untilMs > nowMs && [definition.subject, subject].includes(raise.subject),
    );
    const isHigher = (capOf: (caps: OracleRaise | RuleDefinition) => number | null): boolean => {
      const [cap, declared] = [capOf(asked), capOf(definition)];
      if (cap === null) return true;
      return (
        declared !== null && cap > declared && inForce.every((raise) => cap >= (capOf(raise) ?? 0))
      );
    };
    if (maxRequests === null && maxTokens === null && measureCaps === undefined) return null;
    if (!isHigher((caps) => caps.maxRequests) || !isHigher((caps) => caps.maxTokens)) return null;
    if (!oracleMeasures.every((measure) => isHigher((caps) => caps.measureCaps?.[measure] ?? null)))
      return null;
    const untilMs = nowMs + seconds! * 1000;
    const raise = { subject, untilMs, maxRequests, maxTokens, measureCaps };
    generation.raises = [...others, raise];
    return { ...ended, raises: generation.raises };
  }

  /** The rule of a raise, or the template above its path. */
  #raisable(asked: RuleDefinition): Generation | undefined {
    const { generations } = this.#truth;
    const own = generations.get(ruleId(asked));
    if (own !== undefined || asked.scope !== "user_path" || asked.subject === "/") return own;
    const above = asked.subject.slice(0, asked.subject.lastIndexOf("/")) || "/";
    const template = generations.get(ruleId({ ...asked, subject: above }));
    return template?.definition.perChild === true ? template : undefined;
  }

  /** A raise is answered: the disk has it, unless it has changed since. */
  #raised(peer: PeerState, id: number): void {
    const raising = this.#raising.get(peer)?.get(id);
    this.#raising.get(peer)?.delete(id);
    if (raising === undefined || raising.generation.raises !== raising.raises) return;
    // It may have been deleted, or made again, in the same commit.
    if (this.#truth.generations.get(raising.id) !== raising.generation) return;
    const found = this.#raisesOnDisk(raising.generation.definition).map(({ untilMs }) => untilMs);
    const { latestMs } = this;
    if (raising.raises.some(({ untilMs }) => untilMs > latestMs && !found.includes(untilMs)))
      this.#world.fail(`a raise of ${raising.id} is answered, but the disk has ${found}`);
  }

  #raisesOnDisk(definition: RuleDefinition): readonly OracleRaise[] {
    const entry = this.#disk
      .entries("settings")
      .find(({ key }) => key === `rule_raises\n${ruleId(definition)}`);
    const above = definition.subject === "/" ? "/" : `${definition.subject}/`;
    return (raisesFromStored(entry?.value ?? []) ?? [])
      .filter(({ child }) => child === "" || definition.perChild)
      .map(({ child, untilMs, maxRequests, maxTokens, measureCaps }) => ({
        subject: child === "" ? definition.subject : above + child,
        untilMs,
        maxRequests,
        maxTokens,
        measureCaps,
      }));
  }

  #reset(generation: Generation, seen: Seen): void {
    this.#truth.reset(generation, seen.tick);
    this.#noteCreated(ruleId(generation.definition), generation, seen);
  }

  #noteCreated(id: string, generation: Generation, seen: Seen): void {
    const { sinceLsn } = seen.state.book.fresh(seen.state.book.ruleSet.get(id)!);
    this.#sinceLsns.set(generation, sinceLsn);
    this.#sinceTicks.set(`${id} ${sinceLsn}`, seen.tick);
    this.#noteMeasures(id, generation, seen);
  }

  #noteMeasures(id: string, { measuresSince }: Generation, { state }: Seen): void {
    const since = sinceOfParts(state.book.fresh(state.book.ruleSet.get(id)!));
    for (const [measure, tick] of measuresSince)
      this.#sinceTicks.set(`${measureId(id, measure)} ${since[measure]}`, tick);
  }

  /**
   * The rules as a restart would find them: the last reset of all rules counts for each that is
   * older.
   */
  #onDisk(): (FoundRule & { readonly createdAtMs: number })[] {
    const resets = this.#disk.entries("epochs").find(({ key }) => key === resetKey);
    const resetLsn = Number(resets?.value[0] ?? 0);
    return this.#disk
      .entries("rules")
      .map(({ value }) => ruleFromStored(value)!)
      .filter(isEnforced)
      .map((rule) => ({
        ...rule,
        sinceLsn: Math.max(rule.sinceLsn, resetLsn),
        measuresSince: Object.fromEntries(
          Object.entries(rule.measuresSince ?? {}).map(([measure, lsn]) => [
            measure,
            Math.max(lsn, resetLsn),
          ]),
        ),
      }));
  }

  #diskText(): string {
    return asText(this.#onDisk().map(({ definition, sinceLsn }) => [definition, sinceLsn]));
  }
}

/** The truth knows no shadow rules: nothing may differ because of them. */
function isEnforced({ definition }: { readonly definition: RuleDefinition }): boolean {
  return definition.mode === undefined;
}

function sinceOfParts({ parts }: Pick<Rule, "parts">): FoundRule["measuresSince"] {
  return Object.fromEntries(parts.map(({ measure, sinceLsn }) => [measure!, sinceLsn]));
}

function definitionOf(body: RuleBody): RuleDefinition {
  const { scope, subject, limit_key: key, period, on_exhausted: onExhausted = "refuse" } = body;
  const measureCaps = Object.fromEntries(
    oracleMeasures.flatMap((measure) => {
      const cap = body[`max_${measure}`];
      return cap === undefined ? [] : [[measure, cap]];
    }),
  );
  return {
    scope,
    subject,
    periodSeconds: key?.period_seconds ?? Number(period),
    maxRequests: body.max_requests ?? null,
    maxTokens: body.max_tokens ?? null,
    perChild: body.per_child ?? false,
    ...(body.models === undefined ? {} : { models: body.models.join(" ") }),
    ...(body.when === undefined ? {} : { when: hoursOfBody(body.when) }),
    ...(Object.keys(measureCaps).length === 0 ? {} : { measureCaps }),
    ...(body.token_weights === undefined ? {} : { tokenWeights: body.token_weights }),
    ...(onExhausted === "refuse" ? {} : { onExhausted }),
  };
}

function asText(rules: readonly (readonly [RuleDefinition, number])[]): string {
  return JSON.stringify(
    rules.map(([definition, since]) => `${definitionText(definition)} ${since}`).sort(),
  );
}
