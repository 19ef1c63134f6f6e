/**
 * The exit codes of all three programs and their meanings, in one table: `--help` prints it,
 * docs/runbook.md is checked against it.
 */

/** The numbers from 64 up are those of sysexits.h. */
export const exitCodes = {
  ok: 0,
  failed: 1,
  usage: 2,
  notFound: 3,
  different: 4,
  unreachable: 69,
  bug: 70,
  storeUnreadable: 74,
  taken: 75,
  untrusted: 77,
  configuration: 78,
  killed: 130,
  outputClosed: 141,
} as const;

/** Each code with its meaning, in the order in which they are printed. */
export const exitCodeMeanings: readonly { readonly code: number; readonly meaning: string }[] = [
  { code: exitCodes.ok, meaning: "done" },
  { code: exitCodes.failed, meaning: "the daemon refused, or something failed" },
  {
    code: exitCodes.usage,
    meaning: "wrong usage; nothing was done. Of doctor: failures; of --exit-code: differences",
  },
  { code: exitCodes.notFound, meaning: "no such rule, budget, key or refusal" },
  {
    code: exitCodes.different,
    meaning: "of reconcile: the bill differs by more than --fail-above",
  },
  { code: exitCodes.unreachable, meaning: "the daemon can't be reached" },
  { code: exitCodes.bug, meaning: "a bug in Sluice; the process ended itself" },
  {
    code: exitCodes.storeUnreadable,
    meaning: "a store or a backup is damaged or can't be read",
  },
  { code: exitCodes.taken, meaning: "another daemon has the socket or the store" },
  {
    code: exitCodes.untrusted,
    meaning: "the daemon's socket may be someone else's; nothing was sent",
  },
  { code: exitCodes.configuration, meaning: "the configuration is wrong" },
  { code: exitCodes.killed, meaning: "stopped by Ctrl-C, or immediately by a second signal" },
  {
    code: exitCodes.outputClosed,
    meaning: "the reader of the output went away",
  },
];

/**
 * The exit code of a daemon or proxy that couldn't start. Errors are recognized by name, so that
 * this file imports neither program.
 */
export function exitCodeForStartError(error: unknown): number {
  switch (error instanceof Error ? error.name : "") {
    case "SocketTakenError":
    case "StoreLockedError":
      return exitCodes.taken;
    case "SocketUntrustedError":
      return exitCodes.untrusted;
    case "StoreBrokenError":
    case "StoreUnreadableError":
      return exitCodes.storeUnreadable;
    case "OpenGatewayError":
    case "InheritedSocketsError":
    case "SecretFileError":
      return exitCodes.configuration;
    default:
      return exitCodes.failed;
  }
}

/** The table as `--help` shows it. */
export function exitCodeHelp(
  codes: readonly number[] = exitCodeMeanings.map(({ code }) => code),
): string {
  const rows = exitCodeMeanings.filter(({ code }) => codes.includes(code));
  return [
    "",
    "Exit codes:",
    ...rows.map(({ code, meaning }) => `  ${String(code).padEnd(4)} ${meaning}`),
  ].join("\n");
}
