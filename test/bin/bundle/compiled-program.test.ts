import { spawnSync } from "node:child_process";
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import t from "tap";
import { newSpaceFlag } from "../../../bin/supervisor/supervised-proxies.js";
import { keptCodeFlag } from "../../../bin/supervisor/supervised-service.js";

const programs = fileURLToPath(new URL("../../../programs", import.meta.url));
const compiler = new URL("../../../bin/bundle/compiled-program.js", import.meta.url);

const serviceFlags = [keptCodeFlag, newSpaceFlag];

/** Runs code of a module, for which `program` is the compiled one, in a process of its own. */
const withProgram = (file: string, code: string, flags: readonly string[] = []): string =>
  spawnSync(
    process.execPath,
    [
      ...flags,
      "--input-type=module",
      "-e",
      `import { compileProgram } from ${JSON.stringify(compiler)};
const program = compileProgram(${JSON.stringify(file)});
${code}`,
    ],
    { encoding: "utf8", env: {} },
  ).stdout.trim();

const { SLUICE_TEST_BUILT_BY: builtBy = process.version } = process.env;
const skip = builtBy === process.version ? false : `the build's code is of Node ${builtBy}`;

for (const name of ["sluice", "sluice-proxy", "sluice-limiterd"]) {
  t.test(`the build has written the compiled code of ${name}`, { skip }, async (t) => {
    t.equal(withProgram(`${programs}/${name}.cjs`, "console.log(program.isCompiled);"), "true");
  });

  t.test(`${name} starts with its compiled code, and with no other's`, async (t) => {
    const file = `${t.testdir({})}/${name}.cjs`;
    const isCompiled = (): string => withProgram(file, "console.log(program.isCompiled);");
    copyFileSync(`${programs}/${name}.cjs`, file);
    t.equal(isCompiled(), "false");
    withProgram(file, "program.writeCode(); process.exit();");
    t.equal(isCompiled(), "true");
    t.equal(withProgram(file, "console.log(program.isCompiled);", serviceFlags), "true");
    writeFileSync(file, readFileSync(file, "latin1").replace("use strict", "Use strict"), "latin1");
    t.equal(isCompiled(), "false", "another text of the same length");
  });
}
