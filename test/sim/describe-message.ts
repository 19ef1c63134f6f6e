/** A message as one line of the trace. */
import type { FromDaemon, ToDaemon } from "../../shared/wire/message.js";

export function describeMessage(message: ToDaemon | FromDaemon): string {
  switch (message.kind) {
    case "admit": return `admit ${message.id} ${message.userPath} ${message.targets.map(({ provider, model }) => `${provider}/${model}`).join(",")}`;
    case "settle": return `settle ${message.seq} of lease ${message.lease}: ${message.tokens} tokens`;
    case "hello": return `hello ${message.proxyId} with ${message.leases.length} leases`;
    case "admin": return `${message.op} ${JSON.stringify(message.body)}`;
    case "admitted": return `admitted ${message.id} to ${message.target}, lsn ${message.lsn}`;
    case "refused": return `refused ${message.id} by ${message.scope} ${message.subject} ${message.periodSeconds} ${message.dimension}: ${message.waitSeconds}`;
    case "welcome": return `welcome, settled ${message.settledSeq}`;
    case "settled": return `settled ${message.seq}`;
    default: return message.kind;
  }
}
