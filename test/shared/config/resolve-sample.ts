/**
 * Builds a configuration from a text, for the tests beside this file. An unprivileged user in
 * /work, unless a test sets others.
 */

import type { Config } from "../../../shared/config/config.js";
import { type Problem, problemLine } from "../../../shared/config/problems.js";
import {
  type ConfigSources,
  resolveConfig,
} from "../../../shared/config/resolve/resolve-config.js";

type Others = Partial<Omit<ConfigSources, "file">>;

/** The file's name in every message of these tests. */
export const samplePath = "/srv/sluice.yaml";

function build(text: string | null, others: Others): ReturnType<typeof resolveConfig> {
  return resolveConfig({
    file: text === null ? null : { path: samplePath, text },
    flags: {},
    env: {},
    cwd: "/srv",
    uid: 1000,
    ...others,
  });
}

/** The configuration and its warnings; a problem fails the test with its text. */
export function accepted(
  text: string | null,
  others: Others = {},
): { readonly config: Config; readonly warnings: readonly string[] } {
  const result = build(text, others);
  if (!result.ok)
    throw new Error(
      `the configuration was refused:\n${result.problems.map(problemLine).join("\n")}`,
    );
  return result;
}

/** What is wrong with a configuration, and where; none fails the test. */
export function problemsOf(text: string | null, others: Others = {}): readonly Problem[] {
  const result = build(text, others);
  if (result.ok) throw new Error("the configuration was accepted");
  return result.problems;
}

/** The messages only. */
export function refused(text: string | null, others: Others = {}): readonly string[] {
  return problemsOf(text, others).map(({ message }) => message);
}
