/** A page of rules or budgets as the live stream goes on telling it. Pure. */
/** What a rule or a budget is known by. */
interface Named {
  readonly scope: string;
  readonly subject: string;
  readonly period_seconds: number;
}

/** The items after an event: all of them, or those before it with what has changed. */
export function itemsAfter<Item extends Named>(
  before: readonly Item[],
  isWhole: boolean,
  told: readonly Item[],
): readonly Item[] {
  if (isWhole) return told;
  const changed = new Map(told.map((item) => [nameOf(item), item]));
  return before.map((item) => changed.get(nameOf(item)) ?? item);
}

function nameOf({ scope, subject, period_seconds }: Named): string {
  return JSON.stringify([scope, subject, period_seconds]);
}
