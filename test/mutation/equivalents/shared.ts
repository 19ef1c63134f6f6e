/** In what both processes share. By file. */
import type { Equivalent } from "./equivalent.js";

export const sharedEquivalents: readonly Equivalent[] = [
  {
    file: "shared/domain/budget.ts",
    line: "return a.scope < b.scope ? -1 : 1;",
    what: "< becomes <=",
    why: "the scopes differ",
  },
  {
    file: "shared/domain/budget.ts",
    line: "return subjectA < subjectB ? -1 : 1;",
    what: "< becomes <=",
    why: "the subjects differ",
  },
  {
    file: "shared/domain/managed-key.ts",
    line: 'return text.includes("sk-")',
    what: "the condition is always true",
    why: "in a text without a key nothing is replaced, which takes longer",
  },
  {
    file: "shared/domain/target-name.ts",
    line: 'return isPrintable(name) ? name : name.replace(/[\\p{Cc}\\p{Cs}]/gu, "\\ufffd");',
    what: "the condition is always false",
    why: "in a name that is printable nothing is replaced, which takes longer",
  },
  {
    file: "shared/domain/user-path.ts",
    line: "if (alreadyNormal.test(raw))",
    what: "the condition is always false",
    why: "a path that is normal is found to be so by normalizing it, which takes longer",
  },
  {
    file: "shared/domain/user-path.ts",
    line: 'if (path === "/")',
    what: "the condition is always false",
    why: "a path that is normal is found to be so by normalizing it, which takes longer",
  },
  {
    file: "shared/domain/user-path.ts",
    line: "if (alreadyNormal.test(path))",
    what: "the condition is always false",
    why: "a path that is normal is found to be so by normalizing it, which takes longer",
  },
  {
    file: "shared/wire/codec.ts",
    line: "if (incomplete.length > 0) {",
    what: "the condition is always true",
    why: "a chunk behind nothing is itself, copied",
  },
  {
    file: "shared/wire/daemon-client.ts",
    line: "const daemonDeadlineMs = 5_000;",
    what: "5000 becomes 5001",
    why: "an answer is waited for a millisecond longer",
  },
  {
    file: "shared/wire/daemon-client.ts",
    line: "this.#waiting.delete(0);",
    what: "the statement is left out",
    why: "a promise that is resolved isn't rejected any more",
  },
  {
    file: "shared/wire/daemon-client.ts",
    line: "this.#waiting.delete(0);",
    what: "0 becomes 1",
    why: "nothing else waits yet, and a promise that is resolved isn't rejected any more",
  },
  {
    file: "shared/wire/daemon-client.ts",
    line: "this.#waiting.set(0, { resolve: () => resolve(), reject });",
    what: "0 becomes 1",
    why: "nothing else waits before the connection, and the hello takes the place after it",
  },
];
