/**
 * Holds what is installed to what was decided: the one clean node-ipc, a msgpackr that survives
 * hostile frames, exact versions, a clean lock.
 */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import t from "tap";
import { version } from "../shared/version.js";
import { verifyFiles } from "./artefacts/verify-files.js";
import { root } from "./tidy/source-tree.js";

interface Locked {
  readonly version?: string;
  readonly name?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
}

const readJson = (path: string): unknown => JSON.parse(readFileSync(join(root, path), "utf8"));
const manifest = readJson("package.json") as {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
};
const lock = Object.entries(
  (readJson("package-lock.json") as { packages: Record<string, Locked> }).packages,
).filter(([path]) => path !== "");

/** The package that an entry of the lock holds: an alias names the real one. */
const packageOf = (path: string, { name }: Locked): string =>
  name ?? path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length);

/**
 * What is wrong with a version of node-ipc, or null: protestware and stolen credentials by name,
 * all others because they haven't been read.
 */
function whyNotNodeIpc(resolved: string): string | null {
  if (["9.1.6", "9.2.3", "12.0.1"].includes(resolved)) return "steals credentials";
  if (["9.2.2", "10.1.1", "10.1.2"].includes(resolved) || resolved.startsWith("11."))
    return "is protestware";
  return resolved === "12.0.0" ? null : "was never read: 12.0.0 is the one that was";
}

/** Every directory below node_modules that holds this package, nested ones too. */
function installedCopies(name: string, modules = join(root, "node_modules")): string[] {
  if (!existsSync(modules)) return [];
  const below = readdirSync(modules).flatMap((entry) =>
    entry.startsWith("@")
      ? readdirSync(join(modules, entry)).map((inner) => join(entry, inner))
      : [entry],
  );
  return below
    .filter((entry) => !entry.startsWith("."))
    .flatMap((entry) => {
      const at = join(modules, entry);
      const nested = installedCopies(name, join(at, "node_modules"));
      return entry === name ? [at, ...nested] : nested;
    });
}

const versionIn = (directory: string): string =>
  (JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as { version: string })
    .version;

t.test("every release of node-ipc but 12.0.0 is refused, the poisoned ones by name", async (t) => {
  for (const poisoned of ["9.1.6", "9.2.3", "12.0.1"])
    t.equal(whyNotNodeIpc(poisoned), "steals credentials", poisoned);
  for (const protest of ["9.2.2", "10.1.1", "10.1.2", "11.0.0", "11.1.0", "11.9.9"])
    t.equal(whyNotNodeIpc(protest), "is protestware", protest);
  for (const unread of ["9.1.1", "9.2.1", "10.1.0", "12.1.0", "13.0.0", "12.0.0-beta"])
    t.match(whyNotNodeIpc(unread), /never read/, unread);
  t.equal(whyNotNodeIpc("12.0.0"), null);
});

t.test("node-ipc is 12.0.0 in the lock and on the disk, and there is no other copy", async (t) => {
  const locked = lock.filter(([path, entry]) => packageOf(path, entry) === "node-ipc");
  t.same(
    locked.map(([path, entry]) => [path, whyNotNodeIpc(entry.version ?? "none")]),
    [["node_modules/node-ipc", null]],
  );
  const installed = installedCopies("node-ipc");
  t.same(
    installed.map((directory) => [
      directory.slice(root.length),
      whyNotNodeIpc(versionIn(directory)),
    ]),
    [["node_modules/node-ipc", null]],
  );
  t.equal(manifest.dependencies["node-ipc"], "12.0.0", "and package.json allows nothing else");
});

t.test(
  "the wire resolves a msgpackr from 2.1.3 up, which isn't the copy that lmdb brings along",
  async (t) => {
    const directoryFrom = (from: string): string => {
      let directory = dirname(createRequire(from).resolve("msgpackr"));
      while (!existsSync(join(directory, "package.json"))) directory = dirname(directory);
      return directory;
    };
    const ofWire = directoryFrom(new URL("../shared/wire/codec.js", import.meta.url).pathname);
    const ofLmdb = directoryFrom(join(root, "node_modules/lmdb/index.js"));
    const [major, minor, patch] = versionIn(ofWire).split(".").map(Number) as [
      number,
      number,
      number,
    ];
    t.ok(
      major > 2 || (major === 2 && (minor > 1 || (minor === 1 && patch >= 3))),
      versionIn(ofWire),
    );
    t.not(ofWire, ofLmdb);
    t.equal(versionIn(ofWire), manifest.dependencies["msgpackr"]);
  },
);

t.test("the lock names registry tarballs only, and every package has a checksum", async (t) => {
  for (const [path, { resolved, integrity, link }] of lock) {
    if (
      resolved !== undefined &&
      !/^https:\/\/registry\.npmjs\.org\/(?:@[^/]+\/)?[^/]+\/-\/[^/]+\.tgz$/.test(resolved)
    )
      t.fail(`${path} comes from ${resolved}`);
    if (integrity === undefined || !integrity.startsWith("sha512-"))
      t.fail(`${path} has no checksum`);
    if (link === true) t.fail(`${path} is a link`);
  }
  t.ok(lock.length > 50, `${lock.length} packages`);
});

t.test(
  "copyfiles, the build tool that event-pubsub drags in, is not installed under its name or another",
  async (t) => {
    t.same(
      lock.filter(([path, entry]) => packageOf(path, entry) === "copyfiles").map(([path]) => path),
      [],
    );
    t.same(
      installedCopies("copyfiles").filter(
        (directory) =>
          (JSON.parse(readFileSync(join(directory, "package.json"), "utf8")) as { name: string })
            .name === "copyfiles",
      ),
      [],
    );
  },
);

t.test(
  "every dependency is pinned to an exact version, and the lock holds that very version",
  async (t) => {
    for (const [name, wanted] of Object.entries({
      ...manifest.dependencies,
      ...manifest.devDependencies,
    })) {
      t.match(wanted, /^\d+\.\d+\.\d+$/, name);
      t.equal(lock.find(([path]) => path === `node_modules/${name}`)?.[1].version, wanted, name);
    }
  },
);

t.test(
  "a process that a test starts gets its own environment alone, without tap's preload",
  async (t) => {
    t.equal(
      execFileSync(process.execPath, ["-p", "process.env.NODE_OPTIONS"], {
        env: {},
        encoding: "utf8",
      }),
      "undefined\n",
    );
  },
);

t.test("the version that Sluice reports is package.json's", async (t) => {
  t.equal(version, manifest.version);
});

t.test("the page on dependencies names every one of them", async (t) => {
  const page = readFileSync(join(root, "docs/contributing/decisions.md"), "utf8").split(
    "\n## Dependencies\n",
  )[1]!;
  for (const name of Object.keys({ ...manifest.dependencies, ...manifest.devDependencies }))
    t.match(page, new RegExp(`(?<![\\w@/-])${name}(?![\\w/-])`), name);
});

t.test("sluice verify imports no package that only tests have", async (t) => {
  const dist = join(root, "dist");
  const { devDependencies } = manifest;
  for (const file of verifyFiles(dist))
    for (const [, name] of readFileSync(join(dist, file), "utf8").matchAll(
      /^(?:import|export) .*?from "((?:@[^"/]+\/)?[^"/.][^"/]*)/gm,
    ))
      t.notOk(name! in devDependencies, `${file}: ${name}`);
});
