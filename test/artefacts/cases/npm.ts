import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { firstAnswer } from "../first-answer.js";
import { licences } from "../licences.js";
import { installNpm, packNpm, writeBillOfMaterials } from "../npm-package.js";
import { startRegistry } from "../registry.js";
import { keep, run } from "../run.js";
import { verified, verifyShortly } from "../verify-files.js";

const folder = mkdtempSync(join(tmpdir(), "sluice-npm-"));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));

const file = packNpm(folder);
keep(file);
const project = join(folder, "app");
const registry = await startRegistry(file);
await installNpm("sluice", project, registry.url);
await registry.close();

interface Bom {
  readonly components: readonly { readonly purl: string }[];
}

interface Locked {
  /** Where it isn't that of its folder. */
  readonly name?: string;
  readonly version: string;
}

/** What npm has installed, by its place. */
function lockOf(installed: string): Readonly<Record<string, Locked>> {
  const lock = readFileSync(join(installed, "node_modules/.package-lock.json"), "utf8");
  return (JSON.parse(lock) as { packages: Record<string, Locked> }).packages;
}

t.test("the package holds programs, pages and units, and of the tests what verify runs", (t) => {
  const names = run("tar", ["-tzf", file]).trim().split("\n");
  for (const name of [
    "package/npm-shrinkwrap.json",
    "package/LICENSE",
    "package/dist/programs/sluice.js",
    "package/dist/programs/sluice.schema.json",
    "package/dist/programs/dashboard/third-party-licenses.txt",
    "package/dist/programs/otel-spans.js",
    "package/dist/programs/otel-spans-licenses.txt",
    "package/dist/programs/genai-prices-licenses.txt",
    "package/systemd/sluice-proxy.service",
    "package/docs/examples/sluice.yaml",
    "package/dist/verify/test/verify/main.js",
  ])
    t.ok(names.includes(name), name);
  t.same(
    names.filter(
      (name) =>
        (/\/test\//.test(name) && !name.startsWith("package/dist/verify/")) ||
        /\.ts$|\.tsbuildinfo$|\.test\.js$/.test(name),
    ),
    [],
  );
  t.end();
});

t.test("an installation has the versions of the lock, and no tool of development", (t) => {
  const file = writeBillOfMaterials(folder);
  keep(file);
  const bom = JSON.parse(readFileSync(file, "utf8")) as Bom;
  const listed = new Set(bom.components.map(({ purl }) => decodeURIComponent(purl)));
  for (const [place, { name = place.replace(/^.*node_modules\//, ""), version }] of Object.entries(
    lockOf(project),
  ))
    t.ok(name === "sluice" || listed.has(`pkg:npm/${name}@${version}`), `${name}@${version}`);
  for (const name of [
    "preact",
    "@opentelemetry/sdk-trace",
    "@opentelemetry/otlp-exporter-base",
    "@pydantic/genai-prices",
  ])
    t.ok(
      [...listed].some((purl) => purl.startsWith(`pkg:npm/${name}@`)),
      `${name}, bundled`,
    );
  t.notOk(existsSync(join(project, "node_modules/copyfiles")), "an override leaves it out");
  t.end();
});

t.test("each package's licence may be passed on", (t) => {
  const { problems } = licences(project, Object.keys(lockOf(project)));
  t.same(problems, []);
  t.end();
});

t.test("npx reaches a first answer, and SIGTERM ends all that it started", async (t) => {
  const got = await firstAnswer({ program: "npx", args: ["sluice"], cwd: project });
  t.match(got, { status: 200, body: /simulator/, dashboardStatus: 200 });
});

t.test("its verify shows on this machine that limits hold", async (t) => {
  const found = verifyShortly(join(project, "node_modules/.bin/sluice"));
  t.match(found, verified);
});

t.test("a file that npm pack has made installs too", async (t) => {
  const other = join(folder, "from-file");
  await installNpm(file, other);
  const sluice = join(other, "node_modules/.bin/sluice");
  t.match(run(sluice, ["--version"]), /^\d+\.\d+\.\d+\n$/);
});
