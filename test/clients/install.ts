/** Installs the clients, from lock files of their own, if they aren't there yet. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { clientsDirectory } from "./child.js";

/** Installs what isn't there yet, or is of another lock. */
export function installClients(): void {
  installPackages(clientsDirectory);
}

/** The same for the lists of another folder. */
export function installPackages(directory: string): void {
  const run = (program: string, args: readonly string[]): void => runIn(directory, program, args);
  once(directory, "package-lock.json", () => run("npm", ["ci", "--silent"]));
  once(directory, "requirements.txt", () => {
    run("python3", ["-m", "venv", join(directory, "node_modules", ".python")]);
    const packages = ["-r", "requirements.txt"];
    run(pythonIn(directory), [
      "-m",
      "pip",
      "install",
      "--quiet",
      "--disable-pip-version-check",
      ...packages,
    ]);
  });
}

/** Of the virtual environment with a folder's packages. */
export function pythonIn(directory: string): string {
  return join(directory, "node_modules", ".python", "bin", "python");
}

/** Each list of packages leaves a copy of itself behind when all of it is installed. */
function once(directory: string, list: string, install: () => void): void {
  const wanted = readFileSync(join(directory, list), "utf8");
  const mark = join(directory, "node_modules", `.installed-${list}`);
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

function runIn(directory: string, program: string, args: readonly string[]): void {
  const { status, error } = spawnSync(program, args, { cwd: directory, stdio: "inherit" });
  if (status !== 0)
    throw new Error(`${program} ${args.slice(0, 2).join(" ")} failed: ${error ?? status}`);
}
