/** A daemon of a test that makes no copies of its store. */
import type { BackupPorts } from "../../limiterd/store/backups.js";
import { StoreFailingError } from "../../limiterd/store/store.js";

export const noCopies: BackupPorts["beginCopy"] = () => {
  throw new StoreFailingError("this store isn't copied");
};
