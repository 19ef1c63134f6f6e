import t from "tap";
import { createCapacity, sayOnce } from "../../../proxy/capacity/create-capacity.js";
import { createLog } from "../../../shared/log.js";
import { accepted } from "../../shared/config/resolve-sample.js";

t.test("bodies of callers whose key isn't checked yet may fill a sixteenth of the memory", (t) => {
  const { server } = accepted(
    "providers: { local: { type: simulator } }\nserver: { max_held_bytes: 160000000 }",
  ).config;
  const { files, memory, unauthenticated } = createCapacity(server, createLog("proxy", "fatal"));
  files.close();
  t.equal(memory.max, 160_000_000);
  t.equal(unauthenticated.max, 10_000_000);
  t.end();
});

t.test("it is logged immediately, and again after a minute at the earliest", async (t) => {
  let nowMs = 5;
  const said: number[] = [];
  const say = sayOnce(
    () => said.push(nowMs),
    () => nowMs,
  );
  for (nowMs of [5, 6, 60_004, 60_005, 60_006, 200_000]) say();
  t.same(said, [5, 60_005, 200_000]);
});
