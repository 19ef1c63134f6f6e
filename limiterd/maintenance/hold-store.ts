/** Locks a data directory while no daemon runs, so that none can start. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { isListening, SocketTakenError } from "../../shared/socket/claim-socket.js";
import { lockDirectory } from "../store/lmdb/store-lock.js";
import { StoreUnreadableError } from "../store/store.js";

interface HeldStore {
  /** The path of the store. */
  readonly file: string;
  release(): void;
}

interface Places {
  readonly dataDir: string;
  readonly socket: string;
  readonly adminSocket: string;
}

/**
 * Rejects with `StoreLockedError` or `SocketTakenError` if a daemon runs, and with
 * `StoreUnreadableError` if there is no directory.
 */
export async function holdStore({ dataDir, socket, adminSocket }: Places): Promise<HeldStore> {
  for (const path of [adminSocket, socket])
    if (await isListening(path)) throw new SocketTakenError(`a daemon listens on ${path}`);
  if (!existsSync(dataDir)) throw new StoreUnreadableError(`there is no directory ${dataDir}`);
  const lock = await lockDirectory(dataDir);
  return { file: join(dataDir, "limiterd.mdb"), release: () => lock?.release() };
}
