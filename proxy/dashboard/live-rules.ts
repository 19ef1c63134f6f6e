/** The pages of rules that somebody watches: what of each has changed since the last look. */
import type { RuleItem, RulePage } from "../../shared/api/rule-item.js";

/** A page, as GET /admin/rate-limits is asked for it. */
export interface RuleQuery {
  /** One text for each. */
  readonly key: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** The data of a `rules` event. */
interface PageChange {
  /** Null: nothing has changed. */
  readonly changed: string | null;
  /** For who hasn't the page yet. */
  whole(): string;
}

/** Each rule's name with its text. */
type Page = ReadonlyMap<string, string>;

export class LiveRules {
  /** By the key of the query, as they were at the last look. */
  readonly #pages = new Map<string, Page>();
  /** How many queries have had their turn. */
  #turn = 0;

  /** Forgets the pages that nobody watches any more. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#pages.keys()) if (!keys.has(key)) this.#pages.delete(key);
  }

  /** Whose turn it is, so that each of many comes round. */
  turns(queries: readonly RuleQuery[], max: number): readonly RuleQuery[] {
    const count = Math.min(queries.length, max);
    const first = this.#turn;
    this.#turn = queries.length === 0 ? 0 : (first + count) % queries.length;
    return Array.from({ length: count }, (_, i) => queries[(first + i) % queries.length]!);
  }

  /** What has changed on the page that the daemon has just answered with. */
  next({ key }: RuleQuery, answer: unknown): PageChange {
    const { rate_limits: rules } = answer as RulePage;
    const page = new Map(rules.map((rule) => [nameOf(rule), JSON.stringify(rule)] as const));
    const before = this.#pages.get(key);
    this.#pages.set(key, page);
    const whole = (): string => dataOf(true, [...page.values()]);
    if (before === undefined || !hasSameRules(before, page)) return { changed: whole(), whole };
    const changed = [...page].filter(([name, text]) => before.get(name) !== text);
    const texts = changed.map(([, text]) => text);
    return { changed: texts.length === 0 ? null : dataOf(false, texts), whole };
  }
}

function nameOf({ scope, subject, period_seconds: period }: RuleItem): string {
  return JSON.stringify([scope, subject, period]);
}

function hasSameRules(one: Page, other: Page): boolean {
  const names = [...other.keys()];
  return one.size === other.size && [...one.keys()].every((name, i) => name === names[i]);
}

function dataOf(whole: boolean, rules: readonly string[]): string {
  return `{"whole":${whole},"rate_limits":[${rules.join(",")}]}`;
}
