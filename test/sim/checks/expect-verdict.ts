/**
 * The answer that the daemon must give to an admission or a reroute, derived only from the truth:
 * the target and the headers, or the rule that refuses it, and for how long.
 */
import { isDeepStrictEqual } from "node:util";
import type { RuleBook } from "../../../limiterd/rules/rule-book.js";
import { usesMax } from "../../../shared/bounds.js";
import { limitInWords } from "../../../shared/domain/refusal-message.js";
import { ruleId } from "../../../shared/domain/rule.js";
import type { Target } from "../../../shared/domain/target-name.js";
import type { SuccessHeaders } from "../../../shared/domain/verdict.js";
import type { Admitted, FromDaemon, Refused } from "../../../shared/wire/message-from-daemon.js";
import { counted, createJudge, type OracleRaise, type OracleRule } from "../../limiterd/oracle.js";
import type { World } from "../world.js";
import { type CompareOptions, estimateFrom } from "./compare-counters.js";
import type { Generation, Truth } from "./truth.js";

/** An admission or a reroute, which must be answered immediately. */
export interface Question {
  /** Names it in messages. */
  readonly what: string;
  readonly id: number;
  readonly path: string;
  /** Whether it is a reroute, which the path's rules don't judge. */
  readonly isReroute: boolean;
  readonly targets: readonly Target[];
  readonly submission: boolean;
  /** The models that it uses instead of others whose limits are exhausted. */
  readonly uses: readonly string[];
  /** Whether it can't go to another model. */
  readonly fixed: boolean;
}

/** The limit that refuses a request, and the subject for which it counts the request. */
export type ExpectedRefusal = Pick<OracleRule, "scope" | "periodSeconds" | "models" | "when"> & {
  /** A rule's own subject, or a child's. */
  readonly subject: string;
  readonly dimension: string;
};

/** Whether a limit that refuses one request also counts this one. */
export function meets(
  { subject, ...limit }: ExpectedRefusal,
  { path, targets, submission }: Pick<Question, "path" | "targets" | "submission">,
): boolean {
  const isOfTarget = limit.scope !== "user_path" || limit.models !== undefined;
  if (submission && (isOfTarget || limit.periodSeconds === 0)) return false;
  const caps = { maxRequests: null, maxTokens: null, perChild: false };
  return counted({ ...limit, ...caps, subject }, { path, ...targets[0]! }) !== null;
}

interface ExpectedVerdict {
  /** Whether all counts that decide are known exactly. */
  readonly isExact: boolean;
  /** The limit that refuses it; null if it is admitted. */
  readonly refusal: ExpectedRefusal | null;
  /** What is wrong with the answer, or null. */
  verdict(answer: Admitted | Refused): string | null;
  /** What is wrong with its headers once it is counted, or null. */
  headers(answer: Admitted, path: string): string | null;
}

/**
 * Returns a function that judges a question before the daemon does, for a comparison with the
 * daemon's answer.
 */
