import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";

/** The modules, which the bundled programs load in the same order. */
const moduleOf = (program: string): string =>
  fileURLToPath(new URL(`../../bin/${program}.js`, import.meta.url));

const script = moduleOf("sluice");

/** The packages, and Node's own modules, that are loaded before the first line of a module runs. */
function packagesOf(file: string, seen = new Set<string>()): readonly string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  return importsOf(file).flatMap((name) =>
    name.startsWith(".") ? packagesOf(join(dirname(file), name), seen) : [name],
  );
}

function importsOf(file: string): readonly string[] {
  const found = readFileSync(file, "utf8").matchAll(
    /^(?:import|export)\b[^;"']*?\bfrom "([^"]+)"|^import "([^"]+)"/gm,
  );
  return [...found].map(([, from, bare]) => from ?? bare!);
}

t.test("the version needs no package and no command", async (t) => {
  t.same(
    packagesOf(script).filter((name) => !name.startsWith("node:")),
    [],
  );
});

t.test("the commands and their help need no socket, no HTTP and no log", async (t) => {
  const loaded = [...readFileSync(script, "utf8").matchAll(/\bimport\("(\.[^"]+)"\)/g)];
  t.equal(loaded.length, 2, "up alone, and all");
  const packages = new Set(loaded.flatMap(([, file]) => packagesOf(join(dirname(script), file!))));
  t.ok(packages.has("commander"), "the packages are seen");
  for (const name of ["node-ipc", "msgpackr", "pino", "node:http", "node:https"])
    t.notOk(packages.has(name), name);
});

t.test("a proxy needs nothing of OpenTelemetry, unless spans are wanted", async (t) => {
  const packages = packagesOf(moduleOf("sluice-proxy"));
  t.ok(packages.includes("pino"), "the packages are seen");
  t.same(
    packages.filter((name) => name.startsWith("@opentelemetry")),
    [],
  );
});
