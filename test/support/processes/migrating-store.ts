/** Opens the store of a directory with two migrations, and is killed within the second one. */
import { openLmdbStore } from "../../../limiterd/store/lmdb/open-lmdb-store.js";
import type { Change } from "../../../limiterd/store/store.js";

await openLmdbStore(process.argv[2]!, [
  { to: 2, changes: () => [{ table: "rules", key: "a", value: [2] }] },
  {
    to: 3,
    *changes(): Iterable<Change> {
      yield { table: "rules", key: "a", value: [3] };
      process.kill(process.pid, "SIGKILL");
    },
  },
]);
