import t from "tap";
import {
  identityAfterRestore,
  identityChange,
  nextIdentity,
} from "../../../../limiterd/cluster/hosts/host-identity.js";
import { createMemoryStore } from "../../../support/memory-store.js";

t.test(
  "after a restore a host starts above all starts of the store that was replaced",
  async (t) => {
    const store = createMemoryStore();
    t.same(identityAfterRestore(store, Date.now()), [], "it was never one of several");
    await store.commit([identityChange({ id: "a", start: 7, takenAtMs: null })]);
    const backup = store.crash();
    await store.commit([identityChange({ id: "a", start: 900, takenAtMs: null })]);
    await backup.commit(identityAfterRestore(backup, 1_800_000_000_000));
    t.same(
      nextIdentity(backup, () => "b"),
      { id: "a", start: 1_800_000_001, takenAtMs: null },
    );
    await backup.commit(identityAfterRestore(backup, 1_700_000_000_000));
    t.same(
      nextIdentity(backup, () => "b"),
      { id: "a", start: 1_800_000_002, takenAtMs: null },
      "never below",
    );
  },
);
