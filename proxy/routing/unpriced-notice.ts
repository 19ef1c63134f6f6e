/** One log line for each model without a price that requests use. */
import { pricedTargetsMax } from "../../shared/bounds.js";
import type { Config } from "../../shared/config/config.js";
import { type Target, targetName } from "../../shared/domain/target-name.js";
import type { Log } from "../../shared/log.js";

/** The models of a simulator cost nothing: they are never named. */
export function createUnpricedNotice(
  providers: Config["providers"],
  log: Pick<Log, "warn">,
): (target: Target) => void {
  const simulators = new Set(
    providers.filter(({ type }) => type === "simulator").map(({ name }) => name),
  );
  const noticed = new Set<string>();
  return (target) => {
    const model = targetName(target);
    if (noticed.has(model) || noticed.size >= pricedTargetsMax || simulators.has(target.provider))
      return;
    noticed.add(model);
    log.warn({ target: model }, "a model without a price was used: no budget counts it");
  };
}
