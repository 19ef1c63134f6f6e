/**
 * A process that opens a store and does one thing with it: holds it, writes until it is killed,
 * commits as many bytes as asked, or reads it all. It reports to its parent what happened.
 */
import { openLmdbStore } from "../../../limiterd/store/lmdb/open-lmdb-store.js";
import { tables } from "../../../limiterd/store/store.js";

const [, , directory, task] = process.argv;
const report = (message: object): void => void process.send?.(message);
process.on("disconnect", () => process.exit(0));
try {
  const store = await openLmdbStore(directory!);
  if (task === "hold") {
    process.on("message", () => void store.close().then(() => report({ closed: true })));
    report({ opened: process.pid });
  } else if (task === "commit") {
    process.on("message", (bytes: number) => {
      store.commit([{ table: "windows", key: "a", value: ["x".repeat(bytes)] }]).then(
        () => report({ committed: bytes }),
        (error: Error) => report({ refused: `${error.name}: ${error.message}` }),
      );
    });
    report({ opened: process.pid });
  } else if (task === "write") {
    for (let n = 1; ; n++) {
      await store.commit([
        { table: "windows", key: "left", value: [n] },
        { table: "windows", key: "right", value: [n] },
        { table: "journal", key: n, value: [n, "x".repeat(200)] },
      ]);
      report({ written: n });
    }
  } else {
    let entries = 0;
    for (const table of tables) for (const _ of store.entries(table)) entries++;
    await store.close();
    report({ entries });
    process.disconnect();
  }
} catch (error) {
  report({ failed: error instanceof Error ? `${error.name}: ${error.message}` : String(error) });
  process.disconnect();
}
