/** One log line for each model without a price that requests use. */
import { pricedTargetsMax } from "../../shared/bounds.js";
import { type Target, targetName } from "../../shared/domain/target-name.js";
import type { Log } from "../../shared/log.js";

export function createUnpricedNotice(log: Pick<Log, "warn">): (target: Target) => void {
  const noticed = new Set<string>();
  return (target) => {
    const model = targetName(target);
    if (noticed.has(model) || noticed.size >= pricedTargetsMax) return;
    noticed.add(model);
    log.warn({ target: model }, "a model without a price was used: no budget counts it");
  };
}
