/** GET /admin/targets: the targets whose last attempt in this proxy has failed. */
import type { TargetItem, TargetList } from "../../../shared/api/gateway-status.js";
import { targetName } from "../../../shared/domain/target-name.js";
import { formatMillis } from "../../../shared/time.js";
import type { Gateway } from "../../gateway.js";
import { replyJson } from "../../http/respond.js";
import type { RequestContext } from "../../request-context.js";

export async function replyTargets({
  gateway,
  exchange,
  record,
}: RequestContext<"targetHealth" | "nowMs">): Promise<void> {
  record.end(200, "answered");
  const body: TargetList = {
    targets: failingTargets(gateway),
    server_time: formatMillis(gateway.nowMs()),
  };
  replyJson(exchange, 200, body);
}

/** The targets that fail; GET /admin/status and /admin/live list them, too. */
export function failingTargets({
  targetHealth,
}: Pick<Gateway, "targetHealth">): readonly TargetItem[] {
  return targetHealth.report().map(({ target, state, failures, why, retryInMs }) => ({
    target: targetName(target),
    state,
    failures,
    reason: why,
    retry_in_seconds: Math.ceil(retryInMs / 1000),
  }));
}
