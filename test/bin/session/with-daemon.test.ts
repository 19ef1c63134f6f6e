import t from "tap";
import { systemSocketHint } from "../../../bin/session/with-daemon.js";

t.test("an error for a user without a daemon names the system's", async (t) => {
  const system = "/run/sluice/limiterd.sock";
  const own = "/run/user/1000/sluice/limiterd.sock";
  t.equal(
    systemSocketHint(own, (path) => (path === system ? "there" : "absent")),
    `; the system's daemon listens on ${system}: give --socket ${system}`,
  );
  t.equal(
    systemSocketHint(own, () => "hidden"),
    `; the system's daemon has ${system}, which this user may not see: run this as root`,
    "a directory of the service's user alone, as the units make it",
  );
  t.equal(
    systemSocketHint(own, () => "absent"),
    "",
  );
  t.equal(
    systemSocketHint(system, () => "there"),
    "",
  );
});
