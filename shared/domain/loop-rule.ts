/**
 * When an agent that repeats itself, or works without end, gets a warning or a refusal
 * (docs/loops.md): the field `loops` of a rule on a user path. Pure. Not here: what counts as a
 * loop (`proxy/handlers/loop-breaker.ts`).
 */
import { bad, type Checked, good, isAbsent, isObject, show } from "../checked.js";
import { booleanOf } from "../text/written-boolean.js";
import { numberAdvice } from "../text/written-number.js";

/** As bodies, files and lists have it; 0 is never. */
export interface LoopRule {
  readonly warn_after: number;
  readonly refuse_after: number;
  /** Whether the results of tools must be the same too, not only the calls. */
  readonly compare_results: boolean;
  /** Turns since the user's last message. */
  readonly warn_after_turns: number;
  readonly refuse_after_turns: number;
}

export interface LoopsField {
  readonly loops?: LoopRule | undefined;
}

/** The lowest and the highest number of repetitions or turns at which a rule acts. */
interface Numbers {
  readonly min: number;
  readonly max: number;
}

/** The numbers of repetitions, both 0 if no rule counts them, and of turns at which rules act. */
export interface LoopTimes extends Numbers {
  readonly turns?: Numbers | undefined;
}

/** More repetitions aren't counted. */
export const loopTimesMax = 100;
/** More turns aren't counted. */
export const loopTurnsMax = 10_000;

/** A pair of fields: the number at which to warn, and the one at which to refuse. */
interface ThresholdFields {
  readonly warn: "warn_after" | "warn_after_turns";
  readonly refuse: "refuse_after" | "refuse_after_turns";
  readonly max: number;
  readonly warnDefault: number;
}

const repetitions = {
  ...{ warn: "warn_after", refuse: "refuse_after" },
  ...{ max: loopTimesMax, warnDefault: 5 },
} as const satisfies ThresholdFields;
const turns = {
  ...{ warn: "warn_after_turns", refuse: "refuse_after_turns" },
  ...{ max: loopTurnsMax, warnDefault: 200 },
} as const satisfies ThresholdFields;

/** The defaults of the numbers at which Sluice warns. */
export const warnDefaults = { times: repetitions.warnDefault, turns: turns.warnDefault };

const fieldNames = [
  ...[repetitions.warn, repetitions.refuse, "compare_results"],
  ...[turns.warn, turns.refuse],
];

/** Checks `loops`, which may be absent. An empty mapping warns, and refuses nothing. */
export function parseLoops(raw: unknown, param: string): Checked<LoopsField> {
  if (isAbsent(raw)) return good({});
  if (!isObject(raw))
    return bad(
      `${param} must be a mapping of ${fieldNames.join(", ")}, such as {warn_after: 5, refuse_after: 20}, not ${show(raw)}`,
      param,
    );
  const unknown = Object.keys(raw).find((name) => !fieldNames.includes(name));
  if (unknown !== undefined)
    return bad(
      `unknown field ${param}.${unknown}: expected ${fieldNames.join(", ")}`,
      `${param}.${unknown}`,
    );
  const timesThresholds = parseThresholds(raw, repetitions, param);
  if (!timesThresholds.ok) return timesThresholds;
  const turnsThresholds = parseThresholds(raw, turns, param);
  if (!turnsThresholds.ok) return turnsThresholds;
  const { compare_results: compares } = raw;
  if (!isAbsent(compares) && typeof compares !== "boolean")
    return bad(
      `${param}.compare_results must be true or false, not ${show(compares)}`,
      `${param}.compare_results`,
    );
  const comparesResults = typeof compares === "boolean" ? compares : true;
  return good({
    loops: {
      warn_after: timesThresholds.value.warn,
      refuse_after: timesThresholds.value.refuse,
      compare_results: comparesResults,
      warn_after_turns: turnsThresholds.value.warn,
      refuse_after_turns: turnsThresholds.value.refuse,
    },
  });
}

function parseThresholds(
  raw: Readonly<Record<string, unknown>>,
  { warn, refuse, max, warnDefault }: ThresholdFields,
  param: string,
): Checked<{ readonly warn: number; readonly refuse: number }> {
  const refuses = checkNumber(raw[refuse], max, `${param}.${refuse}`);
  if (!refuses.ok) return refuses;
  const refuseAfter = refuses.value ?? 0;
  const warns = checkNumber(raw[warn], max, `${param}.${warn}`);
  if (!warns.ok) return warns;
  const warnAfter = warns.value ?? Math.min(warnDefault, refuseAfter || warnDefault);
  return refuseAfter > 0 && refuseAfter < warnAfter
    ? bad(
        `${param}.${refuse} must be at least ${warn} (${warnAfter}), not ${refuseAfter}`,
        `${param}.${refuse}`,
      )
    : good({ warn: warnAfter, refuse: refuseAfter });
}

