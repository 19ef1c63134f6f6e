/** A message as one line of the trace. */
import type { Target } from "../../shared/domain/target-name.js";
import type { FromDaemon } from "../../shared/wire/message-from-daemon.js";
import type { FromOtherRelease, ToDaemon } from "../../shared/wire/message-to-daemon.js";

export function describeTarget(target: Target | null): string {
  return target === null ? "no target" : `${target.provider}/${target.model}`;
}

export function describeMessage(message: ToDaemon | FromOtherRelease | FromDaemon): string {
  switch (message.kind) {
    case "admit":
      return `${message.submission ? "submission" : "admit"} ${message.id} ${message.userPath} ${message.targets.map(describeTarget).join(",")}${message.wait === undefined ? "" : ` waits ${message.wait.askedMs}, has waited ${message.wait.waitedMs}`}`;
    case "reroute":
      return `reroute ${message.id} of lease ${message.lease} to ${message.targets.map(describeTarget).join(",")}`;
    case "settle":
      return `settle ${message.seq} of ${message.part} of lease ${message.lease} at ${describeTarget(message.target)}: ${message.tokens} tokens`;
    case "hold":
      return `hold ${message.leases.map(({ lease }) => lease).join(" ")}`;
    case "queued":
    case "cancel":
    case "cancelled":
      return `${message.kind} ${message.id}`;
    case "release":
      return `release of lease ${message.id}`;
    case "hello":
      return `hello ${message.proxyId} with ${message.leases.length} leases`;
    case "unsupported hello":
      return `hello ${message.proxyId} of version ${message.wireVersion}`;
    case "unknown operation":
      return message.op;
    case "admin":
      return `${message.op} ${JSON.stringify(message.body)}`;
    case "admitted":
      return `admitted ${message.id} to ${message.target}, lsn ${message.lsn}`;
    case "refused":
      return `refused ${message.id} by ${message.scope} ${message.subject} ${message.periodSeconds} ${message.dimension}: ${message.waitSeconds}`;
    case "welcome":
      return `welcome, settled ${message.settledSeq}`;
    case "settled":
      return `settled ${message.seq}`;
    default:
      return message.kind;
  }
}
