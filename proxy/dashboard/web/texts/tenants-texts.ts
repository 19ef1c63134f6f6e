/** The words of the pages on tenants. */

export const tenantsTexts = {
  about: "The children of templates with the highest used share, in the running period.",
  search: "Filter by path",
  all: "All tenants",
  none: {
    title: "No tenant has used anything",
    text: "A limit with per_child gives each child of its path a limit of its own: a tenant.",
  },
  models: "Usage by model",
  days: "the last 30 days",
  columns: { model: "Model", requests: "Requests", tokens: "Tokens", cost: "Cost" },
  limits: "Limits and budgets in use",
  noLimits: "None of its limits and budgets is used now.",
  events: "Last failures and refusals",
  noEvents: "None of its kept requests failed or was refused.",
  keys: "Keys",
  noKeys: "No key is bound to this path.",
} as const;
