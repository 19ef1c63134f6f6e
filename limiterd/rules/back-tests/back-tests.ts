/**
 * The running back-tests. So that no call takes long, a client calls repeatedly until its back-test
 * is complete. Between the calls, the state is kept here.
 */
import type { BackTestReport } from "../../../shared/api/rule-item.js";
import { bad, type Checked, good, isCount, isObject, show } from "../../../shared/checked.js";
import { parseRuleWrite, type RuleDefinition } from "../../../shared/domain/rule.js";
import type { TokenWeights } from "../../../shared/domain/token-weights.js";
import { failure } from "../../../shared/error-code.js";
import { backTestDaysMax, backTestsMax, forgottenAfterMs } from "../../bounds.js";
import type { UsageReader } from "../../usage/usage-reader.js";
import { BackTest, type BackTestQuestion } from "./back-test.js";
import type { RuleNames } from "./replayed-rule.js";

const daysByDefault = 7;

interface BackTestsPorts extends UsageReader {
  /** Resolves when everything recorded before is in the store; rejects if it can't be written. */
  recordsWritten(): Promise<void>;
  readonly perChildEntitled: boolean;
  readonly tokenWeights: TokenWeights | null;
  inertReason(definition: RuleDefinition): string | null;
}

export class BackTests {
  readonly #names: RuleNames;
  readonly #running = new Map<number, BackTest>();
  #begun = 0;

  constructor(names: RuleNames) {
    this.#names = names;
  }

  /**
   * Begins a back-test for `{…rule, days?}`, or continues one with `after`. Rejects with
   * `StoreUnreadableError`, or with `StoreFailingError` if records can't be written.
   */
  answer(ports: BackTestsPorts, body: unknown, nowMs: number): Checked<Promise<BackTestReport>> {
    const parsed = parseBackTest(body, ports);
    if (!parsed.ok) return parsed;
    const { after, question } = parsed.value;
    return after === null
      ? good(this.#begin(ports, question, nowMs))
      : this.#continue(after, question, nowMs);
  }

  /** Removes back-tests without a recent call. */
  forgetIdle(nowMs: number): void {
    for (const [id, { askedMs, isBusy }] of this.#running)
      if (!isBusy && Math.abs(nowMs - askedMs) > forgottenAfterMs) this.#running.delete(id);
  }

  get size(): number {
    return this.#running.size;
  }

  async #begin(
    ports: BackTestsPorts,
    question: BackTestQuestion,
    nowMs: number,
  ): Promise<BackTestReport> {
    await ports.recordsWritten();
    const names = this.#names;
    const { tokenWeights } = ports;
    const inert = ports.inertReason(question.definition);
    const test = new BackTest(ports, question, { names, inert, tokenWeights, nowMs });
    const id = ++this.#begun;
    this.#running.set(id, test);
    if (this.#running.size > backTestsMax) this.#running.delete(this.#oldest());
    return this.#advance(id, test, nowMs);
  }

  #oldest(): number {
    const [[id] = [0]] = [...this.#running].sort(([, a], [, b]) => a.askedMs - b.askedMs);
    return id;
  }

  #continue(
    id: number,
    question: BackTestQuestion,
    nowMs: number,
  ): Checked<Promise<BackTestReport>> {
    const test = this.#running.get(id);
    if (test === undefined)
      return bad(
        "after must be the next of a back-test that is under way: this one has ended, or others have taken its place; begin again",
        "after",
      );
    if (!isSameQuestion(question, test.question))
      return bad("after is of a back-test of another rule, or of other days", "after");
    if (test.isBusy)
      return {
        ok: false,
        failure: failure("overloaded", "this back-test is being continued by another request"),
      };
    return good(this.#advance(id, test, nowMs));
  }

  async #advance(id: number, test: BackTest, nowMs: number): Promise<BackTestReport> {
    test.askedMs = nowMs;
    test.isBusy = true;
    try {
      await test.advance();
    } catch (error) {
      this.#running.delete(id);
      throw error;
    } finally {
      test.isBusy = false;
    }
    if (test.isComplete) this.#running.delete(id);
    return test.report(String(id), nowMs);
  }
}

interface BackTestRequest {
  readonly question: BackTestQuestion;
  /** The number of the back-test to continue; null: begin one. */
  readonly after: number | null;
}

/** Parses the body of a PUT of the rule, with `days`, and with `after` to continue. */
export function parseBackTest(
  body: unknown,
  options: { readonly perChildEntitled: boolean },
): Checked<BackTestRequest> {
  const fields = isObject(body) ? body : {};
  if (fields["after"] === null)
    return bad("after must have a value, or be left out, not null", "after");
  const { after = null, days: dayCount = daysByDefault, ...rule } = fields;
  const id = typeof after === "string" && /^[1-9]\d{0,14}$/.test(after) ? Number(after) : null;
  if (after !== null && id === null)
    return bad(`after must be the next of a back-test, not ${show(after)}`, "after");
  if (!isCount(dayCount, 1) || dayCount > backTestDaysMax)
    return bad(
      `days must be an integer from 1 to ${backTestDaysMax}, not ${show(dayCount)}`,
      "days",
    );
  const definition = parseRuleWrite(isObject(body) ? rule : body, options);
  if (!definition.ok) return definition;
  if (definition.value.loops !== undefined)
    return bad("loops can't be tested: records don't keep conversations", "loops");
  if (definition.value.measureCaps?.enqueued_tokens !== undefined)
    return bad(
      "max_enqueued_tokens can't be tested: records don't say how long a batch was unfinished",
      "max_enqueued_tokens",
    );
  return good({ question: { definition: definition.value, days: dayCount }, after: id });
}

function isSameQuestion(a: BackTestQuestion, b: BackTestQuestion): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
