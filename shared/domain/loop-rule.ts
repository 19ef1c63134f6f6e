/**
 * When an agent that repeats itself is warned of and refused (docs/loops.md): the field `loops` of
 * a rule on a user path. Pure. Not here: what a loop is (`proxy/handlers/loop-breaker.ts`).
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
}

export interface LoopsField {
  readonly loops?: LoopRule | undefined;
}

/** The numbers at which a rule acts: the lowest and the highest of all rules. */
export interface LoopTimes {
  readonly min: number;
  readonly max: number;
}

/** More repetitions aren't counted. */
export const loopTimesMax = 100;
const warnAfterDefault = 5;

const fieldNames = ["warn_after", "refuse_after", "compare_results"];

/** Checks `loops`, which may be absent. An empty mapping warns after five repetitions. */
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
  const refuse = checkTimes(raw["refuse_after"], `${param}.refuse_after`);
  if (!refuse.ok) return refuse;
  const refuseAfter = refuse.value ?? 0;
  const warn = checkTimes(raw["warn_after"], `${param}.warn_after`);
  if (!warn.ok) return warn;
  const warnAfter = warn.value ?? Math.min(warnAfterDefault, refuseAfter || warnAfterDefault);
  if (refuseAfter > 0 && refuseAfter < warnAfter)
    return bad(
      `${param}.refuse_after must be at least warn_after (${warnAfter}), not ${refuseAfter}`,
      `${param}.refuse_after`,
    );
  const { compare_results: compares } = raw;
  if (!isAbsent(compares) && typeof compares !== "boolean")
    return bad(
      `${param}.compare_results must be true or false, not ${show(compares)}`,
      `${param}.compare_results`,
    );
  const comparesResults = typeof compares === "boolean" ? compares : true;
  return good({
    loops: { warn_after: warnAfter, refuse_after: refuseAfter, compare_results: comparesResults },
  });
}

function checkTimes(value: unknown, param: string): Checked<number | null> {
  if (isAbsent(value)) return good(null);
  const isTimes = typeof value === "number" && Number.isInteger(value) && value !== 1;
  return isTimes && value >= 0 && value <= loopTimesMax
    ? good(value)
    : bad(
        `${param} must be 0 or an integer from 2 to ${loopTimesMax}, not ${show(value)}${numberAdvice(value)}`,
        param,
      );
}

export function loopsField({ loops }: LoopsField): LoopsField {
  return loops === undefined ? {} : { loops };
}

export function isSameLoops({ loops: a }: LoopsField, { loops: b }: LoopsField): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

/** The numbers at which one rule acts; none for a rule that never does. */
export function actsAfter({ warn_after: warn, refuse_after: refuse }: LoopRule): readonly number[] {
  return [warn, refuse].filter((times) => times > 0);
}

const noneText = "none";

/**
 * Loops written as a text: `warn_after=5, refuse_after=20, compare_results=false`, or `none`, which
 * removes them. A value that isn't such a text is returned unchanged, for `parseLoops`.
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

/** As `loopsOfText` reads it. */
export function textOfLoops(loops: LoopRule): string {
  const { warn_after: warn, refuse_after: refuse, compare_results: compares } = loops;
  const text = `warn_after=${warn}, refuse_after=${refuse}`;
  return compares ? text : `${text}, compare_results=false`;
}

/** In words: `warns after 5 repetitions, refuses after 20`. */
export function loopsWords(loops: LoopRule): string {
  const { warn_after: warn, refuse_after: refuse, compare_results: compares } = loops;
  const acts = [
    ...(warn > 0 ? [`warns after ${warn} repetitions`] : []),
    ...(refuse > 0 ? [`refuses after ${refuse}`] : []),
  ];
  if (acts.length === 0) return "ignores loops";
  return `${acts.join(", ")}${compares ? "" : ", whatever the results are"}`;
}
