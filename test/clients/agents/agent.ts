/** Agents that are started once for each turn, and find their conversation again. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { binary, clientEnvironment, runChild } from "../child.js";
import {
  type Client,
  type ClientDialect,
  deadlineMs,
  type Job,
  type Outcome,
  type Step,
  steps,
} from "../client.js";

export interface Agent {
  readonly id: string;
  readonly title: string;
  readonly dialect: ClientDialect;
  readonly command: string;
  readonly setUp: string;
  /** For one whose every turn takes seconds. */
  readonly hosts?: readonly string[];
  readonly dayRefusalsMax?: number;
  /** What it is asked to do beyond what all are. */
  readonly also?: readonly Step[];
  /** The files of its home, by their path. */
  files(job: Job): Readonly<Record<string, string>>;
  env(job: Job): Record<string, string>;
  args(job: Job): readonly string[];
  /** How many tokens it says that something has, as it says it. */
  countIn?(output: string): number | null;
}

/** In the order in which they are asked. */
const agentSteps: readonly Step[] = steps.filter((step) => step !== "stream" && step !== "json");
const special: readonly Step[] = ["picture", "count", "compact", "after", "search"];

export function agentClient(agent: Agent): Client {
  return {
    id: agent.id,
    title: agent.title,
    dialect: agent.dialect,
    steps: agentSteps.filter(
      (step) => agent.also?.includes(step) === true || !special.includes(step),
    ),
    setUp: agent.setUp,
    ...(agent.hosts === undefined ? {} : { hosts: agent.hosts }),
    ...(agent.dayRefusalsMax === undefined ? {} : { dayRefusalsMax: agent.dayRefusalsMax }),
    movesSessions: true,
    isThere: () => existsSync(binary(agent.command)),
    async run(job): Promise<Outcome> {
      const home = join(job.directory, "home");
      mkdirSync(home, { recursive: true });
      for (const [path, text] of Object.entries(agent.files(job))) {
        mkdirSync(dirname(join(home, path)), { recursive: true });
        writeFileSync(join(home, path), text);
      }
      const { code, isLate, output } = await runChild({
        command: binary(agent.command),
        args: agent.args(job),
        cwd: join(job.directory, "work"),
        env: clientEnvironment(home, agent.env(job)),
        leave: job.leave,
        deadlineMs,
      });
      const count = job.step === "count" ? agent.countIn?.(output) : null;
      const counted = typeof count === "number" ? `\ncounted ${count} tokens` : "";
      return { succeeded: code === 0, isLate, output: `${output}${counted}` };
    },
    close: async () => {},
  };
}
