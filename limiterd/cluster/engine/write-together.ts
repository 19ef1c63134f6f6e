/** All that is sent to the engine in one turn of the event loop leaves in one write. */
import type { Writable } from "node:stream";

/** To be called before each command. */
export function writeTogether(stream: Writable): void {
  if (stream.writableCorked > 0) return;
  stream.cork();
  setImmediate(() => stream.uncork());
}
