/** The words of the page of the audit log. */

export const auditTexts = {
  about: "Each change of limits, budgets, keys and settings, and each sign-in, newest first.",
  caption: "Changes, newest first",
  columns: {
    subject: "Subject",
    operation: "Operation",
    who: "Who, from where",
    change: "Change",
    time: "Time",
  },
  whole: (before: unknown, after: unknown) =>
    `before ${JSON.stringify(before)}\nafter ${JSON.stringify(after)}`,
  request: "Request",
  file: "NDJSON",
  none: { title: "No changes yet", text: "Changes and sign-ins appear here." },
  unmatched: { title: "No change matches", text: "Try other filters." },
};
