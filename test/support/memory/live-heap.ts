/**
 * What the heap of another process still holds once V8 has collected its garbage, by the inspector
 * of that process: until it collects, a process that holds nothing has much, too.
 */
import { on, once } from "node:events";
import { WebSocket } from "ws";

/**
 * In bytes, with its buffers. `pid`: the process that is meant; whoever has the inspector's port
 * already is else asked instead. `closes`: the inspector, too, as for a process that opens it at a
 * signal on a port that others want.
 */
export async function liveHeapBytes(
  inspectorUrl: string,
  { pid = null, closes = false }: { readonly pid?: number | null; readonly closes?: boolean } = {},
): Promise<number> {
  const socket = new WebSocket(inspectorUrl);
  await once(socket, "open");
  const gone = new Promise((resolve) => socket.once("close", resolve));
  // Its end follows.
  socket.on("error", () => {});
  try {
    const asked = await evaluate(socket, "process.pid");
    if (pid !== null && asked !== pid)
      throw new Error(`process ${String(asked)} is debugged there, not ${pid}`);
    await call(socket, "HeapProfiler.collectGarbage");
    const heap = await evaluate(
      socket,
      "(({ heapUsed, external }) => heapUsed + external)(process.memoryUsage())",
    );
    // Later, for it waits until this client has gone.
    if (closes)
      await evaluate(
        socket,
        "setTimeout(() => process.getBuiltinModule('node:inspector').close())",
      );
    return Number(heap);
  } finally {
    socket.close();
    await gone;
  }
}

function evaluate(socket: WebSocket, expression: string): Promise<unknown> {
  return call(socket, "Runtime.evaluate", { expression });
}

/** One at a time. */
async function call(socket: WebSocket, method: string, params = {}): Promise<unknown> {
  socket.send(JSON.stringify({ id: 1, method, params }));
  for await (const [data] of on(socket, "message", { close: ["close"] })) {
    const answer = JSON.parse(String(data)) as Answer;
    if (answer.id === 1) return answer.result?.result?.value;
  }
  throw new Error("the process has ended while its memory was read");
}

/** To a call, or an event, which has no `id`. */
interface Answer {
  readonly id?: number;
  readonly result?: { readonly result?: { readonly value?: unknown } };
}
