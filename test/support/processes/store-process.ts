/**
 * A process that opens a store and does one thing with it: holds it, writes until it is killed,
 * commits as many bytes as it is told, or reads it all. It tells its parent what happened.
 */
import { openLmdbStore } from "../../../limiterd/store/lmdb-store.js";
import { tables } from "../../../limiterd/store/store.js";

const [, , directory, task] = process.argv;
const tell = (message: object): void => void process.send?.(message);
process.on("disconnect", () => process.exit(0));
try {
  const store = await openLmdbStore(directory!);
  if (task === "hold") {
    process.on("message", () => void store.close().then(() => tell({ closed: true })));
    tell({ opened: process.pid });
  } else if (task === "commit") {
    process.on("message", (bytes: number) => {
      store.commit([{ table: "windows", key: "a", value: ["x".repeat(bytes)] }]).then(
        () => tell({ committed: bytes }),
        (error: Error) => tell({ refused: `${error.name}: ${error.message}` }),
      );
    });
    tell({ opened: process.pid });
  } else if (task === "write") {
    for (let n = 1; ; n++) {
      await store.commit([
        { table: "windows", key: "left", value: [n] },
        { table: "windows", key: "right", value: [n] },
        { table: "journal", key: n, value: [n, "x".repeat(200)] },
      ]);
      tell({ written: n });
    }
  } else {
    let entries = 0;
    for (const table of tables) for (const _ of store.entries(table)) entries++;
    await store.close();
    tell({ entries });
    process.disconnect();
  }
} catch (error) {
  tell({ failed: error instanceof Error ? `${error.name}: ${error.message}` : String(error) });
  process.disconnect();
}
