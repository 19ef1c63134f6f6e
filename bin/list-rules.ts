/** Fetches every rule from the daemon, page by page. What is shown of them is `rule-table.ts`'s matter. */
import type { DaemonAnswer, DaemonClient } from "../shared/daemon-client.js";
import { plainFailure } from "../shared/error-code.js";
import { refusal } from "./command-failure.js";

/** A rule as the admin API lists it (SPEC "Rate limit rule as listed by the admin endpoint"). */
export type ListedRule = Readonly<Record<string, unknown>>;

/** The API's list. Printed by `--json` as it stands, so its names are the API's. */
export interface RuleList {
  readonly rate_limits: readonly ListedRule[];
  readonly server_time: string;
}

interface Page extends RuleList {
  readonly next: string | null;
}

/** All rules in the API's order; throws `CommandFailure`. */
export async function listRules(client: DaemonClient): Promise<RuleList> {
  const rules: ListedRule[] = [];
  for (let after: string | null = null; ; ) {
    const page: Page = pageFrom(answered(await client.call("rate-limits.list", { after })));
    rules.push(...page.rate_limits);
    if (page.next === null) return { rate_limits: rules, server_time: page.server_time };
    if (page.next === after || page.rate_limits.length === 0) throw unreadable();
    after = page.next;
  }
}

/** The body of an answer; a refusal is thrown as `CommandFailure`, `remark` added to it. */
export function answered(answer: DaemonAnswer, remark = ""): unknown {
  if (!answer.ok) throw refusal(answer.failure, remark);
  return answer.body;
}

function pageFrom(body: unknown): Page {
  const { rate_limits: rules, server_time: serverTime, next } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (!Array.isArray(rules) || !rules.every(isRecord) || typeof serverTime !== "string") throw unreadable();
  return { rate_limits: rules, server_time: serverTime, next: typeof next === "string" ? next : null };
}

function isRecord(value: unknown): value is ListedRule {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function unreadable(): Error {
  return refusal(plainFailure(500, "internal_error", "the daemon's list of rules can't be read: daemon and command line are of different versions"));
}
