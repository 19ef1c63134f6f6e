/** The words of raises of rules and budgets. */

export const raiseTexts = {
  button: (name: string) => `Raise the limit of ${name} for a time`,
  title: (name: string) => `Raise the limit of ${name}`,
  subject: "Path",
  subjectHint: "One child of the template; the template's own path raises each child.",
  noSubject: "Enter a path.",
  fields: {
    max_requests: "Requests at most",
    max_tokens: "Tokens at most",
    max_input_tokens: "Input tokens at most",
    max_output_tokens: "Output tokens at most",
    max_cost: "US dollars at most",
    max_tool_calls: "Tool calls at most",
    max_enqueued_tokens: "Tokens of unfinished batches at most",
    amount: "US dollars",
  },
  time: "For",
  times: [
    ["900", "15 minutes"],
    ["3600", "1 hour"],
    ["7200", "2 hours"],
    ["28800", "8 hours"],
    ["86400", "1 day"],
    ["604800", "7 days"],
    ["2592000", "30 days"],
  ] as readonly (readonly [string, string])[],
  reason: "Why",
  submit: "Raise",
  end: "End it now",
  done: (name: string) => `The limit of ${name} is raised`,
  ended: (name: string) => `The raise of ${name} has ended`,
  present: (name: string, until: string, by: string, reason: string) =>
    `${name} is raised until ${until}, by ${by}: ${reason}`,
  badge: (until: string) => `raised until ${until}`,
} as const;
