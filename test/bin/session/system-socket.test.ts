import t from "tap";
import { systemSocketHint } from "../../../bin/session/system-socket.js";

t.test("who finds no daemon of their own is told of the system's", async (t) => {
  const system = "/run/sluice/limiterd.sock";
  t.equal(
    systemSocketHint("/run/user/1000/sluice/limiterd.sock", (path) => path === system),
    `; the system's daemon listens on ${system}: give --socket ${system}`,
  );
  t.equal(
    systemSocketHint("/run/user/1000/sluice/limiterd.sock", () => false),
    "",
  );
  t.equal(
    systemSocketHint(system, () => true),
    "",
  );
});
