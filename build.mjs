/**
 * Builds into dist/, and only what isn't up to date: `node build.mjs programs` what runs,
 * `node build.mjs` that and the compiled modules and tests.
 */
import { execFileSync, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";

/** Loaded only if something must be built: `npm start` asks each time. */
const build = async (options) => (await import("esbuild")).build(options);

const bundled = {
  bundle: true,
  format: "esm",
  outdir: "dist/programs",
  entryNames: "[name]",
  logLevel: "warning",
};
/** In CommonJS: to begin with a module takes Node a tenth of an empty start. */
const forNode = {
  ...bundled,
  format: "cjs",
  platform: "node",
  target: "node20.19",
  sourcemap: true,
  sourcesContent: false,
  define: { "import.meta.url": "__url" },
  banner: {
    js: `const __url = require("node:url").pathToFileURL(__filename).href;`,
  },
};
/** Packages that are loaded from `node_modules`: native ones, and those that few starts need. */
const external = [
  "*/otel-spans.js",
  "http-proxy",
  "ioredis",
  "jose",
  "lmdb",
  "msgpackr-extract",
  "pg",
];
/** The programs, for which V8 can keep compiled code; `bin/bundle/` starts them. */
const forPrograms = {
  ...forNode,
  // V8 keeps the text in memory.
  minifyWhitespace: true,
  lineLimit: 200,
  outExtension: { ".js": ".cjs" },
  external,
  banner: { js: `${forNode.banner.js}\nvar __import; __import ??= (name) => import(name);` },
};
/** A command decodes few answers: loading msgpackr's native part would take longer than they do. */
const commandsDefine = {
  ...forPrograms.define,
  "process.env.MSGPACKR_NATIVE_ACCELERATION_DISABLED": '"true"',
};
const forBrowsers = {
  ...bundled,
  minify: true,
  target: "es2022",
  outdir: "dist/programs/dashboard",
  entryNames: "[name]-[hash]",
};

/** The prices of the package as data: `proxy/prices/genai-prices.ts` reads them. */
async function writePrices() {
  const { waitForUpdate } = await import("@pydantic/genai-prices");
  const providers = (await waitForUpdate()).map(
    ({ id, api_pattern, fallback_model_providers, models }) => ({
      ...{ id, api_pattern, fallback_model_providers },
      models: models.map(({ id, match, context_window, prices }) => ({
        ...{ id, match, context_window, prices },
      })),
    }),
  );
  writeFileSync("dist/programs/genai-prices.json", JSON.stringify(providers));
  writeMetafile("prices", { metafile: { inputs: { "node_modules/@pydantic/genai-prices": {} } } });
}

/** Which packages a file holds, for the licences that are shipped with it. */
const writeMetafile = (name, { metafile }) =>
  writeFileSync(`dist/${name}.json`, JSON.stringify(metafile));

async function buildPrograms() {
  mkdirSync("dist/programs", { recursive: true });
  // Else Node takes the .js files for ES modules, as the package.json above says.
  writeFileSync("dist/programs/package.json", '{ "type": "commonjs" }\n');
  const services = ["sluice-proxy", "sluice-limiterd"];
  const programs = ["sluice", ...services];
  const [, spans] = await Promise.all([
    build({
      ...forNode,
      entryPoints: [
        "limiterd/store/lmdb/check-process.ts",
        "limiterd/maintenance/store-process.ts",
      ],
      packages: "external",
    }),
    build({
      ...forNode,
      entryPoints: ["proxy/metrics/spans/otel-spans.ts"],
      mainFields: ["module", "main"],
      metafile: true,
    }),
    build({ ...forPrograms, entryPoints: services.map((name) => `bin/${name}.ts`) }),
    build({ ...forPrograms, define: commandsDefine, entryPoints: ["bin/sluice.ts"] }),
    build({
      ...forNode,
      entryPoints: Object.fromEntries(
        programs.map((name) => [name, "bin/bundle/start-program.ts"]),
      ),
      sourcemap: false,
    }),
    build({
      ...forNode,
      entryPoints: ["bin/bundle/write-code.ts"],
      outdir: "dist",
      outExtension: { ".js": ".cjs" },
    }),
    writePrices(),
  ]);
  writeMetafile("spans", spans);
  for (const name of programs) prepareScript(`dist/programs/${name}.cjs`);
  await writeCode(`${import.meta.dirname}/dist/programs`).catch(({ message }) => {
    process.stderr.write(`the programs will start without compiled code: ${message}\n`);
  });
}

/**
 * Lets a program import modules by the function that `bin/bundle/` hands to it, and escapes what
 * isn't ASCII, which esbuild doesn't do in regular expressions.
 */
function prepareScript(file) {
  const text = readFileSync(file, "utf8")
    .replaceAll('import("', '__import("')
    .replaceAll(
      /[^\0-\x7f]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
    );
  writeFileSync(file, text);
}

/**
 * Runs the programs once, so that the code that V8 compiles at a start, for a request and for
 * `sluice status` is kept beside them. Only this version of Node can use it.
 */
async function writeCode(programs) {
  const directory = mkdtempSync(`${tmpdir()}/sluice-build-`);
  const config = `${directory}/sluice.yaml`;
  writeFileSync(
    config,
    `server: { port: 0 }
limiter: { socket: "${directory}/limiterd.sock", data_dir: "${directory}/data" }
providers: { simulator: { type: simulator } }
rate_limits:
  user_paths:
    - path: /
      limits: [{ period: minute, max_requests: 1000000 }, { period: hour, max_tokens: 1000000000 }]
    - { path: /a, limits: [{ period: concurrent, max_requests: 1000 }] }
  models: [{ model: sim-fast, limits: [{ period: minute, max_requests: 1000000 }] }]
budgets: { user_paths: [{ path: /, limits: [{ period: monthly, amount: 1000000 }] }] }
prices: { simulator/sim-fast: { input: 2.5, output: 10 } }
`,
  );
  const children = [];
  const start = (name, ...args) => {
    const program = `${programs}/${name}.cjs`;
    const child = fork("dist/write-code.cjs", [program, "--config", config, ...args], {
      env: { PATH: process.env["PATH"] },
      stdio: ["ignore", "pipe", name === "sluice" ? "ignore" : "inherit", "ipc"],
    });
    children.push(child);
    const ended = once(child, "close");
    const ready = async () => {
      const failed = ended.then(([code]) => Promise.reject(new Error(`${name} ended with ${code}`)));
      const [message] = await Promise.race([once(child, "message"), failed]);
      return message.ready;
    };
    return Object.assign(child, { ended, ready });
  };
  try {
    const daemon = start("sluice-limiterd");
    await daemon.ready();
    const proxy = start("sluice-proxy", "--log-level=error");
    const url = await proxy.ready();
    await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: '{"model":"sim-fast","messages":[{"role":"user","content":"Hello!"}]}',
    }).then((response) => response.text());
    await start("sluice", "status").ended;
    for (const service of [proxy, daemon]) {
      service.kill("SIGINT");
      await service.ended;
    }
    // With the code of the command before it.
    const up = start("sluice", "up");
    for await (const text of up.stdout) if (String(text).includes("ready:")) break;
    up.kill("SIGINT");
    await up.ended;
  } finally {
    for (const child of children) child.kill("SIGKILL");
    rmSync(directory, { recursive: true, force: true });
  }
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

function targetsFor(what) {
  if (what === "code") return [];
  return what === "programs" ? targets.slice(1) : targets;
}

process.chdir(import.meta.dirname);
mkdirSync("dist", { recursive: true });
// `node build.mjs`: everything; `programs`: what `npm start` needs; `code FOLDER`: the compiled code
// of the programs in a folder, for the Node that runs this.
const [wanted, folder] = process.argv.slice(2);
if (wanted === "code") await writeCode(folder);
const testRunner = wanted === undefined ? buildTestRunner() : null;
let isStale = false;
for (const { name, from, steps } of targetsFor(wanted)) {
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
