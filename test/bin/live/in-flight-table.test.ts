import t from "tap";
import { filterInFlight, renderInFlight } from "../../../bin/live/in-flight-table.js";

const lease = (path: string, seconds: number | null): Parameters<typeof renderInFlight>[0][0] => ({
  proxy: "b5feefed-7c38",
  lease: 9,
  user_path: path,
  target: seconds === null ? null : "sim/m",
  admitted_at: seconds === null ? null : "2026-11-22T21:11:07.762Z",
  seconds,
});

t.test("requests in flight are a table, or a sentence", async (t) => {
  t.equal(renderInFlight([]), "nothing is in flight");
  t.match(renderInFlight([lease("/a", 75)]), /\/a +sim\/m +1m 15s +2026-.* b5feefed +9$/m);
  t.match(renderInFlight([lease("/a", null)]), /\/a +\(none yet\) +- +- /);
});

t.test("those of a path that run for so long are kept, and those of unknown age", async (t) => {
  const leases = [lease("/a", 5), lease("/a/b", 50), lease("/ab", 50), lease("/a", null)];
  t.same(
    filterInFlight(leases, { path: "/a", olderSeconds: 10 }).map(({ user_path: path }) => path),
    ["/a/b", "/a"],
  );
  t.equal(filterInFlight(leases, { path: "/", olderSeconds: 0 }).length, 4);
});