export function createExpectation(truth: Truth) {
  let estimate: ReturnType<typeof estimateFrom> = () => 0n;
  let raisesOf = ({ raises }: Generation): readonly OracleRaise[] => raises;
  let judged = { version: -1, judge: createJudge([], () => 0n) };

  function judge() {
    if (judged.version !== truth.version) {
      const generations = new Map(
        [...truth.generations.values()].map((each) => [each.definition, each]),
      );
      judged = {
        version: truth.version,
        judge: createJudge(
          [...generations.keys()],
          (...args) => estimate(...args),
          (rule) => raisesOf(generations.get(rule)!),
        ),
      };
    }
    return judged.judge;
  }

  return (book: RuleBook, question: Question & CompareOptions): ExpectedVerdict => {
    const { path, isReroute, targets, submission, uses, nowMs, clockStepped } = question;
    estimate = estimateFrom(truth, book, { nowMs, clockStepped });
    // If the clock is set back, a raise that has ended doesn't apply again: only the daemon knows
    // whether it has ended.
    raisesOf = ({ definition, raises }) =>
      raises.filter(
        ({ untilMs }) =>
          !clockStepped ||
          book.ruleSet.get(ruleId(definition))?.raises?.some((each) => each.untilMs === untilMs),
      );
    const expected = submission
      ? judge().submit(path, nowMs)
      : judge().ask(path, targets, nowMs, { isReroute, uses });
    const exhausted =
      expected.refused === undefined && !isReroute
        ? judge()
            .exhausted(countedAt(question, path, expected.target), nowMs, uses)
            .filter(({ dimension }) => !submission || dimension !== "concurrent")
        : [];
    return {
      isExact: !clockStepped,
      refusal: expected.refused ?? null,
      verdict(answer) {
        if (answer.kind === "admitted") {
          if (answer.target !== expected.target)
            return `goes to target ${answer.target}, but ${JSON.stringify(expected)}`;
          const words = exhausted.map(({ wait, ...breach }) =>
            limitInWords({ ...breach, waitSeconds: wait }),
          );
          return (answer.exhausted ?? "") === words.join("; ")
            ? null
            : `is told that ${answer.exhausted} is exhausted, not ${words.join("; ")}`;
        }
        const { kind: _, id: __, key: ___, waitSeconds, ...breach } = answer;
        const refused = { ...defined(breach), wait: waitSeconds };
        return isDeepStrictEqual(refused, refusalTo(question, expected))
          ? null
          : `is refused with ${JSON.stringify(answer)}, but ${JSON.stringify(expected)}`;
      },
      headers({ headers, target }, counted) {
        const ofMeasures = Object.entries(headers?.measures ?? {});
        const sent = {
          requests: triple(headers?.requests),
          tokens: triple(headers?.tokens),
          ...Object.fromEntries(ofMeasures.map(([measure, left]) => [measure, triple(left)])),
        };
        const request = countedAt(question, counted, target);
        const expectedHeaders = {
          ...judge().triples(request, nowMs),
          ...judge().measureTriples(request, nowMs),
        };
        return isDeepStrictEqual(sent, expectedHeaders)
          ? null
          : `has the headers ${JSON.stringify(sent)}, not ${JSON.stringify(expectedHeaders)}`;
      },
    };
  };
}

/** The request as rules count it if it is admitted to a target. */
function countedAt({ targets, submission }: Question, path: string, target: number) {
  return submission ? { path, provider: "", model: "" } : { path, ...targets[target]! };
}

/** The expected refusal: it names another model only if the request can still use it. */
function refusalTo(
  { isReroute, submission, uses, fixed }: Question,
  { refused }: { readonly refused?: { readonly use?: string } },
): object | undefined {
  if (refused?.use === undefined || isReroute) return refused;
  const { use, ...withoutUse } = refused;
  const mustNotUse = submission || fixed || uses.length >= usesMax || uses.includes(use);
  return mustNotUse ? withoutUse : refused;
}

function defined(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function triple(
  quota: SuccessHeaders["requests"] | undefined,
): readonly [number, number, number] | null {
  return quota ? [quota.limit, quota.remaining, quota.resetSeconds] : null;
}

/** Checks the daemon's answer; returns it if it is an admission, else null. */
export function mustAnswer(
  world: World,
  { what, id, isReroute, submission }: Question,
  expected: ExpectedVerdict,
  replies: readonly FromDaemon[],
): Admitted | null {
  const answer = replies.find(
    (sent): sent is Admitted | Refused =>
      (sent.kind === "admitted" || sent.kind === "refused") && sent.id === id,
  );
  if (answer === undefined) return world.fail(`${what} isn't answered at once`);
  const asked = isReroute ? "reroute " : submission ? "submission " : "";
  world.count(`${asked}${answer.kind}${expected.isExact ? ", exact" : ""}`);
  const wrong = expected.verdict(answer);
  if (wrong !== null) return world.fail(`${what} ${wrong}`);
  return answer.kind === "admitted" ? answer : null;
}
