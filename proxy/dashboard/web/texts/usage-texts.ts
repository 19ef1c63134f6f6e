/** The words of the pages that show usage. */

export const usageTexts = {
  about: "What requests have used and cost. Days begin and end in UTC.",
  path: "User path and all below it",
  measure: "Shown",
  measures: { cost: "Cost", tokens: "Tokens", requests: "Requests" },
  by: "Grouped by",
  byOf: (grouping: string) => `By ${grouping.toLowerCase()}`,
  groupings: {
    model: "Model",
    provider: "Provider",
    path: "Tenant",
    key: "Key",
    label: "Label",
    requested_model: "Requested model",
    session: "Session",
  },
  ofHosts: (whose: string) => `Usage is shown ${whose}.`,
  groupsCaption: "Usage by group",
  over: { day: "By day", hour: "By hour" },
  compared: (now: string, days: number | null) =>
    days === null
      ? `${now}, beside as long a time before`
      : `${now}, beside the ${days === 1 ? "day" : `${days} days`} before`,
  window: (from: string, to: string) => (from === to ? `${from} UTC` : `${from} to ${to} UTC`),
  columns: {
    requests: "Requests",
    input: "Input tokens",
    output: "Output tokens",
    cost: "Cost",
    share: "Share",
    before: "Before",
    unpriced: "Without a price",
    unknown: "Unknown usage",
  },
  atMost: (tokens: string, cost: string) => `at most ${tokens} tokens, ${cost}`,
  totals: {
    cost: "Cost",
    requests: "Requests",
    input: "Input tokens",
    output: "Output tokens",
    cached: (count: string) => `${count} of them read from caches`,
    unpriced: (count: string) => `${count} without a price, not in the cost`,
    allPriced: "all of them priced",
    saved: "Tokens saved by rewriters",
    unknown: "Calls of unknown usage, estimated here",
    reasoning: (count: string) => `${count} of them reasoning`,
  },
  none: {
    title: "Nothing was used in these days",
    text: "Usage appears here as soon as a request has ended.",
  },
  csv: "Groups as CSV",
} as const;

export const selfTexts = {
  about: (path: string) => `What ${path} used, and what it has left.`,
  limits: "Your limits",
  budgets: "Your budgets",
  used: "Used",
  limit: "Limit",
  per: "Per",
  freeAgain: "Resets in",
  state: "State",
  open: "open",
  exhausted: "used up",
  noLimits: { title: "No limit applies to you", text: "Limits of providers and models still may." },
  noBudgets: { title: "No budget applies to you", text: "What you spend is counted all the same." },
  untracked: { title: "Usage isn't tracked", text: "The operator has switched it off." },
} as const;
