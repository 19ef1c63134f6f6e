import t from "tap";
import { keptPlaces } from "../../../../shared/config/kept/kept-places.js";

const process = { flags: {}, env: {}, cwd: "/srv", fileDirectory: "/srv", uid: 1000 };
const standard = "/var/lib/sluice";

t.test("the flag, the variable, the file and the default say where to look, in this order", (t) => {
  for (const [text, given, daemon, proxy] of [
    ["", {}, [standard], [`${standard}/spool`]],
    ["limiter:\n  data_dir: /d\n", {}, ["/d", standard], ["/d/spool", `${standard}/spool`]],
    ["{limiter: {data_dir: '/d'}}", {}, ["/d", standard], ["/d/spool", `${standard}/spool`]],
    [
      '{"limiter":{"data_dir":"d/e"}}',
      {},
      ["/srv/d/e", standard],
      ["/srv/d/e/spool", `${standard}/spool`],
    ],
    [
      "# data_dir: /c\n  data_dir: /d # why\n",
      {},
      ["/c", "/d", standard],
      ["/c/spool", "/d/spool", `${standard}/spool`],
    ],
    ["data_dir\nspool_dir: /s", {}, [standard], ["/s", `${standard}/spool`]],
    [
      "data_dir: /d",
      { env: { SLUICE_DATA_DIR: "/e" } },
      ["/e", "/d", standard],
      ["/e/spool", "/d/spool", `${standard}/spool`],
    ],
    [
      "data_dir: /d",
      { env: { SLUICE_SPOOL_DIR: "/s" } },
      ["/d", standard],
      ["/s", "/d/spool", `${standard}/spool`],
    ],
    [
      "",
      { flags: { dataDir: "f/" }, env: { SLUICE_DATA_DIR: "/e" } },
      ["/srv/f/", "/e", standard],
      ["/srv/f/spool", "/e/spool", `${standard}/spool`],
    ],
  ] as const) {
    const where = { ...process, ...given };
    t.same(keptPlaces("limiterd", Buffer.from(text), where), daemon, text);
    t.same(keptPlaces("proxy", Buffer.from(text), where), proxy, text);
  }
  t.end();
});

t.test("a file of nothing but such keys costs a few looks", (t) => {
  const text = Array.from({ length: 10_000 }, (_, i) => `data_dir: /d${i}\n`).join("");
  t.equal(keptPlaces("limiterd", Buffer.from(text), process).length, 9);
  t.end();
});
