import t from "tap";
import { resultOf } from "../../../limiterd/maintenance/run-store-process.js";

t.test("work on a store is done only if its process says so and ends well", async (t) => {
  const ended = /^\/x can't be read: it is damaged or incomplete: reading it ends the process/;
  t.equal(resultOf("/x", { result: 5 }, 0), 5);
  for (const [said, code, problem] of [
    [{ result: 5 }, 1, ended],
    [{ result: 5 }, null, ended],
    [null, 0, ended],
    ["result", 0, ended],
    [{}, 0, ended],
    [{ problem: "torn" }, 0, /^torn$/],
    [{ problem: "torn", result: 5 }, null, /^torn$/],
  ] as const)
    t.throws(() => resultOf("/x", said, code), { name: "StoreUnreadableError", message: problem });
});
