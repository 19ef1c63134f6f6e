/** The text that an operator reads when the configuration can't be used. */

/** One line per problem under a line that says where to look. Ends with a newline. */
export function problemReport(failed: { readonly file: string | null; readonly problems: readonly string[] }): string {
  const where = failed.file === null ? "the environment and flags (no file was found)" : failed.file;
  const count = failed.problems.length === 1 ? "1 problem" : `${failed.problems.length} problems`;
  return `sluice can't start: ${count} in the configuration\n  from ${where}\n${failed.problems.map((problem) => `  - ${problem.replaceAll("\n", " ")}\n`).join("")}`;
}
