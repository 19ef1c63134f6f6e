import t from "tap";
import { createEcho } from "../../../../limiterd/cluster/engine/channel-echo.js";

t.test("it is heard while the last word but one has come, and lost after three", async (t) => {
  const echo = createEcho("c");
  t.notOk(echo.isHeard);
  const first = echo.next();
  t.notOk(echo.isHeard);
  echo.receive("other", first);
  echo.receive("c", "9");
  echo.receive("c", "x");
  t.notOk(echo.isHeard, "nothing else is a message of its own");
  echo.receive("c", first);
  t.ok(echo.isHeard);
  echo.next();
  t.ok(echo.isHeard, "the last one is on its way");
  echo.next();
  t.notOk(echo.isHeard);
  t.notOk(echo.isLost);
  echo.next();
  t.ok(echo.isLost);
  echo.clear();
  t.notOk(echo.isLost, "it subscribes again");
  t.notOk(echo.isHeard);
  echo.receive("c", echo.next());
  t.ok(echo.isHeard);
});