function checkNumber(value: unknown, max: number, param: string): Checked<number | null> {
  if (isAbsent(value)) return good(null);
  const isWhole = typeof value === "number" && Number.isInteger(value) && value !== 1;
  return isWhole && value >= 0 && value <= max
    ? good(value)
    : bad(
        `${param} must be 0 or an integer from 2 to ${max}, not ${show(value)}${numberAdvice(value)}`,
        param,
      );
}

export function loopsField({ loops }: LoopsField): LoopsField {
  return loops === undefined ? {} : { loops };
}

export function isSameLoops({ loops: a }: LoopsField, { loops: b }: LoopsField): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

/** The numbers at which the rules act; null if none ever does. */
export function loopTimesOf(rules: readonly LoopRule[]): LoopTimes | null {
  const timesNumbers = numbersOf(rules, repetitions);
  const turnsNumbers = numbersOf(rules, turns);
  if (timesNumbers === null && turnsNumbers === null) return null;
  return { ...(timesNumbers ?? { min: 0, max: 0 }), turns: turnsNumbers ?? undefined };
}

function numbersOf(rules: readonly LoopRule[], { warn, refuse }: ThresholdFields): Numbers | null {
  let [min, max] = [Number.POSITIVE_INFINITY, 0];
  for (const rule of rules)
    for (const after of [rule[warn], rule[refuse]]) {
      if (after > 0) min = Math.min(min, after);
      max = Math.max(max, after);
    }
  return max === 0 ? null : { min, max };
}

/** The numbers of two sets of rules together. */
export function unionOf(a: LoopTimes | null, b: LoopTimes | null): LoopTimes | null {
  if (a === null || b === null) return a ?? b;
  return { ...widest(a, b), turns: widest(a.turns, b.turns) };
}

function widest<T extends Numbers | undefined>(a: T, b: T): T | Numbers {
  if (a === undefined || a.max === 0) return b;
  if (b === undefined || b.max === 0) return a;
  return { min: Math.min(a.min, b.min), max: Math.max(a.max, b.max) };
}

export function isSameTimes(a: LoopTimes | null, b: LoopTimes | null): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

const noneText = "none";

/**
 * Parses loops from a text: `warn_after=5, refuse_after=20, compare_results=false`, or `none`,
 * which removes them. Returns any other value unchanged, for `parseLoops`.
 */
export function loopsOfText(raw: unknown): unknown {
  if (typeof raw !== "string") return raw;
  if (raw.trim() === noneText) return null;
  const pairs: [string, unknown][] = [];
  for (const piece of raw.split(",")) {
    const [, name, value] = /^\s*([a-z_]+)\s*[=:]\s*(\S+)\s*$/.exec(piece) ?? [];
    if (name === undefined || value === undefined) return raw;
    pairs.push([name, name === "compare_results" ? (booleanOf(value) ?? value) : timesOf(value)]);
  }
  return Object.fromEntries(pairs);
}

/** `parseLoops` reports other texts. */
function timesOf(text: string): number | string {
  return /^-?\d{1,9}(?:\.\d{1,9})?$/.test(text) ? Number(text) : text;
}

/** The text from which `loopsOfText` reads the same rule. */
export function textOfLoops(loops: LoopRule): string {
  const { warn_after_turns: warnTurns, refuse_after_turns: refuseTurns } = loops;
  const isUsual = warnTurns === turns.warnDefault && refuseTurns === 0;
  return [
    `warn_after=${loops.warn_after}, refuse_after=${loops.refuse_after}`,
    ...(loops.compare_results ? [] : ["compare_results=false"]),
    ...(isUsual ? [] : [`warn_after_turns=${warnTurns}, refuse_after_turns=${refuseTurns}`]),
  ].join(", ");
}

/**
 * In words: `warns after 5 repetitions or 200 turns, refuses after 20 repetitions`.
 */
export function loopsWords(loops: LoopRule): string {
  const { compare_results: compares } = loops;
  const after = (times: number, turnCount: number): string =>
    [
      ...(times > 0 ? [`${times} repetitions`] : []),
      ...(turnCount > 0 ? [`${turnCount} turns`] : []),
    ].join(" or ");
  const warned = after(loops.warn_after, loops.warn_after_turns);
  const refused = after(loops.refuse_after, loops.refuse_after_turns);
  const acts = [
    ...(warned === "" ? [] : [`warns after ${warned}`]),
    ...(refused === "" ? [] : [`refuses after ${refused}`]),
  ];
  if (acts.length === 0) return "ignores loops";
  return `${acts.join(", ")}${compares ? "" : ", whatever the results are"}`;
}
