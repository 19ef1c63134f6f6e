/**
 * Builds into dist/, and only what isn't up to date: `node build.mjs programs` what runs,
 * `node build.mjs` that and the compiled modules and tests.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, readdirSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const bundled = {
  bundle: true,
  format: "esm",
  outdir: "dist/programs",
  entryNames: "[name]",
  logLevel: "warning",
};
const forNode = {
  ...bundled,
  platform: "node",
  target: "node20.19",
  sourcemap: true,
  sourcesContent: false,
};
const forBrowsers = {
  ...bundled,
  minify: true,
  target: "es2022",
  outdir: "dist/programs/dashboard",
  entryNames: "[name]-[hash]",
};

/** Which packages a bundle holds, for the licences that are shipped with it. */
const writeMetafile = (name, { metafile }) =>
  writeFileSync(`dist/${name}.json`, JSON.stringify(metafile));

async function buildPrograms() {
  mkdirSync("dist/programs", { recursive: true });
  for (const name of readdirSync("dist/programs"))
    if (/^sluice-.*-.*\.js/.test(name)) rmSync(`dist/programs/${name}`);
  const [, spans] = await Promise.all([
    build({
      ...forNode,
      entryPoints: [
        "bin/sluice-proxy.ts",
        "bin/sluice-limiterd.ts",
        "limiterd/store/lmdb/check-process.ts",
        "limiterd/maintenance/store-process.ts",
      ],
      packages: "external",
      external: ["*/otel-spans.js"],
    }),
    build({
      ...forNode,
      entryPoints: ["proxy/metrics/spans/otel-spans.ts"],
      mainFields: ["module", "main"],
      metafile: true,
    }),
    build({
      ...forNode,
      entryPoints: ["bin/sluice.ts"],
      packages: "external",
      splitting: true,
      chunkNames: "sluice-[name]-[hash]",
    }),
  ]);
  writeMetafile("spans", spans);
}

async function buildDashboard() {
  rmSync("dist/programs/dashboard", { recursive: true, force: true });
  const [pages] = await Promise.all([
    build({
      ...forBrowsers,
      entryPoints: ["proxy/dashboard/web/main.tsx"],
      splitting: true,
      chunkNames: "[name]-[hash]",
      metafile: true,
    }),
    build({
      ...forBrowsers,
      entryPoints: ["proxy/dashboard/web/chosen-theme.ts"],
      format: "iife",
    }),
  ]);
  writeMetafile("pages", pages);
}

/** The schema of the configuration for editors, and the manual page. */
function describeCommands() {
  const sluice = (...args) => execFileSync(process.execPath, ["dist/programs/sluice.js", ...args]);
  writeFileSync("dist/programs/sluice.schema.json", sluice("config", "schema"));
  writeFileSync("dist/programs/sluice.1", sluice("man"));
}

/** Ends the build if the program fails. */
const run = (program, args) =>
  new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", 2, 2] });
    child.on("error", reject);
    child.on("exit", (code) => (code === 0 ? resolve() : process.exit(code ?? 1)));
  });

const compile = (project) => run("node_modules/typescript/bin/tsc", ["-p", project]);

/**
 * When the newest file below these was changed, in milliseconds; a folder counts for its names.
 * What tests install in `node_modules` doesn't count, nor does the folder in which it appears.
 */
function changedAtMs(paths) {
  const times = paths.flatMap((path) => {
    const entries = readdirSync(path, { withFileTypes: true });
    const own = entries.filter(({ name }) => name !== "node_modules");
    const isInstalled = own.length < entries.length;
    const folders = own.filter((entry) => entry.isDirectory()).map(({ name }) => `${path}/${name}`);
    const files = own.filter((entry) => !entry.isDirectory()).map(({ name }) => `${path}/${name}`);
    return [
      ...(isInstalled ? [] : [path]).concat(files).map((file) => statSync(file).mtimeMs),
      changedAtMs(folders),
    ];
  });
  return Math.max(0, ...times);
}

/**
 * The test runner generates its own module for the plugins that package.json names. Without it a
 * test that runs alone in a fresh clone would load those that don't work here.
 */
async function buildTestRunner() {
  const stamp = "dist/.runner-built";
  const builtAtMs = statSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const causes = ["package.json", "node_modules/.package-lock.json"];
  if (causes.every((file) => statSync(file).mtimeMs < builtAtMs)) return;
  await run("node_modules/.bin/tap", ["build"]);
  writeFileSync(stamp, "");
}

const settings = ["build.mjs", "package-lock.json", "package.json", "tsconfig.json"];
const sources = ["bin", "limiterd", "proxy", "shared"];
const targets = [
  {
    name: "modules and tests",
    from: [...sources, "test"],
    steps: () => Promise.all([compile("tsconfig.json"), compile("proxy/dashboard/web")]),
  },
  // Last: the tests run the programs unless the modules are newer.
  {
    name: "programs",
    from: sources,
    steps: async () => {
      await Promise.all([buildPrograms(), buildDashboard()]);
      describeCommands();
    },
  },
];

process.chdir(import.meta.dirname);
mkdirSync("dist", { recursive: true });
const testRunner = process.argv[2] === "programs" ? null : buildTestRunner();
let isStale = false;
for (const { name, from, steps } of process.argv[2] === "programs" ? targets.slice(1) : targets) {
  const stamp = `dist/.${name.split(" ")[0]}-built`;
  const startedMs = Date.now();
  const builtAtMs = statSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  const newestMs = Math.max(changedAtMs(from), ...settings.map((file) => statSync(file).mtimeMs));
  if (newestMs < builtAtMs && !isStale) continue;
  isStale = true;
  process.stderr.write(`building ${name} … `);
  rmSync(stamp, { force: true });
  await steps();
  // A file that changed meanwhile is newer than the start.
  writeFileSync(stamp, "");
  utimesSync(stamp, startedMs / 1000, startedMs / 1000);
  process.stderr.write(`${((Date.now() - startedMs) / 1000).toFixed(1)} s\n`);
}
await testRunner;
