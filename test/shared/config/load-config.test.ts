import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { loadConfig, searchOrder } from "../../../shared/config/load-config.js";

t.test("the file is looked for in the order of the contract", async (t) => {
  const system = { path: "/etc/sluice/sluice.yaml", namedBy: null };
  for (const [search, expected] of [
    [
      { file: "/a.yaml", env: { SLUICE_CONFIG: "/b.yaml" }, cwd: "/w" },
      [{ path: "/a.yaml", namedBy: "--config" }],
    ],
    [{ file: "a.yaml", env: {}, cwd: "/w" }, [{ path: "/w/a.yaml", namedBy: "--config" }]],
    [
      { env: { SLUICE_CONFIG: "b.yaml" }, cwd: "/w" },
      [{ path: "/w/b.yaml", namedBy: "SLUICE_CONFIG" }],
    ],
    [
      { env: { SLUICE_CONFIG: " " }, cwd: "/w" },
      [{ path: "/w/sluice.yaml", namedBy: null }, system],
    ],
    [{ file: undefined, env: {}, cwd: "/w" }, [{ path: "/w/sluice.yaml", namedBy: null }, system]],
  ] as const) {
    t.same(searchOrder(search), expected, JSON.stringify(search));
  }
});

t.test("the file that is found is read, and the configuration names it", async (t) => {
  const cwd = t.testdir({
    "sluice.yaml": "server: { port: 1 }\n",
    "other.yaml": "server: { port: 2 }\n",
    "third.yaml": "server: { port: 3 }\n",
  });
  for (const [input, name, port] of [
    [{ env: {} }, "sluice.yaml", 1],
    [{ env: { SLUICE_CONFIG: "other.yaml" } }, "other.yaml", 2],
    [{ env: { SLUICE_CONFIG: "other.yaml" }, file: "third.yaml" }, "third.yaml", 3],
    [{ env: { PORT: "4" } }, "sluice.yaml", 4],
    [{ env: { PORT: "4" }, flags: { port: "5" } }, "sluice.yaml", 5],
  ] as const) {
    const result = loadConfig({ cwd, uid: 1000, ...input });
    t.ok(result.ok, JSON.stringify(result));
    if (result.ok) t.same([result.config.file, result.config.server.port], [join(cwd, name), port]);
  }
});

const failed = (file: string, message: string, position?: object): object => ({
  ok: false,
  file,
  problems: [
    { kind: "file", place: file, message, ...(position === undefined ? {} : { position }) },
  ],
});

t.test("a named file that doesn't exist is a problem that says what named it", async (t) => {
  const cwd = t.testdir({ file: "" });
  t.same(
    loadConfig({ file: "nope.yaml", env: {}, cwd, uid: 1 }),
    failed(join(cwd, "nope.yaml"), "--config names a file that doesn't exist"),
  );
  t.same(
    loadConfig({ file: "file/nope.yaml", env: {}, cwd, uid: 1 }),
    failed(join(cwd, "file/nope.yaml"), "--config names a file that doesn't exist"),
  );
  t.same(
    loadConfig({ env: { SLUICE_CONFIG: "nope.yaml" }, cwd, uid: 1 }),
    failed(join(cwd, "nope.yaml"), "SLUICE_CONFIG names a file that doesn't exist"),
  );
});

t.test("a file that exists and can't be read is a problem, never skipped", async (t) => {
  const cwd = t.testdir({ "binary.yaml": Buffer.from([0x61, 0xff, 0xfe]), "locked.yaml": "" });
  mkdirSync(join(cwd, "sluice.yaml"));
  t.same(
    loadConfig({ env: {}, cwd, uid: 1 }),
    failed(join(cwd, "sluice.yaml"), "the file can't be read: it is a directory"),
  );
  t.same(
    loadConfig({ file: "binary.yaml", env: {}, cwd, uid: 1 }),
    failed(join(cwd, "binary.yaml"), "the file isn't UTF-8 text"),
  );
  // Root reads everything, so permissions can only be tried as somebody else.
  if (process.getuid?.() === 0) return;
  chmodSync(join(cwd, "locked.yaml"), 0);
  t.same(
    loadConfig({ file: "locked.yaml", env: {}, cwd, uid: 1 }),
    failed(join(cwd, "locked.yaml"), "the file can't be read: permission denied"),
  );
});

t.test("problems in a file are returned with its name", async (t) => {
  const cwd = t.testdir({ "sluice.yaml": "server: { port: x }\n" });
  t.same(
    loadConfig({ env: {}, cwd, uid: 1 }),
    failed(join(cwd, "sluice.yaml"), 'server.port must be an integer from 0 to 65535, not "x"', {
      line: 1,
      column: 11,
    }),
  );
});
