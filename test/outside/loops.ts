/**
 * Agents in loops, as public reports describe them, and work that only looks like one: each as the
 * turns of its conversation, from the last one that matters to the end.
 */

/** What the model said, and what it got in reply. */
export type ReportedTurn =
  | {
      readonly tool: string;
      readonly args: Readonly<Record<string, unknown>>;
      readonly result: string;
      /** What the client wrote beside the result. */
      readonly beside?: string;
    }
  | { readonly said: string; readonly reply: string };

/** Agents that worked on without end, or far beyond their users' own limits on turns. */
export interface ReportedGrowth {
  readonly source: string;
  /** Since the user's last message. */
  readonly turns: number;
  readonly why: string;
}

export interface ReportedLoop {
  readonly id: string;
  /** Public threads, as `owner/repository#number`. */
  readonly source: readonly string[];
  readonly turns: readonly ReportedTurn[];
  /** How often the last turns are repeated, and how many they are; null: they aren't. */
  readonly found: { readonly times: number; readonly turns: number } | null;
  /** Likewise, whatever the results are; as `found` where it is left out. */
  readonly foundCalls?: { readonly times: number; readonly turns: number } | null;
  readonly why: string;
}

const times = (count: number, ...turns: readonly ReportedTurn[]): readonly ReportedTurn[] =>
  Array.from({ length: count }, () => turns).flat();
const each = (
  values: readonly string[],
  turnOf: (value: string) => ReportedTurn,
): readonly ReportedTurn[] => values.map(turnOf);
const call = (
  tool: string,
  args: Readonly<Record<string, unknown>>,
  result: string,
): ReportedTurn => ({ tool, args, result });

const search = call("grep", { pattern: "INVALID_OTP" }, "12 matches");
const failedEdit = call("edit", { path: "a.ts", old: "x", new: "y" }, "old text not found");

