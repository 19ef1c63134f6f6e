/** The words of the first page. */

export const overviewTexts = {
  title: "Overview",
  health: {
    label: "Health",
    well: "All is well",
    daemon: (version: string, uptime: string) => `Limiter daemon ${version}, up ${uptime}`,
    closed: "Refuses requests while the daemon is away",
    open: "Lets requests pass while the daemon is away",
    store: (size: string) => `Store ${size}`,
    proxies: (count: number) => (count === 1 ? "1 proxy" : `${count} proxies`),
  },
  troubles: {
    store: (reason: string) =>
      `The store can't be written: ${reason}. Limits hold; what is counted now is lost if the daemon ends.`,
    cluster: (reason: string) =>
      `Something is wrong with the engine that several hosts share: ${reason}.`,
    unsettled: (count: string) =>
      `${count} requests wait to be settled: their tokens and costs aren't counted yet.`,
    inert: (count: number, names: string) =>
      count === 1
        ? `One limit or budget does nothing as it is written: ${names}.`
        : `${count} limits and budgets do nothing as they are written: ${names}.`,
    "limits-off": "Rate limits are off: nothing is refused.",
    "usage-off": "Usage isn't tracked: token limits and budgets do nothing.",
    "budgets-off": "Budgets are off: nothing is refused for its cost.",
    dropped: (count: string) =>
      count === "1"
        ? "One usage record was dropped since the daemon's start."
        : `${count} usage records were dropped since the daemon's start.`,
    "older-proxies": (count: string) =>
      count === "1"
        ? "One proxy is of an older release than the daemon."
        : `${count} proxies are of an older release than the daemon.`,
    targets: (failing: string, open: string) =>
      failing === "1"
        ? `One target fails${open === "1" ? ", and is left alone for now" : ""}.`
        : `${failing} targets fail; left alone for now: ${open}.`,
    files: "The proxy has no file descriptors left, and refuses connections.",
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
    title: "Requests per second, last 10 minutes",
    admitted: "admitted",
    refused: "refused",
  },
  closest: {
    title: "Closest to the limit",
    empty: "Nothing is used",
    emptyText: "Limits and budgets of which something is used are listed here, the fullest first.",
    none: "No limits yet",
    noneText: "Without limits and budgets every request passes.",
    add: "Add a limit",
    budget: "budget",
  },
  refusals: {
    title: "Last refusals",
    empty: "Nothing was refused",
    emptyText:
      "Requests that a limit or a budget refuses are listed here, since the daemon's start.",
    explain: "Explain",
    times: (count: number) => `${count} times`,
  },
} as const;
