/** The words of the first page. */

export const overviewTexts = {
  title: "Overview",
  health: {
    label: "Health",
    well: "No problems",
    daemon: (version: string, uptime: string) => `Limiter daemon ${version}, up ${uptime}`,
    closed: "Refuses requests while the daemon is away",
    open: "Lets requests pass while the daemon is away",
    store: (size: string) => `Store ${size}`,
    proxies: (count: number) => (count === 1 ? "1 proxy" : `${count} proxies`),
  },
  troubles: {
    store: (reason: string) =>
      `The store can't be written: ${reason}. Limits still apply; counts since then are lost if the daemon stops.`,
    cluster: (reason: string) => `The cluster's engine fails: ${reason}.`,
    unsettled: (count: string) =>
      `${count} requests of this page's proxy wait to be settled: their tokens and costs aren't counted yet.`,
    inert: (count: number, names: string) =>
      count === 1
        ? `One limit or budget has no effect as written: ${names}.`
        : `${count} limits and budgets have no effect as written: ${names}.`,
    "limits-off": "Rate limits are off: nothing is refused.",
    "usage-off": "Usage isn't tracked: token limits and budgets have no effect.",
    "budgets-off": "Budgets are off: nothing is refused for its cost.",
    dropped: (count: string) =>
      count === "1"
        ? "One usage record was dropped since the daemon's start."
        : `${count} usage records were dropped since the daemon's start.`,
    "older-proxies": (count: string) =>
      count === "1"
        ? "One proxy runs an older release than the daemon."
        : `${count} proxies run an older release than the daemon.`,
    targets: (count: number, names: string) =>
      count === 1 ? `A circuit is open: ${names}.` : `${count} circuits are open: ${names}.`,
    files: "The proxy of this page has no file descriptors left, and refuses connections.",
  },
  now: {
    label: "Now",
    admitted: "Admitted",
    perSecond: "per second",
    refused: "Refused",
    refusedBy: (rules: string, budgets: string) =>
      `per second: ${rules} by limits, ${budgets} by budgets`,
    inFlight: "In flight",
    holding: "hold slots now",
    tokens: "Tokens",
    perMinute: "per minute",
    spent: "Spent today",
    today: "US dollars, UTC day",
    unknown: "–",
  },
  chart: {
    per: (step: string) => `Requests per ${step}`,
    steps: { 60: "minute", 3600: "hour", 86400: "day" } as Readonly<Record<number, string>>,
    answered: "answered",
    others: "failed, refused or denied",
  },
  closest: {
    title: "Closest to the limit",
    empty: "Nothing is used",
    emptyText: "Limits and budgets in use appear here, the fullest first.",
    none: "No limits yet",
    noneText: "Without limits and budgets every request passes.",
    add: "Add a limit",
    budget: "budget",
  },
  refusals: {
    title: "Last refusals",
    empty: "Nothing was refused",
    emptyText: "Requests refused by a limit or a budget since the daemon's start appear here.",
    explain: "Explain",
    times: (count: number) => `${count} times`,
  },
} as const;
