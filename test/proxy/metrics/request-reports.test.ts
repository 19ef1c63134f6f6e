import t from "tap";
import type { EndedAttempt } from "../../../proxy/metrics/proxy-counts.js";
import { failureKindOf, RequestReports } from "../../../proxy/metrics/request-reports.js";
import {
  detailsPerReport,
  parseRequestReport,
  type RequestReport,
  type TrafficReportBody,
} from "../../../shared/wire/request-report.js";
import { exactly } from "../../support/patterns/exactly.js";

const detail: RequestReport = {
  request_id: "r",
  kind: "failed",
  status: 503,
  outcome: "upstream_error",
  method: "POST",
  path: "/",
  duration_ms: 1,
};

const attempt: EndedAttempt = {
  target: { provider: "p", model: "m" },
  operation: "chat_completions",
  stream: true,
  startedMonoMs: 0,
  endedMonoMs: 1100,
  forwarded: {
    status: 200,
    outcome: "complete",
    usage: null,
    estimated: false,
    firstByteMonoMs: 100,
  },
};

function collecting(keepsDetails = true, keepsTexts = true) {
  const sent: TrafficReportBody[] = [];
  let due = (): void => {};
  const link = { reachable: true };
  const reports = new RequestReports(
    {
      limiter: {
        get reachable() {
          return link.reachable;
        },
        async call(op, body) {
          t.equal(op, "requests.report");
          const parsed = parseRequestReport(body);
          t.ok(parsed.ok);
          if (parsed.ok) sent.push(parsed.value);
          return { ok: true, body: {} };
        },
      },
      monoMs: () => 2000,
      schedule: (_ms, run) => {
        due = run;
      },
    },
    { keepsDetails, keepsTexts },
  );
  return { reports, sent, link, tick: () => due() };
}

t.test("counts, targets and keepsDetails go in one report, and begin again", async (t) => {
  const { reports, sent, tick } = collecting();
  await reports.flush();
  t.same(sent, [], "nothing to say");
  reports.noteRequest("answered", { usage: null, cost: null });
  reports.notePreparation(0.3);
  reports.notePreparation(-1);
  reports.noteAttempt(attempt);
  reports.noteAttempt({
    ...attempt,
    forwarded: {
      ...attempt.forwarded,
      status: 529,
      outcome: "upstream_error",
      error: { status: 529, code: null, message: "busy" },
    },
  });
  reports.add(detail, 1500);
  tick();
  t.match(
    sent[0],
    exactly({
      counts: [1, 0, 0, 0, 0, 0],
      requests: [[500, { request_id: "r" }]],
      targets: [
        {
          provider: "p",
          attempts: 2,
          failures: [0, 1, 0, 0, 0, 0, 0],
          last_error: "529 busy",
          last_error_ago_ms: 900,
        },
      ],
    }),
  );
  t.same(sent[0]?.targets[0]?.first, [27, 1]);
  t.same(sent[0]?.own_us, [0, 1, 33, 1], "0.3 ms, and a clock that went back");
  reports.noteRequest("failed", { usage: null, cost: null });
  tick();
  t.match(sent[1], exactly({ counts: [0, 1, 0, 0, 0, 0] }));
  t.same(sent[1]?.targets, []);
  t.same(sent[1]?.requests, []);
});

t.test("while the daemon is away, counts gather", async (t) => {
  const { reports, sent, link, tick } = collecting();
  link.reachable = false;
  for (let i = 0; i < 3; i++) {
    reports.noteRequest("failed", { usage: null, cost: null });
    tick();
  }
  t.same(sent, []);
  link.reachable = true;
  tick();
  t.match(sent, exactly([{ counts: [0, 3, 0, 0, 0, 0] }]));
});

t.test("details, targets and agents are bounded", async (t) => {
  const { reports, sent, tick } = collecting();
  let minor = 0;
  for (; reports.hasRoom("minor"); minor++) reports.add(detail, 0);
  t.ok(minor < detailsPerReport, "failures have room beyond refusals");
  while (reports.hasRoom("major")) reports.add(detail, 0);
  for (let i = 0; i < 1000; i++) {
    reports.noteAttempt({ ...attempt, target: { provider: "p", model: `m${i}` } });
    reports.noteAgent({ session: `s${i}`, userPath: "/team" }, "agent", 0);
  }
  tick();
  t.equal(sent[0]?.requests.length, detailsPerReport);
  t.equal(sent[0]?.targets.length, 201);
  t.match(sent[0]?.targets.at(-1), { provider: "other", model: "other", attempts: 800 });
  t.equal(sent[0]?.agents.length, 200);
  t.equal(collecting(false).reports.hasRoom("major"), false, "none are kept");
});

t.test("an operator may keep the codes of errors alone", async (t) => {
  const { reports, sent, tick } = collecting(true, false);
  const error = { status: 400, code: "context_window", message: "a secret of the prompt" };
  const failed = { ...attempt.forwarded, status: 400, outcome: "upstream_error" as const };
  reports.noteAttempt({ ...attempt, forwarded: { ...failed, error } });
  tick();
  t.match(sent[0], exactly({ targets: [{ last_error: "400 context_window" }] }));
});

t.test("a failure has a kind", async (t) => {
  const upstream = "upstream_error" as const;
  const error = (status: number) => ({ status, code: null, message: "m" });
  for (const [forwarded, kind] of [
    [{ status: 200, outcome: "complete" }, null],
    [{ status: 499, outcome: "client_gone" }, null],
    [{ status: 500, outcome: "internal_error" }, null],
    [{ status: 429, outcome: upstream, error: error(429) }, "rate_limited"],
    [{ status: 502, outcome: upstream, error: error(401) }, "credentials"],
    [{ status: 502, outcome: upstream, error: error(0) }, "unreachable"],
    [{ status: 504, outcome: upstream, error: error(0) }, "timeout"],
    [{ status: 400, outcome: upstream, error: error(400) }, "invalid_request"],
    [{ status: 529, outcome: upstream, error: error(529) }, "server_error"],
    [{ status: 200, outcome: upstream }, "server_error"],
    [{ status: 200, outcome: "upstream_cut" }, "cut"],
    [{ status: 200, outcome: "upstream_cut", hasTimedOut: true }, "timeout"],
  ] as const)
    t.equal(failureKindOf(forwarded), kind, JSON.stringify(forwarded));
});
