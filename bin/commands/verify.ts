/**
 * `sluice verify`: shows on this machine that limits hold. The work is done by a program of its
 * own, so that no other command loads it.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { type Command, InvalidArgumentError } from "commander";
import { CommandFailure } from "../session/command-failure.js";
import { type CommandFlags, jsonOption } from "../session/command-flags.js";
import { exitCodes } from "../session/exit-code.js";
import type { Session } from "../session/terminal.js";

interface VerifyFlags extends CommandFlags {
  readonly minutes: number;
  readonly seed?: number;
}

const minutesMax = 1440;

/** Adds `verify` to the program. */
export function addVerify(program: Command, session: Session): void {
  program
    .command("verify")
    .description("show that limits hold on this machine, with processes of its own")
    .option("--minutes <n>", "how long it takes, about", minutesIn, 1)
    .option("--seed <n>", "repeats a run: the number that it has printed", seedIn)
    .addOption(jsonOption("print what was found as JSON"))
    .action((_options, command: Command) =>
      runVerify(session, command.optsWithGlobals<VerifyFlags>()),
    );
}

function minutesIn(text: string): number {
  const minutes = Number(text);
  if (!(minutes > 0 && minutes <= minutesMax))
    throw new InvalidArgumentError(`It must be a number from above 0 to ${minutesMax}.`);
  return minutes;
}

function seedIn(text: string): number {
  const seed = Number(text);
  if (!Number.isInteger(seed) || seed < 0 || seed >= 2 ** 32)
    throw new InvalidArgumentError("It must be a whole number from 0 to 0xffffffff.");
  return seed;
}

async function runVerify(
  { programs }: Session,
  { minutes, seed, json }: VerifyFlags,
): Promise<void> {
  // In a checkout the tests are compiled beside the programs; a package has those that it needs.
  const places = ["../test/verify/main.js", "../verify/test/verify/main.js"];
  const script = places.map((place) => join(programs, place)).find(existsSync);
  if (script === undefined) throw missingTests(programs, join(programs, places[1]!));
  const args = ["--minutes", `${minutes}`, "--programs", programs];
  if (seed !== undefined) args.push("--seed", `${seed}`);
  if (json === true) args.push("--json");
  const child = spawn(process.execPath, [script, ...args], { stdio: "inherit" });
  const forward = (signal: NodeJS.Signals): void => void child.kill(signal);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, forward);
  const [code] = (await once(child, "exit")) as [number | null];
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.off(signal, forward);
  if (code === 0) return;
  // The tests have printed what failed.
  const exitCode = code === exitCodes.killed ? exitCodes.killed : exitCodes.failed;
  throw new CommandFailure({ exitCode, lines: [], error: {} });
}

function missingTests(programs: string, script: string): CommandFailure {
  const message = existsSync(join(programs, "../../build.mjs"))
    ? "this checkout has no compiled tests yet: type `npm run build`, then this command again"
    : `${script} is missing: this installation isn't complete`;
  return new CommandFailure({
    exitCode: exitCodes.failed,
    lines: [`error: ${message}`],
    error: { message },
  });
}
