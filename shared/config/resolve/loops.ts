/** The entries of `loops`, and whether each can apply. */

import { isPathWithin } from "../../domain/user-path.js";
import type { EffectiveSetting, LoopConfig } from "../config.js";
import { type ConfigFile, validFields } from "../file/config-file.js";
import { loopWarnAfterDefault } from "../settings/loop-settings.js";

export function resolveLoops(
  { loops }: Pick<ConfigFile, "loops">,
  problems: string[],
): readonly LoopConfig[] {
  const entries: { readonly at: number; readonly config: LoopConfig }[] = [];
  for (const [at, { fields }] of loops.entries()) {
    const valid = fields === null ? null : validFields(fields);
    if (valid === null) continue;
    const { paths, warn_after: warn, refuse_after: refuse, compare_results: compares } = valid;
    const refuseAfter = refuse ?? 0;
    const warnAfter = warn ?? Math.min(loopWarnAfterDefault, refuseAfter || loopWarnAfterDefault);
    if (refuseAfter > 0 && refuseAfter < warnAfter)
      problems.push(
        `loops[${at}].refuse_after must be at least warn_after (${warnAfter}), not ${refuseAfter}`,
      );
    const covering = entries.find(({ config }) => coversAll(config.paths, paths));
    if (covering !== undefined)
      problems.push(`loops[${at}] never applies: loops[${covering.at}] has its paths`);
    const config = { paths, warnAfter, refuseAfter, comparesResults: compares ?? true };
    entries.push({ at, config });
  }
  return entries.map(({ config }) => config);
}

/** An entry among the settings in force. */
export function describeLoop(
  { paths, warnAfter, refuseAfter, comparesResults }: LoopConfig,
  at: number,
): EffectiveSetting {
  const times = (after: number): string => (after === 0 ? "never" : `after ${after}`);
  const value = [
    (paths ?? ["all paths"]).join(", "),
    `warn ${times(warnAfter)}`,
    `refuse ${times(refuseAfter)}`,
    ...(comparesResults ? [] : ["whatever the results are"]),
  ].join("; ");
  return {
    path: `loops[${at}]`,
    value,
    source: "file",
    name: null,
    unit: null,
    secret: false,
    meaning: "When agents that repeat themselves are warned of and refused.",
  };
}

function coversAll(outer: LoopConfig["paths"], inner: LoopConfig["paths"]): boolean {
  if (outer === null) return true;
  if (inner === null) return outer.includes("/");
  return inner.every((path) => outer.some((each) => isPathWithin(path, each)));
}
