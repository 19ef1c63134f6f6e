import t from "tap";
import { run } from "../../command-session.js";

t.test("what is to be run next reads the file that was written", async (t) => {
  for (const [name, next] of [
    ["gateway.yaml", "sluice --config DIR/gateway.yaml"],
    ["it's mine.yaml", "sluice --config 'DIR/it'\\''s mine.yaml'"],
  ] as const) {
    const directory = t.testdir();
    const { exitCode, out } = await run(["init", "--config", `${directory}/${name}`]);
    t.equal(exitCode, 0);
    t.same(out.replaceAll(directory, "DIR").split("\n").slice(1), [
      `next:    ${next} config check`,
      `         ${next} up`,
    ]);
  }
});
