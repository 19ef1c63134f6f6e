/** Agents that are started once for each turn, and find their conversation again. */
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { binary, clientEnvironment, runChild } from "../child.js";
import type { Client, ClientDialect, Job, Outcome, Step } from "../client.js";

export interface Agent {
  readonly id: string;
  readonly title: string;
  readonly dialect: ClientDialect;
  readonly command: string;
  readonly setUp: string;
  /** For one whose every turn takes seconds. */
  readonly hosts?: readonly string[];
  /** What it isn't asked to do. */
  readonly without?: Step;
  /** The files of its home, by their path. */
  files(job: Job): Readonly<Record<string, string>>;
  env(job: Job): Record<string, string>;
  args(job: Job): readonly string[];
}

const agentSteps: readonly Step[] = ["task", "again", "abort", "busy", "day"];
const deadlineMs = 60_000;

export function agentClient(agent: Agent): Client {
  return {
    id: agent.id,
    title: agent.title,
    dialect: agent.dialect,
    steps: agentSteps.filter((step) => step !== agent.without),
    setUp: agent.setUp,
    ...(agent.hosts === undefined ? {} : { hosts: agent.hosts }),
    isThere: () => existsSync(binary(agent.command)),
    async run(job): Promise<Outcome> {
      const home = join(job.directory, "home");
      mkdirSync(home, { recursive: true });
      for (const [path, text] of Object.entries(agent.files(job))) {
        mkdirSync(dirname(join(home, path)), { recursive: true });
        writeFileSync(join(home, path), text);
      }
      const { code, output } = await runChild({
        command: binary(agent.command),
        args: agent.args(job),
        cwd: join(job.directory, "work"),
        env: clientEnvironment(home, agent.env(job)),
        leave: job.leave,
        deadlineMs,
      });
      return { succeeded: code === 0, output };
    },
    close: async () => {},
  };
}
