/**
 * GET /admin/targets: the targets that have failed since their last answer, as this proxy has seen
 * it.
 */
import type { TargetList } from "../../../shared/api/gateway-status.js";
import { targetName } from "../../../shared/domain/target-name.js";
import { formatMillis } from "../../../shared/time.js";
import { replyJson } from "../../http/respond.js";
import type { RequestContext } from "../../request-context.js";

export async function replyTargets({
  gateway,
  exchange,
  record,
}: RequestContext<"targetHealth" | "nowMs">): Promise<void> {
  record.end(200, "answered");
  const body: TargetList = {
    targets: gateway.targetHealth.report().map(({ target, state, failures, retryInMs }) => ({
      target: targetName(target),
      state,
      failures,
      retry_in_seconds: Math.ceil(retryInMs / 1000),
    })),
    server_time: formatMillis(gateway.nowMs()),
  };
  replyJson(exchange, 200, body);
}
