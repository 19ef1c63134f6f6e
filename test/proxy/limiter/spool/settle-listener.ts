/** A socket that answers deliveries of settles as it is told. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Test } from "tap";
import { frameBytesMaxToDaemon } from "../../../../shared/bounds.js";
import { listen } from "../../../../shared/socket/ipc.js";
import type { Peer } from "../../../../shared/socket/socket-peer.js";
import { createFrameReader, encodeFrame } from "../../../../shared/wire/codec.js";
import type { FromDaemon } from "../../../../shared/wire/message-from-daemon.js";
import { writeFromDaemon } from "../../../../shared/wire/message-from-daemon.js";
import { parseToDaemon } from "../../../../shared/wire/message-to-daemon.js";
import { wireVersions } from "../../../../shared/wire/wire-versions.js";

export const asFrame = (message: FromDaemon): Buffer => encodeFrame(writeFromDaemon(message));

/** `seq`: of the last settle that is durable. */
export const welcome = (seq: number): FromDaemon => ({
  kind: "welcome",
  id: 1,
  daemonVersion: "0.1.0",
  settledSeq: seq,
  limited: false,
  inertRules: 0,
  inertBudgets: 0,
  keysExist: false,
  deniedJwts: 0,
});

type Heard = { readonly kind: string; readonly seq?: number };

/** `answer`: to each message that is heard. The socket and its directory end with the test. */
export async function listenForSettles(t: Test, answer: (heard: Heard, peer: Peer) => void) {
  const directory = mkdtempSync(join(tmpdir(), "sluice-spool-"));
  const path = join(directory, "limiterd.sock");
  const readers = new Map<Peer, ReturnType<typeof createFrameReader>>();
  const heard: Heard[] = [];
  const waiting: (() => void)[] = [];
  const listener = await listen({
    path,
    allowsGroup: false,
    onConnect: (peer) => void readers.set(peer, createFrameReader(frameBytesMaxToDaemon)),
    onClose(peer) {
      readers.delete(peer);
      for (const run of waiting.splice(0)) run();
    },
    onBytes: (peer, bytes) =>
      void readers.get(peer)?.feed(bytes, (frame) => {
        const message = parseToDaemon(frame, { oldest: 0, newest: wireVersions.newest + 9 });
        if (message === null) throw new Error("it keeps to the grammar");
        heard.push(message);
        answer(message, peer);
      }),
  });
  t.teardown(async () => {
    await listener.close();
    rmSync(directory, { recursive: true, force: true });
  });
  return {
    directory,
    path,
    adminPath: join(directory, "limiterd-admin.sock"),
    heard,
    /** Once the next connection has ended. */
    closed: () => new Promise<void>((resolve) => void waiting.push(resolve)),
  };
}
