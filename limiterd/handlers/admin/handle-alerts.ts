/**
 * The operations on alerts: a proxy asks for an alert, delivers it, and reports what became of it.
 */
import { unreachable } from "../../../shared/assert.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import { type Alert, parseAlertReport, parseDestination } from "../../../shared/wire/alert.js";
import { claimAlert, takeOver } from "../../cluster/remembered/claimed-alerts.js";
import type { DaemonState } from "../../state.js";
import {
  type AdminPorts,
  type AdminRequest,
  checkedValue,
  writeChange,
} from "./admin-operation.js";

type AlertOp = Extract<AdminOp, `alerts.${string}`>;

export function handleAlerts(
  state: DaemonState,
  { op, body }: AdminRequest<AlertOp>,
  nowMs: number,
  ports: AdminPorts,
): void {
  switch (op) {
    case "alerts.list":
      return ports.answer({ alerts: state.alerts.list() });
    case "alerts.due": {
      const destination = checkedValue(parseDestination(body), ports);
      if (destination === null) return;
      return void takeClaimed(state, destination, nowMs).then((alert) => ports.answer({ alert }));
    }
    case "alerts.report": {
      const report = checkedValue(parseAlertReport(body), ports);
      if (report === null) return;
      const changes = state.alerts.report(report, nowMs);
      const answer = (): void => ports.answer({ status: "ok" });
      return changes.length === 0 ? answer() : writeChange(state, changes, ports, answer);
    }
    default:
      return unreachable(op);
  }
}

/**
 * The next alert that this host sends. If several hosts noticed the same crossing, the first that
 * claims its alert sends it; if the engine is away, each host sends it, with the same id.
 */
async function takeClaimed(
  state: DaemonState,
  destination: string,
  nowMs: number,
): Promise<Alert | null> {
  const { alerts, cluster, writer } = state;
  const { alert, removed } = alerts.take(destination, nowMs);
  if (removed.length > 0) void writer.write(removed);
  if (alert === null || cluster === null) return alert;
  const { id } = alert;
  const { commands, name, board } = cluster;
  const claim = { destination, id, host: board.identity.id };
  try {
    const owner = await claimAlert(commands, name, claim);
    if (owner === claim.host) return alert;
    if (owner !== null) {
      void writer.write(alerts.dropClaimed(destination, id));
      return null;
    }
    if (alerts.postpone(destination, id, nowMs)) return null;
    await takeOver(commands, name, claim);
  } catch {
    // The engine is away.
  }
  return alert;
}
