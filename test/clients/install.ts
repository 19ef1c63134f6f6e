/** Installs the clients, from lock files of their own, if they aren't there yet. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { clientsDirectory, pythonProgram } from "./child.js";

const modules = join(clientsDirectory, "node_modules");

/** Installs what isn't there yet, or is of another lock. */
export function installClients(): void {
  once("package-lock.json", () => run("npm", ["ci", "--silent"]));
  const python = join(modules, ".python");
  once("requirements.txt", () => {
    run("python3", ["-m", "venv", python]);
    const packages = ["-r", "requirements.txt"];
    run(pythonProgram, [
      "-m",
      "pip",
      "install",
      "--quiet",
      "--disable-pip-version-check",
      ...packages,
    ]);
  });
}

/** Each list of packages leaves a copy of itself behind when all of it is installed. */
function once(list: string, install: () => void): void {
  const wanted = readFileSync(join(clientsDirectory, list), "utf8");
  const mark = join(modules, `.installed-${list}`);
  if (existsSync(mark) && readFileSync(mark, "utf8") === wanted) return;
  process.stdout.write(`installing the clients of ${list}\n`);
  try {
    install();
    writeFileSync(mark, wanted);
  } catch (error) {
    // What isn't there is left out, with a word, by who would run it.
    process.stdout.write(`${String(error)}\n`);
  }
}

function run(program: string, args: readonly string[]): void {
  const { status, error } = spawnSync(program, args, { cwd: clientsDirectory, stdio: "inherit" });
  if (status !== 0)
    throw new Error(`${program} ${args.slice(0, 2).join(" ")} failed: ${error ?? status}`);
}
