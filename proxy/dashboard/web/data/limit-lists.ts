/** The first rules and budgets, in a bounded number of pages: all of them where there are few. */
import type { BudgetItem, BudgetPage } from "../../../../shared/api/budget-item.js";
import type { ListPage } from "../../../../shared/api/list-page.js";
import type { RuleItem, RulePage } from "../../../../shared/api/rule-item.js";
import type { Answer, GatewayClient } from "./gateway-client.js";

interface LimitLists {
  readonly rules: readonly RuleItem[];
  readonly budgets: readonly BudgetItem[];
  /** Whether there are none beside these. */
  readonly isAll: boolean;
}

/** A thousand of either: what a browser sorts in a moment, and the daemon lists in two. */
const pagesMax = 5;
const pageItems = 200;

export async function askLimitLists(
  client: GatewayClient,
  signal: AbortSignal,
): Promise<Answer<LimitLists>> {
  const get = <P extends ListPage>(path: string) => askPages<P>(client, path, signal);
  const rules = await get<RulePage>("/admin/rate-limits");
  if (!rules.ok) return rules;
  const budgets = await get<BudgetPage>("/admin/budgets");
  if (!budgets.ok) return budgets;
  return {
    ok: true,
    body: {
      rules: rules.body.flatMap((page) => page.rate_limits),
      budgets: budgets.body.flatMap((page) => page.budgets),
      isAll: [rules, budgets].every(({ body }) => body.at(-1)?.next === null),
    },
  };
}

async function askPages<P extends ListPage>(
  client: GatewayClient,
  path: string,
  signal: AbortSignal,
): Promise<Answer<readonly P[]>> {
  const pages: P[] = [];
  let after: string | null = null;
  do {
    const query = new URLSearchParams({ limit: String(pageItems) });
    if (after !== null) query.set("after", after);
    const answer: Answer<P> = await client.get<P>(`${path}?${query}`, signal);
    if (!answer.ok) return answer;
    pages.push(answer.body);
    after = answer.body.next;
  } while (after !== null && pages.length < pagesMax);
  return { ok: true, body: pages };
}