export const reportedLoops: readonly ReportedLoop[] = [
  {
    id: "same-file-read",
    source: ["google-gemini/gemini-cli#8259", "cline/cline#9916", "tailcallhq/forgecode#3247"],
    turns: [
      search,
      ...times(6, call("read_file", { path: "test.ts", from: 590, to: 620 }, "it()")),
    ],
    found: { times: 6, turns: 1 },
    why: "the same lines are read again and again, after other work",
  },
  {
    id: "no-operation",
    source: ["earendil-works/pi#9637", "headroomlabs-ai/headroom#3491"],
    turns: times(220, call("bash", { command: "echo noop" }, "noop")),
    found: { times: 100, turns: 1 },
    why: "hundreds of turns do nothing; no more are counted than matter",
  },
  {
    id: "list-twice-over",
    source: ["earendil-works/pi#6158"],
    turns: [
      ...times(6, call("bash", { command: "ls custom/" }, "a.css")),
      ...times(5, call("bash", { command: "ls -la custom/" }, "-rw-r--r-- a.css")),
    ],
    found: { times: 5, turns: 1 },
    why: "one loop follows another: the last one counts",
  },
  {
    id: "two-tools-in-turn",
    source: ["anomalyco/opencode#47759", "cline/cline#3039"],
    turns: times(5, call("lookup", { query: "a" }, "none"), call("search", { query: "b" }, "none")),
    found: { times: 5, turns: 2 },
    why: "A, B, A, B: neither call follows itself",
  },
  {
    id: "three-lists-in-turn",
    source: ["superplanehq/superplane#4123"],
    turns: times(
      4,
      call("list_integration_resources", {}, "[]"),
      call("describe_trigger", { name: "t" }, "{}"),
      call("list_components", {}, "[]"),
    ),
    found: { times: 4, turns: 3 },
    why: "three tools that find nothing, in a circle",
  },
  {
    id: "empty-list-written",
    source: ["ai-forever/langchain-gigachat#69", "langchain-ai/langgraph#4231"],
    turns: times(7, call("write_todos", { todos: [] }, "Updated todo list to []")),
    found: { times: 7, turns: 1 },
    why: "a tool that always succeeds is called without an end",
  },
  {
    id: "same-page-of-a-file",
    source: ["HKUDS/nanobot#3077", "openclaw/openclaw#83129"],
    turns: times(15, call("read_file", { path: "history.jsonl", limit: 50, offset: 1 }, "…")),
    found: { times: 15, turns: 1 },
    why: "each call has an id of its own, and is the same call",
  },
  {
    id: "same-words-and-tool",
    source: ["mistralai/mistral-vibe#83"],
    turns: times(10, call("bash", { command: "flake8" }, "errors: 1")),
    found: { times: 10, turns: 1 },
    why: "the check succeeds, and is run again",
  },
  {
    id: "incomplete-call",
    source: ["cline/cline#8051", "cline/cline#127"],
    turns: times(8, call("write_to_file", { path: "a.js" }, "Missing value for 'content'")),
    found: { times: 8, turns: 1 },
    why: "each call lacks the same parameter, and gets the same error",
  },
  {
    id: "no-tool-called",
    source: ["SWE-agent/SWE-agent#971", "cline/cline#5625"],
    turns: times(5, { said: "I'll submit the changes:", reply: "You called no tool. Try again." }),
    found: { times: 5, turns: 1 },
    why: "without tools the model's words and the replies are the same",
  },
  {
    id: "shell-of-codex",
    source: ["openai/codex#13279"],
    turns: each(["8b2c25", "b74783", "0f3a11"], (chunk) =>
      call(
        "exec_command",
        { cmd: "ls" },
        `Chunk ID: ${chunk}\nWall time: 0.0${chunk.length} seconds\nOutput:\na.txt\n`,
      ),
    ),
    found: { times: 3, turns: 1 },
    why: "Codex's shell says an id and how long it took",
  },
  {
    id: "shell-of-gemini-cli",
    source: ["google-gemini/gemini-cli#8259"],
    turns: each(["31917", "31920", "4"], (group) =>
      call("run_shell_command", { command: "ls" }, `Output: a.txt\nProcess Group PGID: ${group}`),
    ),
    found: { times: 3, turns: 1 },
    why: "the shell of gemini-cli says the number of its process",
  },
  {
    id: "clock-in-the-result",
    source: ["google-gemini/gemini-cli#3919"],
    turns: each(["0.31", "0.29", "0.30", "0.33"], (s) =>
      call("bash", { command: "npm test" }, `1 failed in ${s} s`),
    ),
    found: null,
    foundCalls: { times: 4, turns: 1 },
    why: "the result has a time in it: only the calls are the same",
  },
  {
    id: "same-tool-other-arguments",
    source: ["google-gemini/gemini-cli#16954", "cline/cline#949"],
    turns: each(["a", "b", "c", "d", "e", "f"], (path) => call("ls", { path }, "empty")),
    found: null,
    why: "not found: other arguments may be progress",
  },
  {
    id: "failed-edits-between-reads",
    source: ["anomalyco/opencode#25254"],
    turns: [failedEdit, failedEdit, call("read", { path: "a.ts" }, "z")],
    found: null,
    why: "the last turn is new: the agent looks what is wrong",
  },
  {
    id: "files-moved-one-by-one",
    source: ["google-gemini/gemini-cli#5873", "google-gemini/gemini-cli#8234"],
    turns: ["A", "B", "C", "D", "E", "F"].flatMap((file) => [
      call("grep", { pattern: file }, "3 matches"),
      call("bash", { command: `git mv ${file} lib/` }, ""),
      call("edit", { path: "index.ts", old: file, new: `lib/${file}` }, "ok"),
    ]),
    found: null,
    why: "no loop: each round has another file",
  },
  {
    id: "file-read-in-parts",
    source: ["google-gemini/gemini-cli#7950", "QwenLM/qwen-code#3716"],
    turns: each(["0", "100", "200", "300", "400", "500"], (offset) =>
      call("read_file", { path: "big.csv", offset }, "100 lines"),
    ),
    found: null,
    why: "no loop: each part is another one",
  },
  {
    id: "build-polled",
    source: ["google-gemini/gemini-cli#8232"],
    turns: each(["10", "35", "60", "85", "99", "100"], (percent) =>
      call("build_status", { id: "b1" }, `${percent}%`),
    ),
    found: null,
    foundCalls: { times: 6, turns: 1 },
    why: "no loop: the results show progress",
  },
  {
    id: "user-steps-in",
    source: ["headroomlabs-ai/headroom#3492"],
    turns: [
      ...times(6, call("bash", { command: "ls" }, "a")),
      { tool: "bash", args: { command: "ls" }, result: "a", beside: "Stop. Read a instead." },
    ],
    found: null,
    why: "a message of the user ends the loop, so that the session can go on",
  },
];

export const reportedGrowth: readonly ReportedGrowth[] = [
  { source: "zoharbabin/due-diligence-agents#96", turns: 650, why: "its own limit was 200" },
  { source: "elie222/rakazo#883", turns: 569, why: "looks for a file that isn't there" },
  { source: "xerrors/Yuxi#674", turns: 300, why: "ends at LangGraph's limit, raised to 300" },
  { source: "anthropics/claude-code#36727", turns: 234, why: "searches for what its prompt has" },
  { source: "UiPath/coder_eval#193", turns: 221, why: "its own limit was 75" },
  { source: "anthropics/claude-code#94013", turns: 111, why: "a subagent's research" },
  { source: "anthropics/claude-code#20521", turns: 97, why: "a subagent's own limit isn't heeded" },
  { source: "anthropics/claude-code-action#1577", turns: 73, why: "its own limit was 60" },
  { source: "anthropics/claude-code#41143", turns: 72, why: "its own limit was 10" },
  { source: "agent-tools-org/ai-dispatch#9", turns: 60, why: "tries to quote arguments" },
  { source: "langmanus/langmanus#61", turns: 25, why: "ends at LangGraph's own limit" },
  { source: "openai/openai-agents-python#1442", turns: 10, why: "ends at the SDK's own limit" },
];
