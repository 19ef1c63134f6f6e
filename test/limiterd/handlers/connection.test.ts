import t from "tap";
import { askFor, counts, pathRule, startDaemon } from "../in-memory-daemon.js";

const gauge = pathRule("/team", 0, { requests: 2 });

t.test("the end of a connection frees its slots at once, and only its own", (t) => {
  const daemon = startDaemon([gauge]);
  const dying = daemon.proxy("p1");
  const living = daemon.proxy("p2");
  askFor(dying, 2, "/team");
  askFor(living, 2, "/team");
  t.equal(askFor(living, 3, "/team"), null, "both slots are taken");
  daemon.nowMs += 5000;
  dying.close();
  t.match(dying.state.proxy, { peer: null, seenAtMs: daemon.nowMs }, "it was seen until now");
  t.equal(counts(daemon, gauge).inFlight, 1);
  t.ok(askFor(living, 4, "/team"));
  t.end();
});
