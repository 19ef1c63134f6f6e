/** The words of the page of requests. */

export const requestsTexts = {
  about: "What runs now, what has ended, and what was refused.",
  tabs: { "in-flight": "In flight", recent: "Recent", refused: "Refused" },
  tabsLabel: "Kinds of requests",
  inFlight: {
    about: "Who holds slots now, the longest running first.",
    caption: "Requests in flight, the longest running first",
    search: "Filter by path or target",
    columns: { path: "User path", target: "Target", since: "Admitted", for: "For", proxy: "Proxy" },
    noTarget: "between two targets",
    unasked: "let through while the daemon was away",
    none: {
      title: "Nothing is in flight",
      text: "Requests stand here from their admission to their end.",
    },
  },
  recent: {
    anyStatus: "Any status",
    caption: "Requests that ended, newest first",
    search: "User path and all below it",
    columns: {
      time: "Ended",
      path: "User path",
      model: "Model",
      status: "Status",
      tokens: "Tokens",
      cost: "Cost",
      latency: "Took",
    },
    tokens: (input: string, output: string) => `${input} in, ${output} out`,
    estimated: "estimated",
    cached: "from the cache",
    asked: (model: string) => `asked for ${model}`,
    none: {
      title: "No request has ended yet",
      text: "Each is recorded when its answer has ended.",
    },
  },
  refused: {
    about: "The last 10,000 refusals since the daemon's start, newest first.",
    caption: "Refusals, newest first",
    search: "Filter by path, key, model or request id",
    dimension: "Refused by",
    dimensions: {
      "": "Any reason",
      requests: "Requests",
      tokens: "Tokens",
      concurrent: "Requests at once",
      children: "Children of a template",
      budget: "Budget",
    },
    columns: {
      time: "Refused",
      path: "User path",
      model: "Model",
      why: "Why",
      again: "Would pass",
      explain: "Explain",
    },
    after: (wait: string) => `after ${wait}`,
    none: {
      title: "Nothing was refused",
      text: "Refusals stand here with their reason and when they would have passed.",
    },
  },
  unmatched: { title: "No request matches", text: "Try another filter." },
} as const;
