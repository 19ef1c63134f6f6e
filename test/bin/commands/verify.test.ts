import { join } from "node:path";
import t from "tap";
import { run } from "../command-session.js";

t.test("an incomplete installation is named", async (t) => {
  const text = "/verify/test/verify/main.js is missing: this installation isn't complete";
  t.match(await run(["verify"]), { exitCode: 1, out: "", err: `error: ${text}` });
  const { exitCode, err } = await run(["verify", "--json"]);
  t.same([exitCode, JSON.parse(err)], [1, { error: { message: text } }]);
});

t.test("a checkout that has built only the programs is told to build the rest", async (t) => {
  const directory = t.testdir({ "build.mjs": "", dist: { programs: {} } });
  t.match(await run(["verify"], { programs: join(directory, "dist/programs") }), {
    exitCode: 1,
    err: /^error: this checkout has no compiled tests yet: type `npm run build`, then /,
  });
});

t.test("minutes and seed are numbers", async (t) => {
  for (const minutes of ["0", "-1", "x", "1441"])
    t.match(await run(["verify", "--minutes", minutes]), {
      exitCode: 2,
      err: /from above 0 to 1440/,
    });
  for (const seed of ["-1", "1.5", "0x100000000", "x"])
    t.match(await run(["verify", "--seed", seed]), { exitCode: 2, err: /from 0 to 0xffffffff/ });
});
