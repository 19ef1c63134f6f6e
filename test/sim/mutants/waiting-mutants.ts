/** Bugs in how requests wait for room, which the simulation with such requests finds. */
import type { Mutant } from "./mutant.js";

const queues = "limiterd/waiting/wait-queues.js";
const admit = "limiterd/handlers/handle-admit.js";

export const waitingMutants: readonly Mutant[] = (
  [
    {
      name: "a slot that becomes free wakes no waiting request",
      often: false,
      file: "limiterd/rules/slots.js",
      find: "counter.rule.onFreed?.(counter);",
      put: "",
    },
    {
      name: "a new request overtakes those that wait",
      often: false,
      file: queues,
      find: "return Math.max(1, expectedMs(queue, positionAtEnd(queue, classOf()), nowMs) ?? 1);",
      put: "return 0;",
    },
    {
      name: "a request counts when it begins to wait",
      file: "limiterd/handlers/wait-for-room.js",
      find: "if (!waiters.add(waiter, place)) return null;",
      put: "if (!waiters.add(waiter, place)) return null; for (const { window } of state.book.matchPath(userPath, nowMs)) window.currentRequests++;",
    },
    {
      name: "the deadline of a waiting request is ignored",
      file: queues,
      find: "if (deadlineMs <= nowMs) over.push(waiting);",
      put: "if (deadlineMs === 0) over.push(waiting);",
    },
    {
      name: "a waiting request is admitted, and stays in its queue",
      file: queues,
      find: "queue.order.admitted(line.name, nowMs); this.remove(waiting);",
      put: "queue.order.admitted(line.name, nowMs);",
    },
    {
      name: "a request whose client has left is admitted",
      file: admit,
      find: 'waiters.remove(waiter); peer.send({ kind: "cancelled", id });',
      put: 'peer.send({ kind: "cancelled", id });',
    },
    {
      name: "the youngest of a class is admitted first",
      often: false,
      file: queues,
      find: "while (index > 0 && isBefore(entry, line.entries[index - 1])) index--;",
      put: "index = 0;",
    },
  ] as const
).map((mutant) => ({ often: true, ...mutant, simulation: "waiting" as const }));
