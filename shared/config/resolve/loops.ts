/** The entries of `loops`, and whether each can apply. */

import { isPathWithin } from "../../domain/user-path.js";
import type { LoopConfig } from "../config.js";
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

function coversAll(outer: LoopConfig["paths"], inner: LoopConfig["paths"]): boolean {
  if (outer === null) return true;
  if (inner === null) return outer.includes("/");
  return inner.every((path) => outer.some((each) => isPathWithin(path, each)));
}
