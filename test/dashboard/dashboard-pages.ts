/** The addresses that are looked at, below /dashboard/: each page, and others of its tabs. */
export const dashboardPages: readonly string[] = [
  "",
  "limits",
  "limits?scope=provider",
  "limits?scope=model",
  "budgets",
  "explain",
  "explain?path=/support/triage&model=smart",
  "usage",
  "usage?by=key&measure=tokens",
  "requests",
  "requests?tab=recent",
  "requests?tab=refused",
  "keys",
  "providers",
  "system",
];
