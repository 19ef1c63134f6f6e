import t from "tap";
import { createLinkLog } from "../../../../proxy/limiter/client/connect-limiter.js";
import { exactly } from "../../../support/patterns/exactly.js";

/** What is logged, as level, fields and text; nothing is throttled. */
function logged() {
  const lines: (readonly [level: string, fields: object, text: string])[] = [];
  const at =
    (level: string) =>
    (fields: object, text: string): void =>
      void lines.push([level, fields, text]);
  const log = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  const link = createLinkLog(
    { socket: "/s", failureMode: "closed" } as Parameters<typeof createLinkLog>[0],
    log as unknown as Parameters<typeof createLinkLog>[1],
    (report) => () => report(3),
  );
  return { lines, link };
}

t.test("a reason is logged once, until the link has changed", async (t) => {
  const { lines, link } = logged();
  for (const reason of ["ENOENT", "ENOENT", "EACCES", "ENOENT"]) link.onUnreachable(reason);
  t.same(
    lines.map(([, fields]) => (fields as { reason: string }).reason),
    ["ENOENT", "EACCES", "ENOENT"],
  );
  t.ok(link.onLinkChange(true));
  link.onUnreachable("ENOENT");
  t.equal(lines.length, 5);
});

t.test(
  "a silent daemon, its answer, and dropped settles are logged with their numbers",
  async (t) => {
    const { lines, link } = logged();
    link.onSilent(true);
    link.onAnswering(12_340);
    link.onLate();
    link.onDropped();
    t.match(
      lines,
      exactly([
        ["warn", { failure_mode: "closed" }, /is silent/],
        ["info", { seconds: 12.3 }, /answers again/],
        ["warn", { questions: 3 }, /in time/],
        ["error", { settles: 3 }, /the oldest are dropped/],
      ]),
    );
  },
);

t.test("the end of a link that is closed on purpose is no news", async (t) => {
  const { lines, link } = logged();
  link.close();
  t.notOk(link.onLinkChange(false));
  link.onUnreachable("ENOENT");
  t.same(lines, []);
});

t.test("each mismatch between the daemon and this proxy is logged", async (t) => {
  const { lines, link } = logged();
  link.onSilent(false);
  link.onRefused("it speaks wire version 3");
  link.onRefused("it speaks wire version 3");
  link.onUnreadable();
  link.onLinkChange(false);
  link.onRefused("it speaks wire version 3");
  t.match(
    lines,
    exactly([
      ["warn", { failure_mode: "closed" }, /doesn't welcome this proxy/],
      ["warn", { reason: "it speaks wire version 3" }, /of another release/],
      ["error", { frames: 3 }, /can't be read/],
      ["warn", { failure_mode: "closed" }, /lost the limiter daemon/],
      ["warn", { reason: "it speaks wire version 3" }, /of another release/],
    ]),
  );
  t.equal(lines.length, 5);
});
