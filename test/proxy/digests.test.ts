import t from "tap";
import { isHashOf } from "../../proxy/digests.js";
import { hashKey } from "../../shared/domain/make-managed-key.js";

t.test("a hash is that of its own secret and of no other", async (t) => {
  for (const secret of ["master-key", "token of scrapes", "master-key"]) {
    t.ok(isHashOf(hashKey(secret), secret));
    for (const other of ["master-kez", "master-key ", "", "k".repeat(1000)])
      t.notOk(isHashOf(hashKey(other), secret), other.slice(0, 20));
  }
});
