/**
 * What the daemon must answer to an admission or a reroute, from the truth alone: which target,
 * which headers, or who refuses and for how long.
 */
import { isDeepStrictEqual } from "node:util";
import type { RuleBook } from "../../../limiterd/rules/rule-book.js";
import type { Admitted, Refused, SuccessHeaders, Target } from "../../../shared/wire/message.js";
import { createJudge } from "../../limiterd/rules/oracle.js";
import { type CompareOptions, estimateFrom, isExact } from "./compare-counters.js";
import type { Truth } from "./truth.js";

export interface Asked extends CompareOptions {
  /** Null: a reroute, of which the path's rules aren't asked. */
  readonly path: string | null;
  readonly targets: readonly Target[];
  readonly submission: boolean;
}

export interface ExpectedVerdict {
  /** Whether every window that it could meet is known exactly. */
  readonly exact: boolean;
  /** What is wrong with the answer, or null. */
  verdict(answer: Admitted | Refused): string | null;
  /** What is wrong with its headers once it is counted, or null. */
  headers(answer: Admitted, path: string): string | null;
}

/** Looks before the daemon does; the answer is held against it afterwards. */
export function createExpectation(truth: Truth) {
  let estimate: ReturnType<typeof estimateFrom> = () => 0n;
  let judged = { version: -1, judge: createJudge([], () => 0n) };

  function judge() {
    if (judged.version !== truth.version) {
      const definitions = [...truth.generations.values()].map(({ definition }) => definition);
      judged = {
        version: truth.version,
        judge: createJudge(definitions, (...args) => estimate(...args)),
      };
    }
    return judged.judge;
  }

  return (book: RuleBook, { path, targets, submission, ...options }: Asked): ExpectedVerdict => {
    const { nowMs, clockStepped } = options;
    estimate = estimateFrom(truth, book, options);
    const expected =
      submission && path !== null ? judge().submit(path, nowMs) : judge().ask(path, targets, nowMs);
    return {
      exact: isExact(truth, nowMs, clockStepped),
      verdict(answer) {
        if (answer.kind === "admitted")
          return answer.target === expected.target
            ? null
            : `goes to target ${answer.target}, but ${JSON.stringify(expected)}`;
        const { kind: _, id: __, key: ___, waitSeconds, ...breach } = answer;
        return isDeepStrictEqual({ ...breach, wait: waitSeconds }, expected.refused)
          ? null
          : `is refused with ${JSON.stringify(answer)}, but ${JSON.stringify(expected)}`;
      },
      headers({ headers, target }, counted) {
        const told = { requests: triple(headers?.requests), tokens: triple(headers?.tokens) };
        const right = judge().triples(
          submission
            ? { path: counted, provider: "", model: "" }
            : { path: counted, ...targets[target]! },
          nowMs,
        );
        return isDeepStrictEqual(told, right)
          ? null
          : `has the headers ${JSON.stringify(told)}, not ${JSON.stringify(right)}`;
      },
    };
  };
}

function triple(
  told: SuccessHeaders["requests"] | undefined,
): readonly [number, number, number] | null {
  return told ? [told.limit, told.remaining, told.resetSeconds] : null;
}
