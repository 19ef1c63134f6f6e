/** All admin operations alike: each is answered once, and a body that is wrong changes nothing. */
import t from "tap";
import { adminOps, isChange } from "../../../../shared/wire/admin-op.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { pathRule, startDaemon } from "../../in-memory-daemon.js";

/** Changes that take no body, or in which nothing needs to stand. */
const bodiless: ReadonlySet<string> = new Set(["sessions.open-admin"]);

t.test("a body that means nothing is refused once, and changes nothing", async (t) => {
  for (const op of adminOps)
    for (const body of [null, 7, "x", [], [{}], { no_such_field: 1 }, { ids: 7, objects: 7 }]) {
      const name = `${op} ${JSON.stringify(body)}`;
      const daemon = startDaemon([pathRule("/", 60, { requests: 5 })]);
      await daemon.commit();
      const before = daemon.store.crash();
      const { lsn } = daemon.state.writer;
      const peer = daemon.proxy("p");
      peer.received.length = 0;
      peer.send({ kind: "admin", id: 9, op, body });
      for (let turn = 0; turn < 5; turn++) await daemon.commit();
      const answers = peer.received.filter(({ kind }) => kind === "answer" || kind === "failed");
      t.equal(answers.length, 1, name);
      if (!isChange(op) || bodiless.has(op)) continue;
      t.match(answers, exactly([{ kind: "failed", id: 9 }]), name);
      t.ok(daemon.state.writer.lsn - lsn <= 1, `${name}: the hello's commit alone`);
      for (const table of ["rules", "budgets", "keys", "denials", "objects", "settings"] as const)
        t.same([...daemon.store.entries(table)], [...before.entries(table)], `${name}: ${table}`);
    }
});
